"""How a run ended: its outcome, the error, and what can be read after it."""

from __future__ import annotations

import concurrent.futures
import gc
import json
import os
import signal
import weakref

import pytest
from coffea import processor
from coffea.nanoevents import NanoAODSchema

from roastcoffea import MetricsCollector, load_measurement, open_run, track_metrics

KINDS = ["iterative", "threads", "processes", "dask"]


class Plain(processor.ProcessorABC):
    """Without our decorator; raises on the second chunk of each file of `on`."""

    def __init__(self, on=None, error=ValueError):
        self.on, self.error = on, error

    def process(self, events):
        metadata = events.metadata
        if metadata["dataset"] == self.on and metadata["entrystart"] > 0:
            raise self.error("by design: 'quoted'")
        return {"events": len(events)}

    def postprocess(self, accumulator):
        return accumulator


class Tracked(Plain):
    process = track_metrics(Plain.process)


def executor_of(kind, request):
    return {
        "iterative": lambda: processor.IterativeExecutor(status=False),
        "threads": lambda: processor.FuturesExecutor(
            status=False, pool=concurrent.futures.ThreadPoolExecutor, workers=2),
        "processes": lambda: processor.FuturesExecutor(status=False, workers=2),
        "dask": lambda: processor.DaskExecutor(
            client=request.getfixturevalue("client"), status=False, retries=0),
    }[kind]()


def runner_of(executor, **options):
    return processor.Runner(executor=executor, schema=NanoAODSchema, chunksize=600, **options)


@pytest.mark.parametrize("analysis", [Plain, Tracked])
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_raised(kind, analysis, fileset, request, tmp_path):
    executor = executor_of(kind, request)
    with pytest.raises(Exception, match="by design"):
        with MetricsCollector(executor, output_dir=tmp_path, measurement_name="raised") as mc:
            runner_of(executor)(fileset, processor_instance=analysis("wjets"))
    metrics = mc.get_metrics()
    assert mc.outcome == metrics["outcome"] == "failed"
    error = metrics["error"]
    assert error["type"] == "ValueError" and error["message"] == "by design: 'quoted'"
    assert "by design" in error["traceback"] and "Traceback" in error["traceback"]
    assert error["dataset"] == "wjets" and error["file"] in fileset["wjets"]["files"]
    assert error["entry_start"] > 0 and error["entry_stop"] > error["entry_start"]
    ending = mc.run.ending
    assert ending["pieces"] == 12
    if analysis is Tracked:  # no report of Coffea: the records tell how fast it was until then
        assert metrics["total_events"] == sum(c["num_events"] for c in mc.chunk_metrics if "error" not in c) > 0
        assert metrics["event_rate_wall_khz"] == pytest.approx(metrics["total_events"] / metrics["wall_time"] / 1000)
    else:
        assert metrics.get("total_events") is None
    assert 0 <= ending["pieces_done"] <= 10
    if kind == "iterative":
        assert ending["pieces_done"] == 5  # two datasets of two files of two chunks, and one more
    read, _, _ = load_measurement(tmp_path / "raised")
    assert read["outcome"] == "failed" and read["error"] == error and read["skipped_files"] == []
    again = open_run(tmp_path / "raised")
    assert again.outcome == "failed" and again.run.ending == ending
    assert json.loads((tmp_path / "raised" / "metadata.json").read_text())["outcome"] == "failed"
    assert json.loads((tmp_path / "raised" / "metrics.json").read_text())["error"] == error


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_is_done(kind, fileset, request):
    executor = executor_of(kind, request)
    with MetricsCollector(executor) as mc:
        assert mc.outcome is None
        runner_of(executor)(fileset, processor_instance=Plain())
    assert mc.outcome == mc.get_metrics()["outcome"] == "done"
    assert mc.metrics["error"] is None and mc.metrics["skipped_files"] == []
    assert (mc.run.ending["pieces"], mc.run.ending["pieces_done"]) == (12, 12)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("where", ["in process()", "in the block"])
def test_an_interrupt(error, where, fileset):
    executor = processor.IterativeExecutor(status=False)
    with pytest.raises(error), MetricsCollector(executor) as mc:
        runner_of(executor)(fileset, processor_instance=Plain("data" if where == "in process()" else None, error))
        raise error()
    metrics = mc.get_metrics()
    assert mc.outcome == metrics["outcome"] == "interrupted"
    assert metrics["error"]["type"] == error.__name__
    assert mc.run.ending["pieces_done"] == (9 if where == "in process()" else 12)
    assert ("file" in metrics["error"]) == (where == "in process()")


