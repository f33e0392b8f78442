"""Collecting a run on a Dask cluster."""

from __future__ import annotations

import importlib.util
import threading
import uuid
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from roastcoffea._core import Attempts, WorkerSeries, now
from roastcoffea.aggregation.tracking import TrackingData
from roastcoffea.backends.dask.asking import Asking
from roastcoffea.backends.dask.client_side import ClientSide
from roastcoffea.backends.counters import Counters
from roastcoffea.backends.executors import class_names
from roastcoffea.backends.dask.remote import (
    begin_worker,
    by_value,
    discard,
    fetch_news,
    finish,
    finish_worker,
    forget_worker,
    has_us,
    install,
    look,
    read_counters,
)
from roastcoffea.backends.dask.spans import ANNOTATION, DaskSpan
from roastcoffea.backends.base import AbstractMetricsBackend
from roastcoffea.backends.source import SPAN_NAME, Collected, Engine, News, Ran, Source, check_interval
from roastcoffea.common.guard import Notes, attempt, words

__all__ = ["DaskBackend", "DaskMetricsBackend", "DaskSource", "DaskSpan"]

# Time limit for the answers of all workers together after the run.
WORKER_TIMEOUT = 2.0
# Coffea's name for its tasks that merge outputs.
REDUCER = "reduce"
# Clocks that differ by less are not corrected: messages between them take as long on a busy cluster.
CLOCKS_AGREE = 0.1
# A clock that is wrong by more gets a note.
CLOCK_IS_WRONG = 1.0
# The module that shows runs on the scheduler's own server.
PAGE = "roastcoffea.preload"
# How many bytes of messages are kept until they are fetched.
MESSAGE_LIMIT = 1_000_000_000
# Seconds until a span without CPU time is read again, if a worker did not answer.
RETRIES = (0.0, 0.5, 1.0, 2.0)

UNASKED = "the scheduler could not be asked"


