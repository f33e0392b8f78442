"""The tables: their titles, their rows, and what they show of what was not measured."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from roastcoffea.aggregation.core import MetricsAggregator
from roastcoffea.export import reporter

REPORT = {"entries": 1_000_000, "bytesread": 5_000_000_000, "processtime": 100.0, "chunks": 10}


def text_of(table):
    console = Console(file=io.StringIO(), width=80)
    console.print(table)
    return console.file.getvalue()


@pytest.fixture
def metrics():
    return MetricsAggregator("local").aggregate(
        REPORT, None, 0.0, 10.0, chunk_metrics=[{"duration": 0.0251, "num_events": 5}]
    )


TITLES = {
    "format_throughput_table": "Throughput Metrics",
    "format_event_processing_table": "Event Processing Metrics",
    "format_resources_table": "Resource Utilization",
    "format_timing_table": "Timing Breakdown",
    "format_fine_metrics_table": "Fine Metrics (from Dask Spans)",
    "format_chunk_metrics_table": "Chunk Metrics",
}


@pytest.mark.parametrize("name", [name for name in TITLES if "fine" not in name])
def test_titles_and_columns(name, metrics):
    table = getattr(reporter, name)(metrics)
    assert table.title == TITLES[name]
    assert [column.header for column in table.columns] == ["Metric", "Value"]
    assert table.row_count > 3


def test_rows(metrics):
    shown = text_of(reporter.format_throughput_table(metrics))
    assert "4.00 Gbps" in shown
    assert "5.00 GB" in shown
    events = text_of(reporter.format_event_processing_table(metrics))
    assert "1,000,000" in events
    assert "100 kHz" in events
    assert "25.1 ms" in text_of(reporter.format_chunk_metrics_table(metrics))
    # nobody looked at workers: a dash, not a zero
    resources = text_of(reporter.format_resources_table(metrics))
    assert " - " in resources
    assert " 0 " not in resources


def test_nothing_to_show():
    empty = MetricsAggregator("local").aggregate(None, None, 0.0, 1.0)
    assert reporter.format_fine_metrics_table(empty) is None
    assert reporter.format_chunk_metrics_table(empty) is None


def test_all_of_it(metrics):
    console = Console(file=io.StringIO(), width=80)
    metrics["notes"] = ["a [bold]note[/bold] with brackets"]
    reporter.print_tables(metrics, console)
    shown = console.file.getvalue()
    assert "Throughput Metrics" in shown
    assert "Fine Metrics" not in shown
    assert "note: a [bold]note[/bold] with brackets" in shown
    assert max(map(len, shown.splitlines())) <= 80
