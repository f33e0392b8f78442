"""A run on a big cluster as a collector holds it at its end: computing its metrics, saving, loading, showing.

A 500-worker cluster hears from each worker every n / 200 + 1 seconds and is looked at every second, so most
samples repeat the one before; what the scheduler itself keeps changes when a task ends.
"""

from __future__ import annotations

import functools
import gc
import io
import random
import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from roastcoffea import load_measurement
from roastcoffea.aggregation.core import MetricsAggregator
from roastcoffea.export import reporter
from roastcoffea.export.measurements import save_measurement

from bench.work import OURS
from bench.work.chunks import KEY, PAGE, added, make_outputs

START = 1.79e9
PROCESSOR = "TTbarProcessor"
FORMATS = ("throughput", "event_processing", "resources", "timing", "fine_metrics", "chunk_metrics")
BY_HEARTBEAT = ("worker_memory", "worker_executing", "worker_last_seen", "worker_cpu")
BY_SCHEDULER = ("worker_active_tasks", "worker_nbytes", "worker_occupancy")
CONSTANT = {"worker_memory_limit": 4 * 10**9, "worker_cores": 1}
ONLY_OURS = ("worker_spilled_bytes", "worker_net_read_bps", "worker_net_write_bps",
             "worker_disk_read_bps", "worker_disk_write_bps")

Series = dict[str, list[Any]]


class _Worker:
    """What the scheduler knows of one worker, second by second."""

    def __init__(self, index: int, seconds: int, workers: int, tasks: int) -> None:
        self.draw = draw = random.Random(index)
        self.name = f"tcp://10.{index // 250}.{index % 250}.7:{30_000 + index}"
        self.between_heartbeats = workers / 200 + 1
        self.next_heartbeat = draw.uniform(0, self.between_heartbeats)
        self.task_ends = sorted(draw.uniform(0, seconds) for _ in range(tasks))
        self.values: dict[str, Any] = {**CONSTANT, "worker_memory": draw.randint(100_000, 400_000) * PAGE}
        self._heartbeat(0.0)
        self._task_ends()

    def _heartbeat(self, when: float) -> None:
        draw, values = self.draw, self.values
        values["worker_memory"] += draw.randint(-2000, 2000) * PAGE
        values["worker_executing"] = int(draw.random() < 0.95)
        values["worker_last_seen"] = START + when
        values["worker_cpu"] = draw.randint(0, 1000) / 10
        if OURS:
            values["worker_spilled_bytes"] = 0
            values["worker_net_read_bps"] = draw.uniform(2e7, 6e7)
            values["worker_net_write_bps"] = draw.uniform(2e5, 9e5)
            values["worker_disk_read_bps"] = draw.uniform(0, 4e5)
            values["worker_disk_write_bps"] = draw.uniform(0, 9e5)

    def _task_ends(self) -> None:
        self.values["worker_active_tasks"] = self.draw.randint(1, 2)
        self.values["worker_nbytes"] = self.draw.randint(10_000, 300_000)
        self.values["worker_occupancy"] = self.draw.uniform(5, 30)

    def at(self, second: float) -> dict[str, Any]:
        while self.next_heartbeat <= second:
            self._heartbeat(self.next_heartbeat)
            self.next_heartbeat += self.between_heartbeats
        while self.task_ends and self.task_ends[0] <= second:
            self.task_ends.pop(0)
            self._task_ends()
        return self.values


