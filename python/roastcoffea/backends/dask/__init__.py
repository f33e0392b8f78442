"""Dask: the source of a run, what runs on the scheduler and on the workers, and the page on the scheduler's server."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roastcoffea.backends.dask.source import DaskBackend, DaskMetricsBackend

__all__ = ["DaskBackend", "DaskMetricsBackend"]


def __getattr__(name: str) -> Any:
    # On first use: it loads Dask, which single modules of this package do without.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from roastcoffea.backends.dask import source

    return getattr(source, name)
