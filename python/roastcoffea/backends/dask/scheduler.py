"""The plugin on Dask's scheduler while a run is collected."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

from distributed.diagnostics.plugin import SchedulerPlugin

from roastcoffea._core import WorkerSeries, hold_clock, release_clock, sample_workers
from roastcoffea.backends.dask.exposed import LiveRun, end_run, open_run
from roastcoffea.backends.dask.remote import ask_counters
from roastcoffea.backends.dask.spans import ANNOTATION
from roastcoffea.backends.dask.task_watch import TaskWatch

__all__ = ["RunPlugin", "discarded"]

# A client that lost its connection, or the answer to its last request, may ask again within this time.
GRACE_SECONDS = 60.0

# Seconds that a clock must be off before Dask's estimate is checked again.
DOUBTFUL_DELAY = 1.0

_Tasks: TypeAlias = dict[str, dict[str, set[Any]]]  # {span: {group: keys}}
# A number, the messages, how many were dropped, and packed samples.
_Batch: TypeAlias = tuple[int, list[bytes], int, bytes | None]

# The names of runs whose plugin was removed, or is not to come any more.
discarded: deque[str] = deque(maxlen=1000)

# Workers that are told to forget a run. The loop alone would not keep a task alive, and its plugin is gone by then.
_forgetting: set[asyncio.Task[Any]] = set()


class RunPlugin(SchedulerPlugin):
    """Samples the workers, records joins and leaves, follows the tasks, and keeps the messages of one topic."""

    def __init__(self, name: str, topic: str, client: str, message_limit: int) -> None:
        self.name = name
        self.topic = topic
        self.client = client
        self.message_limit = message_limit

    # ---- life ----

    async def start(self, scheduler: Any) -> None:
        self.scheduler = scheduler
        self.live: LiveRun | None = None
        self.series: WorkerSeries | None = None
        self.tasks: TaskWatch | None = None
        self._followed: bytes | None = None
        self.unread_steps = 0  # of tasks: messages of the scheduler that could not be read
        self.left: list[str] = []
        self._messages: list[bytes] = []
        self._message_bytes = 0
        self._dropped = 0
        self._batches: list[_Batch] = []
        self._batch_count = 0
        self._retired = False
        self._rounds: dict[str, set[str]] = {}
        self._arrived = asyncio.Event()
        self._founded: dict[str, str] = {}
        self._merged: _Tasks = {}
        self._mixed: _Tasks = {}
        self._farewell: asyncio.TimerHandle | None = None
        self._next_tick: asyncio.TimerHandle | None = None
        self._order: dict[str, Any] | None = None  # how to ask a worker for its counters
        self._reached: set[str] = set()  # workers that send their counters when they close
        self._asked: set[asyncio.Task[None]] = set()
        # (worker, "begin" or "end", counters) of workers that joined or closed during the run
        self.seen_counters: list[tuple[str, str, Any]] = []
        self.delays: dict[str, float] = {}  # by how much the clocks of workers are behind, at most
        hold_clock()
        self._held = True
        for address in scheduler.workers:
            self._note_delay(address)
        self._start_watching()

    def show(self, label: str, asked: bool, each: bool) -> None:
        """On the page of the scheduler's server, if it has one; `asked`: the collector has asked for it; `each`: and for
        numbers of each worker."""
        self.live = open_run(self.scheduler, label, asked, each)
        if self.live is not None:
            self.live.failures = self.failures

    def remove(self) -> None:
        """Leaves nothing behind."""
        self.stop_sampling()
        self.stop_watching()
        end_run(self.live)
        self._forget_farewell()
        self._forget_workers()
        self._messages, self._batches = [], []
        if self._held:
            self._held = False
            release_clock()
        self.scheduler.plugins.pop(self.name, None)
        topics = getattr(getattr(self.scheduler, "_broker", None), "_topics", {})
        topics.pop(self.topic, None)
        # A task that still runs may send something more.
        asyncio.get_running_loop().call_later(GRACE_SECONDS, topics.pop, self.topic, None)

    def retire(self) -> None:
        """Stops collecting. Data that was handed over is kept for a while, as the answer may be lost."""
        self.stop_sampling()
        self.stop_watching()
        end_run(self.live)
        self._retired = True
        self._remove_later()

    def add_client(self, scheduler: Any, client: str) -> None:
        if client == self.client and not self._retired:
            self._forget_farewell()

    def remove_client(self, scheduler: Any, client: str) -> None:
        if client == self.client:
            self._remove_later()

    def _remove_later(self) -> None:
        if self._farewell is None:
            loop = asyncio.get_running_loop()
            self._farewell = loop.call_later(GRACE_SECONDS, self.remove)

    def _forget_farewell(self) -> None:
        if self._farewell is not None:
            self._farewell.cancel()
            self._farewell = None

    # ---- workers ----

    def start_sampling(self, interval: float) -> None:
        """Takes a first sample of the workers at once."""
        self.series = WorkerSeries()
        try:
            for address in self.scheduler.workers:
                self._join(address)
            self._tick()
        except BaseException:
            self.series = None
            raise
        loop = asyncio.get_running_loop()
        self._tick_at(loop.time() + interval, interval)

    def _tick_at(self, due: float, interval: float) -> None:
        """On the loop's own clock: a callback of Tornado would stop when the system's clock is set back."""
        loop = asyncio.get_running_loop()

        def tick() -> None:
            late = max(0.0, loop.time() - due)
            self._tick_at(due + interval * (1 + int(late / interval)), interval)
            self._tick()

        self._next_tick = loop.call_at(due, tick)

    def stop_sampling(self) -> None:
        """Takes a last sample of the workers."""
        next_tick, self._next_tick = self._next_tick, None
        if next_tick is not None:
            next_tick.cancel()
            self._tick()

    def _cut_series(self) -> bytes | None:
        """The samples since the last call."""
        if self.series is None:
            return None
        samples, self.series = self.series, WorkerSeries() if self._next_tick is not None else None
        return samples.to_bytes()

    def _tick(self) -> None:
        if self.series is not None:
            sample_workers(self.series, self.scheduler.workers)
        for address in [one for one, delay in self.delays.items() if abs(delay) > DOUBTFUL_DELAY]:
            self._note_delay(address)

    def _join(self, address: str) -> None:
        if self.series is not None:
            worker = self.scheduler.workers[address]
            self.series.join(address, cores=worker.nthreads, host=worker.host)

    def _note_delay(self, address: str) -> None:
        """Dask's estimate of how much the clock of a worker is behind, at each heartbeat. A slow message makes it too
        large: the smallest one counts."""
        worker = self.scheduler.workers.get(address)
        if worker is not None:
            self.delays[address] = min(worker.time_delay, self.delays.get(address, worker.time_delay))

    def add_worker(self, scheduler: Any, worker: str) -> None:
        self._join(worker)
        self._note_delay(worker)
        self._ask(worker)

    # ---- counters of the workers' processes ----

    def begin_counters(self, asked: Iterable[str], order: Mapping[str, Any]) -> None:
        """`asked`: workers that are asked at the beginning. A worker that joins later is asked then."""
        self._order = dict(order)
        self._reached.update(asked)
        for address in self.scheduler.workers.keys() - self._reached:
            self._ask(address)  # it joined meanwhile

    def _ask(self, address: str) -> None:
        if self._order is not None:
            self._reached.add(address)
            self._asked = {task for task in self._asked if not task.done()}
            self._asked.add(asyncio.ensure_future(self._note_counters(address, self._order)))

    async def _note_counters(self, address: str, order: dict[str, Any]) -> None:
        with suppress(Exception):
            counters = await ask_counters(order, [address], self.scheduler)
            for found in counters.values():
                self.seen_counters.append((address, "begin", found))

    def _forget_workers(self) -> None:
        """Takes back what we have left on workers that were not asked at the end."""
        if self._order is not None:
            order = {**self._order, "ask": self._order["forget"]}
            there = [address for address in self._reached if address in self.scheduler.workers]
            self._reached.clear()
            if there:
                task = asyncio.ensure_future(_forget(self._asked, order, there, self.scheduler))
                _forgetting.add(task)
                task.add_done_callback(_forgetting.discard)

    def remove_worker(
        self, scheduler: Any, worker: str, *, stimulus_id: str = "", **kwargs: Any
    ) -> None:
        self.left.append(worker)
        for heard in self._rounds.values():
            heard.add(worker)
        self._arrived.set()
        if self.series is not None:
            self.series.leave(worker)

    # ---- tasks ----

    def _start_watching(self) -> None:
        """Follows the tasks from now on."""
        self.tasks = TaskWatch(self.scheduler.tasks)
        # In place of the class's own method, so that a step of a task goes straight to the engine.
        vars(self)["transition"] = self.tasks.transition
        self._tap = _RaisedTap.put_on(self.scheduler, self.tasks)

    def stop_watching(self) -> bytes | None:
        """Returns the attempts, also if it is called again; None if no task was followed."""
        tasks, self.tasks = self.tasks, None
        if tasks is not None:
            vars(self).pop("transition", None)
            if self._tap is not None:
                self._tap.take_off(self.scheduler, tasks)
            self._followed = tasks.finish().to_bytes()
            self.unread_steps = tasks.faults
        return self._followed

    def failures(self) -> tuple[int, list[tuple[str, str]]]:
        """How many tries of this run have failed so far, and the last ones. The answer does not depend on earlier ones."""
        return (0, []) if self.tasks is None else (self.tasks.failed, list(self.tasks.failures))

    def _note_departure(self, departure: Mapping[str, Any]) -> None:
        """The scheduler tells it before it takes the tasks back."""
        if self.tasks is None:
            return
        tasks = self.scheduler.tasks
        lost = [key for key in departure["lost-computed-tasks"] if _is_needed(tasks.get(key))]
        self.tasks.left(
            departure["worker"],
            bool(departure["expected"]),
            len(departure["processing-tasks"]),
            lost,
            departure["stimulus_id"],
        )

    # ---- messages ----

    def log_event(self, topic: str, msg: Any) -> None:
        if topic == "stealing":
            if self.tasks is not None and isinstance(msg, tuple) and msg[0] == "confirm":
                self.tasks.moved(msg[1], msg[4])
            return
        if not isinstance(msg, Mapping):
            return
        if topic == "all" and msg.get("action") == "remove-worker":
            self._note_departure(msg)
        if topic != self.topic:
            return
        # The scheduler keeps the last thousand of a topic as well.
        self.scheduler._broker.truncate(topic)
        data = msg.get("roastcoffea")
        if isinstance(data, bytes):
            self._keep(data)
        elif "roastcoffea-counters" in msg:
            self.seen_counters.append((msg["worker"], "end", msg["roastcoffea-counters"]))
        elif "roastcoffea-round" in msg:
            self._reached.discard(msg["worker"])
            self._rounds.setdefault(msg["roastcoffea-round"], set()).add(msg["worker"])
            self._arrived.set()

    def _keep(self, data: bytes) -> None:
        if self.live is not None:
            self.live.take(data)
        if self._message_bytes + len(data) > self.message_limit:
            self._dropped += 1
            return
        self._messages.append(data)
        self._message_bytes += len(data)

    def hand_over(self, got: int) -> list[_Batch]:
        """The messages that have arrived and the series so far, for a client that has all batches up to number
        `got`. A batch is kept, and handed over again, until the client says that it has it."""
        for _, messages, _, _ in (batch for batch in self._batches if batch[0] <= got):
            self._message_bytes -= sum(map(len, messages))
        self._batches = [batch for batch in self._batches if batch[0] > got]
        samples = self._cut_series()
        if self._messages or self._dropped or samples is not None:
            self._batch_count += 1
            self._batches.append((self._batch_count, self._messages, self._dropped, samples))
            self._messages, self._dropped = [], 0
        return self._batches

    async def wait_for_round(
        self, round_id: str, workers: Iterable[str], timeout: float
    ) -> list[str]:
        """Waits until the marks of these workers are here: what they sent before them is, too.
        Those whose mark did not come within ``timeout`` seconds."""
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout
        wanted = set(workers)
        heard = self._rounds.setdefault(round_id, set())
        heard |= wanted.intersection(self.left)
        while not wanted <= heard:  # which looks at the sizes first
            self._arrived.clear()
            try:
                await asyncio.wait_for(self._arrived.wait(), end - loop.time())
            except TimeoutError:
                break
        self._rounds.pop(round_id, None)
        return sorted(wanted - heard)

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
        tasks = list(tasks)
        if self.tasks is not None and client == self.client:
            self.tasks.expect(tasks)
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


async def _forget(asked: set[asyncio.Task[None]], order: dict[str, Any], there: list[str], scheduler: Any) -> None:
    """After those that are asked still: they put something there."""
    if asked:
        await asyncio.wait(asked)
    await ask_counters(order, there, scheduler)


class _RaisedTap:
    """Called when a task raises, before Dask decides on a retry; the scheduler does not report the failed try again.
    One for all collectors of a scheduler."""

    OP = "task-erred"

    def __init__(self, handler: Any) -> None:
        self.handler = handler
        self.watches: list[TaskWatch] = []

    def __call__(self, **message: Any) -> Any:
        for watch in self.watches:
            watch.raised(**message)
        return self.handler(**message)

    @classmethod
    def put_on(cls, scheduler: Any, watch: TaskWatch) -> _RaisedTap | None:
        handlers = getattr(scheduler, "stream_handlers", {})
        tap = handlers.get(cls.OP)
        if tap is None:
            return None
        if not isinstance(tap, cls):
            tap = handlers[cls.OP] = cls(tap)
        tap.watches.append(watch)
        return tap

    def take_off(self, scheduler: Any, watch: TaskWatch) -> None:
        """Where somebody else has wrapped the tap meanwhile, it stays inside and does nothing any more."""
        self.watches = [other for other in self.watches if other is not watch]
        if not self.watches and scheduler.stream_handlers.get(self.OP) is self:
            scheduler.stream_handlers[self.OP] = self.handler


def _is_needed(task: Any) -> bool:
    """Whether the result of a task is still wanted, by a client or by another task."""
    return task is not None and bool(task.who_wants or task.waiters)


def _add(table: _Tasks, span_id: str, group: str, key: Any) -> None:
    table.setdefault(span_id, {}).setdefault(group, set()).add(key)
