"""A program as a user who checks types writes it; mypy --strict and pyright say nothing of it. Never run."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import roastcoffea
from roastcoffea import (
    Advice,
    BaseInstrumentationContext,
    ChunkLog,
    Comparison,
    MetricsCollector,
    Scaling,
    Trend,
    WhatIf,
    board,
    compare,
    load_measurement,
    open_run,
    plot_all,
    plot_chunk_gantt,
    plot_core_second_budget,
    plot_per_task_cpu_io,
    plot_runtime_distribution,
    plot_throughput_timeline,
    plot_worker_count_timeline,
    register_backend,
    scaling,
    track_bytes,
    track_memory,
    track_metrics,
    track_section,
    track_time,
    trend,
)
from roastcoffea.aggregation.chunk import aggregate_chunk_metrics, build_chunk_info
from roastcoffea.aggregation.core import MetricsAggregator
from roastcoffea.aggregation.workflow import aggregate_workflow_metrics
from roastcoffea.backends.base import AbstractMetricsBackend
from roastcoffea.export.measurements import save_measurement
from roastcoffea.export.reporter import format_chunk_metrics_table, format_throughput_table
from roastcoffea.collector.results import SavedRun
from roastcoffea.utils import get_process_memory


class TrackRows(BaseInstrumentationContext):
    def __enter__(self) -> TrackRows:
        return self

    def __exit__(self, *exception: object) -> None:
        self.record_metric("rows", 3)


class Analysis:
    @track_metrics
    def process(self, events: Any) -> dict[str, int]:
        with track_time(self, "selection"), track_section(self, "muons"):
            muons = events.Muon[events.Muon.pt > 20]
        with track_memory(self, "histogram"), track_bytes(self, events, "read"), TrackRows(self):
            return {"muons": len(muons)}

    def postprocess(self, accumulator: dict[str, int]) -> dict[str, int]:
        return accumulator


class Cluster(AbstractMetricsBackend):
    def start_tracking(self, interval: float) -> None:
        self.interval = interval

    def stop_tracking(self) -> dict[str, Any]:
        return {}

    def create_span(self, name: str) -> None:
        return None

    def get_span_metrics(self, span_info: Any) -> dict[Any, Any]:
        return {}

    def supports_fine_metrics(self) -> bool:
        return False


def decorated(analysis: Analysis, events: Any) -> int:
    output: dict[str, int] = analysis.process(events)
    return output["muons"]


def collect(client: object, folder: Path) -> Path:
    with MetricsCollector(client, output_dir=folder, config={"cut": 20}, live=True) as mc:
        decorated(Analysis(), None)
    metrics: dict[str, Any] = mc.get_metrics()
    mc.print_summary()
    rate: float = metrics["event_rate_wall_khz"]
    assert rate >= 0 and mc.t_start is not None
    began = datetime.fromtimestamp(mc.t_start)
    report: Path = mc.save_report(folder / f"{began}.html")
    plots: dict[str, Path] = mc.plot_all(folder)
    for attempt in mc.attempts:
        print(attempt["outcome"])
    print(report, plots, mc.lost_workers, mc.failed_fileset(), [note.upper() for note in mc.notes])
    for finding in mc.diagnose():
        print(finding["title"])
    return mc.save_measurement(folder, "named", overwrite=False)


def look(folder: Path) -> npt.NDArray[np.float64]:
    run: SavedRun = open_run(folder)
    budget = run.budget(by="dataset")
    assert budget is not None
    figure: Figure
    axes: Axes
    figure, axes = plot_runtime_distribution(run.chunk_metrics, bins=20, output_path=folder / "runtime.png")
    figure, axes = plot_worker_count_timeline(run.tracking_data, title="Workers", figsize=(6, 4))
    figure, axes = plot_core_second_budget(budget)
    figure, axes = plot_chunk_gantt(run.chunk_metrics, max_legend_entries=3)
    figure, axes = plot_per_task_cpu_io(run.span_metrics)
    figure, axes = plot_throughput_timeline(run.metrics["chunk_info"])
    axes.set_ylim(0, 1)
    figure.set_dpi(200)
    made: dict[str, Path] = plot_all(run, folder)
    print(made, run.meta["host"], run.state)
    durations: npt.NDArray[np.float64] = run.run.chunks.column("duration")
    return durations


def compared(mc: MetricsCollector, folder: str) -> bool:
    comparison: Comparison = mc.compare(folder)
    comparison.print_summary()
    print(compare(folder, mc), comparison.headline, comparison.causes[0]["name"], comparison.tables[0]["title"])
    path: Path = comparison.save_report("comparison.html")
    failed, why = comparison.gate("wall_time>5%", strict=True)
    print(path, why)
    return failed


def advised(mc: MetricsCollector, fileset: dict[str, Any]) -> dict[str, Any]:
    advice: Advice = mc.advice()
    advice.print_summary()
    print(advice.headline, advice.items, advice.prediction, advice.runner_arguments, advice.executor_arguments)
    print(advice.cluster_arguments, advice.preload, advice.exclude_files, advice.first_files)
    workers: int | None = advice.workers
    threads: int | None = advice.threads
    print(workers, threads)
    return advice.fileset(fileset) if advice else fileset


def scaled(runs: list[str]) -> float:
    found: Scaling = scaling(runs, cores=[64, 128])
    found.print_summary()
    print(found.kind, found.points[0]["efficiency"], found.laws["amdahl"]["serial"]["at"], found.tables[0]["rows"])
    return found.predict(1000, law="usl")["at"]


def shown(folder: str) -> str:
    link = board(folder, host="127.0.0.1", port=0, base_url="/", allow_hosts=["hub.example.org"])
    link.close()
    return link.url


def followed(folder: str) -> float:
    found: Trend = trend(folder, metric="wall_time", where=["when>=2026-11", "outcome=done"], error_rate=0.05)
    found.print_summary()
    print(found.groups[0]["levels"], found.left_out["failed"], found.tables[0]["rows"])
    return max(float(change["change"]) for change in found.changes)


def predicted(mc: MetricsCollector, folder: str) -> float:
    found: WhatIf = mc.what_if(workers=500, chunksize=100_000, without_files=["bad.root"], at_rate="2Gbps")
    found.print_summary()
    print(found.headline, found.low, found.limits[0]["seconds"], found.budget["available"], found.tables[0]["rows"])
    return open_run(folder).what_if(threads=4, preload=True, at_rate=2.5e8).wall_time


def older_ways(mc: MetricsCollector, output: dict[str, Any], report: dict[str, Any]) -> None:
    mc.set_coffea_report(report, custom_metrics=None)
    mc.extract_metrics_from_output(output)
    mc.set_chunk_metrics([{"duration": 1.0, "num_events": 10}])
    mc.record_chunk_metrics({"duration": 1.0})
    metrics, begin, end = load_measurement("measurement")
    path: Path = save_measurement(metrics, begin, end, "folder", "again", config={"a": 1})
    print(path, format_throughput_table(metrics).title)
    table = format_chunk_metrics_table(metrics)
    if table is not None:
        print(table.title)
    print(aggregate_workflow_metrics(report, begin, end)["wall_time"], get_process_memory())
    print(MetricsAggregator("dask").aggregate(report, None, begin, end)["total_events"])
    info = build_chunk_info([{"file": "a", "entry_start": 0, "entry_stop": 1, "t_start": 0.0, "t_end": 1.0}])
    print(info, aggregate_chunk_metrics(ChunkLog()), roastcoffea.__version__.split("."))


register_backend("cluster", Cluster)
