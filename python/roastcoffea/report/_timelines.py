"""The charts over time: workers, throughput, tasks, CPU, memory, and who was at which chunk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from roastcoffea import _core
from roastcoffea._core import format_value
from roastcoffea.report._bokeh import Plot, models
from roastcoffea.report._data import Source
from roastcoffea.report._look import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PALETTE,
    PURPLE,
    SKY,
    VERMILION,
    Array,
    array,
    hover,
    scale_of,
    shades,
    shorten,
    show_time,
    time_chart,
    times,
)

__all__ = ["Chart", "Key", "timelines"]

POINTS = 800
BINS = 300
HEIGHT = 118
MOST_CHUNKS = 5000
MOST_ROWS = 100
MOST_NAMES = 40
CLOCK = ("at", "@t{%H:%M:%S.%3N}")


class Key(NamedTuple):
    """An entry of a legend that stands in the page, as it holds names."""

    color: str
    label: str
    chunks: int


class Chart(NamedTuple):
    """A chart and where it belongs."""

    identity: str
    plot: Plot
    keys: Sequence[Key] = ()
    note: str = ""


class _Frame(NamedTuple):
    """What the charts over time share."""

    start: float  # of the run, seconds since 1970
    span: Any  # the range of the axis
    cursor: Any
    border: int


def timelines(source: Source) -> list[Chart]:
    """Those that have data, from top to bottom."""
    data = _gantt_data(source)
    frame = _frame(source, data)
    if frame is None:
        return []
    made = [
        _workers(source, frame),
        _throughput(source, frame),
        _tasks(source, frame),
        _cpu(source, frame),
        _memory(source, frame),
        _gantt(source, frame, data),
    ]
    charts = [one for one in made if one is not None]
    if charts:
        show_time(charts[-1].plot, frame.span.end - frame.span.start)
    return charts


def _frame(source: Source, gantt: Any) -> _Frame | None:
    """The time from the start of the run to its end, or that of what was seen."""
    moments: list[float] = [moment for moment in (source.run.t_start, source.run.t_end) if moment]
    counts = _core.plot_worker_counts(source.tracking) if source.tracking is not None else None
    if counts is not None:
        moments += [counts["start"], counts["start"] + float(array(counts["time"])[-1])]
    if gantt is not None:
        moments += [gantt["start"], gantt["start"] + float(gantt["edges"][-1])]
    if not moments:
        return None
    start = source.run.t_start or min(moments)
    # Clocks of different machines are not of one mind: what lies far outside is not of this run.
    low = min(max(min(moments), start - 60), start)
    high = max(max(moments), start + 1e-3)
    low_ms, high_ms = (low - start) * 1000, (high - start) * 1000
    room = 0.01 * (high_ms - low_ms)
    span = models.Range1d(
        low_ms - room,
        high_ms + room,
        bounds=(low_ms - 20 * room, high_ms + 20 * room),
        min_interval=1,
    )
    names = gantt is not None and len(gantt["owners"]) <= MOST_NAMES
    return _Frame(
        start,
        span,
        models.Span(dimension="height", line_dash="dotted", line_color=GREY),
        116 if names else 64,
    )


# ---- workers ----


def _workers(source: Source, frame: _Frame) -> Chart | None:
    data = (
        _core.plot_worker_counts(source.tracking, points=POINTS)
        if source.tracking is not None
        else None
    )
    if data is None:
        return None
    plot = time_chart(HEIGHT, "Workers", frame.span, frame.cursor, frame.border)
    values = models.ColumnDataSource(
        {"t": times(data["time"], data["start"] - frame.start), "n": array(data["workers"])}
    )
    plot.varea_step("t", 0, "n", source=values, step_mode="after", fill_color=BLUE, fill_alpha=0.15)
    line = plot.step("t", "n", source=values, mode="after", line_color=BLUE, line_width=1.5)
    hover(plot, [line], [CLOCK, ("workers", "@n{0,0}")], line=True)
    plot.y_range.start = 0
    return Chart("workers", plot)


def _measure(source: Source, measure: str) -> _core._Timeline | None:
    if source.tracking is None:
        return None
    return _core.plot_timeline(source.tracking, measure, points=POINTS)


def _band(
    plot: Plot, frame: _Frame, data: _core._Timeline, divisor: float, color: str, unit: str
) -> None:
    """The mean of the workers, what eight of ten lie within, and the highest."""
    columns = {row: array(data[row]) / divisor for row in ("mean", "p10", "p90", "max")}
    values = models.ColumnDataSource(
        {"t": times(data["time"], data["start"] - frame.start), **columns}
    )
    band = plot.varea("t", "p10", "p90", source=values, fill_color=color, fill_alpha=0.2)
    most = plot.line("t", "max", source=values, line_color=color, line_width=1, line_dash="dotted")
    line = plot.line("t", "mean", source=values, line_color=color, line_width=1.75)
    several = data["n_workers"] > 1
    rows = [CLOCK, ("mean" if several else "value", f"@mean{{0.0}} {unit}")]
    if several:
        rows += [
            ("80 % of the workers", f"@p10{{0.0}} to @p90{{0.0}} {unit}"),
            ("highest", f"@max{{0.0}} {unit}"),
        ]
        _legend(plot, [("mean", [line]), ("80 % of the workers", [band]), ("highest", [most])])
    hover(plot, [line], rows, line=True)
    plot.y_range.start = 0


def _legend(plot: Plot, items: Sequence[tuple[str, list[Any]]]) -> None:
    """On the line of the title."""
    legend = models.Legend(
        items=[models.LegendItem(label=label, renderers=renderers) for label, renderers in items],
        orientation="horizontal",
        location="top_right",
        border_line_alpha=0,
        background_fill_alpha=0,
        label_text_font_size="11px",
        glyph_width=18,
        glyph_height=12,
        label_standoff=4,
        spacing=14,
        padding=0,
        margin=0,
        label_height=14,
    )
    plot.add_layout(legend, "above")
    plot.height += 18


def _cpu(source: Source, frame: _Frame) -> Chart | None:
    data = _measure(source, "cpu_share")
    if data is None:
        return None
    plot = time_chart(
        HEIGHT, "CPU of a worker's threads, %", frame.span, frame.cursor, frame.border
    )
    _band(plot, frame, data, 1, GREEN, "%")
    return Chart("cpu", plot)


def _memory(source: Source, frame: _Frame) -> Chart | None:
    data = _measure(source, "memory")
    if data is None:
        return None
    scale = scale_of(float(np.nanmax(array(data["max"]))), "B")
    plot = time_chart(
        HEIGHT, f"Memory of a worker, {scale.unit}", frame.span, frame.cursor, frame.border
    )
    _band(plot, frame, data, scale.divisor, PURPLE, scale.unit)
    return Chart("memory", plot)


# ---- chunks ----


def _spread(source: Source) -> _core._Throughput | None:
    chunks = source.chunks
    if len(chunks) == 0:
        return None
    return _core.plot_throughput(
        (chunks.column("t_start"), chunks.column("t_end"), chunks.column("bytes_read")), bins=BINS
    )


def _throughput(source: Source, frame: _Frame) -> Chart | None:
    data = _spread(source)
    if data is None:
        return None
    bits = array(data["rates"]) * 8
    scale = scale_of(float(bits.max()), "bps")
    title = f"Data read, {scale.unit} (the bytes of a chunk spread evenly over its time)"
    plot = time_chart(HEIGHT, title, frame.span, frame.cursor, frame.border)
    edges = times(data["edges"], data["start"] - frame.start)
    values = models.ColumnDataSource(
        {"t": edges[:-1], "end": edges[1:], "rate": bits / scale.divisor}
    )
    bars = plot.quad(
        "t",
        "end",
        "rate",
        0,
        source=values,
        fill_color=SKY,
        line_color=SKY,
        fill_alpha=0.75,
        line_width=0.5,
    )
    hover(plot, [bars], [CLOCK, ("data rate", f"@rate{{0.00}} {scale.unit}")], line=True)
    plot.y_range.start = 0
    return Chart("throughput", plot)


def _tasks(source: Source, frame: _Frame) -> Chart | None:
    tasks, chunks = _measure(source, "active_tasks"), _spread(source)
    if tasks is None and chunks is None:
        return None
    plot = time_chart(HEIGHT, "Active tasks", frame.span, frame.cursor, frame.border)
    items: list[tuple[str, list[Any]]] = []
    if tasks is not None:
        values = models.ColumnDataSource(
            {"t": times(tasks["time"], tasks["start"] - frame.start), "n": array(tasks["sum"])}
        )
        line = plot.step("t", "n", source=values, mode="after", line_color=ORANGE, line_width=1.5)
        hover(plot, [line], [CLOCK, ("tasks on the workers", "@n{0,0}")], line=True)
        items.append(("on the workers, running or waiting", [line]))
    if chunks is not None:
        edges = times(chunks["edges"], chunks["start"] - frame.start)
        running = models.ColumnDataSource({"t": edges[:-1], "n": array(chunks["running"])})
        line = plot.step("t", "n", source=running, mode="after", line_color=BLUE, line_width=1.5)
        hover(plot, [line], [CLOCK, ("chunks inside process()", "@n{0.0}")], line=True)
        items.append(("chunks inside process()", [line]))
    _legend(plot, items)
    plot.y_range.start = 0
    return Chart("tasks", plot)


# ---- which worker, which chunk ----


def _owner_column(source: Source) -> str | None:
    """The worker; where none is named, the host."""
    if len(source.chunks) == 0:
        return None
    return next((column for column in ("worker", "host") if source.chunks.categories(column)), None)


def _gantt_data(source: Source) -> _core._Gantt | None:
    column = _owner_column(source)
    if column is None:
        return None
    chunks = source.chunks
    return _core.plot_gantt(
        chunks.column(f"{column}.code"),
        chunks.column("t_start"),
        chunks.column("t_end"),
        len(chunks.categories(column)),
        limit=MOST_CHUNKS,
        rows=MOST_ROWS,
        bins=BINS,
    )


def _gantt(source: Source, frame: _Frame, data: _core._Gantt | None) -> Chart | None:
    column = _owner_column(source)
    if data is None or column is None:
        return None
    owners = source.chunks.categories(column)
    names = [owners[code] for code in data["owners"]]
    if "row" in data:
        return _bars(source, frame, data, names, column)
    return _busy(frame, data, names)


def _bars(
    source: Source, frame: _Frame, data: _core._Gantt, names: Sequence[str], column: str
) -> Chart:
    """A bar a chunk, coloured by dataset."""
    first_row = array(data["first_row"])
    rows = int(first_row[-1])
    plot = time_chart(_height(rows), _title(names), frame.span, frame.cursor, frame.border)
    index, row = array(data["chunk"]), array(data["row"])
    left = times(data["left"], data["start"] - frame.start)
    keys, colors = _dataset_colors(source, index)
    values = models.ColumnDataSource(
        {
            "t": left,
            "end": left + array(data["width"]) * 1000,
            "top": row + 0.1,
            "bottom": row + 0.9,
            "color": colors,
            **chunk_texts(source, index, column),
        }
    )
    bars = plot.quad(
        "t",
        "end",
        "top",
        "bottom",
        source=values,
        fill_color="color",
        line_color="color",
        fill_alpha=0.75,
        line_width=1,
    )
    failed = (
        [("error", "@error")]
        if any(code >= 0 for code in array(source.chunks.column("error.code"))[index])
        else []
    )
    hover(plot, [bars], [CLOCK, *CHUNK_ROWS, *failed])
    plot.y_range = models.Range1d(rows, 0)
    plot.ygrid.grid_line_alpha = 0
    _name_rows(plot, first_row, names)
    return Chart("gantt", plot, keys, "Each bar is a chunk in the row of its worker.")


def _busy(frame: _Frame, data: _core._Gantt, names: Sequence[str]) -> Chart:
    """Of many chunks how many ran at a time, as shades."""
    edges, rows = times(data["edges"], data["start"] - frame.start), data["rows"]
    busy = array(data["busy"]).reshape(rows, len(edges) - 1).astype(np.float32)
    plot = time_chart(_height(rows), _title(names), frame.span, frame.cursor, frame.border)
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
        [("worker", "@name"), ("chunks inside process(), per worker", "@image{0.00}")],
    )
    plot.y_range = models.Range1d(rows, 0)
    plot.ygrid.grid_line_alpha = 0
    _name_rows(plot, np.arange(rows + 1), names if rows == len(names) else [])
    return Chart(
        "gantt",
        plot,
        note=f"{data['n']:,} chunks: the darker, the more of them ran at a time; "
        f"{format_value(high, '1')} per worker is the darkest.",
    )


def _members(names: Sequence[str], first: int, end: int) -> str:
    more = int(end) - int(first) - 1
    return f"{names[int(first)]} and {more} more" if more > 0 else names[int(first)]


def _height(rows: int) -> int:
    return min(max(14 * rows, 90), 520) + 24


def _title(names: Sequence[str]) -> str:
    return f"Chunks per worker ({len(names):,} in the order of their first chunk)"


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


# ---- what is told of a chunk ----

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
        chosen = (known[code] for code in array(chunks.column(f"{name}.code"))[index])
        return [text if longest is None else shorten(text, longest) for text in chosen]

    def numbers(name: str, unit: str) -> list[str]:
        return [
            format_value(
                None if np.isnan(value) else int(value) if unit == "1" else float(value), unit
            )
            for value in array(chunks.column(name)).astype(float)[index]
        ]

    starts, stops = numbers("entry_start", "1"), numbers("entry_stop", "1")
    return {
        "dataset": texts("dataset"),
        "file": texts("file"),
        "worker": texts(column),
        "error": texts("error"),
        "events": numbers("num_events", "1"),
        "took": numbers("duration", "s"),
        "entries": [f"{start} to {stop}" for start, stop in zip(starts, stops)],
    }


def _dataset_colors(source: Source, index: Array) -> tuple[list[Key], list[str]]:
    """A colour a chunk, and what they mean; datasets beyond those of the palette are grey."""
    chunks = source.chunks
    names = chunks.categories("dataset")
    codes = array(chunks.column("dataset.code"))[index]
    failed = array(chunks.column("error.code"))[index] >= 0
    top = _core.report_top(codes, len(names), [np.ones(len(codes))], limit=len(PALETTE))
    colors = np.full(len(names) + 1, GREY, dtype=object)
    keys = []
    for place, code in enumerate(top["code"]):
        color = PALETTE[place] if code >= 0 else GREY
        label = names[code] if code >= 0 else f"{top['rest']:,} more datasets"
        if code >= 0:
            colors[code] = color
        keys.append(Key(color, label, top["rows"][place]))
    if not names:
        colors[-1] = BLUE
    if failed.any():
        keys.append(Key(VERMILION, "failed", int(failed.sum())))
    return keys, list(np.where(failed, VERMILION, colors[codes]))
