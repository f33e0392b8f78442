"""A run with output_dir: saved however it ends, and readable while it goes on."""

from __future__ import annotations

import concurrent.futures
import gc
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from coffea import processor
from coffea.nanoevents import NanoAODSchema
from dask_parts import eventually

from roastcoffea.collector import metrics_collector as collector_module
from roastcoffea import MetricsCollector, load_measurement, open_run, track_metrics
from roastcoffea.collector import live_writer as live, on_disk
from roastcoffea.web import _live

import coffea_metrics


class Analysis(processor.ProcessorABC):
    def __init__(self, pause=0.0, fail=None):
        self.pause, self.fail = pause, fail

    @track_metrics
    def process(self, events):
        time.sleep(self.pause)
        if events.metadata["dataset"] == self.fail:
            raise RuntimeError("by design")
        return {"events": len(events)}

    def postprocess(self, accumulator):
        return accumulator


def executor_of(kind, request):
    return {
        "iterative": lambda: processor.IterativeExecutor(status=False),
        "threads": lambda: processor.FuturesExecutor(
            status=False, pool=concurrent.futures.ThreadPoolExecutor, workers=2),
        "processes": lambda: processor.FuturesExecutor(status=False, workers=2),
        "dask": lambda: processor.DaskExecutor(client=request.getfixturevalue("client"), status=False),
    }[kind]()


KINDS = ["iterative", "threads", "processes", "dask"]


def only(folder):
    (path,) = folder.iterdir()
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_saved_at_the_end(kind, fileset, tmp_path, request):
    executor = executor_of(kind, request)
    runner = processor.Runner(executor=executor, schema=NanoAODSchema, chunksize=400)
    with MetricsCollector(executor, output_dir=tmp_path, worker_tracking_interval=0.1,
                          config={"round": 3}) as mc:
        runner(fileset, processor_instance=Analysis())
    assert mc.measurement_path == only(tmp_path)
    metrics, t0, t1 = load_measurement(mc.measurement_path)
    assert (t0, t1) == (mc.t_start, mc.t_end)
    expected = mc.get_metrics()
    assert set(metrics) == set(expected)
    for name in expected:
        assert metrics[name] == expected[name], name
    saved = open_run(mc.measurement_path)
    assert saved.config == {"round": 3}
    assert len(saved.chunk_metrics) == expected["num_chunks"]
    meta = saved.meta
    assert meta["executor"] == type(executor).__name__
    assert meta["schema"] == "NanoAODSchema"
    assert meta["chunksize"] == "400"
    assert (meta["datasets"], meta["files"]) == ("3", "6")
    for package in ("roastcoffea", "coffea", "dask", "uproot", "awkward", "python"):
        assert meta[f"{package}_version"]
    assert meta["host"] and meta["kernel"] and int(meta["cores"]) and int(meta["memory_bytes"])
    assert meta["start_utc"].startswith(time.strftime("%Y-", time.gmtime(t0)))


def test_saved_after_a_raise(fileset, tmp_path, request):
    executor = executor_of("dask", request)
    runner = processor.Runner(executor=executor, schema=NanoAODSchema, chunksize=400)
    with pytest.raises(Exception, match="by design"), MetricsCollector(
            executor, output_dir=tmp_path, measurement_name="failed") as mc:
        runner(fileset, processor_instance=Analysis(fail="wjets"))
    saved = open_run(tmp_path / "failed")
    assert saved.state == "finished"
    assert len(saved.chunk_metrics) == len(mc.chunk_metrics) > 0
    assert any("by design" in chunk.get("error", "") for chunk in saved.chunk_metrics)


def test_what_is_told_after_the_end_is_saved_too(fileset, tmp_path):
    with MetricsCollector(processor.IterativeExecutor(status=False), output_dir=tmp_path) as mc:
        pass
    assert "total_events" not in load_measurement(mc.measurement_path)[0]
    mc.set_coffea_report({"entries": 12, "bytesread": 3, "processtime": 1.0, "chunks": 1})
    assert load_measurement(mc.measurement_path)[0]["total_events"] == 12
    assert only(tmp_path) == mc.measurement_path


