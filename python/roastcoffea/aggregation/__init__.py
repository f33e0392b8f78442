"""Metrics from collected data; every number comes from the engine."""

from roastcoffea.aggregation.core import MetricsAggregator

__all__ = ["MetricsAggregator"]
