"""The numbers behind the plots, against numpy."""

from __future__ import annotations

import array

import numpy as np
import pytest
from leaks import assert_nothing_is_kept
from plot_samples import S0, SPANS, chunks, tracking

from roastcoffea import _core
from roastcoffea._core import Run, WorkerSeries


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
    found = _core.plot_timeline(data, measure, lines=3)
    assert found["start"] == S0
    assert found["n_workers"] == 7
    np.testing.assert_allclose(found["time"], np.arange(20) * 2.0)
    np.testing.assert_allclose(found["workers"], 7)
    for name, expected in (
        ("sum", values.sum(0)), ("mean", values.mean(0)), ("min", values.min(0)), ("max", values.max(0)),
        ("p10", np.percentile(values, 10, axis=0)), ("p50", np.median(values, axis=0)),
        ("p90", np.percentile(values, 90, axis=0)),
    ):
        np.testing.assert_allclose(found[name], expected, rtol=1e-12, err_msg=name)
    names = list(data["worker_memory"])
    order = sorted(range(7), key=lambda w: (-values[w].max(), -values[w].mean(), w))
    assert [line[0] for line in found["lines"]] == [names[w] for w in order[:3]]
    for (_, times, line, mean, peak), w in zip(found["lines"], order):
        np.testing.assert_allclose(times, np.arange(20) * 2.0)
        np.testing.assert_allclose(line, values[w])
        assert (mean, peak) == (pytest.approx(values[w].mean()), values[w].max())


def test_long_timelines_have_few_points():
    data = tracking(workers=4, ticks=3000)
    values = column(data, "active_tasks")
    found = _core.plot_timeline(data, "active_tasks", points=50, lines=2, line_points=60)
    assert {len(found[row]) for row in ("time", "sum", "mean", "min", "max")} == {50}
    edges = np.linspace(0, 2999 * 2, 51)
    bins = np.minimum(np.searchsorted(edges, np.arange(3000) * 2.0, side="right") - 1, 49)
    for point in (0, 7, 49):
        inside = values[:, bins == point]
        assert found["mean"][point] == pytest.approx(inside.mean(1).mean())
        assert found["max"][point] == inside.max()
    for _, times, line, _, _ in found["lines"]:
        assert len(times) <= 60
        assert max(line) == 8 and min(line) == 0
    smooth = _core.plot_timeline(data, "active_tasks", lines=1, line_points=100, means=True)["lines"][0]
    worker = list(data["worker_active_tasks"]).index(smooth[0])
    np.testing.assert_allclose(smooth[2], values[worker].reshape(100, 30).mean(1))


def test_series_and_dict_agree():
    data = tracking(5, 30)
    series = WorkerSeries.from_tracking_data(data)
    for measure in ("cpu_share", "occupancy"):
        one, other = (_core.plot_timeline(source, measure, lines=5) for source in (data, series))
        assert one.keys() == other.keys()
        np.testing.assert_array_equal(one["mean"], other["mean"])
        assert [line[0] for line in one["lines"]] == [line[0] for line in other["lines"]]


def test_timeline_of_nothing():
    assert _core.plot_timeline({}, "memory") is None
    assert _core.plot_timeline(None, "memory") is None
    without_limit = {"worker_memory": tracking()["worker_memory"]}
    assert _core.plot_timeline(without_limit, "memory_share") is None
    assert _core.plot_worker_counts({}) is None
    with pytest.raises(ValueError, match="nonsense"):
        _core.plot_timeline({}, "nonsense")
    with pytest.raises(ValueError, match="points"):
        _core.plot_timeline({}, "memory", points=1)
    with pytest.raises(ValueError, match="points"):
        _core.plot_worker_counts({}, points=1)
    with pytest.raises((TypeError, AttributeError)):
        _core.plot_timeline(3, "memory")


def test_worker_counts():
    data = {"worker_counts": {time: n for n, time in enumerate(tracking(1, 2000)["worker_counts"])}}
    found = _core.plot_worker_counts(data, points=100)
    assert found["start"] == S0
    assert len(found["time"]) <= 100
    assert (found["workers"][0], found["workers"][-1], found["time"][-1]) == (0, 1999, 1999 * 2)
    few = _core.plot_worker_counts({"worker_counts": dict(list(data["worker_counts"].items())[:5])})
    np.testing.assert_array_equal(few["workers"], [0, 1, 2, 3, 4])


