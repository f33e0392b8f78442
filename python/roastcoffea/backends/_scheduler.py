"""What runs on Dask's scheduler while a run is collected."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from distributed.diagnostics.plugin import SchedulerPlugin
from tornado.ioloop import PeriodicCallback

from roastcoffea._core import WorkerSeries
from roastcoffea.backends._spans import ANNOTATION

__all__ = ["SchedulerPost"]

# A client that is gone may come back for its data within this time.
GRACE_SECONDS = 60.0

_Tasks: TypeAlias = dict[str, dict[str, set[Any]]]  # {span: {group: keys}}


class SchedulerPost(SchedulerPlugin):
    """Samples the workers, notes who comes and goes, and keeps the messages of one topic."""

    def __init__(self, name: str, topic: str, client: str, message_limit: int) -> None:
        self.name = name
        self.topic = topic
        self.client = client
        self.message_limit = message_limit

    # ---- life ----

    async def start(self, scheduler: Any) -> None:
        self.scheduler = scheduler
        self.series: WorkerSeries | None = None
        self.left: list[str] = []
        self._messages: list[bytes] = []
        self._message_bytes = 0
        self._dropped = 0
        self._rounds: dict[str, set[str]] = {}
        self._arrived = asyncio.Event()
        self._founded: dict[str, str] = {}
        self._merged: _Tasks = {}
        self._mixed: _Tasks = {}
        self._farewell: asyncio.TimerHandle | None = None

    def remove(self) -> None:
        """Leaves nothing behind."""
        self.stop_sampling()
        self._forget_farewell()
        self._messages = []
        self.scheduler.plugins.pop(self.name, None)
        topics = getattr(getattr(self.scheduler, "_broker", None), "_topics", {})
        topics.pop(self.topic, None)
        # A task that still runs may send something more.
        asyncio.get_running_loop().call_later(GRACE_SECONDS, topics.pop, self.topic, None)

    def add_client(self, scheduler: Any, client: str) -> None:
        if client == self.client:
            self._forget_farewell()

    def remove_client(self, scheduler: Any, client: str) -> None:
        if client == self.client and self._farewell is None:
            loop = asyncio.get_running_loop()
            self._farewell = loop.call_later(GRACE_SECONDS, self.remove)

    def _forget_farewell(self) -> None:
        if self._farewell is not None:
            self._farewell.cancel()
            self._farewell = None

    # ---- workers ----

    def start_sampling(self, interval: float) -> None:
        """Begins a new series, with a first look at once."""
        self.stop_sampling()
        self.series = WorkerSeries()
        for address in self.scheduler.workers:
            self._join(address)
        self._tick()
        callback = PeriodicCallback(self._tick, interval * 1000)
        self.scheduler.periodic_callbacks[self.name] = callback
        callback.start()

    def stop_sampling(self) -> bytes | None:
        """Takes a last look and hands the series over; None where there is none."""
        callback = self.scheduler.periodic_callbacks.pop(self.name, None)
        if callback is not None:
            callback.stop()
        if self.series is None:
            return None
        self._tick()
        data = self.series.to_bytes()
        self.series = None
        return data

    def _tick(self) -> None:
        if self.series is not None:
            self.series.tick(self.scheduler.workers.values())

    def _join(self, address: str) -> None:
        if self.series is not None:
            worker = self.scheduler.workers[address]
            self.series.join(address, threads=worker.nthreads, host=worker.host)

    def add_worker(self, scheduler: Any, worker: str) -> None:
        self._join(worker)

    def remove_worker(
        self, scheduler: Any, worker: str, *, stimulus_id: str = "", **kwargs: Any
    ) -> None:
        self.left.append(worker)
        if self.series is not None:
            self.series.leave(worker)

    # ---- messages ----

    def log_event(self, topic: str, msg: Any) -> None:
        if topic != self.topic or not isinstance(msg, Mapping):
            return
        # The scheduler keeps the last thousand of a topic as well.
        self.scheduler._broker.truncate(topic)
        data = msg.get("roastcoffea")
        if isinstance(data, bytes):
            self._keep(data)
        elif "roastcoffea-round" in msg:
            self._rounds.setdefault(msg["roastcoffea-round"], set()).add(msg["worker"])
            self._arrived.set()

    def _keep(self, data: bytes) -> None:
        if self._message_bytes + len(data) > self.message_limit:
            self._dropped += 1
            return
        self._messages.append(data)
        self._message_bytes += len(data)

    def take_messages(self) -> tuple[list[bytes], int]:
        """What has arrived, and how many there was no room for."""
        taken = self._messages, self._dropped
        self._messages, self._message_bytes, self._dropped = [], 0, 0
        return taken

    async def wait_for_round(
        self, round_id: str, workers: Iterable[str], timeout: float
    ) -> list[str]:
        """Waits until the marks of these workers are here: what they sent before them is, too.
        Those whose mark did not come within ``timeout`` seconds."""
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout
        wanted = set(workers)
        while missing := wanted - self._rounds.get(round_id, set()) - set(self.left):
            self._arrived.clear()
            try:
                await asyncio.wait_for(self._arrived.wait(), end - loop.time())
            except TimeoutError:
                break
        self._rounds.pop(round_id, None)
        return sorted(missing)

    # ---- spans ----

    def update_graph(
        self,
        scheduler: Any,
        *,
        client: str = "",
        keys: Any = None,
        tasks: Iterable[Any] = (),
        **kwargs: Any,
    ) -> None:
        """Dask puts all tasks of a group (by and large: of a function's name) into the span of the
        first one, as long as one of them lives. Here it is noted which tasks that concerns."""
        for key in tasks:
            task = scheduler.tasks[key]
            group = task.group
            mark = (task.annotations or {}).get(ANNOTATION)
            span_id = mark.get(self.name) if mark else None
            if span_id is not None:
                if self._is_inside(group.span_id, span_id):
                    self._founded[group.name] = span_id
                else:
                    _add(self._merged, span_id, group.name, key)
            elif (span_id := self._founded.get(group.name)) is not None:
                if self._is_inside(group.span_id, span_id):
                    _add(self._mixed, span_id, group.name, key)

    def _is_inside(self, span_id: str | None, outer: str) -> bool:
        if span_id == outer:
            return True
        spans = self.scheduler.extensions["spans"].spans
        span = spans.get(span_id)
        while span is not None and span.id != outer:
            span = span.parent
        return span is not None

    def about_span(self, span_id: str) -> tuple[dict[str, int], dict[str, int], list[str]]:
        """Tasks of the span that Dask counts elsewhere, tasks from elsewhere that it counts in the
        span, both {group: tasks}, and the workers that have left."""
        merged, mixed = (
            {group: len(keys) for group, keys in table.get(span_id, {}).items()}
            for table in (self._merged, self._mixed)
        )
        return merged, mixed, list(self.left)


def _add(table: _Tasks, span_id: str, group: str, key: Any) -> None:
    table.setdefault(span_id, {}).setdefault(group, set()).add(key)
