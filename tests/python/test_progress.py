"""The live line: what it says, where it is silent, what it leaves behind; and the thread that fetches the news."""

from __future__ import annotations

import io
import threading
import time
from types import SimpleNamespace

import pytest
from report_samples import chunk, series

from roastcoffea import MetricsCollector
from roastcoffea._core import ChunkLog
from roastcoffea.news import NewsThread
from roastcoffea.progress import LiveLine, shows_own_bar


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


class Source:
    """Tells one packet of news at a time."""

    def __init__(self, *packets):
        self.packets = list(packets)
        self.asked = 0

    def news(self):
        self.asked += 1
        return self.packets.pop(0) if self.packets else ([], None)


class Taker:
    def __init__(self, interval=1.0, fails=False):
        self.interval, self.fails = interval, fails
        self.taken, self.errors = [], []

    def take(self, records, samples):
        if self.fails:
            raise ValueError("not wanted")
        self.taken.append((records, samples))

    def failed(self, error):
        self.errors.append(error)


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
    now = [10.0]
    terminal = Terminal()
    line = LiveLine(terminal, clock=lambda: now[0])
    now[0] = 1000.0
    line.start()
    line.expect(192)
    now[0] = 1010.0
    events = sum(chunk(i)["num_events"] for i in range(96))
    line.take([packed(0, 40), packed(40, 97)], series(3, 5))
    parts = terminal.screen.split(" · ")
    assert parts[0] == "96 of 192 chunks" and parts[1] == "1 failed"
    assert parts[2] == f"{events * 800 / 10 / 1e6:.0f} Mbps" and parts[3] == f"{events / 10 / 1000:.0f} kHz"
    assert parts[4] == "3 workers" and parts[5] == "3.42 GB of 12.0 GB"
    assert parts[6].endswith(" left") and len(parts) == 7
    line.take([packed(97, 98)], None)
    assert terminal.screen.startswith("97 of 192 chunks")


def test_what_is_not_known_is_not_said():
    terminal = Terminal()
    LiveLine(terminal).take([], None)
    assert terminal.screen == "0 chunks"


def test_it_is_written_in_place_and_taken_away():
    terminal = Terminal()
    line = LiveLine(terminal)
    line.interval = 0.01
    thread = NewsThread(Source(([packed(0, 5)], None)), [line])
    thread.start()
    wait_for(lambda: terminal.screen.startswith("5 chunks"))
    thread.stop()
    line.stop()
    assert terminal.screen == ""
    line.take([], None)
    assert terminal.screen == ""
    assert "\n" not in terminal.getvalue() and "\x1b" not in terminal.getvalue()
    assert terminal.getvalue().endswith("\r")
    assert "roastcoffea-news" not in {thread.name for thread in threading.enumerate()}


def test_a_shorter_line_leaves_nothing_of_a_longer_one():
    terminal = Terminal()
    line = LiveLine(terminal)
    line._write("a long line")
    line._write("short")
    assert terminal.screen == "short"
    line.stop()
    assert terminal.screen == ""


def test_it_fits_into_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "12")
    terminal = Terminal()
    LiveLine(terminal)._write("0123456789012345678901234567890")
    assert terminal.screen == "01234567890"


@pytest.mark.parametrize("stream", [io.StringIO(), SimpleNamespace()])
def test_it_is_silent_where_there_is_no_terminal(stream, monkeypatch):
    monkeypatch.setattr("sys.stderr", stream)
    assert not LiveLine().active and not LiveLine(stream).active
    with MetricsCollector(live=True) as mc:
        assert "roastcoffea-news" not in {thread.name for thread in threading.enumerate()}
    assert mc.notes == []
    if isinstance(stream, io.StringIO):
        assert stream.getvalue() == ""


def test_it_is_silent_in_a_terminal_that_cannot_go_back(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    assert not LiveLine(Terminal()).active


def test_it_gives_way():
    terminal = Terminal()
    line = LiveLine(terminal)
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
    line, other = LiveLine(terminal), Taker()
    NewsThread(Broken(), [line, other]).look()
    NewsThread(Source(([packed(0, 5)], None)), [line, other]).look()
    assert terminal.getvalue() == ""
    assert [str(error) for error in other.errors] == ["the scheduler is gone"] and len(other.taken) == 1


def test_a_closed_terminal_is_no_failure():
    terminal = Terminal()
    line = LiveLine(terminal)
    line._write("x")
    terminal.close()
    line.stop()


def test_coffeas_own_bar():
    assert shows_own_bar(SimpleNamespace(status=True))
    assert not shows_own_bar(SimpleNamespace(status=False)) and not shows_own_bar(None)


def test_each_taker_gets_all_news():
    """One that raises is told so, and costs the others nothing."""
    first, broken, last = Taker(), Taker(fails=True), Taker()
    source = Source(([b"1"], series(2, 3)), ([b"2", b"3"], None))
    thread = NewsThread(source, [first, broken, last])
    for _ in range(3):
        thread.look()
    for taker in (first, last):
        assert [records for records, _ in taker.taken] == [[b"1"], [b"2", b"3"], []]
        assert len(taker.taken[0][1]) == 3 and taker.errors == []
    assert broken.taken == [] and len(broken.errors) == 3


def test_nobody_is_asked_for_nobody():
    source = Source()
    thread = NewsThread(source, [])
    thread.start()
    thread.stop()
    assert source.asked == 0


def test_the_shortest_interval_counts():
    slow, quick = Taker(3600), Taker(0.001)
    thread = NewsThread(Source(), [slow, quick])
    thread.start()
    wait_for(lambda: len(slow.taken) > 3)
    thread.stop()
    thread.stop()
    assert len(slow.taken) == len(quick.taken)
