"""From what was collected to metrics; every number comes from the engine."""

from roastcoffea.aggregation.core import MetricsAggregator

__all__ = ["MetricsAggregator"]
