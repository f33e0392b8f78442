"""The chart of tasks per worker, and the texts about a chunk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from roastcoffea._core import format_value, task_bars
from roastcoffea.binning import Array, Gantt, gantt, numbers, top
from roastcoffea.drawing import owner_column, shorten
from roastcoffea.report._bokeh import Plot, models
from roastcoffea.report._data import Source
from roastcoffea.report._look import (
    BLUE, CLOCK, GREY, PALETTE, VERMILION, Chart, Frame, Key, hover, shades,
)

BINS = 300
MOST_CHUNKS = 5000
MOST_ROWS = 100
MOST_NAMES = 40


class Bars(NamedTuple):
    """The tasks of a run in rows of their workers. A chunk is a task with process() inside of it."""

    rows: Gantt
    workers: Sequence[str]
    names: Sequence[str]  # of tasks without a chunk
    chunk: Array  # number of each task's chunk; -1: none
    name: Array  # number of its name; -1: none
    failed: Array


def gantt_data(source: Source) -> Bars | None:
    found = task_bars(source.run)
    worker, start, stop, chunk, name, failed = (
        np.frombuffer(column, np.int64)
        for column in (found["worker"], found["start"], found["stop"], found["chunk"], found["name"], found["failed"])
    )
    rows = gantt(worker, start / 1e9, stop / 1e9, limit=MOST_CHUNKS, rows=MOST_ROWS, bins=BINS)
    return None if rows is None else Bars(rows, found["workers"], found["names"], chunk, name, failed)


def gantt_chart(source: Source, frame: Frame, data: Bars | None) -> Chart | None:
    if data is None:
        return None
    names = [data.workers[code] for code in data.rows.owners]
    if data.rows.busy is None:
        return _bars(source, frame, data, names)
    return _busy(frame, data.rows, data.rows.busy, names)


def _bars(source: Source, frame: Frame, data: Bars, names: Sequence[str]) -> Chart:
    """One bar per task; inside of it process(), coloured by dataset."""
    rows = int(data.rows.first_row[-1])
    plot = frame.chart(_title(names), _height(rows))
    plot.y_range = models.Range1d(rows, 0)
    plot.ygrid.grid_line_alpha = 0
    _name_rows(plot, data.rows.first_row, names)
    keys = _task_bars(frame, data, plot)
    chunk = data.chunk[data.rows.chunk]
    if (chunk >= 0).any():
        keys = [*_process_bars(source, frame, plot, chunk[chunk >= 0], data.rows.row[chunk >= 0]), *keys]
    note = (
        "Each bar is a task in the row of its worker. The strong part of a bar is process(); before it the file is "
        "opened and the events are built."
    )
    return Chart("gantt", plot, keys, note)


def _task_bars(frame: Frame, data: Bars, plot: Plot) -> list[Key]:
    """The whole of each task, faint; those without a chunk with their names."""
    rows = data.rows
    left = frame.times(rows.left, rows.start)
    name, failed = data.name[rows.chunk], data.failed[rows.chunk] != 0
    labels = [*data.names, "before and after process()"]
    other = name >= 0
    values = models.ColumnDataSource(
        {
            "t": left,
            "end": left + rows.width * 1000,
            "top": rows.row + 0.1,
            "bottom": rows.row + 0.9,
            "color": [VERMILION if bad else GREY for bad in failed & other],
            "task": [shorten(labels[code], 72) for code in name],
            "took": [format_value(float(width), "s") for width in rows.width],
        }
    )
    bars = plot.quad("t", "end", "top", "bottom", source=values, fill_color="color", line_color="color",
                     fill_alpha=0.3, line_alpha=0.5, line_width=1)
    hover(plot, [bars], [CLOCK, ("task", "@task"), ("took", "@took")])
    return [Key(GREY, "other tasks", int(other.sum()))] if other.any() else []


def _process_bars(source: Source, frame: Frame, plot: Plot, index: Array, row: Array) -> list[Key]:
    start, end = (numbers(source.chunks.column(name))[index] for name in ("t_start", "t_end"))
    keys, colors = _dataset_colors(source, index)
    values = models.ColumnDataSource(
        {
            "t": frame.times(start, 0.0),
            "end": frame.times(end, 0.0),
            "top": row + 0.1,
            "bottom": row + 0.9,
            "color": colors,
            **chunk_texts(source, index, owner_column(source.chunks) or "worker"),
        }
    )
    bars = plot.quad("t", "end", "top", "bottom", source=values, fill_color="color", line_color="color",
                     fill_alpha=0.75, line_width=1)
    any_failed = (source.chunks.column("error.code")[index] >= 0).any()
    failed = [("error", "@error")] if any_failed else []
    hover(plot, [bars], [CLOCK, *CHUNK_ROWS, *failed])
    return keys


def _busy(frame: Frame, data: Gantt, busy: Array, names: Sequence[str]) -> Chart:
    """Of many tasks how many ran at a time, as shades."""
    edges, rows = frame.times(data.edges, data.start), len(busy)
    busy = busy.astype(np.float32)
    plot = frame.chart(_title(names), _height(rows))
    groups = np.arange(rows + 1) * len(names) // rows
    values = models.ColumnDataSource(
        {
            "image": [busy[row : row + 1] for row in range(rows)],
            "x": np.full(rows, edges[0]),
            "y": np.arange(rows),
            "dw": np.full(rows, edges[-1] - edges[0]),
            "dh": np.full(rows, 1.0 if rows > MOST_NAMES else 0.9),
            "name": [_members(names, *groups[row : row + 2]) for row in range(rows)],
        }
    )
    high = max(float(busy.max()), 1e-9)
    mapper = models.LinearColorMapper(
        palette=shades(BLUE), low=high / 1000, high=high, low_color="#00000000"
    )
    image = plot.image("image", "x", "y", "dw", "dh", source=values, color_mapper=mapper)
    hover(
        plot,
        [image],
        [("worker", "@name"), ("tasks at a time, per worker", "@image{0.00}")],
    )
    plot.y_range = models.Range1d(rows, 0)
    plot.ygrid.grid_line_alpha = 0
    _name_rows(plot, np.arange(rows + 1), names if rows == len(names) else [])
    return Chart(
        "gantt",
        plot,
        note=f"{data.n:,} tasks: the darker, the more of them ran at a time; "
        f"{format_value(high, '1')} per worker is the darkest.",
    )


def _members(names: Sequence[str], first: int, end: int) -> str:
    more = int(end) - int(first) - 1
    return f"{names[int(first)]} and {more} more" if more > 0 else names[int(first)]


def _height(rows: int) -> int:
    return min(max(14 * rows, 90), 520) + 24


def _title(names: Sequence[str]) -> str:
    return f"Tasks per worker ({len(names):,} in the order of their first task)"


def _name_rows(plot: Plot, first_row: Array, names: Sequence[str]) -> None:
    if not 0 < len(names) <= MOST_NAMES:
        plot.yaxis.ticker = models.FixedTicker(ticks=[])
        return
    middles = [float(middle) for middle in (first_row[:-1] + first_row[1:]) / 2]
    plot.yaxis.ticker = models.FixedTicker(ticks=middles)
    # As plain texts: a name with dollar signs in it is no formula.
    plot.yaxis.major_label_overrides = {
        middle: models.PlainText(
            text=shorten(name.removeprefix("tcp://").removeprefix("tls://"), 17)
        )
        for middle, name in zip(middles, names)
    }


# ---- texts about a chunk ----

CHUNK_ROWS = [
    ("dataset", "@dataset"),
    ("file", "@file"),
    ("entries", "@entries"),
    ("events", "@events"),
    ("worker", "@worker"),
    ("took", "@took"),
]


def chunk_texts(
    source: Source, index: Array, column: str = "worker", longest: int | None = 72
) -> dict[str, list[str]]:
    """Of some chunks, the texts of CHUNK_ROWS; names with so many letters at most."""
    chunks = source.chunks

    def texts(name: str) -> list[str]:
        known = [*chunks.categories(name), "-"]
        chosen = (known[code] for code in chunks.column(f"{name}.code")[index])
        return [text if longest is None else shorten(text, longest) for text in chosen]

    def figures(name: str, unit: str) -> list[str]:
        return [
            format_value(
                None if np.isnan(value) else int(value) if unit == "1" else float(value), unit
            )
            for value in numbers(chunks.column(name))[index]
        ]

    starts, stops = figures("entry_start", "1"), figures("entry_stop", "1")
    return {
        "dataset": texts("dataset"),
        "file": texts("file"),
        "worker": texts(column),
        "error": texts("error"),
        "events": figures("num_events", "1"),
        "took": figures("duration", "s"),
        "entries": [f"{start} to {stop}" for start, stop in zip(starts, stops)],
    }


def _dataset_colors(source: Source, index: Array) -> tuple[list[Key], list[str]]:
    """One colour per chunk, and the legend; datasets beyond those of the palette are grey."""
    chunks = source.chunks
    names = chunks.categories("dataset")
    codes = chunks.column("dataset.code")[index]
    failed = chunks.column("error.code")[index] >= 0
    most = top(codes, len(names), {"chunks": np.ones(len(codes))}, limit=len(PALETTE))
    colors = np.full(len(names) + 1, GREY, dtype=object)
    keys = []
    for code, color, count in zip(most.codes, (*PALETTE, GREY), most.columns["rows"]):
        label = names[code] if code >= 0 else f"{most.rest:,} more datasets"
        if code >= 0:
            colors[code] = color
        keys.append(Key(color, label, int(count)))
    if not names:
        colors[-1] = BLUE
    if failed.any():
        keys.append(Key(VERMILION, "failed", int(failed.sum())))
    return keys, list(np.where(failed, VERMILION, colors[codes]))