class DaskSource(Source):
    """One run on a Dask cluster.

    During the run the scheduler has a plugin of ours. It samples the workers, records joins and leaves, follows the
    tasks, and keeps the records that workers send. If the scheduler lacks this package, the client samples the workers
    and receives the records, and a note says so.
    """

    how_to_install = (
        'client.register_plugin(distributed.PipInstall(packages=["roastcoffea"])) installs it on all workers'
    )

    has_dashboard = True

    def __init__(self, client: Any, span_name: str | None = SPAN_NAME) -> None:
        """`span_name`: None if no span of Dask is to be opened."""
        _check_synchronous(client)
        self.client = client
        self.retries: Iterable[float] = RETRIES
        self._span_name = span_name
        self._installed = False
        self._order: dict[str, Any] | None = None  # what may be on the scheduler: known before it is put there
        self._client_side: ClientSide | None = None
        self._asking = Asking(client, self)
        self._reset()

    def _reset(self) -> None:
        self.notes = Notes()
        self._span: DaskSpan | None = None
        self._name = f"roastcoffea-{uuid.uuid4().hex}"  # of the plugin
        self._topic = f"dask:{self._name}"
        self._sampled = False
        self._lacking: list[str] | None = None  # workers without this package, when they were asked
        self._zero = 0.0  # the moment that the steady clock of the scheduler counts from
        self._clock_offset = 0.0
        self._clock_offsets: dict[str, float] = {}
        self._silent: list[str] = []  # workers that have not answered
        self._counters = Counters()
        self._last_counters: dict[str, Any] = {}  # at the end
        self._uncounted: set[str] = set()  # workers whose CPU time is not known
        # What was handed over so far.
        self._got = 0  # the number of the last batch
        self._series: WorkerSeries | None = None
        self._records: list[bytes] = []
        self._dropped = 0

    # ---- the beginning ----

    def begin(self, interval: float | None) -> Engine:
        """One call of the scheduler prepares everything."""
        check_interval(interval)
        self.abandon()
        self.ends_by = None
        self._reset()
        self._sampled = interval is not None
        self._install(interval)
        topic = self._topic if self._installed else None
        known = {"series": self._sampled, "attempts": True, "figures": self._span is not None}
        tells = [part for part, is_known in known.items() if is_known and self._installed]
        return Engine(f"Dask {_version()}", list(self.notes), topic, self._clock_offset, REDUCER, self._span, tells)

    def _install(self, interval: float | None) -> None:
        from distributed.protocol import pickle

        dumps: Any = pickle.dumps
        order = self._order = {
            "name": self._name,
            "topic": self._topic,
            "client": self.client.id,
            "message_limit": MESSAGE_LIMIT,
            "interval": interval,
            "label": self.label,
            "page": PAGE if self.dashboard else None,
            "workers": self.dashboard == "workers",
            "ask": dumps(by_value(begin_worker)),
            "forget": dumps(by_value(forget_worker)),
            "timeout": WORKER_TIMEOUT,
        }
        asked = now()
        found = self._ask_twice(install, order)
        if found is None:
            return
        self._take_clock(found, asked, now())
        self._counters.begin({"client": read_counters(), **found["counters"]})
        self._installed = True
        if found["problem"] is not None:
            self.notes.add(
                f"the scheduler cannot load roastcoffea ({found['problem']}): its workers are sampled "
                "from the client, and the attempts of the tasks are not known"
            )
            self._client_side = ClientSide(self.client, self._asking, self._topic, MESSAGE_LIMIT, self._zero)
            self._client_side.listen()
            if interval is not None:
                self._client_side.start_sampling(interval)
        if self.dashboard and (why := found["problem"] or found["unshown"]) is not None:
            self.notes.add(f"the run is not shown on Dask's server: {why}")
        if found["unsampled"] is not None:
            self.notes.add(f"the workers could not be sampled: {found['unsampled']}")
        if found["spans"] and self._span_name is not None:
            self._span = DaskSpan(self._span_name, self._name)
            self._span.open()

    def workers_without_us(self) -> str:
        """Asks the workers once; a worker that does not answer in time is assumed to have the package."""
        if self._lacking is None:
            try:
                answers = self.client.run(by_value(has_us), on_error="return", callback_timeout=WORKER_TIMEOUT)
            except Exception as error:
                self.notes.add(f"the workers could not be asked for this package: {words(error)}")
                answers = {}
            self._lacking = sorted(address for address, found in answers.items() if found is False)
        return _list(self._lacking)

    # ---- during the run ----

    def news(self) -> News:
        if not self._installed:
            return News()
        if self._client_side is not None:
            return self._keep(*self._client_side.hand_over())
        batches, failures = self._asking.ask(fetch_news, self._name, self._got, during=True)
        return self._take_batches(batches)._replace(failures=failures)

    def _take_batches(self, batches: list[Any]) -> News:
        """Keeps the new batches, and returns their contents."""
        records: list[bytes] = []
        samples: WorkerSeries | None = None
        for number, messages, dropped, data in batches:
            if number <= self._got:
                continue
            self._got = number
            part = None if data is None else attempt("samples of the workers are lost", self.notes.add,
                                                     WorkerSeries.from_bytes, data)
            self._keep(messages, dropped, part)
            records += messages
            samples = _joined(samples, part)
        return News(records, samples)

    def _keep(self, messages: list[bytes], dropped: int, samples: WorkerSeries | None) -> News:
        self._records += messages
        self._dropped += dropped
        self._series = _joined(self._series, samples)
        return News(messages, samples)

    # ---- the end ----

    def end(self, ran: Ran) -> Collected:
        """One call of the scheduler asks for everything; a second one confirms the answer."""
        self.seconds_left()  # from now on there is a limit
        found = Collected()
        if self._span is not None:
            self._span.close()
        if self._installed:
            result = self._finish_all()
            found.counters = attempt("counters of the workers", self.notes.add, self._end_counters, result)
            attempt("records that were sent", self.notes.add, self._end_records, result)
            if self._sampled:
                attempt("worker series", self.notes.add, self._end_series, result)
                found.series = self._series
            if self._span is not None:
                found.figures = attempt("span metrics", self.notes.add, self._end_span, self._span, result)
            found.attempts = attempt("attempts", self.notes.add, self._read_attempts, result.get("attempts"), ran)
            if unread := result.get("unread_steps", 0):
                self.notes.add(f"{unread} messages about tasks could not be read: some tries may be missing")
            found.records = self._records
            found.clock_offsets = self._clock_offsets
        self._remove()
        found.notes = list(self.notes)
        return found

    def abandon(self) -> None:
        if self._span is not None:
            self._span.close()
        self._remove()

    def _remove(self) -> None:
        """Removes everything from the scheduler. One that does not answer now does it when it can; if it gets no message,
        the plugin removes itself after a while."""
        self._installed = False
        if self._client_side is not None:
            self._client_side.stop_sampling()
        if self._order is not None:
            self.seconds_left()  # from now on there is a limit
            self._asking.settle()
            with suppress(Exception):
                # Workers that have answered at the end have nothing of ours any more.
                self._on_scheduler(discard, {**self._order, "forget": None if self._last_counters else self._order["forget"]})
        if self._client_side is not None:
            self._client_side.remove()
        self._order = self._client_side = None

    def _finish_all(self) -> dict[str, Any]:
        """The answer to the one call at the end. Empty if there is none."""
        ask = True
        for _ in range(2):
            try:
                return self._finish(ask)
            except Exception as error:
                if self._asking.silent:
                    self.notes.add(
                        f"the scheduler did not answer at the end of the run, within {self.seconds_at_end:g} s: the tries of the "
                        "tasks and their CPU time are not known, and the last samples and records are missing"
                    )
                    break
                self.notes.add(f"{UNASKED}: {words(error)}")
                # Any other error comes from the workers' part: what the scheduler has may still be had.
                ask = isinstance(error, (OSError, TimeoutError))
        return {}

    def _finish(self, ask: bool) -> dict[str, Any]:
        from distributed.protocol import pickle

        dumps: Any = pickle.dumps
        order = {
            "name": self._name,
            "annotation": ANNOTATION,
            "topic": self._topic,
            "zero": self._zero,
            "round": uuid.uuid4().hex,
            "ask": dumps(by_value(finish_worker)) if ask else None,
            "timeout": WORKER_TIMEOUT,
            "silent": self._silent,
            "span": None if self._span is None else self._span.id,
            "got": self._got,
        }
        result: dict[str, Any] = self._on_scheduler(finish, order)
        self._take_clocks(result["clocks"])
        if ask:
            self._tell_about_workers(result["answers"])
            self._last_counters = result["counters"]
        self._take_batches(result.get("batches", []))
        return {**result, "round": order["round"]}

    def _end_records(self, result: dict[str, Any]) -> None:
        unheard = result.get("unheard", [])
        if self._client_side is not None:
            unheard = self._client_side.wait_for_round(result.get("round", ""), result.get("told", []), WORKER_TIMEOUT)
            self._keep(*self._client_side.hand_over())
        if self._dropped:
            self.notes.add(f"{self._dropped} messages of chunk records are lost: more arrived than can be kept")
        if unheard:
            self.notes.add(f"the last chunk records may be missing of {_list(unheard)}")

    def _end_series(self, result: dict[str, Any]) -> None:
        if self._client_side is None:
            if result and "batches" not in result:
                self.notes.add("the last samples of the workers are lost: the scheduler had lost our plugin")
            return
        self._keep([], 0, self._client_side.stop_sampling())
        if self._client_side.failed:
            self.notes.add(
                f"{self._client_side.failed} samples of the workers failed, the last with {self._client_side.failure}"
            )

    def _read_attempts(self, data: bytes | None, ran: Ran) -> Attempts | None:
        if data is None:
            return None
        attempts = Attempts.from_bytes(data)
        attempts.set_kind(REDUCER, "reduction")
        for name in ran.processors:
            attempts.set_kind(name, "processing")
        return attempts

    def _tell_about_workers(self, answers: dict[str, dict[str, Any]]) -> None:
        silent = {address for address, answer in answers.items() if answer["silent"]}
        new = sorted(silent.difference(self._silent))
        self._silent = sorted(silent.union(self._silent))
        if new:
            self.notes.add(
                f"{_list(new)} did not answer within {WORKER_TIMEOUT:g} s: their last measurements may be missing, "
                "and their CPU time is not known"
            )
        for address, answer in answers.items():
            if answer["problem"]:
                self.notes.add(f"{address} could not hand over its measurements: {answer['problem']}")

    def _end_counters(self, result: dict[str, Any]) -> dict[tuple[str, str, str], float]:
        """The CPU time of the workers and their machines."""
        seen = result.get("seen_counters", [])
        if self._client_side is not None:
            seen = self._client_side.seen_counters
        for address, which, counters in seen:
            (self._counters.begin if which == "begin" else self._counters.end)({address: counters})
        self._counters.expect(result.get("departed", ()))
        self._counters.end({"client": read_counters(), **self._last_counters})
        self._uncounted = set(self._counters.unknown())
        # Workers that have a note already are told of there.
        left = result.get("left", ()) if self._span is not None and "metrics" in result else ()
        unknown = sorted(self._uncounted.difference(self._silent, left))
        if unknown and self._last_counters:
            self.notes.add(f"the CPU time of {_list(unknown)} is not known: they left, or did not answer when asked")
        return self._counters.figures()

    # ---- the span ----

    def _end_span(self, span: DaskSpan, result: dict[str, Any]) -> dict[Any, Any]:
        """The measurements of the span's tasks by Dask's workers. The workers were asked for them, so they are complete
        at once. Only if a worker did not answer and there is no CPU time yet, the scheduler is asked again."""
        for wait in self.retries:
            if _has_cpu(result) or result.get("complete", True) or not result.get("ran"):
                break
            threading.Event().wait(min(max(0.0, wait), self.seconds_left()))
            result = {**self._finish(ask=False), "complete": False}
        self._tell_about_span("/".join(span.name), result)
        return dict(result.get("metrics", {}))

    def _tell_about_span(self, name: str, result: dict[str, Any]) -> None:
        if not result:
            return
        merged, mixed = result.get("merged"), result.get("mixed")
        if merged:
            self.notes.add(
                f"span {name}: Dask counts {_tasks(merged)} in another span, because tasks of the "
                "same name were alive there when these were submitted: their CPU time is not here"
            )
        if mixed:
            self.notes.add(
                f"span {name}: Dask counts {_tasks(mixed)} in it that were submitted elsewhere "
                "under the same name: their CPU time is in these numbers"
            )
        if "metrics" not in result:
            if not merged:
                self.notes.add(f"span {name}: no task was submitted in it, so that it has no metrics")
            return
        if result["ran"] and not _has_cpu(result):
            self.notes.add(f"span {name}: tasks have run, but no worker has reported their CPU time")
        if result["left"]:
            uncounted = self._uncounted.intersection(result["left"])
            self.notes.add(
                f"span {name}: measurements of {_list(result['left'])} after the last heartbeat "
                f"({result['interval']:g} s at most) may be missing, as they have left"
                + (f"; the CPU time of {_list(sorted(uncounted))} is not known" if uncounted else "")
            )

    # ---- clocks ----

    def _take_clock(self, found: dict[str, Any], asked: float, answered: float) -> None:
        """The run is on the scheduler's clock, as are the series and the attempts."""
        self._zero = found["zero"]
        begun, ended = self._zero + found["begun"], self._zero + found["ended"]
        ahead = (begun - asked + ended - answered) / 2
        self._clock_offset = _real(ahead, (answered - asked) - (ended - begun))
        if abs(self._clock_offset) > CLOCK_IS_WRONG:
            self.notes.add(
                f"the clock of the scheduler {_is_off(-ahead)} that of the client: the times of the run are the "
                "scheduler's"
            )

    def _take_clocks(self, clocks: dict[str, tuple[float, float]]) -> None:
        off = {
            address: behind
            for address, (behind, error) in clocks.items()
            if address not in self._clock_offsets and _real(behind, error)
        }
        self._clock_offsets.update(off)
        wrong = {address: behind for address, behind in off.items() if abs(behind) > CLOCK_IS_WRONG}
        if wrong:
            clock = "clock of worker" if len(wrong) == 1 else "clocks of workers"
            told = _list(f"{address} {_is_off(behind)}" for address, behind in sorted(wrong.items()))
            self.notes.add(f"the {clock} {told} the scheduler's: the times of their chunks are corrected by that")

    # ---- calls of the scheduler ----

    def _ask_twice(self, function: Any, *args: Any) -> Any:
        """None if there was no answer either time."""
        for _ in range(2):
            answer = attempt(UNASKED, self.notes.add, self._on_scheduler, function, *args)
            if answer is not None:
                return answer
        return None

    def _on_scheduler(self, function: Any, *args: Any) -> Any:
        return self._asking.ask(function, *args)


