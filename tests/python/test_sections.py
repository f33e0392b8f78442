"""track_time, track_section, track_memory, track_bytes: nesting, exceptions, generators, places."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import pytest
from samples import Events, block_of

from roastcoffea import BaseInstrumentationContext, track_bytes, track_memory, track_metrics, track_section, track_time
from roastcoffea._core import faults


class Host:
    """Runs a body inside a decorated process()."""

    _roastcoffea_collect_metrics = True

    def __init__(self, body):
        self.body = body

    @track_metrics
    def process(self, events):
        self.body(self, events)
        return {}


def chunk_of(body, events=None):
    return Host(body).process(Events() if events is None else events)["__roastcoffea_metrics__"][0]


def names(chunk):
    return [(s["section_name"], s["depth"]) for s in chunk["sections"]]


def measured(function, events):
    function = track_metrics(function)
    function._roastcoffea_collect_metrics = True
    return function(events)["__roastcoffea_metrics__"][0]


@pytest.mark.parametrize("given", ["None", "events"])
def test_a_function_as_processor(given):
    class Own(BaseInstrumentationContext):
        def __exit__(self, *exception):
            self.record_metric("mine", 3)

    def process(events):
        events.attrs = {}
        me = None if given == "None" else events
        with track_time(me, "outer"), track_section(me, "inner"), Own(me):
            pass
        with track_memory(me, "memory"):
            pass
        with track_bytes(me, events, "bytes"):
            events.attrs["@events_factory"] = None
        return {}

    before = faults()["count"]
    chunk = measured(process, Events())
    assert names(chunk) == [("outer", 0), ("inner", 1)]
    assert sorted(chunk["memory"]) == ["memory"]
    assert chunk["custom_metrics"] == {"mine": 3}
    assert faults()["count"] == before


def test_a_function_that_calls_another_one():
    """All of it is one chunk."""
    inner = track_metrics(lambda events, outer: use(events, outer))
    inner._roastcoffea_collect_metrics = True

    def use(events, outer):
        with track_time(None, "inner"), track_time(outer, "outer"), track_time(events, "inner too"):
            return {}

    def outer(events):
        assert inner(Events(), events) == {}
        with track_time(None, "outer too"):
            pass
        return {}

    assert sorted(measured(outer, Events())["timing"]) == ["inner", "inner too", "outer", "outer too"]


def test_without_an_open_chunk():
    before = faults()["count"]
    with track_time(None, "a"), track_memory(None, "b"), track_bytes(None, None, "c"):
        pass
    BaseInstrumentationContext(None).record_metric("mine", 1)
    assert faults()["count"] == before


def test_in_a_thread_that_process_has_started():
    """They are not kept, as it may outlive the chunk; but the chunk counts them."""
    before = faults()["count"]
    elsewhere = Events()

    def body(self, events):
        def use():
            with track_time(None, "a"), track_memory(events, "b"), track_bytes(self, events, "c"):
                self._roastcoffea_current_chunk["d"] = 1
                BaseInstrumentationContext(self).record_metric("e", 1)
            with track_time(elsewhere, "of nobody"):
                pass

        thread = threading.Thread(target=use)
        thread.start()
        thread.join()

    chunk = chunk_of(body)
    assert (chunk["timing"], chunk["memory"], chunk["bytes"], chunk["custom_metrics"]) == ({}, {}, {}, {})
    assert chunk["dropped_sections"] == 5
    assert chunk_of(lambda self, events: None)["dropped_sections"] is None
    assert faults()["count"] == before


def test_nested_and_repeated():
    def body(self, events):
        for _ in range(3):
            with track_time(self, "outer"):
                with track_section(self, "inner"):
                    time.sleep(0.002)
                with track_time(self, "inner"):
                    pass

    chunk = chunk_of(body)
    assert names(chunk) == [("outer", 0), ("inner", 1), ("inner", 1)] * 3
    assert all(s["count"] == 1 for s in chunk["sections"])
    sums = {}
    for section in chunk["sections"]:
        sums[section["section_name"]] = sums.get(section["section_name"], 0) + section["time_delta"]
    assert chunk["timing"] == pytest.approx(sums)
    assert chunk["timing"]["outer"] >= chunk["timing"]["inner"] >= 0.006
    starts = [s["start"] for s in chunk["sections"]]
    assert starts == sorted(starts)
    assert 0 <= starts[0]
    assert starts[-1] < chunk["duration"]


def test_a_body_that_raises():
    def body(self, events):
        with pytest.raises(ZeroDivisionError):
            with track_time(self, "outer"):
                with track_memory(self, "memory"):
                    1 / 0
        with track_time(self, "after"):
            pass

    chunk = chunk_of(body)
    assert names(chunk) == [("outer", 0), ("after", 0)]
    assert list(chunk["memory"]) == ["memory"]


def test_an_object_that_is_used_again():
    def body(self, events):
        tracker = track_time(self, "x")
        for _ in range(3):
            with tracker:
                pass
        with tracker as same:
            assert same is tracker
            with tracker, tracker:
                pass

    chunk = chunk_of(body)
    assert names(chunk) == [("x", 0)] * 4 + [("x", 1), ("x", 2)]


def test_exit_without_enter():
    tracker = track_time(object(), "x")
    assert tracker.__exit__(None, None, None) is False


def test_sections_left_in_another_order():
    def body(self, events):
        a, b = track_time(self, "a"), track_time(self, "b")
        a.__enter__()
        b.__enter__()
        a.__exit__(None, None, None)
        with track_time(self, "inside b"):
            pass
        b.__exit__(None, None, None)
        with track_time(self, "c"):
            pass

    assert names(chunk_of(body)) == [("a", 0), ("b", 1), ("inside b", 2), ("c", 0)]


def test_generators():
    def steps(self):
        with track_time(self, "generator"):
            yield 1
            yield 2

    def body(self, events):
        for _ in steps(self):
            pass
        unfinished = steps(self)
        next(unfinished)
        self.keep = unfinished

    host = Host(body)
    chunk = host.process(Events())["__roastcoffea_metrics__"][0]
    assert [s["section_name"] for s in chunk["sections"]] == ["generator", "generator"]
    # the chunk is gone: what ends now is not written anywhere
    host.keep.close()
    again = host.process(Events())["__roastcoffea_metrics__"][0]
    assert len(again["sections"]) == 2


def test_a_section_that_ends_in_another_chunk_or_thread():
    trackers = []

    def begin(self, events):
        trackers.append(track_time(self, "late"))
        trackers[-1].__enter__()

    host = Host(begin)
    first = host.process(Events())["__roastcoffea_metrics__"][0]
    assert first["timing"]["late"] <= first["duration"]

    def end(self, events):
        trackers[0].__exit__(None, None, None)

    host.body = end
    assert host.process(Events())["__roastcoffea_metrics__"][0]["timing"] == {}

    def in_thread(self, events):
        tracker = track_time(self, "threaded")
        tracker.__enter__()
        thread = threading.Thread(target=tracker.__exit__, args=(None, None, None))
        thread.start()
        thread.join()

    assert "threaded" in chunk_of(in_thread)["timing"]


def test_many_uses_are_folded_but_none_is_lost():
    def body(self, events):
        for i in range(10_000):
            with track_time(self, "loop"):
                with track_memory(self, "rss"):
                    pass
        for i in range(300):
            with track_time(self, f"name {i}"):
                pass

    chunk = chunk_of(body)
    loop = [s for s in chunk["sections"] if s["section_name"] == "loop"]
    assert sum(s["count"] for s in loop) == 10_000
    assert len(loop) < 500
    assert sum(s["time_delta"] for s in loop) == pytest.approx(chunk["timing"]["loop"])
    assert len(chunk["timing"]) == 301
    assert chunk["dropped_sections"] is None


def test_more_names_than_can_be_kept():
    def body(self, events):
        for i in range(66_000):
            open_one = track_time(self, str(i))
            open_one.__enter__()
            open_one.__exit__(None, None, None)

    chunk = chunk_of(body)
    assert chunk["dropped_sections"] == 66_000 - 65_535


def test_memory_sections():
    kept = []

    def body(self, events):
        with track_memory(self, "grow"):
            kept.append(block_of(50_000_000))
        with track_memory(self, "shrink"):
            kept.pop().close()

    chunk = chunk_of(body)
    assert chunk["memory"]["grow"] == pytest.approx(50, rel=0.05)
    assert chunk["memory"]["shrink"] == pytest.approx(-50, rel=0.05)
    grow = chunk["memory_sections"][0]
    assert grow["section_name"] == "grow"
    assert grow["memory_delta_gb"] == pytest.approx(0.05, rel=0.05)
    assert grow["memory_end_gb"] - grow["memory_start_gb"] == pytest.approx(grow["memory_delta_gb"])
    assert grow["memory_start_gb"] > 0.005


def test_bytes_sections():
    events = Events()
    source = SimpleNamespace(num_requested_bytes=100)
    events.attrs = {"@events_factory": SimpleNamespace(file_handle=SimpleNamespace(source=source))}

    def body(self, events):
        with track_bytes(self, events, "jets"):
            source.num_requested_bytes += 7
        with track_bytes(self, events, name="jets"):
            source.num_requested_bytes += 5
        with track_bytes(self, [], "nothing to see"):
            pass

    chunk = chunk_of(body, events)
    assert chunk["bytes"] == {"jets": 12}


def test_a_plain_dict_in_its_place():
    processor = SimpleNamespace(
        _roastcoffea_current_chunk={"timing": {}, "memory": {}, "bytes": {}}
    )
    for _ in range(2):
        with track_time(processor, "t"), track_memory(processor, "m"):
            time.sleep(0.001)
    current = processor._roastcoffea_current_chunk
    assert current["timing"]["t"] >= 0.002
    assert list(current["memory"]) == ["m"]
    processor._roastcoffea_current_chunk = {}
    with track_time(processor, "t"):
        pass
    assert list(processor._roastcoffea_current_chunk["timing"]) == ["t"]


def test_a_plain_dict_inside_process_wins():
    mine = {"timing": {}}

    def body(self, events):
        ours = self._roastcoffea_current_chunk
        self._roastcoffea_current_chunk = mine
        with track_time(self, "mine"):
            pass
        self._roastcoffea_current_chunk = ours

    assert chunk_of(body)["timing"] == {}
    assert list(mine["timing"]) == ["mine"]


@pytest.mark.parametrize("value", [None, 3, "text", [1, 2]])
def test_something_else_in_its_place(value):
    processor = SimpleNamespace(_roastcoffea_current_chunk=value)
    before = faults()["count"]
    with track_time(processor, "t"):
        pass
    assert faults()["count"] == before
    assert processor._roastcoffea_current_chunk == value


def test_a_mapping_that_refuses_is_counted():
    class Refuses(dict):
        def __setitem__(self, key, value):
            raise RuntimeError("no")

    before = faults()["count"]
    processor = SimpleNamespace(_roastcoffea_current_chunk=Refuses())
    with track_time(processor, "t"):
        pass
    assert faults()["count"] == before + 1


def test_without_a_chunk_nothing_happens():
    processor = SimpleNamespace()
    with track_time(processor, "t"), track_memory(processor, "m"), track_bytes(processor, [], "b"):
        pass
    assert vars(processor) == {}

    class Raises:
        @property
        def _roastcoffea_current_chunk(self):
            raise RuntimeError("no")

    with track_time(Raises(), "t"):
        pass


def test_arguments():
    processor = object()
    track_time(processor_self=processor, section_name="x")
    track_memory(processor, name="x")
    track_bytes(processor_self=processor, events=[], section_name="x")
    track_time(processor, 3)
    for wrong in (
        lambda: track_time(),
        lambda: track_time(processor),
        lambda: track_time(processor, "x", "y"),
        lambda: track_time(processor, "x", name="y"),
        lambda: track_time(processor, nome="x"),
        lambda: track_time(processor, events=[], name="x"),
        lambda: track_bytes(processor, "x"),
    ):
        with pytest.raises(TypeError, match=r"track_(time|bytes)"):
            wrong()


def test_names_that_are_no_plain_text():
    def body(self, events):
        for name in ("ü ж ℓ", "", "x" * 5000, 17, "\udcff"):
            with track_time(self, name):
                pass

    assert [n for n, _ in names(chunk_of(body))] == ["ü ж ℓ", "", "x" * 5000, "17", "?"]
