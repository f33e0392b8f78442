"""Context managers that mark a part of process()."""

from roastcoffea._core import BaseInstrumentationContext, track_bytes, track_memory, track_time

track_section = track_time

__all__ = [
    "BaseInstrumentationContext",
    "track_bytes",
    "track_memory",
    "track_section",
    "track_time",
]
