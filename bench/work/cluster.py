"""A cluster of processes with a collector around work on it."""

from __future__ import annotations

import time
from contextlib import ExitStack
from time import perf_counter
from typing import Any

from coffea.processor import ProcessorABC

from roastcoffea import MetricsCollector

TASKS_A_WORKER = 4
BURNT = 0.05  # s of CPU time a task
SETTLED = 2.5  # s: more than two heartbeats of a worker


class Burner(ProcessorABC):
    """The collector wants to know whose tasks are the processor's."""

    def process(self, events: Any) -> dict[str, Any]:
        return {}

    def postprocess(self, accumulator: Any) -> Any:
        return accumulator


def burn(index: int) -> int:
    end = time.thread_time() + BURNT
    while time.thread_time() < end:
        pass
    return index


_stack = ExitStack()
_client: Any = None


def start(workers: int) -> None:
    from distributed import Client, LocalCluster

    global _client
    cluster = _stack.enter_context(
        LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None,
                     silence_logs=50))
    _client = _stack.enter_context(Client(cluster))
    _client.wait_for_workers(workers)


def stop() -> None:
    _stack.close()


def _counted(dask_scheduler: Any = None) -> float:
    """CPU seconds in all spans of the scheduler."""
    return sum(seconds for span in dask_scheduler.extensions["spans"].root_spans
               for key, seconds in span.cumulative_worker_metrics.items() if "thread-cpu" in key)


def _nothing() -> None:
    pass


def _call() -> float:
    """The least that whoever asks the cluster something has to wait."""
    start_ = perf_counter()
    _client.run_on_scheduler(_nothing)
    _client.run(_nothing)
    return perf_counter() - start_


def leave() -> dict[str, float]:
    """Seconds from the end of the body to that of the context, and the share of CPU time that is not in it."""
    tasks = TASKS_A_WORKER * len(_client.scheduler_info(n_workers=-1)["workers"])
    before = _client.run_on_scheduler(_counted)
    with MetricsCollector(_client, processor_instance=Burner()) as collector:
        start_ = perf_counter()
        futures = _client.map(burn, range(tasks), pure=False)
        if sorted(_client.gather(futures)) != list(range(tasks)):
            raise AssertionError("tasks were lost")
        wall = perf_counter() - start_
        collector.set_coffea_report({"entries": tasks, "bytesread": tasks, "chunks": tasks, "columns": [],
                                     "processtime": wall})
        left = perf_counter()
    seconds = perf_counter() - left
    caught = sum(value for key, value in (collector.span_metrics or {}).items() if "thread-cpu" in key)
    del futures
    time.sleep(SETTLED)
    counted = _client.run_on_scheduler(_counted) - before
    if counted < 0.9 * tasks * BURNT:
        raise AssertionError(f"Dask counted {counted} s of {tasks} tasks of {BURNT} s")
    return {"seconds": seconds, "missed": 1 - caught / counted, "call": _call()}