def tracking_data(workers: int, seconds: int, chunks: int) -> dict[str, Any]:
    names = (*CONSTANT, *BY_HEARTBEAT, *BY_SCHEDULER, *(ONLY_OURS if OURS else ()))
    start = datetime.fromtimestamp(START, timezone.utc)
    times = [start + timedelta(seconds=second, microseconds=437 * second) for second in range(seconds)]
    data: dict[str, Any] = {"worker_counts": dict.fromkeys(times, workers)}
    data |= {name: {} for name in names}
    for index in range(workers):
        worker = _Worker(index, seconds, workers, chunks // workers)
        columns: Series = {name: [] for name in names}
        for second, when in enumerate(times):
            values = worker.at(second)
            for name, column in columns.items():
                column.append((when, values[name]))
        for name, column in columns.items():
            data[name][worker.name] = column
    return data


def span_metrics(chunks: int) -> dict[Any, float]:
    figures = {}
    for prefix, share in ((PROCESSOR, 1.0), ("reduce", 0.05), ("other", 0.01)):
        for activity, unit, amount in (("thread-cpu", "seconds", 1.8), ("thread-noncpu", "seconds", 0.4),
                                       ("serialize", "seconds", 0.01), ("memory-read", "bytes", 4000.0)):
            figures["execute", prefix, activity, unit] = share * amount * chunks
    return figures


def _as_collected(data: dict[str, Any]) -> Any:
    """The series as the scheduler hands it over: with the workers' comings."""
    from roastcoffea._core import WorkerSeries

    series = WorkerSeries.from_tracking_data(data)
    for name in series.workers:
        series.join(name, START, cores=CONSTANT["worker_cores"], host=name.split(":")[1].strip("/"))
    return series


class Prepared:
    """All inputs of one run, in the form in which the side's own collector would hold them."""

    def __init__(self, workers: int, seconds: int, chunks: int, branches: int, with_reads: bool) -> None:
        self.end = START + seconds
        self.size = workers, seconds, chunks
        self.chunks: Any = added(make_outputs(chunks, branches, with_reads))[KEY]
        self.tracking: Any = tracking_data(workers, seconds, chunks)
        self.samples = workers * seconds
        if OURS:
            self.tracking = _as_collected(self.tracking)
        self.spans = span_metrics(chunks)
        self.report = {"entries": 100_000 * chunks, "bytesread": 20_000_000 * chunks,
                       "processtime": 2.0 * chunks, "chunks": chunks, "columns": []}
        self.metrics: Any = None

    @functools.cached_property
    def samples_as_dict(self) -> dict[str, Any]:
        """The nine series that both sides know, as a user's program would hold them: the same objects on both."""
        data = tracking_data(*self.size) if OURS else self.tracking
        kept = {name: data[name] for name in ("worker_counts", *CONSTANT, *BY_HEARTBEAT, *BY_SCHEDULER)}
        gc.collect()
        return kept

    def aggregate(self) -> None:
        self.metrics = MetricsAggregator("dask").aggregate(
            self.report, self.tracking, START, self.end, span_metrics=self.spans, processor_name=PROCESSOR,
            chunk_metrics=self.chunks, section_metrics=[])


class Clock:
    """Seconds of wall and of CPU time since it was made."""

    def __init__(self) -> None:
        self.wall, self.cpu = perf_counter(), process_time()

    def stop(self) -> dict[str, float]:
        return {"seconds": perf_counter() - self.wall, "cpu": process_time() - self.cpu}


_prepared: Prepared | None = None


def prepare(**size: Any) -> dict[str, int]:
    global _prepared
    _prepared = None
    _prepared = Prepared(**size)
    return {"chunks": len(_prepared.chunks), "samples": _prepared.samples}


def _it() -> Prepared:
    if _prepared is None:
        raise RuntimeError("prepare() was not called")
    return _prepared


def aggregate() -> dict[str, float]:
    run = _it()
    run.metrics = None  # those of the round before are freed outside of it
    clock = Clock()
    run.aggregate()
    taken = clock.stop()
    if run.metrics["num_successful_chunks"] != len(run.chunks) or not run.metrics["avg_workers"]:
        raise AssertionError("the metrics do not tell the chunks and workers that went in")
    return taken


def aggregate_dict() -> dict[str, float]:
    """The samples alone, in a plain dict."""
    run = _it()
    tracking = run.samples_as_dict
    clock = Clock()
    metrics = MetricsAggregator("dask").aggregate(run.report, tracking, START, run.end)
    taken = clock.stop()
    if metrics["tracking_data"] is not tracking or not metrics["avg_workers"]:
        raise AssertionError("the metrics do not tell the samples that went in")
    return taken


def _clear(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def save(folder: str) -> dict[str, float]:
    """As metrics that nobody has saved before: what is kept from one save to the next helps none."""
    run, place = _it(), Path(folder)
    run.aggregate()
    _clear(place)
    clock = Clock()
    path = save_measurement(run.metrics, START, run.end, place, "run")
    taken = clock.stop()
    return {**taken, "bytes": sum(file.stat().st_size for file in Path(path).rglob("*"))}


def load(folder: str) -> dict[str, float]:
    clock = Clock()
    metrics, t0, _ = load_measurement(Path(folder) / "run")
    taken = clock.stop()
    if t0 != START or len(metrics["raw_chunk_metrics"]) != len(_it().chunks):
        raise AssertionError("what was loaded is not what was saved")
    return taken


def look(folder: str) -> dict[str, float]:
    """Loading, and looking at every chunk's duration and every sample of memory as Python objects."""
    clock = Clock()
    metrics, _, _ = load_measurement(Path(folder) / "run")
    seen = sum(1 for chunk in metrics["raw_chunk_metrics"] if chunk["duration"] > 0)
    seen += sum(map(len, metrics["tracking_data"]["worker_memory"].values()))
    taken = clock.stop()
    if seen != len(_it().chunks) + _it().samples:
        raise AssertionError(f"{seen} chunks and samples were found")
    return taken


def _tables(metrics: Any) -> Iterator[Any]:
    for name in FORMATS:
        table = getattr(reporter, f"format_{name}_table")(metrics)
        if table is not None:
            yield table


def show(folder: str) -> str:
    """The summary of a measurement, as a program of its own would print it."""
    from rich.console import Console

    metrics, _, _ = load_measurement(Path(folder) / "run")
    console = Console(file=io.StringIO(), width=100)
    for table in _tables(metrics):
        console.print(table)
    return console.file.getvalue()  # type: ignore[attr-defined]


if __name__ == "__main__":
    import sys

    sys.stdout.write(show(sys.argv[1]))
