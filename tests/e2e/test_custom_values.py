"""What an analysis stores in its chunks, on every road to disk: whole, or left out with a note."""

from __future__ import annotations

import math

import numpy as np
import pytest
from coffea import processor
from coffea.nanoevents import NanoAODSchema

from roastcoffea import MetricsCollector, open_run, track_metrics
from roastcoffea.instrumentation import BaseInstrumentationContext

NOTES = [
    "the value 'huge' of a chunk was left out: as JSON it is longer than 1 MiB",
    "the value 'circle' of a chunk was left out: it is more than 100 levels deep",
    "the value 'refuses' of a chunk was left out: OSError: not me",
]


class Refuses:
    def __str__(self):
        raise OSError("not me")

    def __reduce__(self):
        raise OSError("nor me")


class Cut(BaseInstrumentationContext):
    def __exit__(self, *exception):
        self.record_metric("passed", {"jets": (3, 4), 5: {"b"}})


class Stores(processor.ProcessorABC):
    @track_metrics
    def process(self, events):
        chunk = self._roastcoffea_current_chunk
        circle = []
        circle.append(circle)
        chunk["pt"] = np.arange(10_000) / 7
        chunk["huge"] = np.zeros(1_000_000)
        chunk["circle"] = circle
        chunk["refuses"] = Refuses()
        chunk["raw"] = b"\x00\xff"
        chunk["events"] = len(events)
        chunk["bounds"] = (-math.inf, math.nan)
        with Cut(self, "cut"):
            pass
        return {"events": len(events)}

    def postprocess(self, accumulator):
        return accumulator


def check(chunks):
    assert sum(chunk["events"] for chunk in chunks) == 6300
    for chunk in chunks:
        assert chunk["pt"] == (np.arange(10_000) / 7).tolist()
        assert chunk["raw"] == b"\x00\xff"
        assert repr(chunk["bounds"]) == "(-inf, nan)"
        assert chunk["passed"] == {"jets": (3, 4), 5: {"b"}}
        assert type(chunk["passed"]["jets"]) is tuple
        assert set(chunk["custom_metrics"]) == {"pt", "raw", "events", "bounds", "passed"}
        assert not chunk["faults"]


@pytest.mark.parametrize("where", ["iterative", "futures", "dask"])
def test_values_of_an_analysis(where, fileset, tmp_path, request):
    executor = {
        "iterative": lambda: processor.IterativeExecutor(status=False),
        "futures": lambda: processor.FuturesExecutor(workers=2, status=False),
        "dask": lambda: processor.DaskExecutor(client=request.getfixturevalue("client"), status=False),
    }[where]()
    run = processor.Runner(executor=executor, schema=NanoAODSchema, chunksize=1000)
    config = {"cut": 25, "circle": (circle := {})}
    circle["again"] = circle
    with MetricsCollector(executor, output_dir=tmp_path, config=config) as mc:
        output = run(fileset, Stores(), treename="Events")
    assert output == {"events": 6300}
    check(mc.chunk_metrics)
    assert [note for note in mc.run.notes if note in NOTES] == NOTES
    saved = open_run(mc.measurement_path)
    check(saved.chunk_metrics)
    assert [note for note in saved.notes if note in NOTES] == NOTES
    assert saved.config == {"cut": 25}
    assert sum(note.startswith("config 'circle' was left out") for note in saved.notes) == 1
    assert sum(note.startswith("config 'circle' was left out") for note in mc.notes) == 1
