"""What failed can be run again, exactly that."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import os
import shutil
import signal

import pytest
from coffea import processor
from coffea.nanoevents import NanoAODSchema

from roastcoffea import MetricsCollector, track_metrics


class Fails(processor.ProcessorABC):
    """On the second chunk of each file of one dataset."""

    def __init__(self, on):
        self.on = on

    @track_metrics
    def process(self, events):
        metadata = events.metadata
        if metadata["dataset"] == self.on and metadata["entrystart"] > 0:
            raise RuntimeError("by design")
        return {"events": len(events), "pieces": {(metadata["filename"], metadata["entrystart"])}}

    def postprocess(self, accumulator):
        return accumulator


def runner_of(executor):
    return processor.Runner(executor=executor, schema=NanoAODSchema, chunksize=600)


def executor_of(kind, request):
    return {
        "iterative": lambda: processor.IterativeExecutor(status=False),
        "threads": lambda: processor.FuturesExecutor(
            status=False, pool=concurrent.futures.ThreadPoolExecutor, workers=2),
        "processes": lambda: processor.FuturesExecutor(status=False, workers=2),
        "recoverable": lambda: processor.FuturesExecutor(status=False, workers=2, recoverable=True),
        "dask": lambda: processor.DaskExecutor(
            client=request.getfixturevalue("client"), status=False, retries=0),
    }[kind]()


def place_of(item):
    return item.filename, item.entrystart


def run_again(failed):
    """The places of the pieces that Coffea is given."""
    again = runner_of(processor.IterativeExecutor(status=False))(failed, processor_instance=Fails(None))
    return again["pieces"]


@pytest.mark.parametrize("kind", ["iterative", "threads", "dask"])
def test_exactly_the_failed_pieces(kind, fileset, request):
    executor = executor_of(kind, request)
    with pytest.raises(Exception, match="by design"), MetricsCollector(executor) as mc:
        runner_of(executor)(fileset, processor_instance=Fails("wjets"))
    failed = mc.failed_fileset()
    assert failed
    assert {item.dataset for item in failed} == {"wjets"}
    assert all(item.entrystart > 0 for item in failed)
    raised = {(chunk["file"], chunk["entry_start"]) for chunk in mc.chunk_metrics if "error" in chunk}
    assert len(failed) == len(raised)
    assert {place_of(item) for item in failed} == raised
    assert run_again(failed) == raised


def work_items(fileset):
    return list(runner_of(processor.IterativeExecutor(status=False)).preprocess(fileset))


@pytest.mark.parametrize(("kind", "result_type"), [
    ("iterative", False), ("iterative", True), ("threads", False), ("processes", False),
    ("recoverable", False), ("dask", False), ("dask", True),
])
def test_a_file_that_does_not_open(kind, result_type, fileset, tmp_path, request):
    """No record can tell of it: process() was never entered."""
    good, bad = list(fileset["wjets"]["files"])
    gone = str(shutil.copy(bad, tmp_path / "gone.root"))
    items = work_items({"wjets": {"files": {good: "Events", gone: "Events"}}})
    (tmp_path / "gone.root").rename(tmp_path / "elsewhere.root")
    executor = executor_of(kind, request)
    options = {"skipbadfiles": (OSError,), "use_result_type": True} if result_type else {}
    runner = processor.Runner(executor=executor, schema=NanoAODSchema, chunksize=600, **options)
    with MetricsCollector(executor) as mc:
        if result_type:
            assert not runner(list(items), processor_instance=Fails(None)).is_ok()
        else:
            with pytest.raises(Exception, match="Failed to open file|No chunks returned results"):
                runner(list(items), processor_instance=Fails(None))
    failed = mc.failed_fileset()
    tried = {place_of(item) for item in failed}
    assert tried and len(failed) == len(tried)
    assert tried <= {place_of(item) for item in items if item.filename == gone}
    if kind == "dask":
        raised = {one["key"] for one in mc.attempts if one["kind"] == "processing"
                  and one["outcome"] == "raised"}
        assert len(failed) == len(raised)
    elif kind != "iterative":  # both of its pieces were in the pool
        assert len(failed) == 2
    (tmp_path / "elsewhere.root").rename(gone)
    assert run_again(failed) == tried


class Bomb:
    """Kills the process that unpickles it, unless it is the one that it was made in."""

    def __init__(self, pid):
        if os.getpid() != pid:
            os.kill(os.getpid(), signal.SIGKILL)
        self.pid = pid

    def __reduce__(self):
        return Bomb, (self.pid,)


def test_a_worker_that_dies_before_it_has_the_piece(fileset):
    """Neither a record nor an error names what was in the task."""
    distributed = pytest.importorskip("distributed")
    import dask

    items = work_items({"wjets": fileset["wjets"]})
    items[1] = deadly = dataclasses.replace(items[1], usermeta={"bomb": Bomb(os.getpid())})
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        executor = processor.DaskExecutor(client=client, status=False, retries=0)
        with pytest.raises(Exception, match="WorkItem|KilledWorker"), MetricsCollector(client) as mc:
            runner_of(executor)(items, processor_instance=Fails(None))
    failed = mc.failed_fileset()
    assert place_of(deadly) in {place_of(item) for item in failed}
    # Dask gives up all that the worker had.
    given_up = {one["key"] for one in mc.attempts if one["exception"] == "KilledWorker"}
    assert len(failed) == len({place_of(item) for item in failed}) == len(given_up)
    (finding,) = [one for one in mc.diagnose() if one["kind"] == "lost_work"]
    assert "never processed" in finding["evidence"]


class Dies(processor.ProcessorABC):
    """With its process, on one piece."""

    @track_metrics
    def process(self, events):
        metadata = events.metadata
        if metadata["dataset"] == "wjets" and metadata["entrystart"] > 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return {"events": len(events)}

    def postprocess(self, accumulator):
        return accumulator


def test_a_pool_that_breaks_has_failed_all_that_it_had(fileset):
    executor = processor.FuturesExecutor(status=False, workers=2)
    items = work_items(fileset)
    with pytest.raises(concurrent.futures.BrokenExecutor), MetricsCollector(executor) as mc:
        runner_of(executor)(list(items), processor_instance=Dies())
    failed = {place_of(item) for item in mc.failed_fileset()}
    assert len(mc.failed_fileset()) == len(failed)
    good = {(chunk["file"], chunk["entry_start"]) for chunk in mc.chunk_metrics}
    assert failed | good == {place_of(item) for item in items}
    assert not failed & good
    assert {place_of(item) for item in items if item.dataset == "wjets" and item.entrystart > 0} & failed


def test_a_piece_that_goes_well_in_a_second_call(fileset, tmp_path):
    good, bad = list(fileset["wjets"]["files"])
    gone = str(shutil.copy(bad, tmp_path / "gone.root"))
    items = work_items({"wjets": {"files": {gone: "Events"}}})
    (tmp_path / "gone.root").rename(tmp_path / "elsewhere.root")
    executor = processor.IterativeExecutor(status=False)
    with MetricsCollector(executor) as mc:
        for _ in range(2):
            with pytest.raises(Exception, match="Failed to open file"):
                runner_of(executor)(list(items), processor_instance=Fails(None))
        (tmp_path / "elsewhere.root").rename(gone)
        runner_of(executor)(items[:1], processor_instance=Fails(None))
    assert mc.failed_fileset() == []


def test_of_a_good_run_nothing_failed(fileset):
    executor = processor.IterativeExecutor(status=False)
    with MetricsCollector(executor) as mc:
        runner_of(executor)(fileset, processor_instance=Fails(None))
    assert mc.failed_fileset() == []
    assert mc.lost_workers == []


def test_before_the_end_there_is_nothing_to_say():
    with MetricsCollector(processor.IterativeExecutor(status=False)) as mc:
        with pytest.raises(RuntimeError, match="has ended"):
            mc.failed_fileset()
