"""Whatever happens to the instrument: the user's run, result and objects are what they are without it."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from coffea import processor
from coffea.nanoevents import NanoAODSchema
from coffea.processor import SimpleCheckpointer

from roastcoffea import MetricsCollector, track_metrics, track_time
from roastcoffea._core import ChunkLog
from roastcoffea.backends.dask.remote import by_value
from roastcoffea.backends.base import AbstractMetricsBackend
from roastcoffea.backends.local import LocalSource

KEY = "__roastcoffea_metrics__"
ORIGINALS = {owner: dict(vars(owner)) for owner in (processor.Runner, processor.IterativeExecutor)}


class Bare(processor.ProcessorABC):
    """Not decorated."""

    def process(self, events):
        return {"events": len(events)}

    def postprocess(self, accumulator):
        return accumulator


class Analysis(Bare):
    @track_metrics
    def process(self, events):
        with track_time(self, "all"):
            return {"events": len(events)}


def iterative(**options):
    return processor.IterativeExecutor(status=False, retries=0, **options)


def make_runner(executor=None, **options):
    return processor.Runner(executor=executor or iterative(), schema=NanoAODSchema, chunksize=400, **options)


@pytest.fixture
def small(fileset):
    return {"ttbar": fileset["ttbar"]}  # 2100 events


# ---- workers without this package ----

WORKER = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("roastcoffea", "coffea_metrics"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refuse())
from distributed.cli.dask_worker import main

main()
"""


@pytest.fixture(scope="module")
def cluster_without_us():
    """A client of a scheduler that has this package and a worker that has not."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=0, dashboard_address=None) as cluster:
        worker = subprocess.Popen(
            [sys.executable, "-c", WORKER, cluster.scheduler_address, "--nthreads", "1", "--no-nanny", "--no-dashboard"],
            stderr=subprocess.DEVNULL,
        )
        try:
            with distributed.Client(cluster, set_as_default=False) as client:
                client.wait_for_workers(1, timeout=60)
                yield client
        finally:
            worker.kill()
            worker.wait()


@by_value
def count(self, events):
    return {"events": len(events)}


@by_value
def as_it_is(self, accumulator):
    return accumulator


def in_a_notebook(process):
    """A processor that travels with its code."""
    methods = {"__module__": "__main__", "process": process, "postprocess": as_it_is}
    return type("Notebook", (processor.ProcessorABC,), methods)()


def test_workers_without_this_package(cluster_without_us, small):
    client = cluster_without_us
    runner = make_runner(processor.DaskExecutor(client=client, status=False, retries=0))
    analysis = in_a_notebook(count)
    for _ in range(2):  # what is left on the processor travels with the next run
        with MetricsCollector(client) as mc:
            assert runner(small, analysis) == {"events": 2100}
        assert mc.get_metrics()["total_events"] == 2100
        assert list(mc.chunk_metrics) == [] and len(mc.attempts) > 0
        (note,) = mc.notes
        assert "cannot import roastcoffea" in note and "PipInstall" in note
    assert runner(small, analysis) == {"events": 2100}


def test_workers_without_this_package_and_a_checkpoint(cluster_without_us, small, tmp_path):
    client = cluster_without_us
    checkpointer = SimpleCheckpointer(str(tmp_path / "points"))
    runner = make_runner(processor.DaskExecutor(client=client, status=False, retries=0), checkpointer=checkpointer)
    with MetricsCollector(client) as mc:
        assert runner(small, in_a_notebook(count)) == {"events": 2100}
    assert mc.metrics is not None and any("report was not requested" in note for note in mc.notes)


def test_a_decorated_processor_where_workers_lack_this_package(cluster_without_us, small):
    """The error is the user's own, who is told before it comes."""
    client = cluster_without_us
    runner = make_runner(processor.DaskExecutor(client=client, status=False, retries=0))
    analysis = in_a_notebook(track_metrics(count))
    with (
        pytest.warns(UserWarning, match="cannot import roastcoffea, which the decorator"),
        pytest.raises(ModuleNotFoundError, match="roastcoffea"),
        MetricsCollector(client) as mc,
    ):
        runner(small, analysis)
    assert any("PipInstall" in note for note in mc.notes)


