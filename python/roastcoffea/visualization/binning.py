"""The arithmetic of plots and report, in numpy over the columns of the engine.

Metrics come from the engine. This module only counts values in bins, spreads them over time, thins and sums them for a
picture. NaN is absent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from roastcoffea import _core

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def numbers(values: Any, skip: Any = None) -> Array:
    """The values as real numbers; those with a code in `skip` (of an error, say) are absent."""
    found = np.asarray(values, dtype=float)
    return found if skip is None else np.where(np.asarray(skip) < 0, found, np.nan)


# ---- distributions ----


class Histogram(NamedTuple):
    edges: Array
    counts: Array
    n: int
    mean: float
    median: float
    max: float


def _range_of(values: Array) -> tuple[float, float]:
    """From the lowest to the highest value; half a unit to both sides where they are alike."""
    low, high = float(values.min()), float(values.max())
    # Bins cannot separate values that differ in the last digits only.
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        return low - 0.5, high + 0.5
    return low, high


def histogram(values: Any, bins: int, skip: Any = None) -> Histogram | None:
    found = numbers(values, skip)
    found = found[np.isfinite(found)]
    if len(found) == 0:
        return None
    counts, edges = np.histogram(found, bins, _range_of(found))
    median = float(np.median(found))
    return Histogram(edges, counts, len(found), float(found.mean()), median, float(found.max()))


class Pairs(NamedTuple):
    """Points, or how many of them lie in each cell where they are too many; and the line through them."""

    points: Array  # which of the values they are
    x: Array
    y: Array
    x_edges: Array
    y_edges: Array
    counts: Array | None
    intercept: float | None
    slope: float | None
    r: float | None

    @property
    def n(self) -> int:
        return len(self.x)


def pairs(
    x: Any, y: Any, skip: Any = None, limit: int = 5000, bins: tuple[int, int] = (80, 60)
) -> Pairs | None:
    """Cells beyond `limit` points; `bins` to the right and upwards."""
    x, y = numbers(x, skip), numbers(y)
    index = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    if len(index) == 0:
        return None
    x, y = x[index], y[index]
    ranges_of_both = _range_of(y), _range_of(x)
    counts = None
    if len(x) > limit:
        cell = _bin(y, *ranges_of_both[0], bins[1]) * bins[0] + _bin(x, *ranges_of_both[1], bins[0])
        counts = np.bincount(cell, minlength=bins[0] * bins[1]).reshape(bins[1], bins[0])
    y_edges, x_edges = (
        np.linspace(*span, count + 1) for span, count in zip(ranges_of_both, reversed(bins))
    )
    return Pairs(index, x, y, x_edges, y_edges, counts, *_fit(x, y))


def _bin(values: Array, low: float, high: float, bins: int) -> Array:
    """The bin of each value, the last one with its upper edge. numpy's histogram2d searches, and takes five times as long."""
    return np.minimum(((values - low) * (bins / (high - low))).astype(np.intp), bins - 1)


def _fit(x: Array, y: Array) -> tuple[float | None, float | None, float | None]:
    """Intercept, slope and correlation of the line with the least squares."""
    dx, dy = x - x.mean(), y - y.mean()
    xx, xy, yy = float((dx * dx).sum()), float((dx * dy).sum()), float((dy * dy).sum())
    if xx <= 0:
        return None, None, None
    slope = xy / xx
    r = xy / (xx * yy) ** 0.5 if yy > 0 else None
    return float(y.mean() - slope * x.mean()), slope, r


class Outliers(NamedTuple):
    n: int
    points: Array  # which of the values they are
    expected: Array


def outliers(
    x: Any, y: Any, intercept: float, slope: float, skip: Any = None, limit: int = 20
) -> Outliers:
    """Points far above the line, the farthest first.

    A point is one if it lies above the upper quartile of all distances by three times the distance of the
    quartiles, and above the line by a fifth of what the line says.
    """
    expected = intercept + slope * numbers(x, skip)
    above = numbers(y) - expected
    low, high = np.quantile(above[np.isfinite(above)], (0.25, 0.75))
    far = above > max(high + 3 * (high - low), 0)
    found = np.flatnonzero(far & (above >= 0.2 * np.abs(expected)))
    index = found[np.argsort(-above[found], kind="stable")][:limit]
    return Outliers(len(found), index, expected[index])


# ---- groups ----


class Ranges(NamedTuple):
    """Of stretches of neighbours: mean, lowest and highest; and of all values."""

    means: Array
    lows: Array
    highs: Array
    mean: float
    max: float


