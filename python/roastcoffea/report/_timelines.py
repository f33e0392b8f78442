"""The charts over time: workers, throughput, tasks, CPU, memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from roastcoffea.visualization.binning import (
    Array, Rates, Tasks, Timeline, WorkerCounts, throughput, timelines as worker_timelines, worker_counts,
)
from roastcoffea.visualization.drawing import scale_of, time_scale, zero_of
from roastcoffea.report._bokeh import Plot, models
from roastcoffea.report._data import BINS, Source
from roastcoffea.report._gantt import MOST_NAMES, gantt_chart
from roastcoffea.report._look import (
    BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, Chart, Frame, Key, hover,
)

POINTS = 800


class WorkerLines(NamedTuple):
    """The samples of the workers over time."""

    counts: WorkerCounts | None
    active_tasks: Timeline | None
    cpu_share: Timeline | None
    memory: Timeline | None


def worker_lines(source: Source) -> WorkerLines:
    tracking = source.tracking
    if tracking is None:
        return WorkerLines(None, None, None, None)
    measures = WorkerLines._fields[1:]
    return WorkerLines(worker_counts(tracking, points=POINTS), *worker_timelines(tracking, measures, POINTS))


def timelines(source: Source, workers: WorkerLines) -> list[Chart]:
    """Those that have data, from top to bottom."""
    rates = _rates(source)
    frame = _frame(source, source.tasks, workers.counts)
    if frame is None:
        return []
    made = [
        _workers(frame, workers.counts),
        _throughput(frame, rates),
        _tasks(frame, workers.active_tasks, rates),
        _cpu(frame, workers.cpu_share),
        _memory(frame, workers.memory),
        gantt_chart(source, frame),
    ]
    charts = [one for one in made if one is not None]
    if charts:
        frame.show_time(charts[-1].plot)
    return charts


def _frame(source: Source, data: Tasks | None, workers: WorkerCounts | None) -> Frame | None:
    """The time from the start of the run to its end, or that of what was seen."""
    zero = zero_of(source.run.t_start)
    moments: list[float] = [] if zero is None else [zero, source.run.t_end or zero]
    if workers is not None:
        moments += [workers.start + float(time) for time in workers.time[[0, -1]]]
    if data is not None:
        moments += [data.bars.start, data.bars.start + float(data.bars.edges[-1])]
    if not moments:
        return None
    start = min(moments) if zero is None else zero
    # Clocks of different machines differ: a moment far outside is not of this run.
    low = max(min(moments), start - 60) - start
    high = max(max(moments) - start, 1e-3)
    scale = time_scale(high)
    margin = 0.01 * (high - low)
    span = models.Range1d(
        (low - margin) / scale.divisor,
        (high + margin) / scale.divisor,
        bounds=((low - 20 * margin) / scale.divisor, (high + 20 * margin) / scale.divisor),
        min_interval=1e-3 / scale.divisor,
    )
    cursor = models.Span(dimension="height", line_dash="dotted", line_color=GREY)
    names = data is not None and len(data.workers) <= MOST_NAMES
    return Frame(start, scale, span, cursor, 116 if names else 64)


# ---- workers ----


def _workers(frame: Frame, data: WorkerCounts | None) -> Chart | None:
    if data is None:
        return None
    plot = frame.chart()
    plot.yaxis.ticker.min_interval = 1
    values = models.ColumnDataSource({"t": frame.times(data.time, data.start), "n": data.workers})
    plot.varea_step("t", 0, "n", source=values, step_mode="after", fill_color=BLUE, fill_alpha=0.15)
    line = plot.step("t", "n", source=values, mode="after", line_color=BLUE, line_width=1.5)
    hover(plot, [line], [frame.clock, ("workers", "@n{0,0}")], line=True)
    return Chart("workers", plot, "Workers")


def _band(
    plot: Plot, frame: Frame, data: Timeline, divisor: float, color: str, unit: str
) -> list[Key]:
    """The mean of the workers, the range of eight of ten, and the highest."""
    columns = {"mean": data.mean, "p10": data.p10, "p90": data.p90, "max": data.max}
    values = models.ColumnDataSource(
        {
            "t": frame.times(data.time, data.start),
            **{name: column / divisor for name, column in columns.items()},
        }
    )
    plot.varea("t", "p10", "p90", source=values, fill_color=color, fill_alpha=0.2)
    plot.line("t", "max", source=values, line_color=color, line_width=1, line_dash="dotted")
    line = plot.line("t", "mean", source=values, line_color=color, line_width=1.75)
    several = data.n_workers > 1
    rows = [frame.clock, ("mean" if several else "value", f"@mean{{0.0}} {unit}")]
    if several:
        rows += [
            ("80 % of the workers", f"@p10{{0.0}} to @p90{{0.0}} {unit}"),
            ("highest", f"@max{{0.0}} {unit}"),
        ]
    hover(plot, [line], rows, line=True)
    marks = (("mean", "line"), ("80 % of the workers", "band"), ("highest", "dots"))
    return [Key(color, label, mark=mark) for label, mark in marks] if several else []


def _cpu(frame: Frame, data: Timeline | None) -> Chart | None:
    if data is None:
        return None
    plot = frame.chart()
    keys = _band(plot, frame, data, 1, GREEN, "%")
    return Chart("cpu", plot, "CPU of a worker's threads, %", keys)


def _memory(frame: Frame, data: Timeline | None) -> Chart | None:
    if data is None:
        return None
    scale = scale_of(float(np.nanmax(data.max)), "B")
    plot = frame.chart()
    keys = _band(plot, frame, data, scale.divisor, PURPLE, scale.unit)
    return Chart("memory", plot, f"Memory of a worker, {scale.unit}", keys)


# ---- chunks ----


def _rates(source: Source) -> Rates | None:
    columns = [source.chunks.column(name) for name in ("t_start", "t_end", "bytes_read")]
    return throughput(columns[0], columns[1], columns[2], BINS)


def _throughput(frame: Frame, data: Rates | None) -> Chart | None:
    if data is None:
        return None
    bits = data.rates * 8
    scale = scale_of(float(bits.max()), "bps")
    plot = frame.chart()
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
    hover(plot, [bars], [frame.clock, ("data rate", f"@rate{{0.00}} {scale.unit}")], line=True)
    title = f"Data read, {scale.unit} (the bytes of a chunk spread evenly over its time)"
    return Chart("throughput", plot, title)


def _tasks(frame: Frame, tasks: Timeline | None, chunks: Rates | None) -> Chart | None:
    if tasks is None and chunks is None:
        return None
    plot = frame.chart()
    plot.yaxis.ticker.min_interval = 1
    keys: list[Key] = []

    def steps(seconds: Array, start: float, n: Array, color: str, row: tuple[str, str]) -> None:
        values = models.ColumnDataSource({"t": frame.times(seconds, start), "n": n})
        line = plot.step("t", "n", source=values, mode="after", line_color=color, line_width=1.5)
        hover(plot, [line], [frame.clock, row], line=True)

    if tasks is not None:
        row = ("tasks on the workers", "@n{0,0}")
        steps(tasks.time, tasks.start, tasks.sum, ORANGE, row)
        keys.append(Key(ORANGE, "on the workers, running or waiting", mark="line"))
    if chunks is not None:
        row = ("chunks inside process()", "@n{0.0}")
        steps(chunks.edges[:-1], chunks.start, chunks.running, BLUE, row)
        keys.append(Key(BLUE, "chunks inside process()", mark="line"))
    return Chart("tasks", plot, "Active tasks", keys)
