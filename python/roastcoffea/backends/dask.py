"""Collecting a run on a Dask cluster."""

from __future__ import annotations

import importlib.util
import math
import threading
import uuid
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from roastcoffea._core import Attempts, WorkerSeries, now
from roastcoffea.backends._client_post import ClientPost
from roastcoffea.backends._remote import (
    by_value,
    command,
    discard,
    finish,
    finish_worker,
    has_us,
    install,
    look,
)
from roastcoffea.backends._spans import ANNOTATION, DaskSpan
from roastcoffea.aggregation.tracking import TrackingData
from roastcoffea.backends.base import AbstractMetricsBackend

__all__ = ["DaskBackend", "DaskMetricsBackend", "DaskSpan"]

# How long all workers together are waited for when the run has ended.
WORKER_TIMEOUT = 2.0
# How long an answer of the scheduler is waited for.
CALL_TIMEOUT = 60.0
# What Coffea calls its tasks that merge outputs.
REDUCER = "reduce"
# Clocks that differ by less are not corrected: messages between them take as long on a busy cluster.
CLOCKS_AGREE = 0.1
# A clock that is wrong by more is told.
CLOCK_IS_WRONG = 1.0
# How many bytes of messages are kept until they are fetched.
MESSAGE_LIMIT = 1_000_000_000