def _group_means(values: Array, groups: int) -> tuple[Array, Array]:
    """Where the groups of (almost) equal length begin, and the mean of each."""
    begins = np.arange(groups) * len(values) // groups
    there = np.isfinite(values)
    counts = np.add.reduceat(there.astype(float), begins)
    sums = np.add.reduceat(np.where(there, values, 0.0), begins)
    return begins, np.divide(sums, counts, out=np.full(groups, np.nan), where=counts > 0)


def ranges(values: Any, groups: int, order: Any = None) -> Ranges | None:
    """In `groups` stretches at most, in the order of `order`."""
    values = numbers(values)
    if order is not None:
        values = values[np.argsort(numbers(order), kind="stable")]
    there = values[np.isfinite(values)]
    if len(there) == 0:
        return None
    begins, means = _group_means(values, min(groups, len(values)))
    lows, highs = np.fmin.reduceat(values, begins), np.fmax.reduceat(values, begins)
    return Ranges(means, lows, highs, float(there.mean()), float(there.max()))


def group_sums(codes: Any, values: Any, groups: int) -> Array:
    """The sum of the values of each group; NaN where there is none."""
    codes, values = np.asarray(codes, dtype=np.intp), numbers(values)
    there = (codes >= 0) & np.isfinite(values)
    if not there.all():
        codes, values = codes[there], values[there]
    sums = np.bincount(codes, values, minlength=groups)
    if sums.all():  # only a group whose sum is 0 may have no value
        return sums
    return np.where(np.bincount(codes, minlength=groups) > 0, sums, np.nan)


def _group_maxima(codes: Any, values: Any, groups: int) -> Array:
    codes = np.asarray(codes)
    made = np.full(groups + 1, np.nan)
    np.fmax.at(made, codes, numbers(values))  # code -1 is the last one
    return made[:-1]


class Top(NamedTuple):
    """The largest groups of many rows, and one more for the rest if there is one, whose code is -1."""

    rest: int
    codes: Array
    columns: dict[str, Array]  # the figures by name, and "rows"

    def figure(self, key: str | tuple[str, str]) -> Array:
        """A figure of each group, or one over another."""
        if isinstance(key, str):
            return self.columns[key]
        lower = self.columns[key[1]]
        return self.columns[key[0]] / np.where(lower == 0, np.nan, lower)


def top(
    codes: Any,
    groups: int,
    sums: Mapping[str, Any],
    maxima: Mapping[str, Any] | None = None,
    order: str | None = None,
    limit: int = 200,
) -> Top:
    """The groups with a row, the largest first by the figure `order` (or the first sum)."""
    codes, maxima = np.asarray(codes, dtype=np.intp), maxima or {}
    rows = np.bincount(codes[codes >= 0], minlength=groups)
    figures = {name: group_sums(codes, values, groups) for name, values in sums.items()}
    used = np.flatnonzero(rows)
    by = figures[order or next(iter(sums))][used]
    used = used[np.argsort(-by, kind="stable")]  # those without a figure are last
    shown, others = used[:limit], used[limit:]
    figures |= {name: _group_maxima(codes, values, groups) for name, values in maxima.items()}
    figures["rows"] = rows

    def column(name: str, figure: Array) -> Array:
        if len(others) == 0:
            return figure[shown]
        there = figure[others][np.isfinite(figure[others])]
        rest = np.nan if len(there) == 0 else there.max() if name in maxima else there.sum()
        return np.append(figure[shown], rest)

    columns = {name: column(name, figure) for name, figure in figures.items()}
    return Top(len(others), np.append(shown, -1) if len(others) else shown, columns)


# ---- lines ----


class Line(NamedTuple):
    name: str
    time: Array
    values: Array


