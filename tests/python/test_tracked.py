"""track_metrics: what a decorated processor returns, keeps, raises and sends."""

from __future__ import annotations

import asyncio
import collections
import copy
import inspect
import pickle
import subprocess
import sys
import threading
import time
import types
import weakref
from pathlib import Path
from types import SimpleNamespace

import pytest
import samples
from samples import Events, Plain, Processor, block_of, forks

import roastcoffea
from roastcoffea import BaseInstrumentationContext, track_metrics, track_time
from roastcoffea._core import ChunkLog, _fail_allocations, faults
from roastcoffea.worker.channel import take_memory

KEY = "__roastcoffea_metrics__"


def only_chunk(output):
    chunks = output[KEY]
    assert isinstance(chunks, list)
    assert len(chunks) == 1
    return chunks[0]


# ---- off ----


@pytest.mark.parametrize("flag", [False, None, 0, ""])
def test_off_does_nothing(flag):
    processor = Plain()
    processor._roastcoffea_collect_metrics = flag
    assert processor.process(Events()) == {}
    assert set(vars(processor)) == {"body", "_roastcoffea_collect_metrics"}


def test_without_the_flag_does_nothing():
    processor = Plain()
    del processor._roastcoffea_collect_metrics
    assert processor.process(Events()) == {}


def test_the_flag_may_sit_on_the_class():
    class Derived(Plain):
        def __init__(self):
            self.body = lambda self, events: {}

    assert Derived().process(Events()) == {}
    Derived._roastcoffea_collect_metrics = True
    assert KEY in Derived().process(Events())


def test_a_flag_whose_truth_raises_is_off():
    class Odd:
        def __bool__(self):
            raise RuntimeError("no truth")

    processor = Plain()
    processor._roastcoffea_collect_metrics = Odd()
    assert processor.process(Events()) == {}


# ---- what is measured ----


def test_the_record_of_a_chunk():
    before = time.time()
    processor = Processor()
    output = processor.process(Events(5))
    after = time.time()
    chunk = only_chunk(output)
    assert output["n"] == 5
    assert output["total"] == 10
    assert before - 1e-3 <= chunk["t_start"] <= chunk["t_end"] <= after + 1e-3
    assert chunk["duration"] == chunk["processing_time"] > 0
    assert chunk["t_end"] - chunk["t_start"] == pytest.approx(chunk["duration"], abs=1e-6)
    assert chunk["num_events"] == chunk["event_count"] == 5
    assert chunk["dataset"] == "ttbar"
    assert chunk["file"] == chunk["filename"] == "root://host//store/ttbar_1.root"
    assert chunk["treename"] == "Events"
    assert chunk["uuid"] == "0b1e2a1c-3c5d-11ee-8c99-0242ac120002"
    assert (chunk["entry_start"], chunk["entry_stop"]) == (100, 105)
    assert chunk["mem_before_mb"] > 1
    assert chunk["mem_delta_mb"] == pytest.approx(chunk["mem_after_mb"] - chunk["mem_before_mb"])
    assert chunk["mem_peak_mb"] >= max(chunk["mem_before_mb"], chunk["mem_after_mb"])
    assert chunk["memory_start_gb"] == pytest.approx(chunk["mem_before_mb"] / 1e3)
    assert chunk["memory_end_gb"] == pytest.approx(chunk["mem_after_mb"] / 1e3)
    assert chunk["memory_delta_gb"] == pytest.approx(chunk["mem_delta_mb"] / 1e3)
    assert chunk["thread"] == threading.get_native_id()
    assert chunk["minor_faults"] >= 0
    # not to be had from these events, so absent: not 0
    for key in ("bytes_read", "accessed_branches", "num_branches_accessed", "accessed_bytes",
                "branches_read_percent", "worker", "task_key", "before_process_s", "reads"):
        assert chunk[key] is None, key
    assert "error" not in chunk
    assert "file_metadata" not in chunk


