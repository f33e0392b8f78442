"""Ctrl-C that lands in Python code which the engine calls reaches the user, and nothing of ours stays behind."""

from __future__ import annotations

import collections.abc
import signal
import sys
import threading
from types import SimpleNamespace

import pytest
from interrupting import interrupts_are_heard  # noqa: F401
from samples import Events

from roastcoffea import BaseInstrumentationContext, _core, track_bytes, track_metrics, track_time
from roastcoffea.worker import channel
from roastcoffea._core import ChunkLog, WorkerSeries, faults, sample_workers
from roastcoffea.aggregation.reports import sum_reports
from roastcoffea.backends.dask.task_watch import TaskWatch

CURRENT = "_roastcoffea_current_chunk"
KEY = "__roastcoffea_metrics__"


def press_ctrl_c():
    """A real signal, of which Python hears at once."""
    signal.raise_signal(signal.SIGINT)


def leave():
    sys.exit("done")


def cancel():
    raise Cancelled


class Cancelled(BaseException):
    """As asyncio's and trio's: no Exception, so that nobody swallows it."""


THROWN = [(press_ctrl_c, KeyboardInterrupt), (leave, SystemExit), (cancel, Cancelled)]


@pytest.fixture(params=THROWN, ids=[error.__name__ for _, error in THROWN])
def thrown(request):
    """What is done in the middle of our work, and what the user must see of it."""
    return request.param


class Armed:
    """Counts its calls and acts in the one that it was told."""

    def __init__(self):
        self.arm(None, 0)

    def arm(self, act, at):
        self.act, self.at, self.calls, self.where = act, at, 0, None

    def __call__(self, where):
        self.calls += 1
        if self.act is not None and self.calls == self.at:
            act, self.act, self.where = self.act, None, where
            act()


armed = Armed()


def watched(name, value):
    """A property that is called by the engine."""

    def get(self):
        armed(name)
        return value(self) if callable(value) else value

    return property(get)


class Metadata(collections.abc.Mapping):
    data = Events().metadata

    def __getitem__(self, key):
        armed("metadata[...]")
        return self.data[key]

    def __iter__(self):
        return iter(self.data)

    def __len__(self):
        return len(self.data)


class Number:
    def __index__(self):
        armed("__index__")
        return 3

    def __float__(self):
        armed("__float__")
        return 3.0


class Source:
    num_requested_bytes = watched("num_requested_bytes", lambda self: Number())
    num_requests = watched("num_requests", 1)


class Handle:
    source = watched("source", lambda self: Source())


class Access:
    branch = watched("branch", "Jet_pt")


class Mapping:
    _access_log = watched("mapping's log", lambda self: [])

    def extract_column(self, handle):
        return SimpleNamespace(nbytes=4)


class Factory:
    def __init__(self):
        self._mapping = self.mapping = Mapping()

    file_handle = watched("file_handle", lambda self: Handle())
    access_log = watched("access_log", lambda self: [Access()])


class WatchedEvents(list):
    def __init__(self):
        super().__init__(range(3))
        self.factory = Factory()

    metadata = watched("metadata", lambda self: Metadata())
    attrs = watched("attrs", lambda self: {"@events_factory": self.factory})

    def __len__(self):
        armed("__len__")
        return 3


class Value:
    """A value of the user's own, which the engine asks for its number and packs."""

    def __float__(self):
        armed("__float__")
        return 1.0

    def __reduce__(self):
        armed("__reduce__")
        return (float, (1.0,))

    def __repr__(self):
        armed("__repr__")
        return "Value()"


class Data(dict):
    def __contains__(self, key):
        armed("in output")
        return super().__contains__(key)

    def __setitem__(self, key, value):
        armed("output[...] =")
        super().__setitem__(key, value)


def make_output():
    """Of the mappings that take a record along the one that may run code of the user's."""
    output = collections.UserDict()
    output.data = Data(n=3)
    return output


class Failure(Exception):
    def __str__(self):
        armed("__str__")
        return "of the user's"