# ---- distributions ----


@pytest.mark.parametrize("bins", [1, 7, 30, 1000])
def test_histogram(bins):
    values = np.random.default_rng(3).gamma(2, 3, 5000)
    found = _core.plot_histogram(values, bins)
    counts, edges = np.histogram(values, bins)
    np.testing.assert_array_equal(found["counts"], counts)
    np.testing.assert_allclose(found["edges"], edges, rtol=1e-12)
    assert found["n"] == 5000
    assert found["mean"] == pytest.approx(values.mean())
    assert found["median"] == pytest.approx(np.median(values))
    assert found["p95"] == pytest.approx(np.percentile(values, 95))
    assert (found["min"], found["max"]) == (values.min(), values.max())


def test_histogram_of_what_is_there():
    values = np.array([1.0, np.nan, 5.0, 2.0, np.inf])
    found = _core.plot_histogram(values, 4, skip=np.array([-1, -1, 0, -1, -1], dtype=np.int32))
    np.testing.assert_array_equal(found["counts"], np.histogram([1.0, 2.0], 4)[0])
    assert _core.plot_histogram([3.0, 3.0], 2)["edges"].tolist() == [2.5, 3.0, 3.5]
    assert _core.plot_histogram([None, float("nan")], 3) is None
    assert _core.plot_histogram([], 3) is None


@pytest.mark.parametrize("values", [
    np.arange(6, dtype=np.int64), np.arange(6, dtype=np.int32), np.arange(6, dtype=np.float32),
    np.arange(12.0)[::2] / 2, array.array("d", range(6)), list(range(6)), tuple(range(6)), range(6),
    np.arange(6, dtype=np.uint8), np.arange(6, dtype=np.int16),
], ids=lambda values: f"{type(values).__name__}-{getattr(values, 'dtype', '')}")
def test_numbers_of_every_kind(values):
    assert _core.plot_histogram(values, 3)["counts"].tolist() == [2, 2, 2]


