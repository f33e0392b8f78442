"""Programs that users have already written, as they are written."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest
from coffea import processor
from coffea.nanoevents import NanoAODSchema

import roastcoffea
from roastcoffea import MetricsCollector, register_backend
from roastcoffea.aggregation import backends as parsers
from roastcoffea.backends import registry

SEEDS = Path(__file__).parent.parent / "data" / "seeds"


def blocks(name):
    """The Python blocks of a document in Markdown, by the heading above each."""
    text = (SEEDS / name).read_text(encoding="utf-8")
    found, heading = {}, ""
    for match in re.finditer(r"^#+ ([^\n]+)$|^```python\n(.*?)^```", text, re.M | re.S):
        if match.group(1):
            heading = match.group(1)
        else:
            found.setdefault(heading, []).append(textwrap.dedent(match.group(2)))
    return found


@pytest.fixture
def names(client, fileset, tmp_path, monkeypatch):
    """What the documents take for granted: an executor, a runner, a fileset, a client, a histogram."""
    monkeypatch.chdir(tmp_path)
    executor = processor.DaskExecutor(client=client, status=False)

    class Histogram:
        def fill(self, values):
            self.n = len(values)

    return {
        "processor": processor,
        "executor": executor,
        "client": client,
        "fileset": fileset,
        "result": {"n": 1},
        "output_dir": str(tmp_path / "measurements"),
        "Histogram": Histogram,
        "runner": processor.Runner(
            executor=executor, schema=NanoAODSchema, chunksize=400, savemetrics=True
        ),
    }


def instance_of(names):
    """The processor of the block; where its body is left open, the result is the one above."""
    made = names["MyProcessor"]()
    made.hist = names["Histogram"]()
    return made


PATTERNS = "metrics-reference.txt"


def run(code, names):
    exec(compile(code, "seed", "exec"), names)


def test_minimal(names):
    (code,) = blocks(PATTERNS)["Minimal - Workflow Level Only"]

    class Bare(processor.ProcessorABC):
        def process(self, events):
            return {"n": len(events)}

        def postprocess(self, accumulator):
            return accumulator

    names["processor_instance"] = Bare()
    run(code, names)
    assert names["output"]["n"] == 6300
    assert names["mc"].get_metrics()["total_events"] == 6300


def test_standard(names):
    (code,) = blocks(PATTERNS)["Standard - Add Chunk Tracking"]
    definition, use = code.split("\n\n\nwith ")
    run(definition, names)
    names["MyProcessor"].__abstractmethods__ = frozenset()
    names["processor_instance"] = instance_of(names)
    run("with " + use, names)
    assert names["mc"].get_metrics()["total_events"] == 6300
    assert len(names["mc"].chunk_metrics) == names["report"]["chunks"]


def test_advanced(names):
    (code,) = blocks(PATTERNS)["Advanced - Internal Instrumentation"]
    run(code, names)
    names["MyProcessor"].__abstractmethods__ = frozenset()
    made = instance_of(names)
    with MetricsCollector(names["executor"]) as mc:
        names["runner"](names["fileset"], made)
    assert set(mc.get_metrics()["sections"]) == {"jet_selection", "histogram_filling"}


def test_complete(names, capsys):
    (code,) = blocks(PATTERNS)["Complete - With Fine Metrics (Dask Spans)"]

    class Bare(processor.ProcessorABC):
        def process(self, events):
            return {"n": len(events)}

        def postprocess(self, accumulator):
            return accumulator

    names["processor_instance"] = Bare()
    names["MetricsCollector"] = MetricsCollector
    run(code, names)
    assert "Processor CPU time:" in capsys.readouterr().out


def test_both_packages_are_one():
    import coffea_metrics

    for name in roastcoffea.__all__:
        if name != "MetricsCollector":  # it takes its arguments as that dialect has them
            assert getattr(coffea_metrics, name) is getattr(roastcoffea, name)
    assert issubclass(coffea_metrics.MetricsCollector, roastcoffea.MetricsCollector)


def test_a_backend_of_the_users_own(fileset, capsys, monkeypatch):
    """The example of the documents: registered, collected with, printed."""
    text = (SEEDS / "advanced-usage.txt").read_text(encoding="utf-8")
    monkeypatch.setattr(registry, "_REGISTERED", {})
    monkeypatch.setattr(parsers, "_PARSERS", dict(parsers._PARSERS))
    start = text.index("from roastcoffea.backends.base import AbstractMetricsBackend")
    stop = text.index("Register it in")
    names = {}
    exec("from typing import Any\n" + text[start:stop], names)
    register_backend("taskvine", names["TaskVineMetricsBackend"])
    executor = processor.IterativeExecutor(status=False)
    with MetricsCollector(names["TaskVineMetricsBackend"](None)) as mc:
        processor.Runner(executor=executor, schema=NanoAODSchema)(
            fileset, lambda events: {"n": len(events)}
        )
    assert mc.backend == "taskvine"
    assert mc.get_metrics()["total_events"] == 6300
    mc.print_summary()
    assert "Throughput Metrics" in capsys.readouterr().out