def _thin(times: Array, values: Array, limit: int) -> tuple[Array, Array]:
    """At most `limit` points: the ends, and of each stretch the lowest and the highest, so that no peak is
    lost."""
    if len(values) <= limit:
        return times, values
    edges = np.linspace(1, len(values) - 1, (limit - 2) // 2 + 1).astype(int)
    kept = {0, len(values) - 1}
    for begin, end in zip(edges, edges[1:]):
        stretch = values[begin:end]
        kept |= {int(begin + stretch.argmin()), int(begin + stretch.argmax())}
    index = sorted(kept)
    return times[index], values[index]


def _smooth(times: Array, values: Array, limit: int) -> tuple[Array, Array]:
    """At most `limit` points: the means of neighbours, in time and in value."""
    if len(values) <= limit:
        return times, values
    return _group_means(times, limit)[1], _group_means(values, limit)[1]


# ---- workers over time ----

Tracking: TypeAlias = Any


def _run_of(tracking: Tracking) -> _core.Run:
    return tracking if isinstance(tracking, _core.Run) else _core.Run(series=tracking)


def _ticks(run: _core.Run) -> tuple[Array, Array]:
    """The times of the samples (ns since 1970), and the numbers of workers."""
    when, workers = _core.worker_ticks(run)
    return np.frombuffer(when, np.int64), np.frombuffer(workers, np.int64)


class WorkerCounts(NamedTuple):
    start: float  # seconds since 1970
    time: Array  # seconds since the start
    workers: Array


def worker_counts(tracking: Tracking, points: int = 1000) -> WorkerCounts | None:
    """The number of workers at each sample."""
    when, workers = _ticks(_run_of(tracking))
    if len(when) == 0:
        return None
    return WorkerCounts(when[0] / 1e9, *_thin((when - when[0]) / 1e9, workers, points))


class Timeline(NamedTuple):
    """All workers on one grid of time, and some of them as lines.

    The extremes are those of all samples around a point. The others are over workers, each with the mean of its
    samples there. A worker without a sample there counts with its last one, unless it was gone for three of its
    usual intervals. NaN where there was no worker.
    """

    start: float  # seconds since 1970
    time: Array  # seconds since the start
    n_workers: int
    lines: list[Line]
    sum: Array
    mean: Array
    min: Array
    p10: Array
    p50: Array
    p90: Array
    max: Array


# Shares: a column, the column that it is divided by, and the factor to per cent.
_SHARES = {"memory_share": ("memory", "memory_limit", 100.0), "cpu_share": ("cpu", "cores", 1.0)}
HOLD_INTERVALS = 3


def _measure(samples: _core.Table, measure: str) -> Array:
    column, of, factor = _SHARES.get(measure, (measure, None, 1.0))
    values = numbers(samples.column(column)) * factor
    if of is None:
        return values
    whole = numbers(samples.column(of))
    return values / np.where(whole > 0, whole, np.nan)


class _Samples(NamedTuple):
    """Some samples of the workers on a grid of time. They come worker by worker, each in order of time."""

    there: Array  # which of all samples they are
    start: int  # nanoseconds since 1970
    time: Array  # of the points, seconds since the start
    point: Array  # of each sample, as are the next two
    seconds: Array  # since the start
    worker: Array  # in the order of the samples
    begins: Array  # of each worker, as are the next two
    ends: Array
    codes: Array
    held: tuple[Array, Array]


def _samples(run: _core.Run, there: Array, points: int) -> _Samples:
    codes = np.asarray(run.samples.column("worker.code"))[there]
    when = np.asarray(run.samples.column("timestamp")).astype(np.int64)[there]
    start, end = int(when.min()), int(when.max())
    seconds = (when - start) / 1e9
    time, point = _grid(_ticks(run)[0], start, end, when, points)
    begins = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
    ends = np.append(begins[1:], len(codes))
    worker = np.repeat(np.arange(len(begins)), ends - begins)
    held = _held(worker, seconds, point, begins, ends)
    return _Samples(there, start, time, point, seconds, worker, begins, ends, codes[begins], held)


def timelines(
    tracking: Tracking,
    measures: Sequence[str],
    points: int = 1000,
    lines: int = 0,
    line_points: int = 400,
    smooth: bool = False,
) -> list[Timeline | None]:
    """Columns of the samples, or shares, of all workers; and of the `lines` workers with the highest peaks."""
    run = _run_of(tracking)
    samples = None
    made: list[Timeline | None] = []
    for measure in measures:
        values = _measure(run.samples, measure)
        there = np.isfinite(values)
        if not there.any():
            made.append(None)
            continue
        if samples is None or not np.array_equal(samples.there, there):  # most measures have the same samples
            samples = _samples(run, there, points)
        names = run.samples.categories("worker")
        drawn, values = [], values[there]
        for one in _highest(samples, values, lines):
            stretch = slice(samples.begins[one], samples.ends[one])
            line = (_smooth if smooth else _thin)(samples.seconds[stretch], values[stretch], line_points)
            drawn.append(Line(names[samples.codes[one]], *line))
        made.append(Timeline(samples.start / 1e9, samples.time, len(samples.begins), drawn, *_over_workers(samples, values)))
    return made


def timeline(
    tracking: Tracking,
    measure: str,
    points: int = 1000,
    lines: int = 0,
    line_points: int = 400,
    smooth: bool = False,
) -> Timeline | None:
    """One of them."""
    return timelines(tracking, [measure], points, lines, line_points, smooth)[0]


def _highest(samples: _Samples, values: Array, most: int) -> Array:
    """The workers with the highest peaks, and of equal ones those with the highest means."""
    peaks = np.maximum.reduceat(values, samples.begins)
    means = np.add.reduceat(values, samples.begins) / (samples.ends - samples.begins)
    return np.lexsort((-means, -peaks))[:most]


def _grid(moments: Array, start: int, end: int, when: Array, points: int) -> tuple[Array, Array]:
    """The times of the points, and the point of each sample: the ticks, or equal stretches if there are many."""
    moments = np.unique(np.append(moments[(moments > start) & (moments <= end)], start))
    if len(moments) <= points:
        return (moments - start) / 1e9, np.searchsorted(moments, when, side="right") - 1
    point = (when - start) / (end - start) * points
    return (
        (np.arange(points) + 0.5) * ((end - start) / points / 1e9),
        np.minimum(point.astype(int), points - 1),
    )


def _held(worker: Array, seconds: Array, point: Array, begins: Array, ends: Array) -> tuple[Array, Array]:
    """Samples that hold until the next one of their worker, and how many points lie between the two."""
    usual = (seconds[ends - 1] - seconds[begins]) / np.maximum(ends - begins - 1, 1)
    between = np.diff(point) - 1
    near = np.diff(seconds) <= HOLD_INTERVALS * usual[worker[:-1]]
    index = np.flatnonzero((np.diff(worker) == 0) & (between > 0) & near)
    return index, between[index]


def _over_workers(samples: _Samples, values: Array) -> list[Array]:
    """Sum, mean, min, p10, p50, p90, max at each point."""
    workers, points, point = len(samples.begins), len(samples.time), samples.point
    cell = samples.worker * points + point
    counts = np.bincount(cell, minlength=workers * points)
    sums = np.bincount(cell, values, minlength=workers * points)
    means = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
    index, lengths = samples.held
    ahead = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths) + 1
    gaps, last = np.repeat(cell[index], lengths) + ahead, np.repeat(values[index], lengths)
    means[gaps] = last
    low, high = np.full(points, np.nan), np.full(points, np.nan)
    for at, of in ((point, values), (gaps % points, last)):
        np.fmin.at(low, at, of)
        np.fmax.at(high, at, of)
    ordered = np.sort(means.reshape(workers, points), axis=0)  # NaN last
    n = np.isfinite(ordered).sum(axis=0)
    total = np.where(n > 0, np.nansum(ordered, axis=0), np.nan)
    p10, p50, p90 = (_quantile(ordered, n, q) for q in (0.1, 0.5, 0.9))
    return [total, total / np.maximum(n, 1), low, p10, p50, p90, high]


