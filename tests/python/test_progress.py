"""The live line: what it says, where it is silent, what it leaves behind; and the thread that fetches the news."""

from __future__ import annotations

import gc
import io
import threading
import time
import weakref
from types import SimpleNamespace

import pytest
from leaks import assert_nothing_is_kept
from report_samples import chunk, series, usual

from roastcoffea import MetricsCollector
from roastcoffea.collector import screens
from roastcoffea._core import ChunkLog, Tally, prometheus_live
from roastcoffea.collector.news import NewsThread
from roastcoffea.coffea.pieces import Counted, Pieces
from roastcoffea.collector.progress import LiveLine, fitted


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


class Call:
    """A call of a Runner on a cluster, or of an executor of this machine, which says how many pieces are done."""

    def __init__(self, pieces, done=None, tracked=True):
        self.counted = Counted(pieces, done, tracked)

    def state(self):
        return self.counted


def pieces_of(*calls):
    pieces = Pieces()
    for call in calls:
        pieces.add(call)
    return pieces


def line_on(terminal, *calls, **options):
    return LiveLine(pieces_of(*calls), screens.Terminal(terminal), **options)


def test_records_that_come_with_the_output_alone():
    """No record does not mean that nothing is done."""
    pieces = pieces_of(Call(10), Call(5))
    assert pieces.count(3) == (15, 3)
    pieces.records_arrive = False
    assert pieces.count(0) == (15, None)
    assert pieces_of(Call(10, 4)).count(0) == (10, 4)


def test_what_it_says():
    now = [10.0]
    terminal = Terminal()
    line = line_on(terminal, Call(192), clock=lambda: now[0])
    now[0] = 1000.0
    line.start()
    now[0] = 1010.0
    events = sum(chunk(i)["num_events"] for i in range(96))
    line.take([packed(0, 40), packed(40, 97)], series(3, 5))
    parts = terminal.screen.split(" · ")
    assert parts[0] == "96 of 192 chunks" and parts[1] == "1 failed" and parts[2].endswith(" left")
    assert parts[3] == f"{events / 10 / 1000:.0f} kHz" and parts[4] == f"{events * 800 / 10 / 1e6:.0f} Mbps"
    assert parts[5] == "3 workers" and parts[6] == "3.42 GB of 12.0 GB" and len(parts) == 7
    line.take([packed(97, 98)], None)
    assert terminal.screen.startswith("97 of 192 chunks")


def test_memory_that_workers_share_has_no_limit_each():
    terminal = Terminal()
    line_on(terminal, own_limits=False).take([], series(3, 5))
    assert terminal.screen.endswith(" · 3 workers · 3.42 GB")


@pytest.mark.parametrize(("calls", "records", "words"), [
    ([], 0, "no chunk yet"),
    ([], 1, "1 chunk"),
    ([], 3, "3 chunks"),
    ([Call(12)], 0, "0 of 12 chunks"),
    ([Call(2)], 3, "2 of 2 chunks"),
    ([Call(12, tracked=False)], 0, "12 chunks"),
    ([Call(12, done=5, tracked=False)], 0, "5 of 12 chunks"),
    ([Call(12, done=5), Call(1, done=0)], 3, "5 of 13 chunks"),
    ([Call(12, done=5), Call(10)], 7, "7 of 22 chunks"),
    ([Call(12, done=5, tracked=False), Call(10)], 7, "22 chunks"),
])
def test_how_many_chunks_are_done(calls, records, words):
    """What is not known is not said."""
    terminal = Terminal()
    line_on(terminal, *calls).take([packed(0, records)] if records else [], None)
    assert terminal.screen.split(" · ")[0] == words


def test_a_call_that_has_ended_is_not_kept():
    call = Call(12, done=5)
    pieces = pieces_of(call, Call(3, done=1))
    pieces.call_ends(call)
    pieces.call_ends(Call(7))  # one that never came to its pieces
    here = weakref.ref(call)
    del call
    gc.collect()
    assert here() is None and pieces.count(0) == (15, 6)


def test_it_is_written_in_place_and_says_at_last_how_it_ended():
    terminal = Terminal()
    line = line_on(terminal)
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
    line.end("Done: 5 of 5 chunks")
    assert terminal.getvalue().endswith("\rDone: 5 of 5 chunks\n")


def test_a_shorter_line_leaves_nothing_of_a_longer_one():
    terminal = Terminal()
    screen = screens.Terminal(terminal)
    screen.show("a long line")
    screen.show("short")
    assert terminal.screen == "short"
    screen.erase()
    assert terminal.screen == ""


@pytest.mark.parametrize(("columns", "shown"), [
    (None, "12 of 40 chunks · 3.2 s left · 2 workers"), (41, "12 of 40 chunks · 3.2 s left · 2 workers"),
    (39, "12 of 40 chunks · 3.2 s left"), (20, "12 of 40 chunks"), (15, "12 of 40 chunks"), (10, "12 of 40 …"), (1, "…"),
])
def test_it_fits_into_the_terminal(columns, shown):
    """The least important parts are left out."""
    assert fitted(["12 of 40 chunks", "3.2 s left", "2 workers"], columns) == shown


def test_the_width_of_a_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "12")
    assert screens.Terminal(Terminal()).columns == 11


