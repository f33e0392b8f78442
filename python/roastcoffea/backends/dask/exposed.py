"""On Dask's scheduler: the runs that its own HTTP server shows, as numbers.

They are also in the default registry of prometheus_client, which Dask's address /metrics shows: a facility that scrapes
it already has them there. Nothing here may disturb the scheduler: every entry is a hook.
"""

from __future__ import annotations

import asyncio
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

from roastcoffea._core import ChunkLog, Progress, Tally, prometheus_live
from roastcoffea.common.guard import hook

__all__ = ["EXTENSION", "LiveRun", "end_run", "metrics_text", "open_run", "runs_of"]

# Where a scheduler keeps the page that shows the runs.
EXTENSION = "roastcoffea"
# A run that has ended is shown for this long: longer than Prometheus needs to see it.
KEPT_SECONDS = 300.0

# The runs of all schedulers of this process: it has one registry.
_runs: list[LiveRun] = []


class LiveRun:
    """One run; its counts stay after its end."""

    def __init__(self, scheduler: Any, label: str, each: bool = False) -> None:
        self.label, self.each = label, each  # `each`: the workers one by one, too
        self._scheduler = weakref.ref(scheduler)  # it may be closed, and others of this process not
        self.tally = Tally()
        self.progress = Progress(time.monotonic())
        self.started = time.time()
        self.is_open = True
        self.failures: Callable[[], tuple[int, list[tuple[str, str]]]] | None = None  # tries that failed so far, while it is open

    @property
    def scheduler(self) -> Any:
        """None when it has closed."""
        scheduler = self._scheduler()
        return None if getattr(getattr(scheduler, "status", None), "name", "") in ("closing", "closed") else scheduler

    @hook("chunks on the page of Dask's server")
    def take(self, data: bytes) -> None:
        """A message of records has arrived."""
        chunks = ChunkLog.from_bytes(data)
        self.tally.add(chunks)
        self.progress.add_chunks(chunks, time.monotonic())

    def cluster(self) -> dict[str, int]:
        """The workers as they are now; after the end they are not those of the run any more."""
        scheduler = self.scheduler
        if scheduler is None or not self.is_open:
            return {}
        workers = list(scheduler.workers.values())
        found = {
            "workers": len(workers),
            "threads": sum(worker.nthreads for worker in workers),
            "tasks": sum(len(worker.processing) for worker in workers),
        }
        memory = [(worker.metrics or {}).get("memory") for worker in workers]
        limits = [worker.memory_limit for worker in workers]
        # A sum of some of them would be no sum.
        return {**found, **{key: sum(values) for key, values in (("memory", memory), ("memory_limit", limits))
                            if workers and all(values)}}

    def workers(self) -> list[dict[str, Any]]:
        """One by one, as they are now, if that was asked for."""
        scheduler = self.scheduler if self.each and self.is_open else None
        return [] if scheduler is None else [
            {"worker": address, "threads": worker.nthreads, "tasks": len(worker.processing),
             "memory": (worker.metrics or {}).get("memory"), "memory_limit": worker.memory_limit or None}
            for address, worker in list(scheduler.workers.items())
        ]

    def numbers(self) -> dict[str, Any]:
        return {"run": self.label, "tally": self.tally, "run_open": self.is_open, "run_start_time": self.started,
                "each": self.workers(), **self.cluster()}


@hook("the run on the page of Dask's server")
def open_run(scheduler: Any, label: str, asked: bool, each: bool = False) -> LiveRun | None:
    """The run, if this scheduler has a page that shows it. `asked`: its collector wants to be shown; `each`: with its
    workers one by one."""
    page = scheduler.extensions.get(EXTENSION)
    if page is None or not (asked or page.shows_all):
        return None
    old = [other for other in _runs if other.scheduler is None or (other.label == label and not other.is_open)]
    run = LiveRun(scheduler, _free(label, old), each)
    _register()
    _runs.append(run)
    for other in old:  # after the new one is there: the last run of a page takes the page with it
        _drop(other)
    return run


def _free(label: str, old: list[LiveRun]) -> str:
    """Two runs with one name would be one time series that jumps."""
    taken, number, free = {run.label for run in _runs if run not in old}, 1, label
    while free in taken:
        number += 1
        free = f"{label} ({number})"
    return free


@hook("the end of the run on the page of Dask's server")
def end_run(run: LiveRun | None) -> None:
    """It is shown a while longer."""
    if run is not None and run.is_open:
        run.is_open, run.failures = False, None
        asyncio.get_running_loop().call_later(KEPT_SECONDS, _drop, run)


@hook("the end of the run on the page of Dask's server")
def _drop(run: LiveRun) -> None:
    if run not in _runs:
        return
    _runs.remove(run)
    if not _runs:
        _unregister()
    scheduler = run.scheduler
    page = None if scheduler is None else scheduler.extensions.get(EXTENSION)
    if page is not None and not page.shows_all and not runs_of(scheduler):
        page.take_off()


def runs_of(scheduler: Any) -> list[LiveRun]:
    return [run for run in _runs if run.scheduler is scheduler]


@hook("numbers for Prometheus", default="")
def metrics_text(runs: Iterable[LiveRun]) -> str:
    """Prometheus' text format; empty without a run."""
    return prometheus_live([run.numbers() for run in runs])


# ---- the registry of prometheus_client ----


class _Collector:
    """Our numbers for whoever asks the registry. An exception here would be one of Dask's /metrics."""

    def describe(self) -> Iterator[Any]:
        return iter(())

    @hook("numbers for Prometheus", default=())
    def collect(self) -> Iterable[Any]:
        from prometheus_client.parser import text_string_to_metric_families

        living = [run for run in _runs if run.scheduler is not None]
        return list(text_string_to_metric_families(metrics_text(living)))


_collector = _Collector()


def _register() -> None:
    """Once or more often. Without prometheus_client Dask has no /metrics either."""
    with suppress(ImportError):
        from prometheus_client import REGISTRY

        REGISTRY.register(_collector)


def _unregister() -> None:
    with suppress(ImportError, KeyError):
        from prometheus_client import REGISTRY

        REGISTRY.unregister(_collector)
