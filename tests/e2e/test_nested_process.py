"""process() that calls process(): one chunk for each piece of work, and nothing of ours in the result."""

from __future__ import annotations

import time

import pytest
from coffea import processor
from test_endings import KINDS, executor_of, runner_of

from roastcoffea import MetricsCollector, open_run, track_metrics, track_time


class Base(processor.ProcessorABC):
    @track_metrics
    def process(self, events):
        with track_time(self, "inner"):
            time.sleep(0.02)
            return {"events": len(events)}

    def postprocess(self, accumulator):
        return accumulator


class Below(Base):
    """Not decorated, and its result has that of the decorated one one level below."""

    def process(self, events):
        return {"below": super().process(events)}


class Both(Base):
    @track_metrics
    def process(self, events):
        with track_time(self, "outer"):
            time.sleep(0.01)
            return {"below": super().process(events)}


class Another(Base):
    """Asks another processor."""

    def __init__(self):
        self.inner = Both()

    @track_metrics
    def process(self, events):
        with track_time(self, "outermost"):
            return self.inner.process(events)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("analysis, sections", [
    (Below, ["inner"]), (Both, ["outer", "inner"]), (Another, ["outermost", "outer", "inner"]),
])
def test_one_chunk_each(analysis, sections, kind, fileset, request, tmp_path):
    executor = executor_of(kind, request)
    with MetricsCollector(executor, output_dir=tmp_path, measurement_name="m") as mc:
        output = runner_of(executor)(fileset, processor_instance=analysis())
    assert output == {"below": {"events": 6300}}
    for run in (mc, open_run(tmp_path / "m")):
        chunks, metrics = list(run.chunk_metrics), run.metrics
        assert len(chunks) == metrics["num_successful_chunks"] == 12
        assert metrics["total_events_from_chunks"] == 6300
        for chunk in chunks:
            assert [section["section_name"] for section in chunk["sections"]] == sections
            assert chunk["timing"][sections[0]] <= chunk["duration"]
        assert metrics["budget"]["parts"]["unaccounted"] >= 0