class Processor:
    topic = "memory:interrupts"

    def __init__(self, fails=False):
        self.__dict__.update(fails=fails, ran=0)

    _roastcoffea_collect_metrics = watched("flag", True)
    _roastcoffea_topic = watched("topic", topic)

    def __setattr__(self, name, value):
        self.__dict__[name] = value
        armed(f"{name} =")

    def __delattr__(self, name):
        del self.__dict__[name]
        armed(f"del {name}")

    @track_metrics
    def process(self, events):
        self.__dict__["ran"] += 1
        chunk = self.__dict__.get(CURRENT, {"timing": {}})
        chunk["mine"] = Value()
        chunk["timing"]["mine"] = Value()
        if self.fails:
            raise Failure
        return make_output()


def number_of_calls(fails):
    """How often the engine calls out for one chunk."""
    armed.arm(None, 0)
    try:
        output = Processor(fails).process(WatchedEvents())
    except Failure:
        assert fails
    else:
        assert output.data["n"] == 3
        assert len(output.data[KEY]) == 1
    calls = armed.calls
    channel.take_memory(Processor.topic)
    return calls


@pytest.mark.parametrize("fails", [False, True])
def test_around_process(fails, thrown, monkeypatch):
    act, error = thrown
    deliver = channel.deliver

    def delivering(topic, data):
        armed("deliver")
        deliver(topic, data)

    monkeypatch.setattr(channel, "deliver", delivering)
    calls = number_of_calls(fails)
    assert calls > 20
    before = faults()["count"]
    for at in range(1, calls + 1):
        processor, events = Processor(fails), WatchedEvents()
        armed.arm(act, at)
        with pytest.raises(error) as raised:
            processor.process(events)
        armed.arm(None, 0)
        if fails and processor.ran:
            assert isinstance(raised.value.__context__, Failure)
        assert CURRENT not in vars(processor)
        assert "extract_column" not in vars(events.factory._mapping)
        # nothing is left that the next chunk of this thread would find
        assert "mine" in ChunkLog(Processor().process(Events()).data[KEY])[0]
        assert processor.ran <= 1
    channel.take_memory(Processor.topic)
    assert faults()["count"] == before


def test_an_interrupt_before_process_keeps_it_from_running():
    processor = Processor()
    armed.arm(press_ctrl_c, 1)
    with pytest.raises(KeyboardInterrupt):
        processor.process(WatchedEvents())
    assert processor.ran == 0


