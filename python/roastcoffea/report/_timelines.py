"""The charts over time: workers, throughput, tasks, CPU, memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from roastcoffea.binning import (
    Array, Rates, Timeline, WorkerCounts, throughput, timeline, worker_counts,
)
from roastcoffea.drawing import scale_of
from roastcoffea.report._bokeh import Plot, models
from roastcoffea.report._data import Source
from roastcoffea.report._gantt import BINS, MOST_NAMES, Bars, gantt_chart, gantt_data
from roastcoffea.report._look import (
    BLUE, CLOCK, GREEN, GREY, ORANGE, PURPLE, SKY, Chart, Frame, hover, show_time,
)

POINTS = 800


def timelines(source: Source) -> list[Chart]:
    """Those that have data, from top to bottom."""
    bars, workers = gantt_data(source), None
    if source.tracking is not None:
        workers = worker_counts(source.tracking, points=POINTS)
    frame = _frame(source, bars, workers)
    if frame is None:
        return []
    rates = _rates(source)
    made = [
        _workers(frame, workers),
        _throughput(frame, rates),
        _tasks(frame, _measure(source, "active_tasks"), rates),
        _cpu(frame, _measure(source, "cpu_share")),
        _memory(frame, _measure(source, "memory")),
        gantt_chart(source, frame, bars),
    ]
    charts = [one for one in made if one is not None]
    if charts:
        show_time(charts[-1].plot, frame.span.end - frame.span.start)
    return charts


def _frame(source: Source, bars: Bars | None, workers: WorkerCounts | None) -> Frame | None:
    """The time from the start of the run to its end, or that of what was seen."""
    moments: list[float] = [moment for moment in (source.run.t_start, source.run.t_end) if moment]
    if workers is not None:
        moments += [workers.start, workers.start + float(workers.time[-1])]
    if bars is not None:
        moments += [bars.rows.start, bars.rows.start + float(bars.rows.edges[-1])]
    if not moments:
        return None
    start = source.run.t_start or min(moments)
    # Clocks of different machines differ: a moment far outside is not of this run.
    low = min(max(min(moments), start - 60), start)
    high = max(max(moments), start + 1e-3)
    low_ms, high_ms = (low - start) * 1000, (high - start) * 1000
    margin = 0.01 * (high_ms - low_ms)
    span = models.Range1d(
        low_ms - margin,
        high_ms + margin,
        bounds=(low_ms - 20 * margin, high_ms + 20 * margin),
        min_interval=1,
    )
    cursor = models.Span(dimension="height", line_dash="dotted", line_color=GREY)
    names = bars is not None and len(bars.owners) <= MOST_NAMES
    return Frame(start, span, cursor, 116 if names else 64)


# ---- workers ----


def _workers(frame: Frame, data: WorkerCounts | None) -> Chart | None:
    if data is None:
        return None
    plot = frame.chart("Workers")
    values = models.ColumnDataSource({"t": frame.times(data.time, data.start), "n": data.workers})
    plot.varea_step("t", 0, "n", source=values, step_mode="after", fill_color=BLUE, fill_alpha=0.15)
    line = plot.step("t", "n", source=values, mode="after", line_color=BLUE, line_width=1.5)
    hover(plot, [line], [CLOCK, ("workers", "@n{0,0}")], line=True)
    return Chart("workers", plot)


def _measure(source: Source, measure: str) -> Timeline | None:
    return timeline(source.tracking, measure, POINTS) if source.tracking is not None else None


def _band(
    plot: Plot, frame: Frame, data: Timeline, divisor: float, color: str, unit: str
) -> None:
    """The mean of the workers, the range of eight of ten, and the highest."""
    columns = {"mean": data.mean, "p10": data.p10, "p90": data.p90, "max": data.max}
    values = models.ColumnDataSource(
        {
            "t": frame.times(data.time, data.start),
            **{name: column / divisor for name, column in columns.items()},
        }
    )
    band = plot.varea("t", "p10", "p90", source=values, fill_color=color, fill_alpha=0.2)
    most = plot.line("t", "max", source=values, line_color=color, line_width=1, line_dash="dotted")
    line = plot.line("t", "mean", source=values, line_color=color, line_width=1.75)
    several = data.n_workers > 1
    rows = [CLOCK, ("mean" if several else "value", f"@mean{{0.0}} {unit}")]
    if several:
        rows += [
            ("80 % of the workers", f"@p10{{0.0}} to @p90{{0.0}} {unit}"),
            ("highest", f"@max{{0.0}} {unit}"),
        ]
        _legend(plot, [("mean", [line]), ("80 % of the workers", [band]), ("highest", [most])])
    hover(plot, [line], rows, line=True)


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


def _cpu(frame: Frame, data: Timeline | None) -> Chart | None:
    if data is None:
        return None
    plot = frame.chart("CPU of a worker's threads, %")
    _band(plot, frame, data, 1, GREEN, "%")
    return Chart("cpu", plot)


def _memory(frame: Frame, data: Timeline | None) -> Chart | None:
    if data is None:
        return None
    scale = scale_of(float(np.nanmax(data.max)), "B")
    plot = frame.chart(f"Memory of a worker, {scale.unit}")
    _band(plot, frame, data, scale.divisor, PURPLE, scale.unit)
    return Chart("memory", plot)


# ---- chunks ----


def _rates(source: Source) -> Rates | None:
    columns = [source.chunks.column(name) for name in ("t_start", "t_end", "bytes_read")]
    return throughput(columns[0], columns[1], columns[2], BINS)


def _throughput(frame: Frame, data: Rates | None) -> Chart | None:
    if data is None:
        return None
    bits = data.rates * 8
    scale = scale_of(float(bits.max()), "bps")
    plot = frame.chart(
        f"Data read, {scale.unit} (the bytes of a chunk spread evenly over its time)"
    )
    edges = frame.times(data.edges, data.start)
    values = models.ColumnDataSource({"t": edges[:-1], "end": edges[1:], "rate": scale(bits)})
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
    return Chart("throughput", plot)


def _tasks(frame: Frame, tasks: Timeline | None, chunks: Rates | None) -> Chart | None:
    if tasks is None and chunks is None:
        return None
    plot = frame.chart("Active tasks")
    items: list[tuple[str, list[Any]]] = []

    def steps(seconds: Array, start: float, n: Array, color: str, row: tuple[str, str]) -> Any:
        values = models.ColumnDataSource({"t": frame.times(seconds, start), "n": n})
        line = plot.step("t", "n", source=values, mode="after", line_color=color, line_width=1.5)
        hover(plot, [line], [CLOCK, row], line=True)
        return line

    if tasks is not None:
        row = ("tasks on the workers", "@n{0,0}")
        line = steps(tasks.time, tasks.start, tasks.sum, ORANGE, row)
        items.append(("on the workers, running or waiting", [line]))
    if chunks is not None:
        row = ("chunks inside process()", "@n{0.0}")
        line = steps(chunks.edges[:-1], chunks.start, chunks.running, BLUE, row)
        items.append(("chunks inside process()", [line]))
    _legend(plot, items)
    return Chart("tasks", plot)
