"""The interface between the collector and an engine.

An engine runs the chunks: Dask, a pool of this machine, a batch system. A source reports one run of an engine. The
collector calls `begin`, then `news` any number of times, and at last `end`; or `abandon`, if the run could not begin or
`end` failed. Data that an engine does not have is missing, never guessed.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from roastcoffea.common.guard import Notes, attempt

if TYPE_CHECKING:
    from roastcoffea._core import Attempts, WorkerSeries
    from roastcoffea.backends.base import AbstractMetricsBackend

__all__ = [
    "SPAN_NAME", "BackendSource", "Collected", "Engine", "News", "Ran", "Source", "check_interval", "current_call", "note_task",
]

SPAN_NAME = "coffea-processing"

# The call of a Runner in this thread (roastcoffea.coffea.runner_watch).
current_call: ContextVar[Any] = ContextVar("roastcoffea_call", default=None)


def note_task(key: str, item: Any) -> None:
    """The piece of work in a task of the call in this thread, for engines that submit one task at a time."""
    call = current_call.get()
    if call is not None:
        call.tasks.note([key], [item])


@dataclass
class Engine:
    """At the beginning: what the engine is, what it can tell, and what it cannot."""

    name: str = ""  #: with its version, where it has one
    cannot: list[str] = field(default_factory=list)  #: what cannot be measured, and why, in words
    topic: str | None = None  #: where workers send their records (roastcoffea.worker.channel); None: in the output alone
    clock_offset: float = 0.0  #: seconds from the clock of this process to that of the series and the attempts
    reducer: str | None = None  #: what the figures call the tasks that merge outputs
    span: Any = None  #: what groups the tasks of the run, for `MetricsCollector.span_info`
    tells: Collection[str] = ()  #: the parts of `Collected` that it can tell; one that is missing then becomes a note
    names_workers: bool = False  #: records do not name their worker, the attempts do


class News(NamedTuple):
    """During the run: everything new since the last call."""

    records: list[bytes] = []  #: packed chunk logs
    series: WorkerSeries | None = None  #: the samples
    failures: tuple[int, list[tuple[str, str]]] = (0, [])  #: failed tries so far: how many; exception and place of the last
    done: int | None = None  #: processing tasks that are done so far, where records arrive with the output alone


@dataclass
class Ran:
    """What the collector itself knows about the run."""

    processors: set[str] = field(default_factory=set)  #: names of the classes whose process() ran
    records: list[Any] = field(default_factory=list)  #: chunk records that came in outputs
    elsewhere: set[str] = field(default_factory=set)  #: classes of executors that ran chunks on other machines

    def processes(self, host: str) -> set[int]:
        """The processes of this host that made these records: other hosts have the same numbers."""
        return {chunk["pid"] for chunk in self.records if chunk["host"] == host} - {None}


@dataclass
class Collected:
    """At the end: all that the engine can tell. None stands for: not measured."""

    series: WorkerSeries | None = None  #: samples, joins and leaves of the workers
    tracking_data: Mapping[str, Any] | None = None  #: in place of a series: a form of the backend's own
    attempts: Attempts | None = None  #: every try of every task, and the workers that left
    figures: Mapping[Any, Any] | None = None  #: sums by kind of task (docs/backends.md)
    counters: Mapping[Any, Any] | None = None  #: CPU time of processes and machines (docs/backends.md)
    records: list[bytes] = field(default_factory=list)  #: packed chunk logs, those of the news as well
    clock_offsets: dict[str, float] = field(default_factory=dict)  #: {worker: seconds that its clock is behind}
    about: dict[str, str] = field(default_factory=dict)  #: where it ran, in words, for the provenance
    notes: list[str] = field(default_factory=list)  #: what could not be measured, and why, in words

    def missing_of(self, engine: Engine) -> list[str]:
        """Notes about parts that the engine said it can tell and did not, where the source does not say why."""
        missing = [part for part in engine.tells if getattr(self, part, None) is None]
        return [] if self.notes else [f"{engine.name or 'the engine'} reported no {part} for this run" for part in missing]


class Source(ABC):
    """Tells what is known of one run. Derive from it to support another engine, and register the class. A collector
    that is entered again calls `begin` again: nothing of the run before may be in the next one."""

    how_to_install = ""  # in words: how workers that lack this package get it
    has_dashboard = False  # whether the engine has a server that can show the run
    # All that happens at the end of a run takes so many seconds at most: the user waits for it, and an engine that has not
    # answered by then will not.
    seconds_at_end = 30.0
    ends_by: float | None = None  # by time.monotonic(): when all has to be done; None while the run goes on
    # Set before `begin`.
    label = ""  # the name of the run, for others
    dashboard: bool | str = False  # whether the run is to be shown on that server

    @abstractmethod
    def begin(self, interval: float | None) -> Engine:
        """The run begins. The workers are to be sampled every `interval` seconds; None: not at all."""

    def news(self) -> News:
        """Everything new since the last call. `end` repeats it. If a call fails, the next one repeats it. A thread of
        the collector calls it, never two at once."""
        return News()

    @abstractmethod
    def end(self, ran: Ran) -> Collected:
        """The run has ended. The source leaves nothing behind."""

    def abandon(self) -> None:
        """Stops all that still runs and leaves nothing behind. `end` may have been called, or failed half way."""

    def seconds_left(self) -> float:
        """Until all has to be done; counted from the first call, where nobody has set a limit."""
        if self.ends_by is None:
            self.ends_by = time.monotonic() + self.seconds_at_end
        return max(0.0, self.ends_by - time.monotonic())

    def about(self) -> dict[str, str]:
        """Texts about the run for its meta data while it goes on."""
        return {}

    def workers_without_us(self) -> str:
        """The workers that are known to lack this package, in words; empty if there are none."""
        return ""


class BackendSource(Source):
    """A backend with the five methods of AbstractMetricsBackend, as a source."""

    def __init__(self, backend: AbstractMetricsBackend) -> None:
        self._backend = backend
        self._tracked = False
        self._span: Any = None

    def begin(self, interval: float | None) -> Engine:
        if interval is not None:
            self._tracked = True
            self._backend.start_tracking(interval)
        if self._backend.supports_fine_metrics():
            self._span = self._backend.create_span(SPAN_NAME)
        return Engine(span=self._span)

    def end(self, ran: Ran) -> Collected:
        notes, found = Notes(), Collected()
        if self._span is not None or attempt("span metrics", notes.add, self._backend.supports_fine_metrics):
            found.figures = attempt("span metrics", notes.add, self._backend.get_span_metrics, self._span)
        if self._tracked:
            found.tracking_data = attempt("worker series", notes.add, self._backend.stop_tracking)
            self._tracked = False
        found.notes = list(notes)
        return found

    def abandon(self) -> None:
        tracked, self._tracked = self._tracked, False
        if tracked:
            with suppress(Exception):
                self._backend.stop_tracking()


def check_interval(interval: float | None) -> None:
    """Raises a ValueError if it is not a number of seconds."""
    if interval is not None and not (interval > 0 and math.isfinite(interval)):
        raise ValueError(f"interval: {interval!r} is no number of seconds above 0")
