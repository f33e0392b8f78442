"""What failed can be run again, exactly that."""

from __future__ import annotations

import concurrent.futures

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


@pytest.mark.parametrize("kind", ["iterative", "threads", "dask"])
def test_exactly_the_failed_pieces(kind, fileset, request):
    executor = {
        "iterative": lambda: processor.IterativeExecutor(status=False),
        "threads": lambda: processor.FuturesExecutor(
            status=False, pool=concurrent.futures.ThreadPoolExecutor, workers=2),
        "dask": lambda: processor.DaskExecutor(
            client=request.getfixturevalue("client"), status=False, retries=0),
    }[kind]()
    with pytest.raises(Exception, match="by design"), MetricsCollector(executor) as mc:
        runner_of(executor)(fileset, processor_instance=Fails("wjets"))
    failed = mc.failed_fileset()
    assert failed
    assert {item.dataset for item in failed} == {"wjets"}
    assert all(item.entrystart > 0 for item in failed)
    raised = {(chunk["file"], chunk["entry_start"]) for chunk in mc.chunk_metrics if "error" in chunk}
    assert {(item.filename, item.entrystart) for item in failed} == raised
    again = runner_of(processor.IterativeExecutor(status=False))(failed, processor_instance=Fails(None))
    assert again["pieces"] == raised


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