def test_wrong_arguments():
    for call, error in (
        (lambda: _core.plot_histogram([1], 0), ValueError),
        (lambda: _core.plot_histogram([1], 10**7), ValueError),
        (lambda: _core.plot_histogram("text", 3), TypeError),
        (lambda: _core.plot_histogram(7, 3), TypeError),
        (lambda: _core.plot_histogram(["x"], 3), TypeError),
        (lambda: _core.plot_histogram([1, 2], 3, skip=[0]), ValueError),
        (lambda: _core.plot_pairs([1], [1, 2]), ValueError),
        (lambda: _core.plot_pairs([1], [1], x_bins=10**6), ValueError),
        (lambda: _core.plot_ranges([1], 0), ValueError),
        (lambda: _core.plot_ranges([1], 1, order=[1, 2]), ValueError),
        (lambda: _core.plot_sums([1], [1, 2], 3), ValueError),
        (lambda: _core.plot_sums([1], [1], 2**31), ValueError),
        (lambda: _core.plot_throughput({1: 2}), ValueError),
        (lambda: _core.plot_throughput({1: (1, "x", 3)}), ValueError),
        (lambda: _core.plot_throughput(3), TypeError),
        (lambda: _core.plot_throughput(([1], [2])), TypeError),
        (lambda: _core.plot_throughput(([1], [2, 3], [4])), ValueError),
        (lambda: _core.plot_throughput({}, bins=0), ValueError),
        (lambda: _core.plot_gantt([0], [1], [2], 2**31), ValueError),
        (lambda: _core.plot_gantt([0], [1], [2, 3], 1), ValueError),
        (lambda: _core.plot_gantt([0], [1], [2], 1, rows=0), ValueError),
        (lambda: _core.plot_tasks(3), TypeError),
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
    few = _core.plot_pairs(x, y, skip=skip)
    np.testing.assert_array_equal(few["x"], x[kept])
    np.testing.assert_array_equal(few["y"], y[kept])
    slope, intercept = np.polyfit(x[kept], y[kept], 1)
    assert few["slope"] == pytest.approx(slope)
    assert few["intercept"] == pytest.approx(intercept)
    assert few["r"] == pytest.approx(np.corrcoef(x[kept], y[kept])[0, 1])
    many = _core.plot_pairs(x, y, skip=skip, limit=100, x_bins=9, y_bins=7)
    cells, rows, columns = np.histogram2d(y[kept], x[kept], (7, 9))
    np.testing.assert_array_equal(np.asarray(many["counts"]).reshape(7, 9), cells)
    np.testing.assert_allclose(many["x_edges"], columns)
    np.testing.assert_allclose(many["y_edges"], rows)
    assert "x" not in many
    assert _core.plot_pairs([1.0], [None]) is None
    one = _core.plot_pairs([1.0], [2.0])
    assert (one["n"], one["slope"], one["r"]) == (1, None, None)


def test_ranges():
    source = np.random.default_rng(6)
    values, order = source.normal(0, 1, 1000), source.permutation(1000).astype(float)
    found = _core.plot_ranges(values, 50, order=order)
    parts = values[np.argsort(order)].reshape(50, 20)
    np.testing.assert_allclose(found["means"], parts.mean(1))
    np.testing.assert_allclose(found["lows"], parts.min(1))
    np.testing.assert_allclose(found["highs"], parts.max(1))
    few = _core.plot_ranges([3.0, None, 1.0], 100, order=[2, 1, None])
    np.testing.assert_array_equal(few["means"], [np.nan, 3.0, 1.0])
    assert (few["n"], few["mean"]) == (2, 2.0)
    assert _core.plot_ranges([None], 3) is None


def test_sums():
    source = np.random.default_rng(7)
    codes, values = source.integers(-1, 5, 500).astype(np.int32), source.uniform(0, 1, 500)
    values[::7] = np.nan
    expected = [np.nansum(values[codes == code]) for code in range(4)]
    np.testing.assert_allclose(_core.plot_sums(codes, values, 4), expected)


def test_tasks():
    expected = {
        "Proc": {"thread-cpu": 3.0, "thread-noncpu": 1.0, "memory-read": 1e6, "disk-read": 2e6, "compress": 0.1,
                 "decompress": 0.2},
        "merge": {"thread-cpu": 0.5, "serialize": 0.3, "deserialize": 0.4},
    }
    assert _core.plot_tasks(SPANS) == expected
    assert _core.plot_tasks({"cumulative_worker_metrics": SPANS}) == expected
    beside = {("get-data", "compress", "seconds"): 1.5, ("get-data", "compress", "count"): 9.0,
              ("gather-dep", "A", "decompress", "seconds"): 2.0, ("gather-dep", "B", "decompress", "seconds"): 0.25}
    everywhere = _core.plot_tasks({**SPANS, **beside}, beside=True)
    assert everywhere == {**expected, "gather-dep": {"network": 7.0, "decompress": 2.25},
                          "get-data": {"compress": 1.5}}
    assert _core.plot_tasks({**SPANS, **beside}) == expected
    assert _core.plot_tasks({}) == _core.plot_tasks(None) == {}


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
    info = _core.chunk_info(listed)
    for intervals in (info, (starts, ends, amounts)):
        found = _core.plot_throughput(intervals, 25)
        assert found["n"] == 40
        assert found["start"] == starts.min()
        edges = np.linspace(0, ends.max() - starts.min(), 26)
        np.testing.assert_allclose(found["edges"], edges, rtol=1e-9)
        np.testing.assert_allclose(
            found["rates"], spread(starts - starts.min(), ends - starts.min(), amounts, edges), rtol=1e-6)
        np.testing.assert_allclose(
            found["running"], spread(starts - starts.min(), ends - starts.min(), ends - starts, edges), rtol=1e-6)
        total = np.sum(found["rates"]) * edges[1]
        assert total == pytest.approx(amounts.sum())


def test_throughput_of_what_is_there():
    assert _core.plot_throughput({}) is None
    assert _core.plot_throughput({("f", 0, 1): (1.0, 2.0, None)}) is None
    moment = _core.plot_throughput({("f", 0, 1): (5.0, 5.0, 8)}, 2)
    assert moment["rates"].tolist() == [16.0, 0.0]


def test_gantt_bars():
    owners = np.array([2, 0, 2, 2, -1, 0], dtype=np.int32)
    starts, ends = np.array([10.0, 12, 11, 14, 0, np.nan]), np.array([13.0, 15, 12, 16, 1, 3])
    found = _core.plot_gantt(owners, starts, ends, 3)
    assert found["start"] == 0.0
    assert found["owners"].tolist() == [2, 0]
    assert found["first_row"].tolist() == [0, 2, 3]
    assert found["chunk"].tolist() == [0, 1, 2, 3]
    assert found["row"].tolist() == [0, 2, 1, 0]
    assert found["left"].tolist() == [10, 12, 11, 14]
    assert found["width"].tolist() == [3, 3, 1, 2]
    assert _core.plot_gantt([-1], [1], [2], 1) is None
    assert _core.plot_gantt([], [], [], 0) is None


def test_gantt_shades():
    source = np.random.default_rng(8)
    n, owners = 400, 12
    owner = source.integers(0, owners, n).astype(np.int32)
    starts = source.uniform(0, 90, n)
    ends = starts + source.uniform(0.1, 10, n)
    found = _core.plot_gantt(owner, starts, ends, owners, limit=100, rows=4, bins=9)
    edges = np.linspace(0, ends.max() - starts.min(), 10)
    order = list(found["owners"])
    assert order == sorted(range(owners), key=lambda w: starts[owner == w].min())
    busy = np.asarray(found["busy"]).reshape(4, 9)
    for row in range(4):
        of_row = np.isin(owner, order[row * 3:row * 3 + 3])
        begin = starts[of_row] - starts.min()
        expected = spread(begin, begin + (ends - starts)[of_row], (ends - starts)[of_row], edges) / 3
        np.testing.assert_allclose(busy[row], expected, rtol=1e-9)


# ---- memory ----


def use_all():
    data, listed = tracking(3, 20), chunks(8)
    _core.plot_timeline(data, "cpu_share", lines=2)
    _core.plot_timeline(data, "memory", points=5, lines=3, line_points=5, means=True)
    _core.plot_timeline({}, "cpu")
    _core.plot_worker_counts(data)
    _core.plot_throughput(_core.chunk_info(listed))
    _core.plot_throughput(([1.0], [2.0], [3.0]))
    _core.plot_gantt([0, 1, 0], [1, 2, 3], [2, 3, 4], 2)
    _core.plot_gantt([0, 1, 0], [1, 2, 3], [2, 3, 4], 2, limit=1)
    _core.plot_histogram([1.0, 2.0], 3, skip=[-1, 0])
    _core.plot_pairs([1, 2, 3], [4, 5, 6])
    _core.plot_pairs([1, 2, 3], [4, 5, 6], limit=0)
    _core.plot_ranges([1, 2, 3], 2, order=[3, 2, 1])
    _core.plot_sums([0, 1], [2, 3], 2)
    _core.plot_tasks(SPANS)
    test_wrong_arguments()


def test_no_leak():
    assert_nothing_is_kept(use_all, 40)


def test_memory_that_runs_short():
    """Every call either succeeds or says MemoryError, wherever the engine's memory ends."""
    data, info = tracking(2, 10), _core.chunk_info(chunks(4))
    calls = [
        lambda: _core.plot_timeline(data, "cpu_share", points=5, lines=2, line_points=5, means=True),
        lambda: _core.plot_worker_counts(data),
        lambda: _core.plot_throughput(info),
        lambda: _core.plot_gantt([0, 1, 0], [1, 2, 3], [2, 3, 4], 2),
        lambda: _core.plot_gantt([0, 1, 0], [1, 2, 3], [2, 3, 4], 2, limit=1),
        lambda: _core.plot_histogram([1.0, 2.0], 3, skip=[-1, 0]),
        lambda: _core.plot_pairs([1, 2, 3], [4, 5, 6], limit=0),
        lambda: _core.plot_ranges([1, 2, 3], 2, order=[3, 2, 1]),
        lambda: _core.plot_sums([0, 1], [2, 3], 2),
        lambda: _core.plot_tasks(SPANS),
    ]
    for call in calls:
        failed = 0
        for after in range(1000):
            _core._fail_allocations(after)
            try:
                call()
            except MemoryError:
                failed += 1
            else:
                break
            finally:
                _core._fail_allocations(None)
        else:
            pytest.fail("it never succeeded")
        assert failed > 0
