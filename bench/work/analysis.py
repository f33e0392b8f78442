"""A whole analysis of real files: the same run with a collector around it and without one."""

from __future__ import annotations

import gc
import io
import itertools
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack, redirect_stdout
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from coffea.nanoevents import NanoAODSchema
from coffea.processor import DaskExecutor, IterativeExecutor, Runner
from coffea.util import _hash

from bench.work import OURS
from bench.work.chunks import KEY
from bench.work.nano import CHUNK_EVENTS, FOLDER, READ, SECTIONS, Analysis, files
from roastcoffea import MetricsCollector

WORKERS = 2
ON_ITS_WAY = 0.05  # seconds, for what a worker sends: its event loop gathers messages for 2 ms


def balanced(item: Any, index: int) -> Any:
    """The chunk, shortened by a few events until Coffea's worker_affinity gives it to worker `index` modulo
    WORKERS. Left to itself Dask gives one worker more chunks than the other, and that is all one would measure."""
    for fewer in range(256):
        shorter = replace(item, entrystop=item.entrystop - fewer)
        place = (shorter.fileuuid, shorter.treename, shorter.entrystart, shorter.entrystop)
        if _hash(place) % WORKERS == index % WORKERS:
            return shorter
    raise AssertionError("no length of the chunk fits")


def _send_held_back() -> None:
    """On a worker, whether there is something or not."""
    if OURS:
        from roastcoffea.worker import channel

        channel.flush()


class Mark:
    """A moment between two parts of a run. To read the CPU time takes time itself, which is of neither part."""

    def __init__(self, cpu: Callable[[], float]) -> None:
        self.arrived = perf_counter()
        self.cpu = cpu()
        self.left = perf_counter()

    def until(self, later: Mark) -> tuple[float, float]:
        """Seconds and CPU seconds from here."""
        return later.arrived - self.left, later.cpu - self.cpu


class Runs:
    """Runs over files with names that no process has seen: sizes are looked up as in a first run, and no run
    profits from the one before."""

    def __init__(self, links: Path, executor: Any, client: Any, copies: int) -> None:
        self.links, self.executor, self.client, self.copies = links, executor, client, copies
        self.runner = Runner(executor=executor, schema=NanoAODSchema, chunksize=CHUNK_EVENTS, savemetrics=True)
        with redirect_stdout(io.StringIO()):
            fileset = {"bench": {"files": {str(path): "Events" for path in files(print)}}}
            found = list(self.runner.preprocess(fileset))
        self.items = [balanced(item, i) for i, item in enumerate(found)]
        self.serial = itertools.count()
        self.expected: Any = None

    def _fresh_items(self) -> list[Any]:
        """All chunks of every file, under as many names of it as there are copies."""
        items = []
        for copy in range(self.copies):
            folder = self.links / f"{next(self.serial)}-{copy}"
            folder.mkdir()
            for item in self.items:
                link = folder / Path(item.filename).name
                if not link.exists():
                    link.symlink_to(item.filename)
                items.append(replace(item, filename=str(link)))
        return items

    def _check(self, output: Any) -> None:
        output = {name: value for name, value in output.items() if name != KEY}
        if output["events"] != self.copies * sum(map(len, self.items)):
            raise AssertionError(f"{output['events']} events in {self.copies} times {len(self.items)} chunks")
        if self.expected is None:
            self.expected = output
        if any(not np.array_equal(output[name], self.expected[name]) for name in self.expected):
            raise AssertionError("two runs of the same analysis differ")

    def _cpu(self) -> float:
        """CPU seconds of this process, with the scheduler in it, and of all workers."""
        others = sum(self.client.run(time.process_time).values()) if self.client is not self.executor else 0.0
        return time.process_time() + others

    def _cpu_at_last(self) -> float:
        """The same, when workers have sent what they hold back, as they would a moment later. The moment itself is
        not waited for: the further apart two runs are, the less they can be compared."""
        if self.client is not self.executor:
            self.client.run(_send_held_back)
            time.sleep(ON_ITS_WAY)
        return self._cpu()

    def _settle(self) -> None:
        """Every run begins with the same debts to the collector of garbage: a full collection more or less makes a
        tenth of a run."""
        gc.collect()
        if self.client is not self.executor:
            self.client.run(gc.collect)

    def run(self, collect: bool) -> dict[str, float]:
        """Seconds and CPU seconds of the run inside the context, and of the way into it and out of it."""
        items, analysis = self._fresh_items(), Analysis()
        self._settle()
        with redirect_stdout(io.StringIO()):  # Coffea's bar
            begun = Mark(self._cpu)
            if collect:
                output, entered, done, collector = self._collected(items, analysis)
            else:
                output, entered, done = self._bare(items, analysis)
            left = Mark(self._cpu)
        self._check(output)
        if collect:
            self._check_records(collector, len(items))
        (seconds, cpu), way_in, way_out = entered.until(done), begun.until(entered), done.until(left)
        return {"seconds": seconds, "cpu": cpu,
                "seconds around": way_in[0] + way_out[0], "cpu around": way_in[1] + way_out[1]}

    def _bare(self, items: list[Any], analysis: Analysis) -> tuple[Any, Mark, Mark]:
        entered = Mark(self._cpu)
        output = self.runner.run(items, analysis)
        return output["out"], entered, Mark(self._cpu_at_last)

    def _collected(self, items: list[Any], analysis: Analysis) -> tuple[Any, Mark, Mark, MetricsCollector]:
        """As a program for 0.1.2 is written."""
        with MetricsCollector(self.client, processor_instance=analysis) as collector:
            entered = Mark(self._cpu)
            output = self.runner.run(items, analysis)
            done = Mark(self._cpu_at_last)
            collector.extract_metrics_from_output(output["out"])
            collector.set_coffea_report(output["metrics"])
        return output["out"], entered, done, collector

    def _check_records(self, collector: MetricsCollector, chunks: int) -> None:
        if len(collector.chunk_metrics) != chunks or not collector.get_metrics()["total_events"]:
            raise AssertionError(f"{len(collector.chunk_metrics)} records of {chunks} chunks")
        if not OURS:
            return
        for chunk in collector.chunk_metrics:
            if {one["section_name"] for one in chunk["sections"]} | set(chunk["memory"]) != set(SECTIONS):
                raise AssertionError(f"sections {chunk['sections']}, {chunk['memory']}")
            if chunk["num_branches_accessed"] < sum(map(len, READ.values())) or not chunk["accessed_bytes"]:
                raise AssertionError(f"{chunk['num_branches_accessed']} branches accessed")


