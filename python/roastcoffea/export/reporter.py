"""Metrics as tables in a terminal.

Which rows there are, their labels and units come from the engine's catalogue.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from roastcoffea._core import catalogue, format_value

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = [
    "format_chunk_metrics_table",
    "format_event_processing_table",
    "format_fine_metrics_table",
    "format_resources_table",
    "format_throughput_table",
    "format_timing_table",
    "print_tables",
]


def format_throughput_table(metrics: Mapping[str, Any]) -> Table:
    """Data rates and volumes."""
    return _table("Throughput Metrics", metrics, "throughput")


def format_event_processing_table(metrics: Mapping[str, Any]) -> Table:
    """Event rates."""
    return _table("Event Processing Metrics", metrics, "events")


def format_resources_table(metrics: Mapping[str, Any]) -> Table:
    """Workers, cores, memory."""
    return _table("Resource Utilization", metrics, "resources")


def format_timing_table(metrics: Mapping[str, Any]) -> Table:
    """Times, and how well the cores were used."""
    return _table("Timing Breakdown", metrics, "timing", "efficiency")


def format_fine_metrics_table(metrics: Mapping[str, Any]) -> Table | None:
    """What Dask's spans tell; None where there are none."""
    return _table_or_none("Fine Metrics (from Dask Spans)", metrics, "fine")


def format_chunk_metrics_table(metrics: Mapping[str, Any]) -> Table | None:
    """Statistics over chunks; None where no chunk was recorded."""
    if not (metrics.get("num_successful_chunks") or metrics.get("num_failed_chunks")):
        return None
    return _table_or_none("Chunk Metrics", metrics, "chunks")


def print_tables(metrics: Mapping[str, Any], console: Console | None = None) -> None:
    """All tables that have something to show, and the notes."""
    from rich.console import Console as RichConsole

    console = console or RichConsole()
    for make in (
        format_throughput_table,
        format_event_processing_table,
        format_resources_table,
        format_timing_table,
        format_fine_metrics_table,
        format_chunk_metrics_table,
    ):
        table = make(metrics)
        if table is not None:
            console.print(table)
    for note in metrics.get("notes", ()):
        console.print(f"note: {note}", markup=False, highlight=False)


def _rows(metrics: Mapping[str, Any], groups: tuple[str, ...]) -> list[tuple[str, Any, str]]:
    return [
        (row["label"], metrics.get(row["key"]), row["unit"])
        for group in groups
        for row in catalogue()
        if row["scope"] == "metrics" and row["group"] == group and row["type"] in ("integer", "real")
    ]


def _table_or_none(title: str, metrics: Mapping[str, Any], *groups: str) -> Table | None:
    if all(value is None for _, value, _ in _rows(metrics, groups)):
        return None
    return _table(title, metrics, *groups)


def _table(title: str, metrics: Mapping[str, Any], *groups: str) -> Table:
    from rich.table import Table as RichTable

    table = RichTable(title=title)
    table.add_column("Metric")
    table.add_column("Value", justify="right")
    for label, value, unit in _rows(metrics, groups):
        table.add_row(label, format_value(value, unit))
    return table