def test_an_exception_of_the_users_own_after_the_run(fileset):
    executor = processor.IterativeExecutor(status=False)
    with pytest.raises(ZeroDivisionError), MetricsCollector(executor) as mc:
        runner_of(executor)(fileset, processor_instance=Plain())
        1 / 0  # noqa: B018
    assert mc.outcome == "failed" and mc.metrics["error"]["type"] == "ZeroDivisionError"
    assert mc.get_metrics()["total_events"] > 0 and "file" not in mc.metrics["error"]


def test_work_that_a_later_call_has_done(fileset):
    executor = processor.IterativeExecutor(status=False)
    run = runner_of(executor)
    with MetricsCollector(executor) as mc:
        with pytest.raises(Exception, match="by design"):
            run(fileset, processor_instance=Plain("wjets"))
        run(fileset, processor_instance=Plain())
    assert mc.outcome == "done" and mc.failed_fileset() == []
    assert (mc.run.ending["pieces"], mc.run.ending["pieces_done"]) == (12, 12)
    with MetricsCollector(executor) as mc:
        with pytest.raises(Exception, match="by design"):
            run(fileset, processor_instance=Plain("wjets"))
        run({"data": fileset["data"]}, processor_instance=Plain())
    assert mc.outcome == "failed" and len(mc.failed_fileset()) == 1
    assert mc.metrics["error"]["type"] == "ValueError"


class Marked(Exception):
    """An exception that can be watched."""


@pytest.mark.parametrize("caught", [False, True])
def test_nothing_of_the_users_error_is_kept(caught, fileset):
    executor = processor.IterativeExecutor(status=False)

    def fail():
        analysis = Plain("data", Marked)
        try:
            with MetricsCollector(executor) as mc:
                try:
                    runner_of(executor)(fileset, processor_instance=analysis)
                except Exception as error:
                    seen.append(weakref.ref(error.__cause__))
                    if not caught:
                        raise
        except Exception:
            pass
        mc.processor_instance = None
        return mc

    seen: list[weakref.ref] = []
    mc = fail()
    gc.collect()
    assert mc.outcome == "failed" and mc.metrics["error"]["type"] == "Marked"
    assert seen and seen[0]() is None


class Dies(Plain):
    """With its process, on the second chunk of each file of `on`."""

    def process(self, events):
        metadata = events.metadata
        if metadata["dataset"] == self.on and metadata["entrystart"] > 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return {"events": len(events)}


def lost_work(mc):
    (finding,) = [one for one in mc.diagnose() if one["kind"] == "lost_work"]
    return finding


@pytest.mark.parametrize("pool", [None, concurrent.futures.ProcessPoolExecutor])
def test_a_process_of_a_pool_that_is_killed(pool, fileset):
    options = {} if pool is None else {"pool": pool}
    executor = processor.FuturesExecutor(status=False, workers=2, **options)
    with pytest.raises(concurrent.futures.BrokenExecutor), MetricsCollector(executor) as mc:
        runner_of(executor)(fileset, processor_instance=Dies("data"))
    assert mc.outcome == "failed" and mc.get_metrics()["error"]["type"] in ("TerminatedWorkerError", "BrokenProcessPool")
    assert mc.run.ending["pieces"] == 12 and mc.run.ending["pieces_done"] <= 10
    finding = lost_work(mc)
    assert finding["severity"] == "critical" and finding["title"].startswith("The run failed after ")
    assert "A process of the pool was killed" in finding["advice"]
    assert "mc.attempts" not in finding["advice"] and "missing in the result" not in finding["title"]
    assert mc.metrics["skipped_files"] == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_finding_of_a_run_that_raised(kind, fileset, request):
    executor = executor_of(kind, request)
    with pytest.raises(Exception, match="by design"), MetricsCollector(executor) as mc:
        runner_of(executor)(fileset, processor_instance=Plain("wjets"))
    finding = lost_work(mc)
    assert finding["severity"] == "critical" and "ValueError" in finding["title"]
    assert ("mc.attempts" in finding["advice"]) == bool(mc.attempts) == (kind == "dask")
    assert "missing in the result" not in finding["title"]


def test_metrics_are_missing_only_where_there_are_none():
    with MetricsCollector(processor.IterativeExecutor(status=False)) as mc:
        pass
    assert mc.outcome == "done"
    with pytest.raises(RuntimeError, match="no Runner was called"):
        mc.get_metrics()