def test_the_memory_watch_is_stopped():
    def busy():
        before = _core.sampler_stats()["samples"]
        threading.Event().wait(0.2)
        return _core.sampler_stats()["samples"] > before

    calls = number_of_calls(False)
    for at in (calls // 3, calls // 2, calls):
        armed.arm(press_ctrl_c, at)
        with pytest.raises(KeyboardInterrupt):
            Processor().process(WatchedEvents())
    channel.take_memory(Processor.topic)
    assert not busy()


# ---- inside process() ----


def test_in_a_section(thrown):
    act, error = thrown

    class Odd:
        @property
        def _roastcoffea_current_chunk(self):
            armed("current chunk")
            return Part()

    class Part(dict):
        def __setitem__(self, key, value):
            armed("part")
            super().__setitem__(key, value)

    for section in (lambda: track_time(Odd(), "a"), lambda: track_bytes(Odd(), WatchedEvents(), "a")):
        armed.arm(None, 0)
        with section():
            pass
        calls = armed.calls
        assert calls >= 2
        for at in range(1, calls + 1):
            armed.arm(act, at)
            with pytest.raises(error), section():
                pass
            with section():
                pass


def test_in_a_context_of_the_users_own(thrown):
    act, error = thrown

    class Odd:
        @property
        def _roastcoffea_current_chunk(self):
            act()

    with pytest.raises(error):
        BaseInstrumentationContext(Odd(), "a").record_metric("b", 1)


def test_in_a_read(thrown):
    act, error = thrown

    class Column:
        column = watched("column", "Jet_pt")

    class Reads(Processor):
        @track_metrics
        def process(self, events):
            mapping = events.factory._mapping
            mapping.extract_column(Column())
            armed.arm(act, 1)
            mapping.extract_column(Column())
            raise AssertionError("it went on")

    processor, events = Reads(), WatchedEvents()
    with pytest.raises(error):
        processor.process(events)
    channel.take_memory(Processor.topic)
    assert "extract_column" not in vars(events.factory._mapping)


# ---- on the scheduler ----


def test_in_a_tick(thrown):
    act, error = thrown

    class Worker:
        def __init__(self, n):
            self.address = f"tcp://w{n}:1"

        @property
        def nthreads(self):
            armed("nthreads")
            return 2

    series = WorkerSeries()
    armed.arm(act, 2)
    with pytest.raises(error):
        sample_workers(series, [Worker(n) for n in range(3)], 1.0)
    sample_workers(series, [Worker(n) for n in range(3)], 2.0)
    assert len(series.as_tracking_data()["worker_cores"]["tcp://w2:1"]) == 2


def test_in_a_watch(thrown):
    act, error = thrown

    class Tasks(dict):
        def get(self, key):
            act()

    class Key:
        def __str__(self):
            act()

    class Phase(dict):
        def __getitem__(self, key):
            act()

    watch = TaskWatch(Tasks())
    for call in (
        lambda: watch.transition("a", "waiting", "processing"),
        lambda: watch.transition("a", "processing", "memory", startstops=[Phase(action="compute")]),
        lambda: watch.transition(Key(), "waiting", "processing"),
        lambda: watch.moved(Key(), "w"),
        lambda: watch.raised(key=Key()),
        lambda: watch.expect([Key()]),
        lambda: watch.left("w", True, 0, [Key()], "s"),
    ):
        with pytest.raises(error):
            call()
    watch.finish()


# ---- where we are asked ----


class Throws:
    """Whatever is asked of it."""

    act = None

    def throw(self, *args):
        self.act()

    __float__ = __index__ = __str__ = __lt__ = __gt__ = __len__ = __iter__ = throw
    keys = items = __getitem__ = throw
    __hash__ = object.__hash__


@pytest.mark.parametrize("call", [
    lambda odd: ChunkLog([{"duration": odd}]),
    lambda odd: ChunkLog([odd]),
    lambda odd: ChunkLog([{"file_metadata": {"filename": "f", "branch_bytes": {"a": odd}}}]),
    lambda odd: ChunkLog([{"file_metadata": {"filename": "f", "branch_bytes": odd}}]),
    lambda odd: sum_reports([{"columns": [odd, 1]}, {"columns": [odd, 2]}]),
    lambda odd: _core.fine_metrics({"a": odd}),
    lambda odd: _core.workflow_metrics({"entries": odd}, 0, 1),
    lambda odd: _core.worker_metrics({"worker_memory": {"w": [(odd, 1)]}}),
    lambda odd: _core.worker_metrics(odd),
    lambda odd: _core.Summary({"per_dataset": {odd: {}}}),
    lambda odd: WorkerSeries().tick_values(1.0, {"w": {"cpu": odd}}),
    lambda odd: _core.Run(notes=odd),
])
def test_in_what_is_given(call, thrown):
    act, error = thrown
    odd = Throws()
    odd.act = act
    with pytest.raises(error):
        call(odd)


def test_a_dict_that_is_asked_for_a_key(thrown):
    act, error = thrown

    class Key(str):
        def __eq__(self, other):
            act()

        def __hash__(self):
            return hash("timestamp")

    chunk = ChunkLog([{"duration": 1.0}])[0]
    chunk[Key("x")] = 1
    with pytest.raises(error):
        del chunk["timestamp"]


# ---- the output is the user's ----


VALUES = ("__float__", "__reduce__", "__repr__")


class Breaks(Exception):
    """Anything that goes wrong on our side."""


def break_it():
    raise Breaks


def test_whatever_fails_around_process_its_output_is_returned(monkeypatch):
    def delivering(topic, data):
        armed("deliver")

    monkeypatch.setattr(channel, "deliver", delivering)
    for fails in (False, True):
        for at in range(1, number_of_calls(fails) + 1):
            processor, events = Processor(fails), WatchedEvents()
            before = faults()["count"]
            armed.arm(break_it, at)
            if fails:
                with pytest.raises(Failure):
                    processor.process(events)
            else:
                assert processor.process(events).data["n"] == 3
            # of a value of the user's own the record itself tells
            assert faults()["count"] > before or armed.where in VALUES, armed.where
            assert CURRENT not in vars(processor)
            assert "extract_column" not in vars(events.factory._mapping)
    channel.take_memory(Processor.topic)
