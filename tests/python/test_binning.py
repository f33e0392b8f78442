"""The numbers behind plots and report, against plain arithmetic."""

from __future__ import annotations

import math
from datetime import timedelta

import numpy as np
import pytest
from leaks import assert_nothing_is_kept
from plot_samples import S0, SPANS, T0, chunks, tracking

from roastcoffea import _core
from roastcoffea.visualization import binning
from roastcoffea._core import Run, WorkerSeries
from roastcoffea.aggregation.chunk import build_chunk_info
from roastcoffea.visualization._data import intervals_of
from roastcoffea.visualization.plots import extract_per_task_metrics
from roastcoffea.visualization.plots.per_task import _tasks_of


def column(data, name):
    """{worker: values} of tracking data as a matrix, a row a worker."""
    return np.array([[value for _, value in points] for points in data[f"worker_{name}"].values()])


# ---- workers ----


@pytest.mark.parametrize("measure", ["memory_share", "cpu_share", "executing", "active_tasks", "memory"])
def test_timeline(measure):
    data = tracking(workers=7, ticks=20)
    values = {
        "memory_share": lambda: column(data, "memory") / column(data, "memory_limit") * 100,
        "cpu_share": lambda: column(data, "cpu") / column(data, "cores"),
    }.get(measure, lambda: column(data, measure))()
    found = binning.timeline(data, measure, lines=3)
    assert found.start == S0
    assert found.n_workers == 7
    np.testing.assert_allclose(found.time, np.arange(20) * 2.0)
    for name, expected in (
        ("sum", values.sum(0)), ("mean", values.mean(0)), ("min", values.min(0)), ("max", values.max(0)),
        ("p10", np.percentile(values, 10, axis=0)), ("p50", np.median(values, axis=0)),
        ("p90", np.percentile(values, 90, axis=0)),
    ):
        np.testing.assert_allclose(getattr(found, name), expected, rtol=1e-12, err_msg=name)
    names = list(data["worker_memory"])
    order = sorted(range(7), key=lambda w: (-values[w].max(), -values[w].mean(), w))
    assert [line.name for line in found.lines] == [names[w] for w in order[:3]]
    for line, w in zip(found.lines, order):
        np.testing.assert_allclose(line.time, np.arange(20) * 2.0)
        np.testing.assert_allclose(line.values, values[w])


def test_long_timelines_have_few_points():
    data = tracking(workers=4, ticks=3000)
    values = column(data, "active_tasks")
    found = binning.timeline(data, "active_tasks", points=50, lines=2, line_points=60)
    assert {len(getattr(found, row)) for row in ("time", "sum", "mean", "min", "max")} == {50}
    edges = np.linspace(0, 2999 * 2, 51)
    bins = np.minimum(np.searchsorted(edges, np.arange(3000) * 2.0, side="right") - 1, 49)
    for point in (0, 7, 49):
        inside = values[:, bins == point]
        assert found.mean[point] == pytest.approx(inside.mean(1).mean())
        assert found.max[point] == inside.max()
    for line in found.lines:
        assert len(line.time) <= 60
        assert (max(line.values), min(line.values)) == (8, 0)
        assert (line.time[0], line.time[-1]) == (0, 2999 * 2)
    smooth = binning.timeline(data, "active_tasks", lines=1, line_points=100, smooth=True).lines[0]
    worker = list(data["worker_active_tasks"]).index(smooth.name)
    np.testing.assert_allclose(smooth.values, values[worker].reshape(100, 30).mean(1))


def test_series_and_dict_agree():
    data = tracking(5, 30)
    series = WorkerSeries.from_tracking_data(data)
    for measure in ("cpu_share", "occupancy"):
        one, other = (binning.timeline(source, measure, lines=5) for source in (data, series))
        np.testing.assert_array_equal(one.mean, other.mean)
        assert [line.name for line in one.lines] == [line.name for line in other.lines]


def test_timeline_of_nothing():
    assert binning.timeline({}, "memory") is None
    assert binning.timeline(None, "memory") is None
    without_limit = {"worker_memory": tracking()["worker_memory"]}
    assert binning.timeline(without_limit, "memory_share") is None
    assert binning.worker_counts({}) is None
    with pytest.raises(KeyError, match="nonsense"):
        binning.timeline({}, "nonsense")
    with pytest.raises((TypeError, AttributeError)):
        binning.timeline(3, "memory")


