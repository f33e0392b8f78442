"""The chart of tasks per worker, and the texts about a chunk."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from roastcoffea._core import format_value
from roastcoffea.visualization.binning import Array, Gantt, Tasks, numbers, task_groups
from roastcoffea.visualization.drawing import owner_column, short_names, shorten, shorten_path
from roastcoffea.report._bokeh import Plot, models
from roastcoffea.report._data import Source
from roastcoffea.report._look import (
    BLUE, GREY, PALETTE, VERMILION, Chart, Frame, Key, hover, shades,
)

MOST_NAMES = 40


def gantt_chart(source: Source, frame: Frame) -> Chart | None:
    data = source.tasks
    if data is None:
        return None
    if data.bars.busy is None:
        return _bars(source, frame, data)
    return _busy(frame, data.bars, data.bars.busy, data.workers)


def _bars(source: Source, frame: Frame, data: Tasks) -> Chart:
    """One bar per task; inside of it process()."""
    rows = int(data.bars.first_row[-1])
    plot = frame.chart(_height(rows))
    plot.y_range = models.Range1d(rows, 0)
    plot.ygrid.grid_line_alpha = 0
    _name_rows(plot, data.bars.first_row, data.workers)
    color, groups = task_groups(data, source.chunks, len(PALETTE))
    colors = np.where(data.failed, VERMILION, np.array([*PALETTE, GREY], dtype=object)[color])
    keys = [Key((*PALETTE, GREY)[group.color], group.label, group.n) for group in groups]
    if data.failed.any():
        keys.append(Key(VERMILION, "failed", int(data.failed.sum())))
    _task_bars(frame, data, plot, colors)
    note = "Each bar is a task in the row of a thread of its worker."
    inside = data.chunk >= 0
    if inside.any():
        _process_bars(source, frame, plot, data.chunk[inside], data.bars.row[inside], colors[inside])
        note += " A task of a chunk is strong while process() ran; before that the file is opened and the events are built."
    return Chart("gantt", plot, _title(data.workers), keys, note)


def _task_bars(frame: Frame, data: Tasks, plot: Plot, colors: Array) -> None:
    """The whole of each task; light if it has a chunk."""
    bars = data.bars
    left = frame.times(bars.left, bars.start)
    labels = [*data.names, "before and after process()"]
    values = models.ColumnDataSource(
        {
            "t": left,
            "end": frame.times(bars.left + bars.width, bars.start),
            "top": bars.row + 0.1,
            "bottom": bars.row + 0.9,
            "color": list(colors),
            "alpha": np.where(data.chunk >= 0, 0.3, 0.75),
            "task": [shorten(labels[code], 72) for code in data.name],
            "took": [format_value(float(width), "s") for width in bars.width],
        }
    )
    drawn = plot.quad("t", "end", "top", "bottom", source=values, fill_color="color", line_color="color",
                      fill_alpha="alpha", line_alpha="alpha", line_width=1)
    hover(plot, [drawn], [frame.clock, ("task", "@task"), ("took", "@took")])


def _process_bars(source: Source, frame: Frame, plot: Plot, index: Array, row: Array, colors: Array) -> None:
    start, end = (numbers(source.chunks.column(name))[index] for name in ("t_start", "t_end"))
    values = models.ColumnDataSource(
        {
            "t": frame.times(start, 0.0),
            "end": frame.times(end, 0.0),
            "top": row + 0.1,
            "bottom": row + 0.9,
            "color": list(colors),
            **chunk_texts(source, index, owner_column(source.chunks) or "worker"),
        }
    )
    bars = plot.quad("t", "end", "top", "bottom", source=values, fill_color="color", line_color="color",
                     fill_alpha=0.85, line_width=1)
    any_failed = (source.chunks.column("error.code")[index] >= 0).any()
    failed = [("error", "@error")] if any_failed else []
    hover(plot, [bars], [frame.clock, *CHUNK_ROWS, *failed])


def _busy(frame: Frame, data: Gantt, busy: Array, names: Sequence[str]) -> Chart:
    """Of many tasks how many ran at a time, as shades."""
    edges, rows = frame.times(data.edges, data.start), len(busy)
    busy = busy.astype(np.float32)
    plot = frame.chart(_height(rows))
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
        _title(names),
        note=f"{data.n:,} tasks: the darker, the more of them ran at a time; "
        f"{format_value(high, '1')} per worker is the darkest.",
    )


def _members(names: Sequence[str], first: int, end: int) -> str:
    more = int(end) - int(first) - 1
    return f"{names[int(first)]} and {more} more" if more > 0 else names[int(first)]


def _height(rows: int) -> int:
    return min(max(14 * rows, 90), 520)


def _title(names: Sequence[str]) -> str:
    return f"Tasks per worker ({len(names):,} in the order of their first task)"


def _name_rows(plot: Plot, first_row: Array, names: Sequence[str]) -> None:
    if not 0 < len(names) <= MOST_NAMES:
        plot.yaxis.ticker = models.FixedTicker(ticks=[])
        return
    middles = [float(middle) for middle in (first_row[:-1] + first_row[1:]) / 2]
    plot.yaxis.ticker = models.FixedTicker(ticks=middles)
    # As plain texts: a name with dollar signs in it is no formula.
    plain = [name.removeprefix("tcp://").removeprefix("tls://") for name in names]
    plot.yaxis.major_label_overrides = {
        middle: models.PlainText(text=name) for middle, name in zip(middles, short_names(plain, 17))
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
        cut = shorten_path if name == "file" else shorten
        return [text if longest is None else cut(text, longest) for text in chosen]

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
