"""Programs in the three dialects that users write: ours here, and those of the documents where these are at hand."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import awkward as ak
import coffea_metrics
import pytest
from coffea import processor
from coffea.nanoevents import NanoAODSchema

import roastcoffea
from roastcoffea import MetricsCollector, register_backend
from roastcoffea.aggregation import backends as parsers
from roastcoffea.backends import registry
from roastcoffea.backends.base import AbstractMetricsBackend

EVENTS = 6300  # of the fileset


@pytest.fixture
def dask(client):
    return processor.DaskExecutor(client=client, status=False)


@pytest.fixture
def runner(dask):
    return processor.Runner(executor=dask, schema=NanoAODSchema, chunksize=400, savemetrics=True)


@pytest.fixture
def own_registry(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTERED", {})
    monkeypatch.setattr(parsers, "_PARSERS", dict(parsers._PARSERS))


class Counting(processor.ProcessorABC):
    """An analysis that knows nothing of us."""

    def process(self, events):
        return {"n": len(events)}

    def postprocess(self, accumulator):
        return accumulator


class Tracked(Counting):
    """The second package's names for the decorator and the sections; a value of the user's own in each chunk."""

    @coffea_metrics.track_metrics
    def process(self, events):
        with coffea_metrics.track_section(self, "leading muon"):
            muons = events.Muon[events.Muon.pt > 15]
        with coffea_metrics.track_memory(self, "sum of pt"):
            total = float(ak.sum(muons.pt))
        if hasattr(self, "_roastcoffea_current_chunk"):
            self._roastcoffea_current_chunk["kept_muons"] = int(ak.sum(ak.num(muons)))
        return {"n": len(events), "pt": total}


# ---- the second package ----


def test_both_packages_are_one():
    for name in roastcoffea.__all__:
        if name != "MetricsCollector":  # it takes its arguments as that dialect has them
            assert getattr(coffea_metrics, name) is getattr(roastcoffea, name)
    assert issubclass(coffea_metrics.MetricsCollector, roastcoffea.MetricsCollector)


def test_an_undecorated_processor(dask, runner, fileset, tmp_path):
    with coffea_metrics.MetricsCollector(dask, output_dir=str(tmp_path / "kept")) as mc:
        output, report = runner(fileset, Counting())
        mc.set_coffea_report(report)
    assert output["n"] == EVENTS
    assert mc.get_metrics()["total_events"] == EVENTS
    assert mc.get_metrics()["avg_workers"] > 0
    assert [path.name for path in (tmp_path / "kept").iterdir()] == [mc.measurement_path.name]


def test_the_chunks_that_the_processor_has_seen(dask, runner, fileset, tmp_path):
    """The output folder is the second positional argument of this dialect."""
    analysis = Tracked()
    with coffea_metrics.MetricsCollector(dask, str(tmp_path / "kept")) as mc:
        output, report = runner(fileset, analysis)
        mc.set_coffea_report(report)
        mc.set_chunk_metrics(getattr(analysis, "_chunk_metrics", []))
    assert "__roastcoffea_metrics__" not in output
    assert len(mc.chunk_metrics) == report["chunks"]
    assert sum(chunk["event_count"] for chunk in mc.chunk_metrics) == EVENTS


def test_sections_and_values_of_the_users_own(dask, runner, fileset):
    with coffea_metrics.MetricsCollector(dask) as mc:
        runner(fileset, Tracked())
    assert set(mc.get_metrics()["sections"]) == {"leading muon", "sum of pt"}
    for chunk in mc.chunk_metrics:
        assert chunk["kept_muons"] == chunk["custom_metrics"]["kept_muons"] >= 0


# ---- the keys of the metrics reference ----

WITH_FINE_METRICS = """
    processor_cpu_time_seconds processor_noncpu_time_seconds processor_cpu_percentage processor_noncpu_percentage
    total_bytes_read_coffea total_bytes_memory_read_dask disk_read_bytes