# ---- the processor ----

def test_a_postprocess_of_the_instance(small):
    analysis = Analysis()
    analysis.postprocess = lambda accumulator: {"events": accumulator["events"] * 10}
    with MetricsCollector(iterative()) as mc:
        for _ in range(2):
            assert make_runner()(small, analysis) == {"events": 21000}
    assert make_runner()(small, analysis) == {"events": 21000}
    assert mc.get_metrics()["total_events"] == 4200


class LooksAtItself(processor.ProcessorABC):
    @track_metrics
    def process(self, events):
        seen = sorted(set(vars(self)) | {name for name in vars(type(self)) if "roastcoffea" in name})
        return self.postprocess({"events": len(events), "seen": set(seen)})

    def postprocess(self, accumulator):
        return accumulator


@pytest.mark.parametrize("compression", [None, 1])
def test_process_sees_nothing_but_flag_topic_and_chunk(small, compression):
    with MetricsCollector(iterative()):
        output = make_runner(processor_compression=compression)(small, LooksAtItself())
    assert output["events"] == 2100
    assert output["seen"] - {"_chunk_metrics"} == {
        "_roastcoffea_collect_metrics", "_roastcoffea_topic", "_roastcoffea_current_chunk"
    }


def test_a_processor_without_the_decorator_stays_as_it_was(small):
    analysis = Bare()
    with MetricsCollector(iterative(), processor_instance=analysis):
        make_runner()(small, analysis)
    assert vars(analysis) == {"_roastcoffea_collect_metrics": False}


@pytest.mark.parametrize("compression", [None, 1])
def test_records_on_the_processor_do_not_travel(small, compression):
    import cloudpickle

    analysis = Analysis()
    before = len(cloudpickle.dumps(analysis))
    with MetricsCollector(iterative()):
        make_runner(processor_compression=compression)(small, analysis)
    assert len(analysis._chunk_metrics) == 5
    again = cloudpickle.loads(cloudpickle.dumps(analysis))
    assert type(again._chunk_metrics) is list and again._chunk_metrics == []
    assert len(cloudpickle.dumps(analysis)) < before + 100


def test_one_processor_in_two_collectors_at_once(small):
    """Whoever ends first, the processor is at last what it was."""
    analysis = Analysis()
    first, second = MetricsCollector(iterative()), MetricsCollector(iterative())
    first.processor_instance = second.processor_instance = analysis
    first.__enter__()
    second.__enter__()
    topic = analysis._roastcoffea_topic
    first.__exit__(None, None, None)
    assert analysis._roastcoffea_collect_metrics is True and analysis._roastcoffea_topic == topic
    second.__exit__(None, None, None)
    assert vars(analysis) == {"_roastcoffea_collect_metrics": False}


def test_one_processor_in_two_threads_is_told(fileset):
    """It has one topic: whose records are whose cannot be known."""
    analysis, both = Analysis(), threading.Barrier(2)
    collectors = []

    def run(dataset):
        with MetricsCollector(iterative()) as mc:
            both.wait(60)
            assert make_runner()({dataset: fileset[dataset]}, analysis) == {"events": 2100}
            both.wait(60)
        collectors.append(mc)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, ("ttbar", "wjets")))
    assert any("same processor" in note for mc in collectors for note in mc.notes)
    assert all(mc.get_metrics()["total_events"] == 2100 for mc in collectors)


# ---- the Runner ----