def test_a_load_that_is_known():
    def burn(self, events):
        with track_time(self, "cpu"):
            end = time.thread_time() + 0.1
            while time.thread_time() < end:
                pass
        with track_time(self, "sleep"):
            time.sleep(0.2)
        return {}

    chunk = only_chunk(Plain(burn).process(Events()))
    assert chunk["cpu_user_s"] + chunk["cpu_system_s"] == pytest.approx(0.1, rel=0.1)
    assert chunk["timing"]["sleep"] == pytest.approx(0.2, abs=0.05)
    assert chunk["duration"] >= chunk["timing"]["cpu"] + chunk["timing"]["sleep"]
    assert chunk["voluntary_switches"] >= 1


def test_cpu_is_never_more_than_the_time_that_passed():
    processor = Plain(lambda self, events: {"x": sum(range(2000))})
    for _ in range(200):
        chunk = only_chunk(processor.process(Events()))
        assert chunk["cpu_user_s"] + chunk["cpu_system_s"] <= chunk["duration"] + 1e-6


def test_the_peak_of_memory_that_is_freed_again():
    def allocate(self, events):
        block = block_of(60_000_000)
        time.sleep(0.25)
        block.close()
        return {}

    chunk = only_chunk(Plain(allocate).process(Events()))
    assert chunk["mem_peak_mb"] - chunk["mem_before_mb"] == pytest.approx(60, rel=0.05)
    assert abs(chunk["mem_delta_mb"]) < 10


def test_our_own_reading_is_not_counted_as_the_users():
    chunk = only_chunk(Plain().process(Events()))
    assert chunk["os_read_calls"] == 0
    assert chunk["os_read_bytes"] == 0


def test_reads_of_the_user_are_counted(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"x" * 100_000)

    def read(self, events):
        with open(path, "rb", buffering=0) as file:
            assert len(file.read(60_000)) == 60_000
            assert len(file.read(60_000)) == 40_000
        return {}

    chunk = only_chunk(Plain(read).process(Events()))
    assert chunk["os_read_bytes"] == 100_000
    assert chunk["os_read_calls"] == 2


# ---- events of every kind ----


@pytest.mark.parametrize("events", [None, 3, object(), SimpleNamespace(metadata=None)])
def test_events_that_tell_nothing(events):
    before = faults()["count"]
    chunk = only_chunk(Plain().process(events))
    assert chunk["num_events"] is None
    assert chunk["dataset"] is None
    assert faults()["count"] == before


def test_events_that_raise_when_looked_at():
    class Hostile:
        @property
        def metadata(self):
            raise RuntimeError("metadata")

        @property
        def attrs(self):
            raise KeyError("attrs")

        def __len__(self):
            raise ValueError("len")

    chunk = only_chunk(Plain().process(Hostile()))
    assert chunk["num_events"] is None


def test_metadata_of_wrong_types():
    chunk = only_chunk(
        Plain().process(Events(2, dataset=3, entrystart="x", entrystop=2**80, fileuuid=b"raw"))
    )
    assert chunk["dataset"] == "3"
    assert chunk["entry_start"] is None
    assert chunk["entry_stop"] is None
    assert chunk["uuid"] is None
    assert chunk["num_events"] == 2


class HasNoText:
    def __str__(self):
        raise RuntimeError("no text")


def test_names_that_are_no_text():
    for name, text in ((2016, "2016"), ((2016, "A"), "(2016, 'A')"), (Path("/a/b.root"), "/a/b.root"), (None, None)):
        chunk = only_chunk(Plain().process(Events(1, dataset=name, filename=name)))
        assert (chunk["dataset"], chunk["file"]) == (text, text)
    before = faults()["count"]
    assert only_chunk(Plain().process(Events(1, dataset=HasNoText())))["dataset"] is None
    assert faults()["count"] == before + 1


def test_long_and_unicode_names():
    name = "dätäset/ℓ/" + "ж" * 2000
    chunk = only_chunk(Plain().process(Events(1, dataset=name, filename=name * 2)))
    assert chunk["dataset"] == name
    assert chunk["file"] == name * 2
    lone = only_chunk(Plain().process(Events(1, dataset="\udcff")))
    assert lone["dataset"] == "\\udcff"