class DaskMetricsBackend(AbstractMetricsBackend):
    """The five methods on a Dask cluster. Each series and each span has a source of its own."""

    def __init__(self, client: Any = None) -> None:
        self.client = client = _client_of(client)
        if client is None:
            raise ValueError("client is None: a distributed.Client is needed")
        _check_synchronous(client)
        self.notes = Notes()
        self._tracking: DaskSource | None = None
        self._spans: dict[str, DaskSource] = {}

    def source(self) -> DaskSource:
        return DaskSource(self.client)

    def start_tracking(self, interval: float) -> None:
        if self._tracking is not None:
            raise RuntimeError("the workers are tracked already: call stop_tracking() first")
        source = DaskSource(self.client, span_name=None)
        source.begin(interval)
        self._tracking = source

    def stop_tracking(self) -> dict[str, Any]:
        source, self._tracking = self._tracking, None
        series = None if source is None else self._end(source).series
        return {} if series is None else TrackingData(series)

    def supports_fine_metrics(self) -> bool:
        if importlib.util.find_spec("distributed.spans") is None:
            return False
        source = DaskSource(self.client)
        found = attempt(UNASKED, self.notes.add, source._on_scheduler, look)
        return bool(found and found["spans"])

    def create_span(self, name: str) -> DaskSpan | None:
        """Opens a span: the tasks that are submitted in this thread belong to it until `close_span` or
        `get_span_metrics`. It is also a context manager. None if Dask has no spans."""
        source = DaskSource(self.client, name)
        span: DaskSpan | None = source.begin(None).span
        if span is None:
            self._end(source)
        else:
            self._spans[span.id] = source
        return span

    def close_span(self, span_info: Any) -> None:
        """Ends the span; `get_span_metrics` does it as well."""
        if isinstance(span_info, DaskSpan):
            span_info.close()

    def get_span_metrics(
        self, span_info: Any, max_retries: int = 3, retry_delay: float = 0.5, delay: float = 0.0
    ) -> dict[Any, Any]:
        """The measurements of the span's tasks by Dask's workers:
        ``{("execute", task prefix, activity, unit): value}``.

        If some workers did not answer and there is no CPU time yet, it tries again.

        Args:
            span_info: What `create_span` returned.
            max_retries: How often it tries again at most, with twice the delay each time.
            retry_delay: Seconds before the first of these tries.
            delay: Seconds before it asks at all.
        """
        source = self._spans.pop(span_info.id, None) if isinstance(span_info, DaskSpan) else None
        if source is None:
            return {}
        source.retries = [delay, *(retry_delay * 2.0**i for i in range(max(0, max_retries)))]
        return dict(self._end(source).figures or {})

    def close(self) -> None:
        """Ends everything that still runs; nothing is left behind on the cluster."""
        sources, self._spans = [*self._spans.values()], {}
        if self._tracking is not None:
            sources.append(self._tracking)
            self._tracking = None
        for source in sources:
            source.abandon()

    def _end(self, source: DaskSource) -> Collected:
        found = source.end(Ran())
        for note in found.notes:
            self.notes.add(note)
        return found