def series_of(ticks):
    """A series from {seconds: {worker: active tasks}}."""
    made = WorkerSeries()
    for seconds, workers in ticks.items():
        made.tick_values(S0 + seconds, {name: {"active_tasks": value} for name, value in workers.items()})
    return made


def test_a_worker_holds_its_last_value_for_a_while():
    """Not looked at for one tick, then gone for longer than three of its intervals; at last nobody is there."""
    ticks = {second: {"a": 4, "b": 2} for second in range(20)}
    del ticks[5]["b"]
    for second in (*range(10, 18),):
        del ticks[second]["b"]
    ticks[14] = {}
    found = binning.timeline(series_of(ticks), "active_tasks")
    np.testing.assert_allclose(found.time, np.arange(20))
    total = [6] * 10 + [4] * 8 + [6] * 2
    np.testing.assert_allclose(found.sum, total)
    np.testing.assert_allclose(found.min, [2] * 10 + [4] * 8 + [2] * 2)
    np.testing.assert_allclose(found.max, 4)
    gone = binning.timeline(series_of({0: {"a": 1}, 1: {"a": 1}, 2: {}, 9: {}, 10: {"b": 3}, 11: {"b": 3}}), "active_tasks")
    np.testing.assert_array_equal(gone.sum, [1, 1, np.nan, np.nan, 3, 3])
    np.testing.assert_array_equal(gone.p50, [1, 1, np.nan, np.nan, 3, 3])


def test_worker_counts():
    data = {"worker_counts": {time: n for n, time in enumerate(tracking(1, 2000)["worker_counts"])}}
    found = binning.worker_counts(data, points=100)
    assert found.start == S0
    assert len(found.time) <= 100
    assert (found.workers[0], found.workers[-1], found.time[-1]) == (0, 1999, 1999 * 2)
    few = binning.worker_counts({"worker_counts": dict(list(data["worker_counts"].items())[:5])})
    np.testing.assert_array_equal(few.workers, [0, 1, 2, 3, 4])


@pytest.mark.parametrize("points", [8, 20, 99])
def test_a_peak_of_one_look_is_not_lost(points):
    moments = [T0 + timedelta(seconds=n / 2) for n in range(1000)]
    counts = dict.fromkeys(moments, 5) | {moments[57]: 500, moments[801]: 1}
    found = binning.worker_counts({"worker_counts": counts}, points=points)
    assert len(found.time) <= points
    assert (found.workers.max(), found.workers.min()) == (500, 1)
    assert found.time[found.workers.argmax()] == 28.5 and (np.diff(found.time) > 0).all()


def test_a_limit_of_nothing_is_no_limit():
    data = tracking(2, 3)
    first, second = data["worker_memory"]
    data["worker_memory_limit"][first] = [(when, 0) for when, _ in data["worker_memory"][first]]
    found = binning.timeline(data, "memory_share", lines=2)
    assert (found.n_workers, [line.name for line in found.lines]) == (1, [second])
    assert np.isfinite(found.max).all()


# ---- distributions ----


@pytest.mark.parametrize("bins", [1, 7, 30, 1000])
def test_histogram(bins):
    values = np.random.default_rng(3).gamma(2, 3, 5000)
    found = binning.histogram(values, bins)
    counts, edges = np.histogram(values, bins)
    np.testing.assert_array_equal(found.counts, counts)
    np.testing.assert_allclose(found.edges, edges, rtol=1e-12)
    assert found.n == 5000
    assert found.mean == pytest.approx(values.mean())
    assert found.median == pytest.approx(np.median(values))
    assert found.max == values.max()


def test_histogram_of_what_is_there():
    values = np.array([1.0, np.nan, 5.0, 2.0, np.inf])
    found = binning.histogram(values, 4, skip=np.array([-1, -1, 0, -1, -1], dtype=np.int32))
    np.testing.assert_array_equal(found.counts, np.histogram([1.0, 2.0], 4)[0])
    assert binning.histogram([3.0, 3.0], 2).edges.tolist() == [2.5, 3.0, 3.5]
    assert binning.histogram([None, float("nan")], 3) is None
    assert binning.histogram([], 3) is None
    alike = binning.histogram([0.1, np.nextafter(0.1, 1)], 30)
    assert alike.counts.sum() == 2