def test_what_the_factory_knows():
    events = Events(4)
    source = SimpleNamespace(num_requested_bytes=1000, num_requests=3)
    log = [SimpleNamespace(branch="nJet")]
    factory = SimpleNamespace(
        file_handle=SimpleNamespace(file=SimpleNamespace(source=source)), access_log=log
    )
    events.attrs = {"@events_factory": factory}

    def read(self, events):
        source.num_requested_bytes += 500
        source.num_requests += 2
        log.extend(SimpleNamespace(branch=b) for b in ("Jet_pt", "nJet", "Jet_eta"))
        return {}

    chunk = only_chunk(Plain(read).process(events))
    assert chunk["bytes_read"] == 1500
    assert chunk["metadata_bytes"] == 1000
    assert chunk["read_requests"] == 5
    assert chunk["accessed_branches"] == ["Jet_pt", "nJet", "Jet_eta"]
    assert chunk["num_branches_accessed"] == 3


# ---- outputs of every kind ----


@pytest.mark.parametrize("output", [3, [1], "text", (1, 2), None])
def test_an_output_that_is_no_mapping_is_left_alone(output):
    processor = Plain(lambda self, events: output)
    assert processor.process(Events()) is output
    assert len(processor._chunk_metrics) == 1


def test_mappings_that_are_merged_entry_by_entry():
    for make in (dict, collections.OrderedDict, lambda: collections.defaultdict(list),
                 lambda: collections.defaultdict(int), collections.UserDict):
        output = Plain(lambda self, events, make=make: make()).process(Events())
        assert only_chunk(output)["num_events"] == 3


class MergesItsOwnWay(dict):
    def __add__(self, other):
        return MergesItsOwnWay({key: self[key] + other[key] for key in self})

    def __setitem__(self, key, value):
        raise RuntimeError("frozen")


@pytest.mark.parametrize("kind", [collections.Counter, MergesItsOwnWay])
def test_other_mappings_are_left_alone(kind):
    output = kind(n=1)
    before = faults()["count"]
    processor = Plain(lambda self, events: output)
    assert processor.process(Events()) is output
    assert output == {"n": 1}
    assert len(processor._chunk_metrics) == 1 and faults()["count"] == before


def test_a_mapping_that_refuses():
    output = collections.UserDict()
    output.data = types.MappingProxyType({})
    before = faults()["count"]
    processor = Plain(lambda self, events: output)
    assert processor.process(Events()) is output
    assert KEY not in output
    assert faults()["count"] == before + 1
    assert "item assignment" in faults()["last"]
    # the count travels with the next chunk
    processor.body = lambda self, events: {}
    assert only_chunk(processor.process(Events()))["faults"] == 1


# ---- exceptions ----


def test_an_exception_passes_unchanged():
    error = ValueError("bad jet")

    def fail(self, events):
        raise error

    processor = Plain(fail)
    with pytest.raises(ValueError, match="bad jet") as caught:
        processor.process(Events())
    assert caught.value is error
    assert [entry.name for entry in caught.traceback][-1] == "fail"
    chunk = processor._chunk_metrics[0]
    assert chunk["error"] == "ValueError: bad jet"
    assert chunk["dataset"] == "ttbar"
    assert chunk["duration"] > 0


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, StopIteration, GeneratorExit])
def test_every_kind_of_exception(kind):
    def fail(self, events):
        raise kind()

    processor = Plain(fail)
    with pytest.raises(kind):
        processor.process(Events())
    assert processor._chunk_metrics[0]["error"] == kind.__name__


def test_an_exception_without_a_text():
    class Odd(Exception):
        def __str__(self):
            raise RuntimeError("no text")

    def fail(self, events):
        raise Odd()

    processor = Plain(fail)
    with pytest.raises(Odd):
        processor.process(Events())
    assert processor._chunk_metrics[0]["error"].endswith("Odd")


def test_the_users_own_type_error_is_theirs():
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        Processor().process()


# ---- the current chunk ----


