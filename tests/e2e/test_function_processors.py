"""A function in place of a processor: its sections are found without `self`, its arguments by name or by place."""

from __future__ import annotations

import functools

import pytest
from coffea import processor
from test_endings import KINDS, executor_of, runner_of

from roastcoffea import MetricsCollector, track_memory, track_metrics, track_time
from roastcoffea.decorator import bare


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


@track_metrics
def of_a_year(events, year=None, *, scale=1):
    return {"events": scale * len(events), "years": {year}}


class Analysis(processor.ProcessorABC):
    @track_metrics
    def process(self, events, year=None):
        return {"events": 2 * len(events), "years": {year}}

    def postprocess(self, accumulator):
        return {}


PROCESSORS = {
    "keywords": functools.partial(of_a_year, year=2016, scale=2),
    "twice": functools.partial(functools.partial(of_a_year, scale=2), year=2016),
    "method": functools.partial(Analysis().process, year=2016),
}


@pytest.mark.parametrize("made", PROCESSORS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_function_with_keyword_arguments(kind, made, fileset, request):
    executor, function = executor_of(kind, request), PROCESSORS[made]
    with MetricsCollector(executor) as mc:
        out = runner_of(executor)({"data": fileset["data"]}, processor_instance=function)
    assert out == {"events": 4200, "years": {2016}}
    assert [chunk["dataset"] for chunk in mc.chunk_metrics] == ["data"] * 4
    assert mc.metrics["total_events_from_chunks"] == 2100
    assert not [note for note in mc.notes if not note.startswith("span ")]
    owner = bare(function)
    assert getattr(owner, "_roastcoffea_collect_metrics", False) is False
    assert not hasattr(owner, "_roastcoffea_topic")


class WrapsItself:
    """A callable that has everything that it is asked for."""

    def __getattr__(self, name):
        if name == "postprocess" or name.startswith("__") and name != "__wrapped__":
            raise AttributeError(name)
        return WrapsItself()

    def __call__(self, events):
        return {"events": len(events)}


@pytest.mark.parametrize("kind", KINDS)
def test_a_processor_that_answers_every_name(kind, fileset, request):
    executor = executor_of(kind, request)
    with MetricsCollector(executor) as mc:
        out = runner_of(executor)({"data": fileset["data"]}, processor_instance=WrapsItself())
    assert out == {"events": 2100} and mc.metrics["total_events"] == 2100
