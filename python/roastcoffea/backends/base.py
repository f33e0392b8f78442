"""What a backend must be able to do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

__all__ = ["AbstractMetricsBackend"]


class AbstractMetricsBackend(ABC):
    """Collects what the workers of an executor did. Derive from it to support another executor."""

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