def test_the_current_chunk_is_there_while_process_runs():
    def look(self, events):
        current = self._roastcoffea_current_chunk
        assert isinstance(current, collections.abc.MutableMapping)
        assert current == {"timing": {}, "memory": {}, "bytes": {}}
        current["custom_count"] = 42
        current.update(ratio=0.5, label="x", nested={"a": [1, 2]}, pair=(1, 2))
        current["timing"]["by_hand"] = 1.25
        current["bytes"]["by_hand"] = 10
        with track_time(self, "section"):
            pass
        assert set(current["timing"]) == {"by_hand", "section"}
        assert current.get("custom_count") == 42
        assert "custom_count" in current
        assert len(current) == 8
        del current["label"]
        assert list(current)[:3] == ["timing", "memory", "bytes"]
        return {}

    processor = Plain(look)
    chunk = only_chunk(processor.process(Events()))
    assert not hasattr(processor, "_roastcoffea_current_chunk")
    assert chunk["custom_count"] == 42
    assert chunk["custom_metrics"] == {
        "custom_count": 42, "ratio": 0.5, "nested": {"a": [1, 2]}, "pair": (1, 2)
    }
    assert chunk["timing"]["by_hand"] == 1.25
    assert chunk["timing"]["section"] > 0
    assert len(chunk["sections"]) == 1
    assert chunk["bytes"] == {"by_hand": 10}


def test_a_value_cannot_pass_for_a_measurement():
    def lie(self, events):
        self._roastcoffea_current_chunk["duration"] = -1
        return {}

    chunk = only_chunk(Plain(lie).process(Events()))
    assert chunk["duration"] > 0
    assert chunk["custom_metrics"]["duration"] == -1


def test_values_of_every_kind():
    numpy = pytest.importorskip("numpy")
    values = {
        "none": None, "true": True, "int": -(2**62), "huge": 2**100, "float": 1e300, "text": "ü",
        "list": [1, "a", None], "tuple": (1, 2), "int_keys": {1: 2}, "bytes": b"\x00\xff",
        "int32": numpy.int32(7), "float32": numpy.float32(0.5), "float64": numpy.float64(0.1),
        "set": {1, 2},
    }

    def store(self, events):
        self._roastcoffea_current_chunk.update(values, array=numpy.arange(3))
        return {}

    chunk = pickle.loads(pickle.dumps(only_chunk(Plain(store).process(Events()))))
    for key, value in values.items():
        assert chunk["custom_metrics"][key] == value, key
    assert chunk["tuple"] == (1, 2)
    assert isinstance(chunk["tuple"], tuple)
    assert type(chunk["int32"]) is int
    assert list(chunk["array"]) == [0, 1, 2]


def test_a_value_that_cannot_travel_is_kept_as_text():
    def store(self, events):
        self._roastcoffea_current_chunk["lock"] = threading.Lock()
        return {}

    chunk = only_chunk(Plain(store).process(Events()))
    assert "lock" in chunk["lock"]


def test_a_processor_that_takes_no_attributes():
    class Slotted:
        __slots__ = ()
        _roastcoffea_collect_metrics = True

        @track_metrics
        def process(self, events):
            with track_time(self, "x"):
                pass
            return {}

    before = faults()["count"]
    chunk = only_chunk(Slotted().process(Events()))
    assert list(chunk["timing"]) == ["x"]
    assert faults()["count"] == before


def test_process_inside_process():
    """Only the outermost call is a chunk, and what the inner ones measure belongs to it."""

    def inner_body(self, events):
        self._roastcoffea_current_chunk["inside"] = events.metadata["dataset"]
        with track_time(self, "inner"):
            return {"n": len(events)}

    inner = Plain(inner_body)

    def outer_body(self, events):
        self._roastcoffea_current_chunk["who"] = "outer"
        result = inner.process(Events(1, dataset="inner"))
        if events:
            assert self.process([]) == {"below": {"n": 1}}
        with track_time(self, "after"):
            pass
        return {"below": result}

    outer = Plain(outer_body)
    output = outer.process(Events())
    assert output["below"] == {"n": 1}
    chunk = only_chunk(output)
    assert (chunk["who"], chunk["inside"], chunk["num_events"]) == ("outer", "inner", 3)
    assert [section["section_name"] for section in chunk["sections"]] == ["inner", "inner", "after", "after"]
    assert len(outer._chunk_metrics) == 1
    assert not hasattr(inner, "_chunk_metrics") and not hasattr(inner, "_roastcoffea_current_chunk")