@pytest.fixture
def saves(monkeypatch):
    """How often a measurement was saved by the collector after its end."""
    made, real = [], on_disk.save_measurement

    def counted(*args, **options):
        made.append(args)
        return real(*args, **options)

    for module in (collector_module, on_disk):
        monkeypatch.setattr(module, "save_measurement", counted)
    return made


def state_of(folder):
    return {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in folder.rglob("*")}


def test_a_look_changes_nothing(tmp_path, saves):
    """Neither a file nor what the next look shows."""
    with MetricsCollector(processor.IterativeExecutor(status=False), output_dir=tmp_path) as mc:
        pass
    mc.record_chunk_metrics({"duration": 1.0, "num_events": 3})
    before = state_of(tmp_path)
    looks = [(mc.metrics, mc.run, mc.coffea_report, mc.notes, mc.chunk_metrics, mc.replayed_chunks, mc.measurement_path,
              mc.processor_name, mc.calls, mc.reports, mc.failed_fileset()) for _ in range(2)]
    assert looks[0][0] is looks[1][0] and looks[0][1] is looks[1][1] and looks[0][4] is looks[1][4]
    assert looks[0][2:] == looks[1][2:] and saves == []
    assert state_of(tmp_path) == before and len(open_run(mc.measurement_path).chunk_metrics) == 0
    mc.set_chunk_metrics(mc.chunk_metrics)
    assert len(saves) == 1 and len(open_run(mc.measurement_path).chunk_metrics) > 0


def test_records_after_the_end_are_saved_with_the_next_measurement(tmp_path, saves):
    with MetricsCollector(processor.IterativeExecutor(status=False), output_dir=tmp_path) as mc:
        pass
    for i in range(50):
        mc.record_chunk_metrics({"duration": 1.0, "num_events": i})
        mc.record_section_metrics({"section_name": "late", "time_delta": 1.0})
        assert mc.chunk_metrics[i]["num_events"] == i
    assert saves == []
    assert mc.metrics["total_events_from_chunks"] == sum(range(50))
    assert len(mc.run.chunks) == 50 and saves == []
    other = mc.save_measurement(tmp_path, "other")
    for path in (other, mc.measurement_path):
        saved = open_run(path)
        assert len(saved.chunk_metrics) == 50 and saved.metrics["sections"]["late"]["count"] == 50
    assert len(saves) == 2
    mc.save_measurement(tmp_path, "other")
    assert len(saves) == 3  # nothing was told since


def test_a_second_run_saves_what_was_told_of_the_first(tmp_path):
    mc = MetricsCollector(processor.IterativeExecutor(status=False), output_dir=tmp_path)
    with mc:
        pass
    first = mc.measurement_path
    mc.record_chunk_metrics({"duration": 1.0})
    with mc:
        assert len(open_run(first).chunk_metrics) == 1
    assert mc.measurement_path != first and len(mc.chunk_metrics) == 0
    assert len(open_run(mc.measurement_path).chunk_metrics) == 0


def test_what_could_not_be_written_during_the_run_is_told(tmp_path, monkeypatch):
    from roastcoffea.collector import live_writer as live

    def fails(self, records, samples):
        raise OSError("no space left")

    monkeypatch.setattr(live.LiveWriter, "take", fails)
    monkeypatch.setattr(live.LiveWriter, "interval", 0.01)
    with MetricsCollector(processor.IterativeExecutor(status=False), output_dir=tmp_path) as mc:
        time.sleep(0.2)
    assert ["during the run (OSError: no space left)" in note for note in mc.notes] == [True]
    assert open_run(mc.measurement_path).state == "finished"