@pytest.mark.parametrize("stream", [io.StringIO(), SimpleNamespace()])
def test_it_is_silent_where_there_is_no_terminal(stream, monkeypatch):
    monkeypatch.setattr("sys.stderr", stream)
    assert screens.find_screen() is None and screens.find_screen(stream) is None
    with MetricsCollector(live=True) as mc:
        assert "roastcoffea-news" not in {thread.name for thread in threading.enumerate()}
    assert mc.notes == []
    if isinstance(stream, io.StringIO):
        assert stream.getvalue() == ""


def test_it_is_silent_in_a_terminal_that_cannot_go_back(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    assert screens.find_screen(Terminal()) is None


def test_the_end_of_a_run(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with MetricsCollector(live=True):
        pass
    assert terminal.getvalue().startswith("Done · ") and terminal.getvalue().endswith("s\n")
    with pytest.raises(ValueError), MetricsCollector(live=True):
        raise ValueError("by design")
    assert terminal.getvalue().splitlines()[-1].startswith("Failed: ValueError: by design · ")


def test_a_line_that_cannot_begin_costs_nothing_else(monkeypatch):
    class Broken(screens.Terminal):
        def begin(self):
            raise OSError("no display")

    terminal = Terminal()
    monkeypatch.setattr("roastcoffea.collector.progress.find_screen", lambda: Broken(terminal))
    with MetricsCollector(live=True) as mc:
        pass
    assert ["no display" in note for note in mc.notes] == [True] and terminal.getvalue().startswith("Done · ")


def test_a_failure_hides_the_line_until_there_are_news_again():
    class Broken:
        def news(self):
            raise OSError("the scheduler does not answer")

    terminal = Terminal()
    line, other = line_on(terminal), Taker()
    NewsThread(Source(([packed(0, 5)], None)), [line, other]).look()
    NewsThread(Broken(), [line, other]).look()
    assert terminal.getvalue().endswith("\r")
    NewsThread(Source(([packed(5, 5)], None)), [line, other]).look()
    assert terminal.getvalue().count("5 chunks") == 2
    assert [str(error) for error in other.errors] == ["the scheduler does not answer"] and len(other.taken) == 2


def test_a_taker_that_cannot_even_be_told_costs_the_others_nothing():
    class Broken(Taker):
        def failed(self, error):
            raise OSError("the terminal is gone")

    last = Taker()
    NewsThread(Source(([b"1"], None)), [Broken(fails=True), last]).look()
    assert [records for records, _ in last.taken] == [[b"1"]]


def test_a_closed_terminal_is_no_failure():
    terminal = Terminal()
    line = line_on(terminal)
    line.take([], None)
    terminal.close()
    line.end("Done")


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


# ---- for Prometheus ----


def test_a_tally_counts_by_dataset():
    tally = Tally()
    tally.add(ChunkLog([{"dataset": "a", "num_events": 5, "duration": 0.5}, {"dataset": "a", "error": "ValueError: no"},
                        {"bytes_read": 7}]))
    assert tally.rows() == [
        {"dataset": "a", "done": 1, "failed": 1, "events": 5, "bytes": None, "seconds": 0.5},
        {"dataset": "", "done": 1, "failed": 0, "events": None, "bytes": 7, "seconds": None},
    ]
    with pytest.raises(TypeError):
        tally.add(5)


def test_runs_that_go_on_as_text():
    assert prometheus_live([]) == ""
    text = prometheus_live([{"run": "a\udc80\n", "tally": None, "workers": 2, "memory": None}, {"run": "b", "workers": 3.0}])
    assert text.splitlines()[1:] == [
        "# HELP roast_cluster_workers Workers now (cluster_workers): Workers there are now.",
        'roast_cluster_workers{run="a\\\\udc80\\n"} 2', 'roast_cluster_workers{run="b"} 3',
    ]
    assert "nan" not in prometheus_live([{"run": "a", "workers": float("nan"), "memory": float("inf")}])
    each = [{"worker": 'tcp://"1"', "threads": 2, "tasks": 0, "memory": None}, {"worker": "w2", "memory_limit": 4e9}]
    text = prometheus_live([{"run": "a", "each": each}, {"run": "b", "each": []}])
    assert [line for line in text.splitlines() if line[0] != "#"] == [
        'roast_cluster_worker_threads{run="a",worker="tcp://\\"1\\""} 2', 'roast_cluster_worker_tasks{run="a",worker="tcp://\\"1\\""} 0',
        'roast_cluster_worker_memory_limit_bytes{run="a",worker="w2"} 4000000000']
    for wrong in (5, [5], [{}], [{"run": 5}], [{"run": "a", "tally": 5}], [{"run": "a", "workers": "many"}],
                  [{"run": "a", "each": 5}], [{"run": "a", "each": [{}]}], [{"run": "a", "each": [{"worker": "w", "tasks": ""}]}]):
        with pytest.raises(TypeError):
            prometheus_live(wrong)


def test_nothing_leaks():
    run = usual(5).run

    def use():
        tally = Tally()
        tally.add(ChunkLog([{"dataset": "a", "num_events": 5}, {"dataset": "b", "error": "ValueError: no"}]))
        tally.rows()
        prometheus_live([{"run": "a", "tally": tally, "workers": 1, "each": [{"worker": "w"}]}])
        run.prometheus("a")
        for wrong in ([{"run": "a", "tally": tally, "workers": "many"}], [{"tally": tally}],
                      [{"run": "a", "each": [{"worker": "w"}, 5]}]):
            with pytest.raises(TypeError):
                prometheus_live(wrong)
        with pytest.raises(TypeError):
            run.prometheus(5)

    assert_nothing_is_kept(use, 100)