def test_an_inner_process_that_raises():
    def body(self, events):
        if len(events) == 1:
            raise ValueError("inside")
        with pytest.raises(ValueError, match="inside"):
            self.process(Events(1))
        self._roastcoffea_current_chunk["still"] = "here"
        return {}

    chunk = only_chunk(Plain(body).process(Events()))
    assert chunk["still"] == "here" and chunk.get("error") is None


def test_threads_that_share_a_processor_never_mix():
    barrier = threading.Barrier(8)

    def body(self, events):
        name = events.metadata["dataset"]
        barrier.wait(10)
        for i in range(50):
            with track_time(self, f"{name}-{i}"):
                time.sleep(0)
        self._roastcoffea_current_chunk["name"] = name
        barrier.wait(10)
        assert hasattr(self, "_roastcoffea_current_chunk")
        assert self._roastcoffea_current_chunk["name"] == name
        return {}

    processor = Plain(body)
    outputs = {}

    def work(name):
        for _ in range(3):
            outputs.setdefault(name, []).append(processor.process(Events(1, dataset=name)))

    threads = [threading.Thread(target=work, args=(f"d{i}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outputs) == 8
    for name, made in outputs.items():
        assert len(made) == 3
        for output in made:
            chunk = only_chunk(output)
            assert chunk["dataset"] == chunk["name"] == name
            assert sorted(chunk["timing"]) == sorted(f"{name}-{i}" for i in range(50))
    assert len(processor._chunk_metrics) == 24
    assert not hasattr(processor, "_roastcoffea_current_chunk")


def test_a_thread_without_a_chunk_sees_an_empty_mapping():
    seen = []

    def body(self, events):
        def look():
            current = self._roastcoffea_current_chunk
            seen.append((len(current), "timing" in current))
            current["lost"] = 1

        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        return {}

    assert "lost" not in only_chunk(Plain(body).process(Events()))
    assert seen == [(0, False)]


def test_a_copy_of_the_processor_inside_process():
    def body(self, events):
        self._roastcoffea_current_chunk["here"] = 1
        twin = copy.deepcopy(self)
        assert twin._roastcoffea_current_chunk == {
            "timing": {}, "memory": {}, "bytes": {}, "here": 1
        }
        return {}

    only_chunk(Plain(body).process(Events()))


def test_base_instrumentation_context():
    class Tracker(BaseInstrumentationContext):
        def __exit__(self, exc_type, exc_val, exc_tb):
            self.record_metric("my_metric", 17)

    def body(self, events):
        with Tracker(self, "part") as tracker:
            assert tracker.processor is self
            assert tracker.name == "part"
            tracker.extra = 1
        return {}

    processor = Plain(body)
    chunk = only_chunk(processor.process(Events()))
    assert chunk["custom_metrics"] == {"my_metric": 17}
    with Tracker(processor):
        pass
    processor._roastcoffea_current_chunk = {"timing": {}}
    with Tracker(processor):
        pass
    assert processor._roastcoffea_current_chunk["custom_metrics"] == {"my_metric": 17}


# ---- a function as a processor ----


def test_a_plain_function():
    @track_metrics
    def process(events):
        "Counts."
        with track_time(process, "part"):
            return {"n": len(events)}

    assert process(Events()) == {"n": 3}
    process._roastcoffea_collect_metrics = True
    output = process(Events(2))
    assert output["n"] == 2
    assert list(only_chunk(output)["timing"]) == ["part"]
    assert only_chunk(process(events=Events(4)))["num_events"] == 4
    assert len(process._chunk_metrics) == 2


def test_it_looks_like_the_function():
    assert Processor.process.__name__ == "process"
    assert Processor.process.__qualname__ == "Processor.process"
    assert Processor.process.__doc__ == "Counts."
    assert Processor.process.__module__ == Processor.__module__
    assert list(inspect.signature(Processor.process).parameters) == ["self", "events"]
    assert list(inspect.signature(Processor().process).parameters) == ["events"]
    assert inspect.unwrap(Processor.process).__name__ == "process"
    assert "track_metrics" in repr(Processor.process)
    assert callable(Processor.process)
    for wrong in (3, "x", None):
        with pytest.raises(TypeError, match="track_metrics"):
            track_metrics(wrong)


def test_arguments_by_name():
    processor = Processor()
    assert only_chunk(processor.process(events=Events(6)))["num_events"] == 6
    assert only_chunk(Processor.process(processor, Events(7)))["num_events"] == 7
    bound = processor.process
    assert only_chunk(bound(Events(8)))["num_events"] == 8


def test_arguments_of_a_function():
    @track_metrics
    def function(data, year=2016, *, scale=1):
        return {"year": year, "scale": scale}

    function._roastcoffea_collect_metrics = True
    for args, options in (
        ((), {"year": 2017, "scale": 3}), ((2017,), {"scale": 3}), ((2017,), {}), ((), {"scale": 3}),
    ):
        assert only_chunk(function(Events(5), *args, **options))["num_events"] == 5
    assert only_chunk(function(data=Events(5), year=2017))["num_events"] == 5


class AnswersEveryName:
    """Has a true default for each attribute that it does not have."""

    def __getattr__(self, name):
        return [] if name == "_chunk_metrics" else name

    @track_metrics
    def process(self, events):
        with track_time(self, "all"):
            return {"n": len(events)}


def test_a_default_for_every_name_is_no_switch():
    assert AnswersEveryName().process(Events()) == {"n": 3}


def test_a_default_for_every_name_and_a_switch():
    processor = AnswersEveryName()
    processor._roastcoffea_collect_metrics = True
    before = faults()["count"]
    chunk = only_chunk(processor.process(Events()))
    assert list(chunk["timing"]) == ["all"] and faults()["count"] == before
    assert len(vars(processor)["_chunk_metrics"]) == 1


def test_super_and_subclasses():
    class Derived(Processor):
        @track_metrics
        def process(self, events):
            output = super().process(events)
            output["derived"] = True
            return output

    output = Derived().process(Events())
    assert output["derived"]
    assert only_chunk(output)["num_events"] == 3


def test_an_abstract_method_of_coffea():
    coffea = pytest.importorskip("coffea.processor")

    class Analysis(coffea.ProcessorABC):
        @track_metrics
        def process(self, events):
            return {"n": len(events)}

        def postprocess(self, accumulator):
            return accumulator

    analysis = Analysis()
    analysis._roastcoffea_collect_metrics = True
    assert only_chunk(analysis.process(Events()))["num_events"] == 3


def test_coroutines_pass_through():
    @track_metrics
    async def process(events):
        return {"n": len(events)}

    assert asyncio.run(process(Events())) == {"n": 3}


# ---- travelling ----


def test_pickle_by_name():
    assert pickle.loads(pickle.dumps(Processor.process)) is Processor.process
    again = pickle.loads(pickle.dumps(Processor()))
    assert KEY in again.process(Events())


def test_cloudpickle_by_value(tmp_path):
    pytest.importorskip("cloudpickle")
    program = tmp_path / "program.py"
    program.write_text(
        """
import subprocess, sys
import cloudpickle
from roastcoffea import track_metrics, track_time

class Analysis:
    _roastcoffea_collect_metrics = True

    @track_metrics
    def process(self, events):
        with track_time(self, "x"):
            return {"n": len(events)}

@track_metrics
def function(events):
    return {"n": len(events)}

function._roastcoffea_collect_metrics = True
data = cloudpickle.dumps((Analysis(), function))
code = '''
import sys, cloudpickle
analysis, function = cloudpickle.loads(sys.stdin.buffer.read())
a, b = analysis.process([1, 2]), function([1])
print(a["n"], list(a["__roastcoffea_metrics__"][0]["timing"]),
      b["n"], len(b["__roastcoffea_metrics__"]))
'''
print(subprocess.run([sys.executable, "-c", code], input=data, capture_output=True,
                     check=True).stdout.decode().strip())
"""
    )
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "2 ['x'] 1 1"


def test_a_local_class_by_cloudpickle():
    cloudpickle = pytest.importorskip("cloudpickle")

    class Local:
        _roastcoffea_collect_metrics = True

        @track_metrics
        def process(self, events):
            return {}

    again = cloudpickle.loads(cloudpickle.dumps(Local()))
    assert only_chunk(again.process(Events()))["num_events"] == 3


# ---- faults of our own ----


def test_memory_that_runs_short_never_reaches_the_user():
    processor = Processor()
    processor.process(Events())
    reached = set()
    for after in range(200):
        before = faults()["count"]
        _fail_allocations(after)
        try:
            output = processor.process(Events(4))
        finally:
            _fail_allocations(None)
        assert output["n"] == 4
        assert output["total"] == 6
        if faults()["count"] > before:
            reached.add(after)
        elif KEY in output:
            break
    assert len(reached) > 5
    assert faults()["last"]
    assert only_chunk(output)["num_events"] == 4


def test_the_log_on_the_processor_is_its_own():
    processor = Processor()
    output = processor.process(Events())
    output[KEY] += processor.process(Events())[KEY]
    assert len(output[KEY]) == 2
    assert len(processor._chunk_metrics) == 2
    assert type(processor._chunk_metrics) is ChunkLog
    processor._chunk_metrics += processor._chunk_metrics
    assert len(output[KEY]) == 2


def test_nothing_keeps_the_processor_alive():
    processor = Processor()
    reference = weakref.ref(processor)
    processor.process(Events())
    del processor
    assert reference() is None


@forks
def test_fork_gives_the_child_an_identity_of_its_own(tmp_path):
    program = tmp_path / "fork.py"
    program.write_text(
        """
import os, pickle, sys
sys.path.insert(0, sys.argv[1])
from samples import Events, Plain, Processor, block_of
p = Processor()
mine = p.process(Events())["__roastcoffea_metrics__"]
r, w = os.pipe()
if os.fork() == 0:
    out = Processor().process(Events())["__roastcoffea_metrics__"]
    assert out[0]["pid"] == os.getpid()
    os.write(w, pickle.dumps(out))
    os._exit(0)
os.wait()
child = pickle.loads(os.read(r, 100000))
assert child[0]["pid"] != mine[0]["pid"]
assert mine.merge_unique(child) == (1, 0)
assert mine.merge_unique(child) == (0, 1)
print("ok")
"""
    )
    from pathlib import Path

    done = subprocess.run(
        [sys.executable, str(program), str(Path(__file__).parent)],
        capture_output=True, text=True, check=False,
    )
    assert done.stdout.strip() == "ok", done.stderr


def test_public_names():
    for name in roastcoffea.__all__:
        assert hasattr(roastcoffea, name)
    import coffea_metrics

    assert coffea_metrics.track_metrics is track_metrics
    assert coffea_metrics.track_section is roastcoffea.track_time


def test_the_catalogue_knows_every_key():
    known = {
        name
        for row in roastcoffea._core.catalogue()
        if row["scope"] == "chunk"
        for name in (row["key"], *row["aliases"])
    }
    chunk = dict(only_chunk(Processor().process(Events())))
    assert set(chunk) <= known
    assert known - set(chunk) == {"error", "file_metadata"}


def test_a_function_found_by_name_travels_switched_on():
    assert pickle.loads(pickle.dumps(samples.count)) is samples.count
    samples.count._roastcoffea_collect_metrics = True
    samples.count._roastcoffea_topic = "memory:by name"
    try:
        data = pickle.dumps(samples.count)
    finally:
        del samples.count._roastcoffea_collect_metrics, samples.count._roastcoffea_topic
    # what arrives is switched on, while the function of that name over there is left as it is
    again = pickle.loads(data)
    assert again is not samples.count
    assert only_chunk(again(Events(2)))["num_events"] == 2
    assert KEY not in samples.count(Events(2))
    assert again._roastcoffea_topic == "memory:by name"
    take_memory("memory:by name")
