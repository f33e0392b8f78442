"""The decorator of process()."""

from roastcoffea._core import track_metrics

__all__ = ["track_metrics"]