def test_wrong_arguments():
    for call, error in (
        (lambda: binning.histogram([1], 0), ValueError),
        (lambda: binning.histogram(["x"], 3), ValueError),
        (lambda: intervals_of({1: 2}), ValueError),
        (lambda: intervals_of({1: (1, "x", 3)}), ValueError),
        (lambda: intervals_of({1: (1, 2)}), ValueError),
        (lambda: intervals_of(3), TypeError),
        (lambda: extract_per_task_metrics(3), TypeError),
        (lambda: _core.worker_ticks(3), TypeError),
        (lambda: _core.task_bars(3), TypeError),
    ):
        with pytest.raises(error):
            call()


# ---- pairs, stretches, sums ----


def test_pairs():
    source = np.random.default_rng(5)
    x = source.uniform(0, 100, 3000)
    y = 3 + 0.5 * x + source.normal(0, 5, 3000)
    skip = np.where(np.arange(3000) % 10 == 0, 0, -1).astype(np.int32)
    kept = skip < 0
    few = binning.pairs(x, y, skip=skip)
    np.testing.assert_array_equal(few.x, x[kept])
    np.testing.assert_array_equal(few.y, y[kept])
    slope, intercept = np.polyfit(x[kept], y[kept], 1)
    assert few.slope == pytest.approx(slope)
    assert few.intercept == pytest.approx(intercept)
    assert few.r == pytest.approx(np.corrcoef(x[kept], y[kept])[0, 1])
    many = binning.pairs(x, y, skip=skip, limit=100, bins=(9, 7))
    cells, rows, columns = np.histogram2d(y[kept], x[kept], (7, 9))
    np.testing.assert_array_equal(many.counts, cells)
    np.testing.assert_allclose(many.x_edges, columns)
    np.testing.assert_allclose(many.y_edges, rows)
    assert few.counts is None
    assert binning.pairs([1.0], [None]) is None
    one = binning.pairs([1.0], [2.0])
    assert (one.n, one.slope, one.r) == (1, None, None)


def test_ranges():
    source = np.random.default_rng(6)
    values, order = source.normal(0, 1, 1000), source.permutation(1000).astype(float)
    found = binning.ranges(values, 50, order=order)
    parts = values[np.argsort(order)].reshape(50, 20)
    np.testing.assert_allclose(found.means, parts.mean(1))
    np.testing.assert_allclose(found.lows, parts.min(1))
    np.testing.assert_allclose(found.highs, parts.max(1))
    few = binning.ranges([3.0, None, 1.0], 100, order=[2, 1, None])
    np.testing.assert_array_equal(few.means, [np.nan, 3.0, 1.0])
    assert (few.mean, few.max) == (2.0, 3.0)
    assert binning.ranges([None], 3) is None


def test_sums():
    source = np.random.default_rng(7)
    codes, values = source.integers(-1, 4, 500).astype(np.int32), source.uniform(0, 1, 500)
    values[::7] = np.nan
    expected = [np.nansum(values[codes == code]) for code in range(4)]
    np.testing.assert_allclose(binning.group_sums(codes, values, 4), expected)
    np.testing.assert_array_equal(binning.group_sums(np.array([0, 1]), [1.0, None], 3), [1, np.nan, np.nan])


def test_top():
    random = np.random.default_rng(3)
    codes = random.integers(-1, 30, 5000).astype(np.int32)
    a, b = random.random(5000), random.random(5000)
    a[random.random(5000) < 0.3] = math.nan
    found = binning.top(codes, 30, {"a": a, "b": b}, {"most": b}, limit=12)
    sums = np.array([np.nansum(a[codes == code]) for code in range(30)])
    order = np.argsort(-sums, kind="stable")
    assert found.codes.tolist() == [*order[:12], -1] and found.rest == 18
    rest = np.isin(codes, order[12:])
    for place, mask in enumerate([*(codes == code for code in order[:12]), rest]):
        total, other = np.nansum(a[mask]), b[mask].sum()
        assert [found.figure(key)[place] for key in ("rows", "a", "b", "most", ("a", "b"))] == pytest.approx(
            [mask.sum(), total, other, b[mask].max(), total / other])


