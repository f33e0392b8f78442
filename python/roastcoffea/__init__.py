"""roastcoffea: the measuring instrument for Coffea analyses."""

from roastcoffea._core import (
    BaseInstrumentationContext,
    __version__,
    track_bytes,
    track_memory,
    track_metrics,
    track_time,
)

track_section = track_time

__all__ = [
    "BaseInstrumentationContext",
    "__version__",
    "track_bytes",
    "track_memory",
    "track_metrics",
    "track_section",
    "track_time",
]