""".split()


def test_fine_metrics_come_by_themselves(client, runner, fileset, capsys):
    with MetricsCollector(client) as mc:
        _, report = runner(fileset, Counting())
        mc.set_coffea_report(report)
    mc.print_summary(full=True)
    metrics = mc.get_metrics()
    for key in WITH_FINE_METRICS:
        assert f"{metrics.get(key, 0):.1f}"  # a number that a program can print
    shares = metrics["processor_cpu_percentage"] + metrics["processor_noncpu_percentage"]
    assert shares == pytest.approx(100)
    assert metrics["total_bytes_read_coffea"] == report["bytesread"]
    assert "Fine Metrics (from Dask Spans)" in capsys.readouterr().out


# ---- a backend of the user's own ----


class QueueBackend(AbstractMetricsBackend):
    """The five methods and no more; its tracking data is of a form that nobody else knows, with an Ellipsis in it."""

    def __init__(self, queue=None):
        self.queue = queue
        self.asked = []

    def start_tracking(self, interval: float) -> None:
        self.asked.append(interval)

    def stop_tracking(self) -> dict[str, Any]:
        return {"queue_lengths": ...}

    def create_span(self, name: str) -> None:
        return None

    def get_span_metrics(self, span_info: Any) -> dict[Any, Any]:
        return {}

    def supports_fine_metrics(self) -> bool:
        return False


@pytest.mark.parametrize("how", ["instance", "name"])
def test_a_backend_of_the_users_own(own_registry, fileset, capsys, how):
    register_backend("queue", QueueBackend)
    chosen = {"backend": "queue"} if how == "name" else {"backend": QueueBackend(SimpleNamespace())}
    executor = processor.IterativeExecutor(status=False)
    with MetricsCollector(executor, worker_tracking_interval=0.5, **chosen) as mc:
        processor.Runner(executor=executor, schema=NanoAODSchema)(fileset, Tracked())
    assert mc.backend == "queue"
    assert mc.metrics_backend.asked == [0.5]
    assert mc.tracking_data == {"queue_lengths": ...}
    metrics = mc.get_metrics()
    assert metrics["total_events"] == EVENTS
    assert metrics["tracking_data"] == {"queue_lengths": ...}
    assert metrics["avg_workers"] is None
    mc.print_summary(full=True)
    assert "Throughput Metrics" in capsys.readouterr().out


# ---- the documents themselves, where they stand beside the checkout ----

DOCUMENTS = Path(__file__).resolve().parents[3] / "shared" / "seeds"


def documents_with(text):
    return [page for path in sorted(DOCUMENTS.glob("*.txt")) if text in (page := path.read_text(encoding="utf-8"))]


def blocks_below(heading):
    """The Python blocks of the first document that has this heading, in Markdown, up to the next one of its level."""
    for page in documents_with(heading):
        part = page.split(heading, 1)[1].split("\n## ", 1)[0]
        return [textwrap.dedent(code) for code in re.findall(r"^```python\n(.*?)^```", part, re.M | re.S)]
    pytest.skip("the documents are not at hand")


def names_of_the_documents(client, dask, runner, fileset, folder):
    """What the documents' programs take for granted."""
    return {
        "processor": processor, "executor": dask, "client": client, "runner": runner, "fileset": fileset,
        "result": {"n": 1}, "output_dir": str(folder / "measurements"), "processor_instance": Counting(),
        "MetricsCollector": MetricsCollector,
    }


def test_programs_of_the_documents(client, dask, runner, fileset, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for code in blocks_below("## Usage Patterns"):
        names = names_of_the_documents(client, dask, runner, fileset, tmp_path)
        definition, found, use = code.partition("\n\n\nwith ")
        if "class MyProcessor" in code:
            exec(compile(definition, "document", "exec"), names)
            names["MyProcessor"].__abstractmethods__ = frozenset()  # they leave postprocess() out
            names["processor_instance"] = made = names["MyProcessor"]()
            made.hist = SimpleNamespace(fill=lambda values: None)
            code = "with " + use if found else "output, report = runner(fileset, processor_instance)"
            with MetricsCollector(dask) as around:
                exec(compile(code, "document", "exec"), names)
            assert len(around.chunk_metrics) == names["report"]["chunks"]
        else:
            exec(compile(code, "document", "exec"), names)
            assert names["output"]["n"] == EVENTS


def test_backend_of_the_documents(own_registry, fileset):
    wanted = "from roastcoffea.backends.base import AbstractMetricsBackend"
    pages = [page for page in documents_with(wanted) if "Register it in" in page]
    if not pages:
        pytest.skip("the documents are not at hand")
    names: dict[str, Any] = {"Any": Any}
    exec(wanted + pages[0].split(wanted, 1)[1].split("Register it in", 1)[0], names)
    register_backend("taskvine", names["TaskVineMetricsBackend"])
    with MetricsCollector(names["TaskVineMetricsBackend"](None)) as mc:
        processor.Runner(executor=processor.IterativeExecutor(status=False), schema=NanoAODSchema)(
            fileset, lambda events: {"n": len(events)})
    assert mc.backend == "taskvine"
    assert mc.get_metrics()["total_events"] == EVENTS