def test_top_of_little():
    assert binning.top(np.zeros(0, int), 0, {"a": []}).rest == 0
    found = binning.top(np.array([0, 1, 1]), 3, {"a": [None, 3.0, None], "b": [1, 0, 0]})
    assert found.codes.tolist() == [1, 0] and math.isnan(found.figure("a")[1])
    assert np.isnan(found.figure(("a", "b"))).all()  # nothing is divided by nothing
    by_second = binning.top(np.array([0, 1]), 2, {"a": [1.0, 2.0], "b": [5.0, 4.0]}, order="b", limit=1)
    assert by_second.codes.tolist() == [0, -1] and by_second.figure("a").tolist() == [1.0, 2.0]


def test_outliers():
    random = np.random.default_rng(4)
    x = random.uniform(10, 100, 3000)
    y = 2 + 0.5 * x + random.normal(0, 1, 3000)
    far = random.choice(3000, 30, replace=False)
    y[far] += random.uniform(50, 90, 30)
    skip = np.full(3000, -1, dtype=np.int32)
    skip[far[:3]] = 1
    found = binning.outliers(x, y, 2.0, 0.5, skip, 10)
    distance = y - (2 + 0.5 * x)
    left = far[3:]
    assert found.n == 27
    assert found.points.tolist() == left[np.argsort(-distance[left])][:10].tolist()
    np.testing.assert_allclose(found.expected, 2 + 0.5 * x[found.points])


def test_an_outlier_is_a_fifth_above_the_line():
    x = np.arange(200.0)
    y = 1 + 2 * x + (x % 5 - 2) * 0.1
    y[[50, 70, 80, 150]] += [60, 300, -300, 5]
    x[3] = np.nan
    found = binning.outliers(x, y, 1, 2)
    assert found.points.tolist() == [70, 50] and found.expected[0] == 141


def test_tasks():
    expected = {
        "Proc": {"thread-cpu": 3.0, "thread-noncpu": 1.0, "memory-read": 1e6, "disk-read": 2e6, "compress": 0.1,
                 "decompress": 0.2},
        "merge": {"thread-cpu": 0.5, "serialize": 0.3, "deserialize": 0.4},
    }
    assert extract_per_task_metrics(SPANS) == expected
    assert extract_per_task_metrics({"cumulative_worker_metrics": SPANS}) == expected
    outside = {("get-data", "compress", "seconds"): 1.5, ("get-data", "compress", "count"): 9.0,
              ("gather-dep", "A", "decompress", "seconds"): 2.0, ("gather-dep", "B", "decompress", "seconds"): 0.25}
    everywhere = _tasks_of({**SPANS, **outside}, outside=True)
    assert everywhere == {**expected, "gather-dep": {"network": 7.0, "decompress": 2.25},
                          "get-data": {"compress": 1.5}}
    assert extract_per_task_metrics({**SPANS, **outside}) == expected
    assert extract_per_task_metrics({}) == extract_per_task_metrics(None) == {}


# ---- over time ----


def spread(starts, ends, amounts, edges):
    rates = np.zeros(len(edges) - 1)
    for start, end, amount in zip(starts, ends, amounts):
        for i, (low, high) in enumerate(zip(edges, edges[1:])):
            rates[i] += amount * max(0.0, min(end, high) - max(start, low)) / (end - start) / (high - low)
    return rates


def test_throughput():
    listed = chunks(40)
    table = Run(chunks=listed).chunks
    starts, ends = table.column("t_start"), table.column("t_end")
    amounts = table.column("bytes_read")
    info = build_chunk_info(listed)
    for intervals in (intervals_of(info), (starts, ends, amounts)):
        found = binning.throughput(*intervals, 25)
        assert found.start == starts.min()
        edges = np.linspace(0, ends.max() - starts.min(), 26)
        np.testing.assert_allclose(found.edges, edges, rtol=1e-9)
        np.testing.assert_allclose(
            found.rates, spread(starts - starts.min(), ends - starts.min(), amounts, edges), rtol=1e-6)
        np.testing.assert_allclose(
            found.running, spread(starts - starts.min(), ends - starts.min(), ends - starts, edges), rtol=1e-6)
        total = np.sum(found.rates) * edges[1]
        assert total == pytest.approx(amounts.sum())


