"""Sends records from a Dask worker as events of the scheduler. A worker loads this without a client."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from roastcoffea.worker import channel


def _worker() -> Any:
    """The worker of the task that this thread runs; without a task (a flush), any worker of this process."""
    from distributed import worker as module

    task: Any = vars(module)["thread_state"]
    worker = getattr(task, "execution_state", {}).get("worker")
    if worker is None:
        worker = next(iter(module.Worker._instances), None)
    if worker is None:
        raise ValueError("there is no Dask worker in this process")
    return worker


def _send(topic: str, data: bytes) -> None:
    _worker().log_event(topic, {"roastcoffea": data})


def _flush_later(topic: str, seconds: float) -> None:
    worker = _worker()
    # Through the loop: the thread of a task must not touch its timers.
    worker.loop.add_callback(worker.loop.call_later, seconds, _flush_on, worker, topic)


def _flush_on(worker: Any, topic: str) -> None:
    """Runs in the event loop of a worker, so that records are sent through this worker."""
    from distributed.utils import set_thread_state

    with suppress(Exception), set_thread_state(execution_state={"worker": worker}):
        channel.flush(topic)


channel.register("dask", _send, _flush_later)