@pytest.mark.parametrize("fails", ["compute", "end"])
def test_what_was_written_stays_when_the_end_fails(fileset, tmp_path, monkeypatch, fails):
    """As for want of memory, or as the engine cannot say any more what it has measured."""
    monkeypatch.setattr(live.LiveWriter, "interval", 0.02)

    def no_memory(*args, **options):
        raise MemoryError

    class NoMapping(Analysis):
        @track_metrics
        def process(self, events):
            return [len(events)]  # the record travels beside it

    executor = executor_of("threads", None)
    runner = processor.Runner(executor=executor, schema=NanoAODSchema, chunksize=400)
    with pytest.warns(UserWarning, match="could not be saved"), MetricsCollector(executor, output_dir=tmp_path) as mc:
        output = runner(fileset, processor_instance=NoMapping())
        path = mc.measurement_path
        eventually(lambda: len(open_run(path).chunk_metrics) == len(output))
        if fails == "end":
            monkeypatch.setattr(type(mc._source), "end", no_memory)
        else:
            monkeypatch.setattr("roastcoffea.collector.computed.Run", no_memory)
    monkeypatch.undo()
    saved = open_run(path)
    assert saved.state == "unfinished" and len(saved.chunk_metrics) == len(output) > 0
    assert saved.metrics["total_events_from_chunks"] == sum(output)
    assert any(note.startswith("unfinished: ") for note in saved.run.notes)


def test_records_after_the_end_are_saved_when_the_collector_goes(tmp_path):
    with MetricsCollector(processor.IterativeExecutor(status=False), output_dir=tmp_path) as mc:
        pass
    path = mc.measurement_path
    mc.record_chunk_metrics({"duration": 1.0})
    assert len(open_run(path).chunk_metrics) == 0
    del mc
    gc.collect()
    assert len(open_run(path).chunk_metrics) == 1


def test_a_measurement_that_was_removed_does_not_come_back(tmp_path):
    with MetricsCollector(processor.IterativeExecutor(status=False), output_dir=tmp_path) as mc:
        pass
    mc.record_chunk_metrics({"duration": 1.0})
    shutil.rmtree(mc.measurement_path)
    del mc
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_records_after_the_end_are_saved_when_the_program_ends(tmp_path):
    program = textwrap.dedent("""
        import os, sys
        from coffea import processor
        from roastcoffea import MetricsCollector

        with MetricsCollector(processor.IterativeExecutor(), output_dir=sys.argv[1]) as mc:
            pass
        mc.record_chunk_metrics({"duration": 1.0})
        if os.fork() == 0:
            sys.exit()  # it has the collector, too, and leaves the saving to its parent
        os.wait()
        print(len(os.listdir(sys.argv[1])))
        mc.record_chunk_metrics({"duration": 2.0})
    """)
    result = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, timeout=120)
    assert (result.returncode, result.stderr, result.stdout) == (0, "", "1\n")
    assert [chunk["duration"] for chunk in open_run(only(tmp_path)).chunk_metrics] == [1.0, 2.0]


def test_a_record_that_is_changed_later_counts_as_it_was(tmp_path):
    chunk = {"duration": 1.0, "num_events": 7}
    with MetricsCollector(processor.IterativeExecutor(status=False)) as mc:
        mc.record_chunk_metrics(chunk)
        chunk["num_events"] = object()
    assert mc.metrics["total_events_from_chunks"] == 7 == mc.chunk_metrics[0]["num_events"]
    with pytest.raises((TypeError, ValueError)):
        mc.record_chunk_metrics(chunk)
    with pytest.raises((TypeError, ValueError)):
        mc.set_chunk_metrics([chunk])
    assert mc.metrics["total_events_from_chunks"] == 7 == mc.chunk_metrics[0]["num_events"]


def test_a_folder_that_cannot_be_written_is_told_before_the_run(tmp_path):
    (tmp_path / "file").write_text("x")
    started = []
    with pytest.raises(NotADirectoryError), MetricsCollector(
            processor.IterativeExecutor(status=False), output_dir=tmp_path / "file"):
        started.append(True)
    assert not started
    with pytest.raises(ValueError, match="measurement_name"):
        MetricsCollector(processor.IterativeExecutor(), output_dir=tmp_path, measurement_name="a/b")


def test_the_results_are_worth_more_than_the_measurement(fileset, tmp_path):
    """A folder that goes away during the run must not cost the user his output."""
    executor = processor.IterativeExecutor(status=False)
    runner = processor.Runner(executor=executor, schema=NanoAODSchema)
    folder = tmp_path / "folder"
    with pytest.warns(UserWarning, match="could not be saved"):
        with MetricsCollector(executor, output_dir=folder) as mc:
            output = runner(fileset, processor_instance=Analysis())
            folder.rename(tmp_path / "elsewhere")
            folder.write_text("in the way")
    assert output["events"] == 6300
    assert any("could not be saved" in note for note in mc.notes)
    assert len(open_run(mc.save_measurement(tmp_path / "other")).chunk_metrics) == 6


