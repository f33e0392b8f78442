"""The five methods of a backend."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from roastcoffea.backends.source import BackendSource, Source

__all__ = ["AbstractMetricsBackend"]


class AbstractMetricsBackend(ABC):
    """Collects data about the workers of an executor.

    A derived class need not call ``super().__init__()``. For an engine that knows more than these methods ask for,
    derive from `roastcoffea.backends.source.Source` instead.
    """

    @abstractmethod
    def start_tracking(self, interval: float) -> None:
        """Begins to sample all workers every ``interval`` seconds."""

    @abstractmethod
    def stop_tracking(self) -> dict[str, Any]:
        """Ends the sampling and returns the tracking data."""

    @abstractmethod
    def create_span(self, name: str) -> Any:
        """A context manager around the tasks of the run; None if the engine has none."""

    @abstractmethod
    def get_span_metrics(self, span_info: Any) -> dict[Any, Any]:
        """The measurements of the span; empty if there are none."""

    @abstractmethod
    def supports_fine_metrics(self) -> bool:
        """Whether ``get_span_metrics`` can ever return anything."""

    def source(self) -> Source:
        """The source for one run: the five methods, unless a backend has a source of its own."""
        return BackendSource(self)