DaskBackend = DaskMetricsBackend


def _client_of(target: Any) -> Any:
    """The client of a DaskExecutor; anything else as it is."""
    if "DaskExecutor" not in class_names(target):
        return target
    if target.client is None:
        raise ValueError(
            "the DaskExecutor has no client: make one first, DaskExecutor(client=distributed.Client(...)); "
            "the one that Coffea would make does not exist before the run"
        )
    return target.client


def _check_synchronous(client: Any) -> None:
    if getattr(client, "asynchronous", False) is True:
        raise RuntimeError(
            "roastcoffea cannot collect with an asynchronous client: it would have to wait in "
            "the event loop. Use a synchronous one outside of it, such as "
            "distributed.Client(client.scheduler.address)"
        )


def _version() -> str:
    import distributed

    return str(vars(distributed)["__version__"])


def _joined(series: WorkerSeries | None, part: WorkerSeries | None) -> WorkerSeries | None:
    if part is None:
        return series
    series = WorkerSeries() if series is None else series
    series.extend(part)
    return series


def _real(offset: float, error: float) -> float:
    """The offset of a clock; 0 if it may be due to the travel time of the messages."""
    return offset if abs(offset) > max(CLOCKS_AGREE, error) else 0.0


def _is_off(behind: float) -> str:
    return f"is {abs(behind):.1f} s {'behind' if behind > 0 else 'ahead of'}"


def _list(names: Iterable[str], most: int = 5) -> str:
    names = list(names)
    text = ", ".join(names[:most])
    return text if len(names) <= most else f"{text} and {len(names) - most} more"


def _tasks(groups: dict[str, int]) -> str:
    return _list(f"{count} task{'' if count == 1 else 's'} named {name}" for name, count in sorted(groups.items()))


def _has_cpu(result: dict[str, Any]) -> bool:
    return any("thread-cpu" in key for key in result.get("metrics", {}))
