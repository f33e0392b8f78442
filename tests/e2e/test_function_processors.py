"""A function in place of a processor: its sections are found without `self`."""

from __future__ import annotations

import pytest
from test_endings import KINDS, executor_of, runner_of

from roastcoffea import MetricsCollector, track_memory, track_metrics, track_time


@track_metrics
def count(events):
    with track_time(None, "by none"), track_memory(events, "memory"):
        pass
    with track_time(events, "by events"):
        pass
    return {"events": len(events)}


@pytest.mark.parametrize("kind", KINDS)
def test_sections_of_a_function(kind, fileset, request):
    executor = executor_of(kind, request)
    with MetricsCollector(executor, processor_instance=count) as mc:
        out = runner_of(executor)({"data": fileset["data"]}, processor_instance=count)
    assert out["events"] == 2100
    sections = mc.get_metrics()["sections"]
    assert {name: section["count"] for name, section in sections.items()} == {"by none": 4, "by events": 4, "memory": 4}