class DaskMetricsBackend(AbstractMetricsBackend):
    """Collects what the workers of a Dask cluster did.

    While something is collected, the scheduler has a plugin of ours, which samples the workers,
    notes who comes and goes, follows the tasks, and keeps the records that travel beside the
    output. The last of `stop_tracking`, `close_channel` and `get_span_metrics` removes it. Where
    the scheduler lacks this package the same is done from the client, and `notes` says so.
    """

    def __init__(self, client: Any = None) -> None:
        if client is None:
            raise ValueError("client is None: a distributed.Client is needed")
        self.client = client
        self._check_synchronous()
        self._series: WorkerSeries | None = None
        self._attempts: Attempts | None = None
        self._notes: list[str] = []
        self._looked: dict[str, Any] | None = None
        self._lacking: list[str] | None = None  # workers without this package, when they were asked
        self._name: str | None = None
        self._planned: str | None = None  # a name under which the post may be there: the answer was lost
        self._local: ClientPost | None = None
        self._sampling = False
        self._sampled_every: float | None = None  # seconds, since begin_run(), where it did
        self._channel = False
        self._spans: dict[str, DaskSpan] = {}
        self._slow: list[str] = []
        self._in_vain = False  # the last question to the scheduler had no answer
        self._zero = 0.0  # the moment that the steady clock of the scheduler counts from
        self._clock_offset = 0.0
        self._clock_offsets: dict[str, float] = {}
        self._ended: dict[str, Any] = {}  # the answer to end_run(), where there was one
        # What was handed over so far.
        self._got = 0  # the number of the last parcel
        self._pieces: WorkerSeries | None = None
        self._fetched: list[bytes] = []
        self._dropped = 0

    @property
    def series(self) -> WorkerSeries | None:
        return self._series

    @property
    def attempts(self) -> Attempts | None:
        """Every try of every task, as the scheduler saw it. There with the end of `stop_tracking`, or
        of `close_channel` where the workers are not tracked; None where nobody watched."""
        return self._attempts

    @property
    def clock_offset(self) -> float:
        return self._clock_offset

    @property
    def clock_offsets(self) -> dict[str, float]:
        return dict(self._clock_offsets)

    @property
    def notes(self) -> list[str]:
        return list(self._notes)

    @property
    def workers_without_us(self) -> str:
        """Asks the workers once; one that has not answered in time is taken for one that has the package."""
        if self._lacking is None:
            try:
                answers = self.client.run(by_value(has_us), on_error="return", callback_timeout=WORKER_TIMEOUT)
            except Exception as error:
                self._note(f"the workers could not be asked for this package: {_words(error)}")
                answers = {}
            self._lacking = sorted(address for address, found in answers.items() if found is False)
        return _list(self._lacking)

    # ---- the beginning of a run ----

    def begin_run(self, interval: float | None) -> None:
        """All that `open_channel`, `start_tracking` and `create_span` need on the scheduler, in one call."""
        if self._name is None:
            self._install(interval if interval is not None and _is_interval(interval) else None)

    # ---- workers ----

    def start_tracking(self, interval: float) -> None:
        if not _is_interval(interval):
            raise ValueError(f"interval: {interval!r} is no number of seconds above 0")
        if self._sampling:
            raise RuntimeError("the workers are tracked already: call stop_tracking() first")
        self._series = self._pieces = None
        self._attempts = None
        if not self._install():
            return
        try:
            if self._local is not None:
                self._local.start_sampling(interval)
            elif interval != self._sampled_every:
                self._on_scheduler(command, self._name, "start_sampling", interval)
            self._sampling = True
        except Exception as error:
            self._note(f"the workers could not be sampled: {_words(error)}")
            self._remove_if_done()

    def stop_tracking(self) -> dict[str, Any]:
        if not self._sampling:
            return {}
        self._sampling, self._sampled_every = False, None
        result = self._ended or self._finish(series=True, attempts=True)
        if self._local is not None:
            self._keep([], 0, self._local.stop_sampling())
            if self._local.failed:
                self._note(
                    f"{self._local.failed} looks at the workers failed, the last one with "
                    f"{self._local.failure}"
                )
        elif result and "parcels" not in result:
            self._note("the last samples of the workers are lost: the scheduler had lost our plugin")
        self._series = self._pieces
        self._remove_if_done()
        return {} if self._series is None else TrackingData(self._series)

    # ---- records beside the output ----

    def open_channel(self) -> str | None:
        if not self._install():
            return None
        self._channel = True
        return self._topic

    def close_channel(self) -> list[bytes]:
        if not self._channel:
            return []
        result = self._ended or self._finish(ask=True, take=True, attempts=not self._sampling)
        self._channel = False
        unheard = result.get("unheard", [])
        if self._local is not None:
            unheard = self._local.wait_for_round(
                result.get("round", ""), result.get("told", []), WORKER_TIMEOUT
            )
            self._keep(*self._local.hand_over())
        messages, dropped = self._fetched, self._dropped
        self._fetched, self._dropped = [], 0
        if dropped:
            self._note(f"there was no room for {dropped} messages of chunk records: they are lost")
        if unheard:
            self._note(f"the last chunk records may be missing of {_list(unheard)}")
        self._remove_if_done()
        return messages

    # ---- while the run goes on ----

    def news(self) -> tuple[list[bytes], WorkerSeries | None]:
        if self._name is None or not (self._channel or self._sampling):
            return [], None
        if self._local is not None:
            messages, dropped, piece = self._local.hand_over()
            self._keep(messages, dropped, piece)
            return messages, piece
        return self._take_parcels(self._on_scheduler(command, self._name, "hand_over", self._got))

    def _take_parcels(self, parcels: list[Any]) -> tuple[list[bytes], WorkerSeries | None]:
        """Keeps those that are not here yet, and tells what was in them."""
        fresh: list[bytes] = []
        series: WorkerSeries | None = None
        for number, messages, dropped, data in parcels:
            if number <= self._got:
                continue
            self._got = number
            piece = None if data is None else self._unpack(data)
            self._keep(messages, dropped, piece)
            fresh += messages
            if piece is not None:
                series = _extended(series, piece)
        return fresh, series

    def _keep(self, messages: list[bytes], dropped: int, piece: WorkerSeries | None) -> None:
        self._fetched += messages
        self._dropped += dropped
        if piece is not None:
            self._pieces = _extended(self._pieces, piece)

    def _unpack(self, data: bytes) -> WorkerSeries | None:
        try:
            return WorkerSeries.from_bytes(data)
        except ValueError as error:
            self._note(f"a piece of the series of the workers is lost: {_words(error)}")
            return None

    # ---- spans ----

    def supports_fine_metrics(self) -> bool:
        if importlib.util.find_spec("distributed.spans") is None:
            return False
        return bool(self._look().get("spans"))

    def create_span(self, name: str) -> DaskSpan | None:
        """Opens a span: the tasks that are submitted in this thread belong to it until
        `close_span` or `get_span_metrics`. It may also stand in a ``with``. None where Dask has no
        spans."""
        self._check_synchronous()
        if not self.supports_fine_metrics() or not self._install():
            return None
        assert self._name is not None
        span = DaskSpan(name, self._name)
        self._spans[span.id] = span
        return span

    def close_span(self, span_info: Any) -> None:
        """Ends the span; `get_span_metrics` does it as well."""
        if isinstance(span_info, DaskSpan):
            span_info.close()

    def get_span_metrics(
        self, span_info: Any, max_retries: int = 3, retry_delay: float = 0.5, delay: float = 0.0
    ) -> dict[Any, Any]:
        """What Dask's workers have measured of the span's tasks:
        ``{("execute", task prefix, activity, unit): value}``.

        All workers are asked for it, so that it is complete at once. Only if some did not answer
        and there is no CPU time yet it is looked for again: after ``delay`` seconds, and then at
        most ``max_retries`` times, the first time after ``retry_delay`` seconds, each time after
        twice as many.
        """
        if not isinstance(span_info, DaskSpan):
            return {}
        span_info.close()
        known = self._ended.get("span") == span_info.id
        result = self._ended if known else self._finish(ask=True, span=span_info.id)
        waits = [delay, *(retry_delay * 2.0**i for i in range(max(0, max_retries)))]
        for wait in waits:
            if _has_cpu(result) or result.get("complete", True) or not result.get("ran"):
                break
            threading.Event().wait(max(0.0, wait))
            result = {**self._finish(span=span_info.id), "complete": False}
        self._spans.pop(span_info.id, None)
        self._tell_about_span(span_info, result)
        self._remove_if_done()
        return dict(result.get("metrics", {}))

    def _tell_about_span(self, span: DaskSpan, result: dict[str, Any]) -> None:
        if not result:
            return
        name = "/".join(span.name)
        merged, mixed = result.get("merged"), result.get("mixed")
        if merged:
            self._note(
                f"span {name}: Dask counts {_tasks(merged)} in another span, because tasks of the "
                "same name were alive there when these were submitted: their CPU time is not here"
            )
        if mixed:
            self._note(
                f"span {name}: Dask counts {_tasks(mixed)} in it that were submitted elsewhere "
                "under the same name: their CPU time is in these numbers"
            )
        if "metrics" not in result:
            if not merged:
                self._note(f"span {name}: no task was submitted in it, so that it has no metrics")
            return
        if result["ran"] and not _has_cpu(result):
            self._note(f"span {name}: tasks have run, but no worker has told their CPU time")
        if result["left"]:
            self._note(
                f"span {name}: what {_list(result['left'])} measured after the last heartbeat "
                f"({result['interval']:g} s at most) may be missing, as they have left"
            )

    # ---- the end of a run ----

    def end_run(self, span_info: Any) -> None:
        """All that `get_span_metrics`, `close_channel` and `stop_tracking` ask for, in one call, and that the answer
        has arrived in another. Where it fails, or the post is at the client and still waits for messages, they ask one
        by one."""
        if self._name is None or self._local is not None:
            return
        span = span_info.id if isinstance(span_info, DaskSpan) else None
        if isinstance(span_info, DaskSpan):
            span_info.close()
        self._ended = self._finish(
            ask=self._channel or span is not None,
            span=span,
            take=self._channel,
            series=self._sampling,
            attempts=True,
            end=self._spans.keys() <= {span},
        )
        if self._ended.get("retired"):
            with suppress(Exception):  # then it goes by itself after a while
                self._on_scheduler(discard, self._name)
            self._name, self._slow = None, []

    # ---- the post on the scheduler ----

    @property
    def _topic(self) -> str:
        return f"dask:{self._name}"

    def _look(self) -> dict[str, Any]:
        if self._looked is None:
            self._check_synchronous()
            try:
                self._looked = self._on_scheduler(look)
            except Exception as error:
                self._note(f"the scheduler could not be asked: {_words(error)}")
        return self._looked or {}

    def _install(self, interval: float | None = None) -> bool:
        """Whether the post is there; with an interval it samples the workers from the start."""
        self._check_synchronous()
        self._ended = {}
        if self._name is not None:
            return True
        name = self._planned = self._planned or f"roastcoffea-{uuid.uuid4().hex}"
        order = {
            "name": name,
            "topic": f"dask:{name}",
            "client": self.client.id,
            "message_limit": MESSAGE_LIMIT,
            "interval": interval,
        }
        try:
            asked = now()
            found = self._looked = self._on_scheduler(install, order)
            self._take_clock(found, asked, now())
        except Exception as error:
            self._note(f"the scheduler could not be asked: {_words(error)}")
            return False
        if found["problem"] is not None:
            self._note(
                f"the scheduler cannot load roastcoffea ({found['problem']}): its workers are sampled "
                "from the client, and the attempts of the tasks are not known"
            )
            self._local = ClientPost(self.client, f"dask:{name}", MESSAGE_LIMIT, self._zero)
        self._name, self._planned, self._got = name, None, 0
        self._sampled_every = found["sampling"]
        return True

    def _remove_if_done(self) -> None:
        if self._name is None or self._sampling or self._channel or self._spans:
            return
        self._finish(remove=True)
        if self._local is not None:
            self._local.remove()
        self._name, self._local, self._slow = None, None, []

    def close(self) -> None:
        """Ends all that is still going on; nothing is left behind on the cluster."""
        for span in self._spans.values():
            span.close()
        self._spans = {}
        self._sampling = self._channel = False
        self._remove_if_done()

    def abandon_run(self) -> None:
        self.close()

    def _finish(
        self,
        ask: bool = False,
        span: str | None = None,
        take: bool = False,
        series: bool = False,
        attempts: bool = False,
        end: bool = False,
        remove: bool = False,
    ) -> dict[str, Any]:
        """One call of the scheduler at the end of the run. Empty where it did not answer."""
        from distributed.protocol import pickle

        dumps: Any = pickle.dumps
        order = {
            "name": self._name,
            "client": self.client.id,
            "annotation": ANNOTATION,
            "topic": self._topic if self._channel or remove else None,
            "zero": self._zero,
            "round": uuid.uuid4().hex,
            "ask": dumps(by_value(finish_worker)) if ask else None,
            "timeout": WORKER_TIMEOUT,
            "slow": self._slow,
            "span": span,
            "take": take,
            "series": series,
            "attempts": attempts,
            "got": self._got,
            "end": end,
            "remove": remove,
        }
        try:
            result: dict[str, Any] = self._on_scheduler(finish, order)
        except Exception as error:
            self._note(f"the scheduler could not be asked: {_words(error)}")
            if ask and not isinstance(error, (OSError, TimeoutError)):
                # It was the workers' part that failed: what the scheduler has may still be had.
                return self._finish(span=span, take=take, series=series, attempts=attempts)
            return {}
        self._take_clocks(result["clocks"])
        if ask:
            self._tell_about_workers(result)
        self._take_parcels(result.get("parcels", []))
        if attempts:
            self._take_attempts(result.get("attempts"))
        result.update(round=order["round"], span=span)
        return result

    def _take_clock(self, found: dict[str, Any], asked: float, answered: float) -> None:
        """The run is on the scheduler's clock: there the series and the attempts are made."""
        self._zero = found["zero"]
        begun, ended = self._zero + found["begun"], self._zero + found["ended"]
        ahead = (begun - asked + ended - answered) / 2
        self._clock_offset = _real(ahead, (answered - asked) - (ended - begun))
        self._clock_offsets = {}
        if abs(self._clock_offset) > CLOCK_IS_WRONG:
            self._note(
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
            self._note(f"the {clock} {told} the scheduler's: the times of their chunks are corrected by that")

    def _take_attempts(self, data: bytes | None) -> None:
        if data is not None:
            self._attempts = Attempts.from_bytes(data)
            self._attempts.set_kind(REDUCER, "reduction")

    def _tell_about_workers(self, result: dict[str, Any]) -> None:
        answers = result["answers"]
        silent = {address for address, answer in answers.items() if answer["silent"]}
        new = sorted(silent.difference(self._slow))
        self._slow = sorted(silent.union(self._slow))
        if new:
            self._note(
                f"{_list(new)} did not answer within {WORKER_TIMEOUT:g} s: what they measured last "
                "may be missing"
            )
        for address, answer in answers.items():
            if answer["problem"]:
                self._note(f"{address} could not hand over what it measured: {answer['problem']}")

    def _on_scheduler(self, function: Any, *args: Any) -> Any:
        """The answer to a question that may be asked twice: where no answer comes it is asked again, unless the
        question before was in vain as well."""
        self._check_synchronous()
        sent = by_value(function)
        for last in (self._in_vain, True):
            status = getattr(self.client, "status", "running")
            if status != "running":
                raise ConnectionError(f"the client is {status}")
            try:
                answer = self.client.run_on_scheduler(sent, *args, callback_timeout=CALL_TIMEOUT)
                self._in_vain = False
                return answer
            except (OSError, TimeoutError):
                self._in_vain = True
                if last:
                    raise
        return None

    def _check_synchronous(self) -> None:
        if getattr(self.client, "asynchronous", False) is True:
            raise RuntimeError(
                "roastcoffea cannot collect with an asynchronous client: it would have to wait in "
                "the event loop. Use a synchronous one outside of it, such as "
                "distributed.Client(client.scheduler.address)"
            )

    def _note(self, text: str) -> None:
        if text not in self._notes:
            self._notes.append(text)


DaskBackend = DaskMetricsBackend


def _is_interval(seconds: float) -> bool:
    return seconds > 0 and math.isfinite(seconds)


def _extended(series: WorkerSeries | None, piece: WorkerSeries) -> WorkerSeries:
    series = WorkerSeries() if series is None else series
    series.extend(piece)
    return series


def _real(offset: float, error: float) -> float:
    """How much a clock is off; 0 where that may be the way of the messages that told it."""
    return offset if abs(offset) > max(CLOCKS_AGREE, error) else 0.0


def _is_off(behind: float) -> str:
    return f"is {abs(behind):.1f} s {'behind' if behind > 0 else 'ahead of'}"


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _list(names: Iterable[str], most: int = 5) -> str:
    names = list(names)
    text = ", ".join(names[:most])
    return text if len(names) <= most else f"{text} and {len(names) - most} more"


def _tasks(groups: dict[str, int]) -> str:
    return _list(f"{count} tasks named {name}" for name, count in sorted(groups.items()))


def _has_cpu(result: dict[str, Any]) -> bool:
    return any("thread-cpu" in key for key in result.get("metrics", {}))
