"""roastcoffea: the measuring instrument for Coffea analyses."""

from roastcoffea._core import (
    BaseInstrumentationContext,
    ChunkLog,
    __version__,
    track_bytes,
    track_memory,
    track_metrics,
    track_time,
)
from roastcoffea.backends.registry import register_backend
from roastcoffea.collector import MetricsCollector

track_section = track_time

__all__ = [
    "BaseInstrumentationContext",
    "ChunkLog",
    "MetricsCollector",
    "__version__",
    "register_backend",
    "track_bytes",
    "track_memory",
    "track_metrics",
    "track_section",
    "track_time",
]
