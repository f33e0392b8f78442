"""Metrics as tables in a terminal.

The engine makes the tables and lays them out: rows, words, units, and the width of the columns. This module hands them
to rich, so that ``roast show`` and ``print_summary()`` show the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roastcoffea.common.extras import needed

needed("a summary as tables", "rich", "coffea")
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from roastcoffea._core import Run, Summary

__all__ = [
    "format_branches_by_bytes_table",
    "format_branches_by_time_table",
    "format_budget_table",
    "format_bytes_sections_table",
    "format_challenge_table",
    "format_chunk_metrics_table",
    "format_data_quality_table",
    "format_datasets_table",
    "format_event_processing_table",
    "format_files_table",
    "format_storages_table",
    "format_findings_table",
    "format_fine_metrics_table",
    "format_memory_sections_table",
    "format_resources_table",
    "format_tasks_table",
    "format_throughput_table",
    "format_time_sections_table",
    "format_timing_table",
    "format_worker_health_table",
    "print_tables",
]


def format_throughput_table(metrics: Mapping[str, Any]) -> Table:
    """Data rates and volumes."""
    return SummaryTable(Summary(metrics), "throughput")


def format_event_processing_table(metrics: Mapping[str, Any]) -> Table:
    """Event rates."""
    return SummaryTable(Summary(metrics), "events")


def format_resources_table(metrics: Mapping[str, Any]) -> Table:
    """Workers, cores, memory."""
    return SummaryTable(Summary(metrics), "resources")


def format_timing_table(metrics: Mapping[str, Any]) -> Table:
    """Times, and how well the cores were used."""
    return SummaryTable(Summary(metrics), "timing")


def format_fine_metrics_table(metrics: Mapping[str, Any]) -> Table | None:
    """The figures of Dask's spans; None if there are none."""
    return _table_or_none(metrics, "fine")


def format_chunk_metrics_table(metrics: Mapping[str, Any]) -> Table | None:
    """Statistics over chunks; None where no chunk was recorded."""
    return _table_or_none(metrics, "chunks")


def format_challenge_table(metrics: Mapping[str, Any]) -> Table | None:
    """The factor to 200 Gbps, however large it is; None if nothing was measured."""
    return _table_or_none(metrics, "challenge")


def format_datasets_table(metrics: Mapping[str, Any]) -> Table | None:
    """The cost of each dataset; None if there is only one."""
    return _table_or_none(metrics, "datasets")


def format_time_sections_table(metrics: Mapping[str, Any]) -> Table | None:
    """Time in the marked sections; None where there are none."""
    return _table_or_none(metrics, "time_sections")


def format_memory_sections_table(metrics: Mapping[str, Any]) -> Table | None:
    """Memory of the marked sections; None where there are none."""
    return _table_or_none(metrics, "memory_sections")


def format_bytes_sections_table(metrics: Mapping[str, Any]) -> Table | None:
    """Bytes read in the marked sections; None where there are none."""
    return _table_or_none(metrics, "bytes_sections")


def format_files_table(metrics: Mapping[str, Any]) -> Table | None:
    """How much of the files was read; None where it is not known."""
    return _table_or_none(metrics, "files")


def format_storages_table(metrics: Mapping[str, Any]) -> Table | None:
    """The reads by storage; None where all files are paths of this machine."""
    return _table_or_none(metrics, "storages")


def format_branches_by_bytes_table(metrics: Mapping[str, Any]) -> Table | None:
    """The branches of which most bytes were read; None where it is not known."""
    return _table_or_none(metrics, "branches_by_bytes")


def format_branches_by_time_table(metrics: Mapping[str, Any]) -> Table | None:
    """The branches that took most time to read; None where the table by bytes has them all."""
    return _table_or_none(metrics, "branches_by_time")


def format_tasks_table(metrics: Mapping[str, Any]) -> Table | None:
    """The tasks of Dask by the beginning of their keys; None where they are not known."""
    return _table_or_none(metrics, "tasks")


def format_worker_health_table(metrics: Mapping[str, Any]) -> Table | None:
    """Memory of the workers against their limits, and spilled bytes; None if they are not known."""
    return _table_or_none(metrics, "workers")


def format_data_quality_table(metrics: Mapping[str, Any]) -> Table | None:
    """How complete the records are, and what was not measured and why."""
    return _table_or_none(metrics, "quality")


def format_findings_table(run: Run) -> Table | None:
    """What to change, the most rewarding first; None if nothing was found. It needs the run itself (``mc.run``), not
    only metrics."""
    return _table_or_none(run, "findings")


def format_budget_table(run: Run) -> Table | None:
    """Where every core-second went; None where it is not known. It needs the run itself (``mc.run``)."""
    return _table_or_none(run, "budget")


def print_tables(
    metrics: Mapping[str, Any] | Run,
    console: Console | None = None,
    run: Run | None = None,
    full: bool = True,
) -> None:
    """Prints all tables that the full summary shows, and the notes; without `full`, one screen.

    With `run`, the run behind the metrics, it is the text of ``roast show`` to the letter: a mapping lacks some tables
    and the texts of the run.
    """
    console = console or Console()
    drawn = Summary(metrics, run).draw(console.width, color=True, full=full)
    console.print(_text(drawn), soft_wrap=True)


class SummaryTable(Table):
    """A table of the summary. The engine lays it out for the width of the output; a table that was changed is printed
    like any other table of rich."""

    def __init__(self, summary: Summary, name: str) -> None:
        (table,) = [table for table in summary.tables if table["id"] == name]
        super().__init__(title=table["title"], caption=table["caption"])
        for heading in table["columns"]:
            self.add_column(heading)
        for row in table["rows"]:
            self.add_row(*map(Text, row))
        self._summary = summary
        self._name = name
        self._as_made = self._state()

    def _state(self) -> tuple[Any, ...]:
        return self.title, self.caption, self.row_count, len(self.columns), self.box, self.width

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self._state() != self._as_made:
            yield from super().__rich_console__(console, options)
            return
        text = _text(self._summary.draw(options.max_width, color=True, table=self._name))
        text.no_wrap = True
        text.overflow = "ignore"
        yield text

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        if self._state() != self._as_made:
            return super().__rich_measure__(console, options)
        text = _text(self._summary.draw(options.max_width, table=self._name))
        return Measurement.get(console, options, text).with_maximum(options.max_width)


def _text(drawn: str) -> Text:
    """The text that the engine drew, with styles for rich. Names in it are not markup."""
    return Text.from_ansi(drawn.removesuffix("\n"))


def _table_or_none(source: Mapping[str, Any] | Run, name: str) -> Table | None:
    summary = Summary(source)
    (table,) = [table for table in summary.tables if table["id"] == name]
    return SummaryTable(summary, name) if table["has_content"] else None
