"""Where a run is collected: one module for each kind of executor."""

from roastcoffea.backends.base import AbstractMetricsBackend

__all__ = ["AbstractMetricsBackend"]