def test_second_dialect_takes_the_folder_second(fileset, tmp_path):
    executor = processor.IterativeExecutor(status=False)
    with coffea_metrics.MetricsCollector(executor, str(tmp_path)) as mc:
        processor.Runner(executor=executor, schema=NanoAODSchema)(fileset, processor_instance=Analysis())
    assert mc.measurement_path == only(tmp_path)
    assert coffea_metrics.MetricsCollector(executor, "local").output_dir is None


# ---- while it goes on ----

PROGRAM = textwrap.dedent("""
    import sys, ast
    sys.path.insert(0, sys.argv[3])
    from coffea import processor
    from coffea.nanoevents import NanoAODSchema
    from distributed import Client, LocalCluster
    from roastcoffea import MetricsCollector
    from test_output_dir import Analysis

    if __name__ == "__main__":
        fileset = ast.literal_eval(sys.argv[2])
        kind = sys.argv[4]
        if kind == "dask":
            client = Client(LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None))
            executor = processor.DaskExecutor(client=client, status=False)
        elif kind == "processes":
            executor = processor.FuturesExecutor(status=False, workers=2)
        else:
            executor = processor.IterativeExecutor(status=False)
        runner = processor.Runner(executor=executor, schema=NanoAODSchema, chunksize=100)
        with MetricsCollector(executor, output_dir=sys.argv[1], worker_tracking_interval=0.25) as mc:
            print("begun", flush=True)
            runner(fileset, processor_instance=Analysis(pause=0.3))
""")


@pytest.mark.parametrize("kind", ["iterative", "processes", "dask"])
def test_a_client_that_is_killed_loses_two_seconds_at_most(kind, fileset, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    folder = tmp_path / "measurements"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    program = subprocess.Popen(
        [sys.executable, str(script), str(folder), repr(fileset), str(Path(__file__).parent), kind],
        env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert program.stdout.readline() == "begun\n"
        path = only(folder)
        until = time.monotonic() + 60
        while len((live := open_run(path)).chunk_metrics) < 4 and time.monotonic() < until:
            time.sleep(0.2)
        assert live.state == "live"
        assert len(live.chunk_metrics) >= 4
        os.killpg(program.pid, signal.SIGKILL)
        killed = time.time()
    finally:
        if program.poll() is None:
            os.killpg(program.pid, signal.SIGKILL)
        program.wait()
        program.stdout.close()
    left = open_run(path)
    assert left.state == "unfinished"
    assert len(left.chunk_metrics) >= len(live.chunk_metrics)
    # The chunks are 0.3 s long, so that the last one that had ended did so shortly before.
    # Twice the two seconds, as the machine may be busy with other things.
    assert killed - max(chunk["t_end"] for chunk in left.chunk_metrics) < 4 + 0.3
    times = list(left.tracking_data["worker_counts"])
    assert killed - times[-1].timestamp() < 4 + 0.25
    assert left.meta["chunksize"] == "100"
    left.print_summary()


def test_a_file_that_vanishes_is_told_while_the_run_goes_on(client, fileset, tmp_path):
    """It is never opened, so process() leaves no record of it."""
    gone = str(shutil.copy(next(iter(next(iter(fileset.values()))["files"])), tmp_path / "gone.root"))
    runner = processor.Runner(executor=processor.DaskExecutor(client=client, status=False, retries=1), schema=NanoAODSchema)
    with MetricsCollector(client, output_dir=tmp_path / "runs") as mc:
        items = list(runner.preprocess({"data": {"files": {gone: "Events"}}}))
        os.unlink(gone)
        with pytest.raises(Exception, match="gone.root"):
            runner(items, processor_instance=Analysis())
        page = _live.LiveRun(str(only(tmp_path / "runs")))
        eventually(lambda: "gone.root" in page.look()["failures"])
        assert "Failed tries of tasks <small>2</small>" in page.look()["failures"]
    saved = open_run(mc.measurement_path)
    assert live.FAILURES not in saved.run.meta
    assert sum(one["outcome"] == "raised" for one in saved.run.attempts.records()) == 2