@pytest.mark.parametrize("savemetrics", [False, True])
def test_one_runner_in_two_threads(fileset, savemetrics):
    runner = make_runner(savemetrics=savemetrics)
    state = dict(vars(runner))
    outputs = []

    def run(dataset, processor_class, times):
        for _ in range(times):
            outputs.append(runner({dataset: fileset[dataset]}, processor_class()))

    with MetricsCollector(iterative()) as mc:
        threads = [threading.Thread(target=run, args=args) for args in (("ttbar", Analysis, 3), ("wjets", Bare, 6))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert vars(runner) == state
    assert len(outputs) == 9
    for output in outputs:
        assert isinstance(output, tuple) is savemetrics
        assert (output[0] if savemetrics else output) == {"events": 2100}
    assert mc.get_metrics()["total_events"] == 9 * 2100
    assert sum(chunk["num_events"] for chunk in mc.chunk_metrics) == 3 * 2100


def test_the_runner_is_not_touched_while_it_runs(small):
    seen = []

    class Curious(processor.Runner):
        def preprocess(self, *args, **kwargs):
            seen.append(dict(vars(self)))
            return super().preprocess(*args, **kwargs)

        def _cache_and_populate(self, *args):
            seen.append(dict(vars(self)))
            return super()._cache_and_populate(*args)

    runner = Curious(executor=iterative(), schema=NanoAODSchema, chunksize=400, metadata_cache={})
    before = dict(vars(runner))
    with MetricsCollector(iterative()) as mc:
        runner(small, Analysis())
    assert len(seen) == 2
    for state in seen:
        state.pop("metadata_cache")
        assert state == {name: value for name, value in before.items() if name != "metadata_cache"}
    assert not any("roastcoffea" in key for metadata in runner.metadata_cache.values() for key in metadata)
    assert mc.metrics["preprocess_files"] == 2


# ---- exceptions of ours ----

class PutsOddRecords(processor.ProcessorABC):
    def process(self, events):
        return {"events": len(events), KEY: [1, "odd", {"timing": 3}]}

    def postprocess(self, accumulator):
        return accumulator


def test_odd_records_in_the_output(small):
    with MetricsCollector(iterative()) as mc:
        assert make_runner()(small, PutsOddRecords()) == {"events": 2100}
    assert mc.get_metrics()["total_events"] == 2100
    assert any(KEY in note for note in mc.notes)


class Damages(LocalSource):
    """A source with damaged messages among the good ones."""

    def end(self, ran):
        found = super().end(ran)
        good = found.records
        newer = bytearray(good[0])
        newer[8:10] = b"\xff\xff"
        found.records = [b"", b"junk", *good, bytes(newer), good[0][:-3]]
        return found


def test_damaged_messages(small):
    with MetricsCollector(Damages(iterative())) as mc:
        assert make_runner()(small, Analysis()) == {"events": 2100}
    assert sum(chunk["num_events"] for chunk in mc.chunk_metrics) == 2100
    assert sum("a message of records is damaged" in note for note in mc.notes) >= 2


BAD = {
    "report": lambda mc: mc.set_coffea_report({"entries": "many"}),
    "report without pairs": lambda mc: mc.set_coffea_report([1]),
    "custom metrics": lambda mc: mc.set_coffea_report({"entries": 1}, {"ttbar": 3}),
    "chunk": lambda mc: mc.record_chunk_metrics({"t_start": "early"}),
    "chunk that is none": lambda mc: mc.record_chunk_metrics(3),
    "timing": lambda mc: mc.record_chunk_metrics({"timing": {"a": "long"}}),
    "chunks": lambda mc: mc.set_chunk_metrics([{"num_events": "many"}]),
    "section": lambda mc: mc.record_section_metrics({"name": "a", "duration": "long"}),
    "section that is none": lambda mc: mc.record_section_metrics(3),
    "output": lambda mc: mc.extract_metrics_from_output({KEY: [3]}),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_wrong_is_told_by_the_setter(small, what):
    with MetricsCollector(iterative()) as mc:
        make_runner()(small, Analysis())
        with pytest.raises((TypeError, ValueError)):
            BAD[what](mc)
    assert mc.get_metrics()["total_events"] == 2100
    with pytest.raises((TypeError, ValueError)):
        BAD[what](mc)
    assert mc.get_metrics()["total_events"] == 2100


def test_records_that_are_changed_behind_our_back(small):
    chunk, section = {"num_events": 7, "duration": 1.0}, {"name": "mine", "duration": 1.0}
    with MetricsCollector(iterative()) as mc:
        make_runner()(small, Bare())
        mc.record_chunk_metrics(chunk)
        mc.record_section_metrics(section)
        chunk["num_events"] = chunk["timing"] = section["duration"] = "odd"
    assert mc.get_metrics()["total_events"] == 2100


class Breaks(AbstractMetricsBackend):
    """What it hands over is of no form that anybody knows."""

    tracking = 17

    def start_tracking(self, interval):
        pass

    def stop_tracking(self):
        return self.tracking

    def create_span(self, name):
        return None

    def supports_fine_metrics(self):
        return True

    def get_span_metrics(self, span_info=None):
        return {"cumulative_worker_metrics": {3: "x"}}


class BreaksInAnotherWay(Breaks):
    tracking = {"worker_counts": 3}


@pytest.mark.parametrize("klass", [Breaks, BreaksInAnotherWay])
def test_a_backend_with_odd_data(small, klass):
    with MetricsCollector(klass()) as mc:
        assert make_runner()(small, Analysis()) == {"events": 2100}
    assert mc.get_metrics()["total_events"] == 2100
    assert len(mc.chunk_metrics) == 5
    assert any("could not be computed with all" in note for note in mc.notes)


def test_warnings_that_are_errors(small, tmp_path):
    """A measurement that cannot be saved, in a program that is run with -W error."""
    program = textwrap.dedent("""
        import shutil, sys
        from coffea import processor
        from coffea.nanoevents import BaseSchema
        from roastcoffea import MetricsCollector
        import warnings

        class Count(processor.ProcessorABC):
            def process(self, events):
                return {"events": len(events)}

            def postprocess(self, accumulator):
                return accumulator

        runner = processor.Runner(
            processor.IterativeExecutor(status=False), schema=BaseSchema, chunksize=400)
        runner({"a": {"files": {sys.argv[1]: "Events"}}}, Count())  # what others warn of once is over
        warnings.simplefilter("error")
        with MetricsCollector(runner, output_dir=sys.argv[2]) as mc:
            output = runner({"a": {"files": {sys.argv[1]: "Events"}}}, Count())
            shutil.rmtree(sys.argv[2])
            open(sys.argv[2], "w").close()
        assert any("could not be saved" in note for note in mc.notes), mc.notes
        print(output["events"])
    """)
    (file, *_) = small["ttbar"]["files"]
    done = subprocess.run([sys.executable, "-c", program, file, str(tmp_path / "kept")],
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.split()[-1:] == ["1000"], done.stderr


# ---- again, and half way ----

def test_a_collector_that_is_used_again_begins_anew(fileset):
    mc = MetricsCollector(iterative())
    for dataset, klass in (("ttbar", Analysis), ("wjets", Bare)):
        with mc:
            make_runner()({dataset: fileset[dataset]}, klass())
        assert mc.get_metrics()["total_events"] == 2100
        assert len(mc.chunk_metrics) == (5 if klass is Analysis else 0)
        assert mc.processor_name == klass.__name__ and mc.notes == []


def test_a_collector_that_is_open_cannot_be_entered():
    mc = MetricsCollector(iterative())
    with mc:
        with pytest.raises(RuntimeError, match="measuring already: a second one"):
            mc.__enter__()
    assert mc.metrics is not None


def left_behind():
    """Everything of ours that could be found here."""
    wrapped = [
        f"{owner.__name__}.{name}"
        for owner, original in ORIGINALS.items()
        for name, value in vars(owner).items()
        if callable(value) and value is not original[name]
    ]
    threads = [thread.name for thread in threading.enumerate() if "roastcoffea" in thread.name]
    return wrapped + threads


class CannotBegin(LocalSource):
    """It fails when it has begun half of what it has to."""

    def __init__(self, fails):
        super().__init__(iterative())
        self.fails = fails

    def _open_channel(self):
        if self.fails == "first":
            raise OSError("cannot begin")
        super()._open_channel()

    def begin(self, interval):
        engine = super().begin(interval)
        if self.fails == "last":
            raise OSError("cannot begin")
        return engine


@pytest.mark.parametrize("fails", ["first", "last"])
def test_a_source_that_cannot_begin_leaves_nothing(small, tmp_path, fails):
    analysis = Analysis()
    mc = MetricsCollector(CannotBegin(fails), processor_instance=analysis, output_dir=tmp_path, live=True)
    with pytest.raises(OSError, match="cannot begin"):
        mc.__enter__()
    assert left_behind() == [] and os.listdir(tmp_path) == []
    assert KEY not in make_runner()(small, analysis)
    mc.metrics_backend.fails = ""
    with mc:
        make_runner()(small, analysis)
    assert mc.get_metrics()["total_events"] == 2100


def test_a_folder_that_cannot_be_written_leaves_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):
        MetricsCollector(iterative(), output_dir=tmp_path / "file").__enter__()
    assert left_behind() == []


def test_a_thread_that_cannot_be_started_leaves_nothing(tmp_path, monkeypatch):
    def start(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    with contextlib.suppress(RuntimeError), MetricsCollector(iterative(), output_dir=tmp_path):
        pass
    monkeypatch.undo()
    assert left_behind() == []


# ---- the end of a program ----

def test_a_program_that_is_ended_leaves_nothing_in_the_temporary_folder(tmp_path):
    program = textwrap.dedent("""
        import signal
        import time
        from coffea.processor import FuturesExecutor
        from roastcoffea import MetricsCollector
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
        with MetricsCollector(FuturesExecutor(workers=1)):
            print("open", flush=True)
            time.sleep(60)
    """)
    for how in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT):
        started = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   text=True, env={**os.environ, "TMPDIR": str(tmp_path)})
        assert started.stdout.readline() == "open\n"
        started.send_signal(how)
        started.wait(30)
        started.stdout.close()
        assert [name for name in os.listdir(tmp_path) if "roast" in name] == []


class NoMapping(processor.ProcessorABC):
    @track_metrics
    def process(self, events):
        return np.array([len(events)])

    def postprocess(self, accumulator):
        return accumulator


def test_records_of_an_output_that_is_no_mapping(small, monkeypatch):
    """No temporary folder is needed for them."""
    monkeypatch.setattr(tempfile, "tempdir", "/nonexistent")
    executor = processor.FuturesExecutor(workers=2, status=False)
    with MetricsCollector(executor) as mc:
        assert make_runner(executor)(small, NoMapping()) == [2100]
    assert sum(chunk["num_events"] for chunk in mc.chunk_metrics) == 2100
    assert mc.notes == []


@pytest.mark.parametrize("where", ["iterative", "futures", "dask"])
def test_two_collectors_around_an_output_that_is_no_mapping(request, small, where):
    """A processor sends its records to one of them."""
    if where == "dask":
        executor = processor.DaskExecutor(client=request.getfixturevalue("client"), status=False)
    else:
        executor = iterative() if where == "iterative" else processor.FuturesExecutor(workers=2, status=False)
    with MetricsCollector(executor) as outer, MetricsCollector(executor) as inner:
        assert make_runner(executor)(small, NoMapping()) == [2100]
    for mc in (outer, inner):
        assert sum(chunk["num_events"] for chunk in mc.chunk_metrics) == 2100 and len(mc.chunk_metrics) == 5
        assert not any("have a record" in note for note in mc.notes)


class LosesRecords(LocalSource):
    def _open_channel(self):
        pass


@pytest.fixture
def channel_alone(monkeypatch):
    """Nothing is carried beside the output."""
    monkeypatch.setattr("roastcoffea.coffea.runner_watch.carrying_records", lambda executor, work, *_: work)


def test_records_that_the_channel_loses_are_beside_the_output(small):
    with MetricsCollector(LosesRecords(iterative())) as mc:
        assert make_runner()(small, NoMapping()) == [2100]
    assert len(mc.chunk_metrics) == 5 and mc.notes == []


def test_fewer_records_than_chunks_are_told(small, channel_alone):
    with MetricsCollector(LosesRecords(iterative())) as mc:
        assert make_runner()(small, NoMapping()) == [2100]
    assert any("0 of 5 chunks have a record" in note for note in mc.notes)
    with MetricsCollector(iterative()) as mc:
        make_runner()(small, Bare())
    assert mc.notes == []


class RaisesFirst(NoMapping):
    def __init__(self):
        self.seen = set()

    @track_metrics
    def process(self, events):
        piece = events.metadata["filename"], events.metadata["entrystart"]
        if piece not in self.seen:
            self.seen.add(piece)
            raise ValueError("bad luck")
        return np.array([len(events)])


class LosesTheLast(LocalSource):
    def end(self, ran):
        records, found = ChunkLog(), super().end(ran)
        for data in found.records:
            records.merge_unique(ChunkLog.from_bytes(data))
        found.records = [records[:-1].to_bytes()]
        return found


def test_records_of_failed_tries_do_not_hide_a_missing_one(small, channel_alone):
    """Ten records of which five are of tries that raised, and one is lost."""
    executor = processor.IterativeExecutor(status=False, retries=1)
    with pytest.warns(UserWarning, match="attempt"), MetricsCollector(LosesTheLast(executor)) as mc:
        assert make_runner(executor, processor_compression=None)(small, RaisesFirst()) == [2100]
    assert len(mc.chunk_metrics) == 9
    assert any("4 of 5 chunks have a record" in note for note in mc.notes)


# ---- checkpoints ----

@pytest.mark.parametrize("savemetrics", [False, True])
@pytest.mark.parametrize("klass", [Analysis, Bare])
def test_a_checkpoint_holds_what_it_holds_without_us(small, tmp_path, savemetrics, klass):
    import cloudpickle
    import lz4.frame

    def points(name):
        return {
            path.name: cloudpickle.loads(lz4.frame.decompress(path.read_bytes()))
            for path in (tmp_path / name).rglob("*.coffea")
        }

    def runner(name):
        return make_runner(checkpointer=SimpleCheckpointer(str(tmp_path / name)), savemetrics=savemetrics)

    bare = runner("bare")(small, klass())
    with MetricsCollector(iterative()) as mc:
        output = runner("ours")(small, klass())
    assert mc.get_metrics()["total_events"] == 2100 and mc.replayed_chunks == 0
    ours, without = points("ours"), points("bare")
    assert ours.keys() == without.keys() and len(ours) == 5
    for name, point in ours.items():
        assert point.keys() == without[name].keys()
        assert point["out"] == without[name]["out"]
    assert (output[0] if savemetrics else output) == (bare[0] if savemetrics else bare) == {"events": 2100}
    # and what it replays is no work
    with MetricsCollector(iterative()) as mc:
        again = runner("ours")(small, klass())
    assert (again[0] if savemetrics else again) == {"events": 2100}
    assert mc.get_metrics()["total_events"] == 0 and mc.replayed_chunks == 5
    # and a bare run from it
    again = runner("ours")(small, klass())
    assert (again[0] if savemetrics else again) == {"events": 2100}


# ---- nothing is kept ----

def test_a_run_that_raised_is_let_go(small):
    class Raises(Analysis):
        @track_metrics
        def process(self, events):
            raise ValueError("bad luck")

    import weakref

    analysis = Raises()
    gone = weakref.ref(analysis)
    with MetricsCollector(iterative()) as mc:
        with pytest.raises(Exception, match="bad luck"):
            make_runner(processor_compression=None)(small, analysis)
    mc.processor_instance = None
    del analysis
    gc.collect()
    assert gone() is None