def test_throughput_of_what_is_there():
    assert binning.throughput([], [], [], 5) is None
    assert binning.throughput(*intervals_of({("f", 0, 1): (1.0, 2.0, None)}), 5) is None
    moment = binning.throughput([5.0], [5.0], [8], 2)
    assert moment.rates.tolist() == [16.0, 0.0] and moment.running.tolist() == [0, 0]
    back = binning.throughput([5.0, 1.0], [4.0, 2.0], [8, 0], 4)  # ends before it begins: one moment
    assert back.rates.tolist() == [0, 0, 0, 8.0] and back.running.tolist() == [1, 0, 0, 0]


def test_gantt_bars():
    owners, lanes = np.array([2, 0, 2, 2]), np.array([5, 1, 7, 5])
    starts, ends = np.array([10.0, 12, 11, 14]), np.array([13.0, 15, 12, 16])
    found = binning.gantt(owners, lanes, starts, ends, 100, 10, 9)
    assert found.start == 10.0
    assert found.owners.tolist() == [2, 0]
    assert found.first_row.tolist() == [0, 2, 3]
    assert found.row.tolist() == [0, 2, 1, 0]
    assert found.left.tolist() == [0, 2, 1, 4]
    assert found.width.tolist() == [3, 3, 1, 2]
    nothing = np.array([], dtype=int)
    assert binning.gantt(nothing, nothing, nothing, nothing, 100, 10, 9) is None


def test_gantt_shades():
    source = np.random.default_rng(8)
    n, owners = 400, 12
    owner = source.integers(0, owners, n).astype(np.int32)
    starts = source.uniform(0, 90, n)
    ends = starts + source.uniform(0.1, 10, n)
    found = binning.gantt(owner, owner, starts, ends, limit=100, rows=4, bins=9)
    edges = np.linspace(0, ends.max() - starts.min(), 10)
    order = list(found.owners)
    assert order == sorted(range(owners), key=lambda w: starts[owner == w].min())
    busy = found.busy
    for row in range(4):
        of_row = np.isin(owner, order[row * 3:row * 3 + 3])
        begin = starts[of_row] - starts.min()
        expected = spread(begin, begin + (ends - starts)[of_row], (ends - starts)[of_row], edges) / 3
        np.testing.assert_allclose(busy[row], expected, rtol=1e-9)


def test_intervals_outside_and_numbers_that_are_none():
    starts, ends = np.array([-5.0, 8.0, np.nan, 1.0, 2.0]), np.array([-4.0, 80.0, 3.0, np.inf, 1.0])
    rates = binning.spread(starts, ends, np.array([1.0, 72.0, 5.0, 5.0, 3.0]), np.linspace(0, 10, 11))[0]
    # before the first bin, beyond the last one, not there, and one that ends before it starts: a moment
    np.testing.assert_allclose(rates, [1, 0, 3, 0, 0, 0, 0, 0, 1, 71])
    row = np.array([0, 5, -1, 1, 1])
    rates = binning.spread(np.zeros(5), np.ones(5), np.ones(5), np.linspace(0, 2, 3), row, 2)
    np.testing.assert_allclose(rates, [[1, 0], [2, 0]])


# ---- memory ----


def use_all():
    run = Run(series=tracking(3, 20), chunks=chunks(5))
    _core.worker_ticks(run)
    _core.task_bars(run)
    one, many = np.array([1.0]), np.array([0])
    _core.spread(one, one, one, many, 2, 0.0, 3.0, 4)
    for call in (lambda: _core.worker_ticks(3), lambda: _core.task_bars(3), lambda: _core.spread(one, one, 3, None, 1, 0.0, 1.0, 4),
                 lambda: _core.spread(one, one, many, None, 1, 0.0, 1.0, 4),
                 lambda: _core.spread(one, one, one, one, 1, 0.0, 1.0, 4),
                 lambda: _core.spread(one, np.ones(2), one, None, 1, 0.0, 1.0, 4),
                 lambda: _core.spread(one, one, one, None, 1, 1.0, 1.0, 4)):
        with pytest.raises((TypeError, ValueError)):
            call()


def test_no_leak():
    assert_nothing_is_kept(use_all, 40)


def test_memory_that_runs_short():
    """The call either succeeds or says MemoryError, wherever the engine's memory ends."""
    run = Run(chunks=chunks(5))
    failed = 0
    for after in range(1000):
        _core._fail_allocations(after)
        try:
            _core.task_bars(run)
        except MemoryError:
            failed += 1
        else:
            break
        finally:
            _core._fail_allocations(None)
    assert 3 < failed < 1000
