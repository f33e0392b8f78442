"""The live line: what it says, where it is silent, what it leaves behind."""

from __future__ import annotations

import gc
import io
import threading
import time
from types import SimpleNamespace

import pytest
from report_samples import chunk, series

from roastcoffea._core import ChunkLog, WorkerSeries
from roastcoffea.progress import LiveLine, SharedNews, shows_own_bar


class Terminal(io.StringIO):
    def isatty(self):
        return True

    @property
    def screen(self):
        """What stands in the line after all that was written."""
        line, at = [], 0
        for letter in self.getvalue():
            if letter == "\r":
                at = 0
            else:
                line[at:at + 1] = [letter]
                at += 1
        return "".join(line).rstrip()


class Backend:
    """Tells one packet of news at a time."""

    def __init__(self, *packets):
        self.packets = list(packets)
        self.asked = 0

    def news(self):
        self.asked += 1
        return self.packets.pop(0) if self.packets else ([], None)


def packed(first, last):
    return ChunkLog([chunk(i) for i in range(first, last)]).to_bytes()


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm")


def wait_for(condition):
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.005)


def test_what_it_says():
    now = [1000.0]
    line = LiveLine(Backend(([packed(0, 40), packed(40, 97)], series(3, 5)), ([packed(97, 98)], None)), Terminal(),
                    clock=lambda: now[0])
    line.expect(192)
    now[0] = 1010.0
    events = sum(chunk(i)["num_events"] for i in range(96))
    parts = line.look().split(" · ")
    assert parts[0] == "96 of 192 chunks" and parts[1] == "1 failed"
    assert parts[2] == f"{events * 800 / 10 / 1e6:.0f} Mbps" and parts[3] == f"{events / 10 / 1000:.0f} kHz"
    assert parts[4] == "3 workers" and parts[5] == "3.42 GB of 12.0 GB"
    assert parts[6].endswith(" left") and len(parts) == 7
    assert line.look().startswith("97 of 192 chunks")


def test_what_is_not_known_is_not_said():
    assert LiveLine(Backend(), Terminal()).look() == "0 chunks"


def test_it_is_written_in_place_and_taken_away():
    terminal = Terminal()
    with LiveLine(Backend(([packed(0, 5)], None)), terminal, interval=0.01):
        wait_for(lambda: terminal.screen.startswith("5 chunks"))
    assert terminal.screen == ""
    assert "\n" not in terminal.getvalue() and "\x1b" not in terminal.getvalue()
    assert terminal.getvalue().endswith("\r")
    assert "roastcoffea-line" not in {thread.name for thread in threading.enumerate()}


def test_a_shorter_line_leaves_nothing_of_a_longer_one():
    terminal = Terminal()
    line = LiveLine(Backend(), terminal)
    line._write("a long line")
    line._write("short")
    assert terminal.screen == "short"
    line.stop()
    assert terminal.screen == ""


def test_it_fits_into_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "12")
    terminal = Terminal()
    LiveLine(Backend(), terminal)._write("0123456789012345678901234567890")
    assert terminal.screen == "01234567890"


@pytest.mark.parametrize("stream", [io.StringIO(), SimpleNamespace()])
def test_it_is_silent_where_there_is_no_terminal(stream):
    backend = Backend()
    line = LiveLine(backend, stream, interval=0.001)
    with line:
        time.sleep(0.02)
    assert backend.asked == 0 and not line.active
    if isinstance(stream, io.StringIO):
        assert stream.getvalue() == ""


def test_it_is_silent_in_a_terminal_that_cannot_go_back(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    assert not LiveLine(Backend(), Terminal()).active


def test_it_gives_way():
    terminal = Terminal()
    line = LiveLine(Backend(), terminal)
    line._write("here")
    line.give_way()
    assert terminal.screen == ""
    line._write("here")
    assert terminal.screen == ""
    line.come_back()
    line._write("here")
    assert terminal.screen == "here"


def test_a_failure_ends_the_line_and_nothing_else():
    class Broken:
        def news(self):
            raise OSError("the scheduler is gone")

    terminal = Terminal()
    line = LiveLine(Broken(), terminal, interval=0.001)
    line.start()
    wait_for(lambda: not line._thread.is_alive())
    line.stop()
    assert terminal.getvalue() == ""


def test_a_closed_terminal_is_no_failure():
    terminal = Terminal()
    line = LiveLine(Backend(), terminal)
    line._write("x")
    terminal.close()
    line.stop()


def test_coffeas_own_bar():
    assert shows_own_bar(SimpleNamespace(status=True))
    assert not shows_own_bar(SimpleNamespace(status=False)) and not shows_own_bar(None)


def test_news_are_shared():
    later = WorkerSeries()
    later.extend(series(2, 4), 3)
    backend = Backend(([b"1"], series(2, 3)), ([b"2", b"3"], None), ([b"4"], later))
    shared = SharedNews(backend)
    first, second = shared.reader(), shared.reader()
    logs, piece = first.news()
    assert logs == [b"1"] and len(piece) == 3
    assert first.news() == ([b"2", b"3"], None)
    first.close()
    logs, piece = second.news()
    assert logs == [b"1", b"2", b"3", b"4"]
    assert len(piece) == 4 and piece.workers == series(2, 3).workers
    assert second.news() == ([], None)


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_nothing_is_kept_for_a_line_that_is_not_shown(stream):
    backend = Backend(([], None), *[([b"%d" % i], None) for i in range(9)])
    shared = SharedNews(backend)
    shown, other = shared.reader(), shared.reader()
    line = LiveLine(shown, stream, interval=0.001)
    line.start()
    line.stop()
    told = [log for _ in range(12) for log in other.news()[0]]
    assert told == [b"%d" % i for i in range(9)]
    assert shown.take() == ([], None)


def test_a_reader_that_nobody_holds_is_forgotten():
    shared = SharedNews(Backend(([b"1"], None)))
    shared.reader()
    kept = shared.reader()
    gc.collect()
    assert len(shared._readers) == 1
    assert kept.news() == ([b"1"], None)
