"""Where a run is collected: one module for each kind of executor."""

from roastcoffea._core import Attempts, WorkerSeries
from roastcoffea.backends.base import AbstractMetricsBackend
from roastcoffea.backends.registry import known_backends, make_backend, register_backend
from roastcoffea.backends.source import Collected, Engine, News, Ran, Source

__all__ = [
    "AbstractMetricsBackend",
    "Attempts",
    "Collected",
    "Engine",
    "News",
    "Ran",
    "Source",
    "WorkerSeries",
    "known_backends",
    "make_backend",
    "register_backend",
]