def _quantile(ordered: Array, n: Array, q: float) -> Array:
    """Of the n lowest of each column, with linear interpolation between neighbours."""
    place = np.maximum(n - 1, 0) * q
    below = place.astype(int)
    above = np.minimum(below + 1, np.maximum(n - 1, 0))
    first, second = (np.take_along_axis(ordered, at[None, :], axis=0)[0] for at in (below, above))
    return np.asarray(first + (second - first) * (place - below))


# ---- amounts over time ----


def spread(
    starts: Array, ends: Array, amounts: Array, edges: Array, row: Array | int = 0, rows: int = 1
) -> Array:
    """Spreads each amount evenly over its interval: the amount per second in each bin, row by row.

    An interval that ends where it starts, or before, is one moment.
    """
    bins = len(edges) - 1
    of_row = None if rows == 1 else np.ascontiguousarray(row, dtype=np.int64)
    begun, ended, much = (np.ascontiguousarray(values, dtype=float) for values in (starts, ends, amounts))
    made = _core.spread(begun, ended, much, of_row, rows, float(edges[0]), float(edges[-1]), bins)
    return np.frombuffer(made).reshape(rows, bins)


class Rates(NamedTuple):
    start: float  # seconds since 1970
    edges: Array  # seconds since the start
    rates: Array  # amount per second
    running: Array  # intervals that were open at a time


def _span(starts: Array, ends: Array, bins: int) -> tuple[float, Array]:
    """The first start, and the edges of bins from there to the last end, in seconds since the start."""
    start = float(starts.min())
    end = float(max(ends.max(), starts.max()))
    # One moment only: as if it had taken a second.
    return start, np.linspace(0, end - start if end > start else 1.0, bins + 1)


