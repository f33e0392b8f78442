"""The collector: what the user asked of it, what it keeps on disk and shows, and its results."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roastcoffea.collector.metrics_collector import MetricsCollector

__all__ = ["MetricsCollector"]


def __getattr__(name: str) -> Any:
    # On first use: other packages need single modules of this one.
    if name != "MetricsCollector":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from roastcoffea.collector.metrics_collector import MetricsCollector

    return MetricsCollector
