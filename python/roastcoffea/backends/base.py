"""What a backend must be able to do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Set
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roastcoffea._core import Attempts, WorkerSeries

__all__ = ["AbstractMetricsBackend"]


class AbstractMetricsBackend(ABC):
    """Collects what the workers of an executor did. Derive from it to support another executor.

    The abstract methods are what every backend has; the others have harmless defaults. A derived
    class need not call ``super().__init__()``.
    """

    @abstractmethod
    def start_tracking(self, interval: float) -> None:
        """Begins to sample all workers every ``interval`` seconds."""

    @abstractmethod
    def stop_tracking(self) -> dict[str, Any]:
        """Ends the sampling and returns the tracking data."""

    @abstractmethod
    def create_span(self, name: str) -> Any:
        """A context manager around the tasks of the run; None where there is no such thing."""

    @abstractmethod
    def get_span_metrics(self, span_info: Any) -> dict[Any, Any]:
        """What was measured in the span; empty where there is nothing."""

    @abstractmethod
    def supports_fine_metrics(self) -> bool:
        """Whether ``get_span_metrics`` can ever have something to say."""

    @property
    def series(self) -> WorkerSeries | None:
        """After ``stop_tracking``: the same series in the engine's own form, so that no Python
        objects are made unless somebody asks; None where there is none."""
        return None

    @property
    def attempts(self) -> Attempts | None:
        """After the run: every try of every task, where somebody followed them; otherwise None."""
        return None

    @property
    def clock_offset(self) -> float:
        """Seconds from the clock of this process to that of the run, on which the series and the attempts are;
        0 where both are one. Known from ``begin_run`` on."""
        return 0.0

    @property
    def clock_offsets(self) -> dict[str, float]:
        """After the run: by how many seconds the clock of a worker is behind that of the run, of those
        that are wrong."""
        return {}

    @property
    def notes(self) -> list[str]:
        """In words: what could not be measured, and why."""
        return []

    @property
    def workers_without_us(self) -> str:
        """The workers that are known to lack this package, in words; empty where there are none."""
        return ""

    def open_channel(self) -> str | None:
        """Opens a way for records to travel beside the output and returns its topic
        (``"<kind>:<rest>"``); None where there is no such way."""
        return None

    def close_channel(self) -> list[bytes]:
        """Closes it; the packed chunk logs that arrived, nothing held back."""
        return []

    def news(self) -> tuple[list[bytes], WorkerSeries | None]:
        """While the run goes on: the packed chunk logs that have arrived and the piece of the series
        that was sampled since the last call. What is told here is told by ``close_channel`` and
        ``series`` again. It is called by a thread of the collector's, never by two at once."""
        return [], None

    def begin_run(self, interval: float | None) -> None:
        """Tells the backend that a run begins: `open_channel`, `start_tracking` with this interval (None: the
        workers are not tracked) and `create_span` follow. What they have to prepare elsewhere can be prepared
        here, at once."""

    def end_run(self, span_info: Any) -> None:
        """Tells the backend that the run has ended: `get_span_metrics` of this span, `close_channel` and
        `stop_tracking` follow. One for which every question is a trip may ask them all here, at once."""

    def abandon_run(self) -> None:
        """Ends all that is still going on and leaves nothing behind: the run could not begin, or not all of its data
        could be fetched."""
        for end in (self.stop_tracking, self.close_channel):
            with suppress(Exception):
                end()

    def confirm_workers(self, pids: Set[int]) -> None:
        """Tells the backend which processes of this machine delivered chunk records; called after
        the run and before the tracking data is used. A backend that knows its workers ignores it.
        """