def throughput(starts: Any, ends: Any, amounts: Any, bins: int) -> Rates | None:
    starts, ends, amounts = (numbers(values) for values in (starts, ends, amounts))
    there = np.isfinite(starts) & np.isfinite(ends) & np.isfinite(amounts)
    if not there.any():
        return None
    starts, ends, amounts = starts[there], ends[there], amounts[there]
    start, edges = _span(starts, ends, bins)
    starts, ends = starts - start, ends - start
    running = spread(starts, ends, np.maximum(ends - starts, 0), edges)[0]
    return Rates(start, edges, spread(starts, ends, amounts, edges)[0], running)


class Gantt(NamedTuple):
    """Bars in rows of their owners, or, where they are too many, how many ran at a time."""

    n: int
    start: float  # seconds since 1970
    edges: Array  # of the bins, seconds since the start
    owners: Array  # codes, in the order of their first bar
    first_row: Array  # of each owner, and where the last one ends
    row: Array
    left: Array
    width: Array
    busy: Array | None  # bars at a time, of each owner of a row and bin; None: there are bars


def gantt(
    owners: Array, lanes: Array, starts: Array, ends: Array, limit: int, rows: int, bins: int
) -> Gantt | None:
    """Bars up to `limit` of them and `rows` owners, each in its lane. A lane belongs to one owner."""
    if len(owners) == 0:
        return None
    start, edges = _span(starts, ends, bins)
    left, width = starts - start, np.maximum(ends - starts, 0)
    firsts = np.full(int(owners.max()) + 1, np.inf)
    np.minimum.at(firsts, owners, left)
    order = np.argsort(firsts, kind="stable")[: int(np.isfinite(firsts).sum())]
    place = np.zeros(len(firsts), dtype=int)
    place[order] = np.arange(len(order))
    busy = None
    if len(owners) <= limit and len(order) <= rows:
        pairs, row = np.unique(np.stack([place[owners], lanes]), axis=1, return_inverse=True)
        row, heights = row.reshape(-1), np.bincount(pairs[0], minlength=len(order))
        first_row = np.append(0, np.cumsum(heights))
    else:
        rows = min(rows, len(order))
        members = np.bincount(np.arange(len(order)) * rows // len(order), minlength=rows)
        row = place[owners] * rows // len(order)
        busy = spread(left, left + width, width, edges, row, rows) / members[:, None]
        first_row = np.linspace(0, len(order), rows + 1)
    return Gantt(len(owners), start, edges, order, first_row, row, left, width, busy)


class Tasks(NamedTuple):
    """The tasks of a run in the lanes of their workers. A chunk is a task with process() inside of it."""

    bars: Gantt
    workers: list[str]  # in the order of the rows
    names: list[str]
    chunk: Array  # number of each task's chunk; -1: none
    name: Array  # number of the name of a task without a chunk; -1: it has one
    failed: Array


def tasks(run: _core.Run, limit: int = 5000, rows: int = 100, bins: int = 600) -> Tasks | None:
    found = _core.task_bars(run, limit)
    worker, lane, start, stop, chunk, name, failed = (
        np.frombuffer(column, np.int64)
        for column in (
            found["worker"], found["lane"], found["start"], found["stop"], found["chunk"], found["name"],
            found["failed"],
        )
    )
    bars = gantt(worker, lane, start / 1e9, stop / 1e9, limit, rows, bins)
    if bars is None:
        return None
    workers = [found["workers"][code] for code in bars.owners]
    return Tasks(bars, workers, found["names"], chunk, name, failed != 0)


class Group(NamedTuple):
    """An entry of the legend of bars."""

    label: str
    color: int  # a place in the palette; -1: none, grey
    n: int


def task_groups(data: Tasks, chunks: _core.Table, colors: int) -> tuple[Array, list[Group]]:
    """The colour of each bar, and the legend: tasks by the dataset of their chunk, or by name if none has a chunk."""
    inside = data.chunk >= 0
    if inside.any():
        names, codes, what = chunks.categories("dataset"), data.chunk, "datasets"
        codes = np.where(inside, chunks.column("dataset.code")[codes], -1)
    else:
        names, codes, what = data.names, data.name, "kinds of tasks"
    most = top(codes, len(names), {"n": np.ones(len(codes))}, limit=colors)
    places = np.full(len(names) + 1, -1)
    legend = []
    for place, (code, count) in enumerate(zip(most.codes, most.columns["rows"])):
        label = names[code] if code >= 0 else f"{most.rest:,} more {what}"
        legend.append(Group(label, place if code >= 0 else -1, int(count)))
        if code >= 0:
            places[code] = place
    if not names:
        places[-1] = 0
    color = np.where(inside | (not inside.any()), places[codes], -1)
    if inside.any() and not inside.all():
        legend.append(Group("other tasks", -1, int((~inside).sum())))
    return color, legend
