"""Small helpers."""

from roastcoffea._core import get_process_memory

__all__ = ["get_process_memory"]