# ---- as a side is asked for it ----

_stack = ExitStack()
_runs: Runs | None = None


def _quiet() -> None:
    warnings.simplefilter("ignore")  # Coffea has many for files that are not quite NanoAOD


def _iterative(stack: ExitStack) -> tuple[Any, Any]:
    executor = IterativeExecutor(status=False)
    return executor, executor


# What makes one run on Dask differ from the next by more than what is sought. Told to trim (as Dask does) and no more,
# malloc takes every larger array from the kernel anew: up to a million page faults a run, and how many depends on the
# runs before. And Dask's profiler keeps some thousand dicts of every run, which each collection of garbage walks over.
STEADY = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 1 << 30,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 1 << 25,  # glibc takes no more
    "distributed.nanny.pre-spawn-environ.MALLOC_ARENA_MAX": 1,
    "distributed.worker.profile.enabled": False,
}


def _dask(stack: ExitStack) -> tuple[Any, Any]:
    import dask
    from distributed import Client, LocalCluster

    stack.enter_context(dask.config.set(STEADY))
    cluster = stack.enter_context(
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None, silence_logs=50))
    client = stack.enter_context(Client(cluster))
    client.run(_quiet)
    return DaskExecutor(client=client, status=False, worker_affinity=True), client


EXECUTORS: dict[str, Callable[[ExitStack], tuple[Any, Any]]] = {"iterative": _iterative, "Dask": _dask}


def start(executor: str, copies: int) -> int:
    """How many chunks a run has."""
    global _runs
    _quiet()
    FOLDER.mkdir(parents=True, exist_ok=True)
    links = Path(_stack.enter_context(tempfile.TemporaryDirectory(dir=FOLDER.resolve(), prefix=f"{os.getpid()}-")))
    _runs = Runs(links, *EXECUTORS[executor](_stack), copies)
    return copies * len(_runs.items)


def stop() -> None:
    _stack.close()


def run(collect: bool) -> dict[str, float]:
    assert _runs is not None
    return _runs.run(collect)
