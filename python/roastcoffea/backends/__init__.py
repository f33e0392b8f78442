"""Where a run is collected: one module for each kind of executor."""

from roastcoffea.backends.base import AbstractMetricsBackend
from roastcoffea.backends.registry import known_backends, make_backend, register_backend

__all__ = ["AbstractMetricsBackend", "known_backends", "make_backend", "register_backend"]
