"""The plots: what is drawn, against numpy; what they say when there is nothing to draw; no figure is kept."""

from __future__ import annotations

import gc
import inspect
import subprocess
import sys
import textwrap
import warnings
import weakref

import numpy as np
import pytest
from plot_samples import METRICS, S0, SPANS, T0, chunks, tracking

pytest.importorskip("matplotlib")

import coffea_metrics
import roastcoffea
from roastcoffea import _core
from roastcoffea._core import Attempts, ChunkLog, Run, WorkerSeries
from roastcoffea.aggregation.tracking import TrackingData
from roastcoffea.visualization.drawing import short_names, shorten
from roastcoffea.visualization import plots
from roastcoffea.aggregation.chunk import build_chunk_info

# name, what it takes first, default title
CONTRACT = """
plot_worker_count_timeline | tracking_data | Worker Count Over Time
plot_memory_utilization_mean_timeline | tracking_data | Memory Utilization Over Time
plot_memory_utilization_per_worker_timeline | tracking_data | Memory Utilization Per Worker Over Time
plot_cpu_utilization_mean_timeline | tracking_data | CPU Utilization Over Time
plot_cpu_utilization_per_worker_timeline | tracking_data | CPU Utilization Per Worker Over Time
plot_occupancy_timeline | tracking_data | Worker Occupancy Over Time
plot_executing_tasks_timeline | tracking_data | Executing Tasks Per Worker Over Time
plot_worker_activity_timeline | tracking_data | Worker Activity Over Time
plot_total_active_tasks_timeline | tracking_data | Total Active Tasks Over Time
plot_runtime_distribution | chunk_metrics | Chunk Runtime Distribution
plot_runtime_vs_events | chunk_metrics | Chunk Runtime vs Number of Events
plot_branch_access_per_chunk | chunk_metrics | Branches Accessed Per Chunk
plot_bytes_accessed_per_chunk | chunk_metrics | Bytes Accessed Per Chunk (Compressed vs Uncompressed)
plot_throughput_timeline | chunk_info | Data Throughput Over Time
plot_compression_ratio_distribution | metrics | Compression Ratio Distribution Across Files
plot_data_access_percentage | metrics | Bytes Read Percentage Distribution
plot_efficiency_summary | metrics | Efficiency Metrics Summary
plot_resource_utilization | metrics | Resource Utilization Summary
plot_per_task_cpu_io | span_metrics | CPU vs I/O Time per Task
plot_per_task_bytes_read | span_metrics | Bytes Read per Task
plot_per_task_overhead | span_metrics | Compression & Serialization Overhead per Task
plot_core_second_budget | budget | Core-Second Budget
plot_chunk_gantt | chunk_metrics | Tasks Per Worker Over Time
plot_section_breakdown | metrics | Time per Section
plot_branch_reads | chunk_metrics | Bytes and Time per Branch
plot_peak_memory_per_chunk | chunk_metrics | Peak Memory Per Chunk
plot_throughput_and_workers_timeline | chunk_info | Throughput and Workers Over Time
"""
ROWS = [tuple(part.strip() for part in row.split("|")) for row in CONTRACT.strip().splitlines()]
TIMELINES = [name for name, first, _ in ROWS if first == "tracking_data"]
PER_WORKER = [name for name in TIMELINES if "max_legend_entries" in inspect.signature(getattr(plots, name)).parameters]
HOMES = {
    "chunks": ["plot_runtime_distribution", "plot_runtime_vs_events"],
    "cpu": ["plot_cpu_utilization_mean_timeline", "plot_occupancy_timeline", "plot_executing_tasks_timeline"],
    "io": ["plot_branch_access_per_chunk", "plot_data_access_percentage", "plot_compression_ratio_distribution"],
    "memory": ["plot_memory_utilization_mean_timeline", "plot_memory_utilization_per_worker_timeline"],
    "per_task": ["extract_per_task_metrics", "plot_per_task_cpu_io", "plot_per_task_overhead"],
    "scaling": ["plot_efficiency_summary", "plot_resource_utilization"],
    "throughput": ["plot_throughput_timeline", "plot_worker_activity_timeline"],
    "workers": ["plot_worker_count_timeline"],
}


def full_data(first):
    return {
        "tracking_data": tracking(), "chunk_metrics": chunks(), "chunk_info": build_chunk_info(chunks()),
        "metrics": METRICS, "budget": METRICS, "span_metrics": SPANS,
    }[first]


def values(measure, data):
    """{worker: array} of what a timeline shows."""
    def of(name):
        return {worker: np.array([value for _, value in points], dtype=float)
                for worker, points in data[f"worker_{name}"].items()}
    if measure == "memory_share":
        return {worker: of("memory")[worker] / of("memory_limit")[worker] * 100 for worker in of("memory")}
    if measure == "cpu_share":
        return {worker: of("cpu")[worker] / of("cores")[worker] for worker in of("cpu")}
    return of(measure)


def lines(axes):
    """{label: y} of the lines that have a name."""
    return {line.get_label(): np.asarray(line.get_ydata(), dtype=float) for line in axes.get_lines()
            if not str(line.get_label()).startswith("_")}


def legend_texts(axes):
    legend = axes.get_legend()
    return [text.get_text() for text in legend.get_texts()] if legend else []


def bars(axes):
    """(left, width, bottom, height) of each bar."""
    return [(*patch.get_xy()[:1], patch.get_width(), patch.get_y(), patch.get_height()) for patch in axes.patches
            if hasattr(patch, "get_height")]


# ---- the contract ----


@pytest.mark.parametrize(("name", "first", "title"), ROWS, ids=[row[0] for row in ROWS])
def test_names_arguments_titles(name, first, title, tmp_path):
    function = getattr(plots, name)
    parameters = inspect.signature(function).parameters
    assert next(iter(parameters)) == first
    assert parameters["output_path"].default is None
    assert parameters["title"].default == title
    assert len(parameters["figsize"].default) == 2
    path = tmp_path / "new folder" / "plot.png"
    figure, axes = function(full_data(first), output_path=path)
    shown = axes.get_title() or figure.get_suptitle()
    assert shown == title
    assert path.read_bytes().startswith(b"\x89PNG")
    assert figure is axes.get_figure()


@pytest.mark.parametrize(("name", "first"), [row[:2] for row in ROWS], ids=[row[0] for row in ROWS])
def test_own_size_and_title(name, first):
    figure, axes = getattr(plots, name)(full_data(first), figsize=(7, 5), title="Mine")
    assert tuple(figure.get_size_inches()) == (7, 5)
    assert (axes.get_title() or figure.get_suptitle()) == "Mine"


def test_every_name_at_every_place():
    names = {name for name, _, _ in ROWS} | {"plot_all", "plot_scaling"}
    assert names == {name for name in roastcoffea.__all__ if name.startswith("plot_")}
    for name in names:
        assert getattr(roastcoffea, name) is getattr(plots, name) is getattr(coffea_metrics, name)
        assert name in dir(roastcoffea)
    for module, found in HOMES.items():
        for name in found:
            home = __import__(f"roastcoffea.visualization.plots.{module}", fromlist=[name])
            assert getattr(home, name) is getattr(plots, name)
    with pytest.raises(AttributeError, match="plot_nothing"):
        roastcoffea.plot_nothing  # noqa: B018


EMPTY = {
    "tracking_data": [None, {}, {"worker_counts": {}, "worker_memory": {}}, WorkerSeries()],
    "chunk_metrics": [None, [], [{}], ChunkLog(), Run()],
    "chunk_info": [None, {}, [], {("f", 0, 1): (1.0, 2.0, None)}],
    "metrics": [None, {}, Run()],
    "budget": [None, {}, {"budget": None}, {"budget": {"parts": {}}}, Run()],
    "span_metrics": [None, {}, {("gather-dep", "network", "seconds"): 1.0}, Run()],
}


@pytest.mark.parametrize(("name", "first"), [row[:2] for row in ROWS], ids=[row[0] for row in ROWS])
def test_missing_data_says_what_to_switch_on(name, first):
    for empty in EMPTY[first]:
        with pytest.raises(ValueError) as caught:
            getattr(plots, name)(empty)
        text = str(caught.value)
        assert ":" in text and len(text) > 40, text


# ---- workers over time ----


def test_worker_count():
    data = {"worker_counts": {time: n for n, time in enumerate(tracking(1, 9)["worker_counts"], 3)}}
    _, axes = plots.plot_worker_count_timeline(data)
    (line,) = axes.get_lines()
    np.testing.assert_array_equal(line.get_ydata(), np.arange(3, 12))
    np.testing.assert_allclose(line.get_xdata(), np.arange(9) * 2.0)
    assert axes.get_xlabel() == "Time since start (s)"
    assert any("2026-03-01 12:00:00 UTC" in text.get_text() for text in axes.texts)


@pytest.mark.parametrize(("name", "measure"), [
    ("plot_memory_utilization_mean_timeline", "memory_share"),
    ("plot_cpu_utilization_mean_timeline", "cpu_share"),
])
def test_means(name, measure):
    data = tracking(workers=8, ticks=40)
    of_all = np.stack(list(values(measure, data).values()))
    _, axes = getattr(plots, name)(data)
    np.testing.assert_allclose(lines(axes)["Mean"], of_all.mean(0))
    lowest = min(path.vertices[:, 1].min() for band in axes.collections for path in band.get_paths())
    highest = max(path.vertices[:, 1].max() for band in axes.collections for path in band.get_paths())
    assert lowest == pytest.approx(of_all.min())
    assert highest == pytest.approx(of_all.max())
    assert axes.get_ylim()[0] == 0 and axes.get_ylim()[1] >= 100
    assert "%" in axes.get_ylabel()


def test_cpu_without_cores_is_of_one_core():
    data = tracking()
    del data["worker_cores"]
    _, axes = plots.plot_cpu_utilization_mean_timeline(data)
    np.testing.assert_allclose(lines(axes)["Mean"], np.stack(list(values("cpu", data).values())).mean(0))
    assert "one core" in axes.get_ylabel()


def test_total():
    data = tracking(workers=8, ticks=40)
    _, axes = plots.plot_total_active_tasks_timeline(data)
    (line,) = axes.get_lines()
    np.testing.assert_allclose(line.get_ydata(), np.stack(list(values("active_tasks", data).values())).sum(0))


@pytest.mark.parametrize(("name", "measure"), [
    ("plot_memory_utilization_per_worker_timeline", "memory_share"),
    ("plot_cpu_utilization_per_worker_timeline", "cpu_share"),
    ("plot_occupancy_timeline", "occupancy"),
    ("plot_executing_tasks_timeline", "executing"),
    ("plot_worker_activity_timeline", "active_tasks"),
])
def test_each_worker(name, measure):
    data = tracking(workers=4, ticks=30)
    expected = values(measure, data)
    _, axes = getattr(plots, name)(data)
    drawn = lines(axes)
    assert drawn.keys() == expected.keys()
    for worker in expected:
        np.testing.assert_allclose(drawn[worker], expected[worker])
    assert set(legend_texts(axes)) == set(expected)


@pytest.mark.parametrize("name", PER_WORKER)
@pytest.mark.parametrize(("workers", "entries"), [(12, 5), (12, 0), (60, 5), (60, 3)])
def test_few_workers_are_named(name, workers, entries):
    data = tracking(workers=workers, ticks=6)
    _, axes = getattr(plots, name)(data, max_legend_entries=entries)
    assert len(lines(axes)) == entries
    texts = legend_texts(axes)
    assert sum(text.startswith("tcp://") for text in texts) == entries
    more = f"{workers - entries}"
    assert any(more in text for text in texts)
    assert len(texts) <= entries + 3
    # all of them as lines where the eye can follow, otherwise as bands
    assert (len(axes.get_lines()) == workers) == (workers <= 40)
    assert bool(axes.collections) == (workers > 40)


def test_the_highest_are_named():
    data = tracking(workers=50, ticks=6)
    expected = values("memory_share", data)
    _, axes = plots.plot_memory_utilization_per_worker_timeline(data)
    highest = sorted(expected, key=lambda worker: -expected[worker].max())[:5]
    assert [text for text in legend_texts(axes) if text.startswith("tcp")] == highest


def test_many_samples_are_thinned():
    data = tracking(workers=3, ticks=5000)
    expected = values("memory_share", data)
    _, axes = plots.plot_memory_utilization_per_worker_timeline(data)
    for worker, line in lines(axes).items():
        assert len(line) <= 1000
        assert line.max() == pytest.approx(expected[worker].max(), rel=1e-12)
        assert line.min() == pytest.approx(expected[worker].min(), rel=1e-12)
    assert axes.get_xlabel() == "Time since start (h)"
    _, axes = plots.plot_memory_utilization_mean_timeline(data)
    assert len(lines(axes)["Mean"]) <= 1000


@pytest.mark.parametrize("name", TIMELINES)
def test_one_sample(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure, axes = getattr(plots, name)(tracking(workers=1, ticks=1))
        figure.canvas.draw()
    assert axes.get_lines()[0].get_marker() == "o"


@pytest.mark.parametrize("name", TIMELINES)
def test_series_without_python_objects(name):
    """A series, and tracking data that nobody has looked at, are drawn from the engine's own columns."""
    data = tracking()
    series = WorkerSeries.from_tracking_data(data)
    lazy = TrackingData(series)
    drawn = [getattr(plots, name)(source)[1] for source in (data, series, lazy, Run(series=series))]
    for axes in drawn[1:]:
        assert [line.get_ydata().tolist() for line in axes.get_lines()] == [
            line.get_ydata().tolist() for line in drawn[0].get_lines()]
    assert lazy.series is series, "somebody looked"


# ---- chunks ----


@pytest.mark.parametrize("as_what", [list, ChunkLog, iter, lambda found: Run(chunks=found),
                                     lambda found: Run(chunks=found).chunks],
                         ids=["list", "ChunkLog", "iterator", "Run", "Table"])
def test_runtimes(as_what):
    found = chunks(30)
    good = np.array([one["duration"] for one in found if "error" not in one])
    _, axes = plots.plot_runtime_distribution(as_what(found), bins=8)
    counts, edges = np.histogram(good, 8)
    np.testing.assert_array_equal([height for _, _, _, height in bars(axes)], counts)
    np.testing.assert_allclose([left for left, _, _, _ in bars(axes)], edges[:-1])
    marks = {line.get_label().split(":")[0]: line.get_xdata()[0] for line in axes.get_lines()}
    assert marks == {"Mean": pytest.approx(good.mean()), "Median": pytest.approx(np.median(good))}
    assert axes.get_xlabel() == "Runtime (s)"


def test_runtimes_in_their_unit():
    for seconds, unit in ((5e-5, "µs"), (0.02, "ms"), (1.0, "s"), (90, "s"), (600, "min"), (9000, "h")):
        _, axes = plots.plot_runtime_distribution([{"duration": seconds * k} for k in (0.5, 0.8, 1)])
        assert axes.get_xlabel() == f"Runtime ({unit})"


def test_a_rare_runtime_is_seen_beside_many():
    found = [{"duration": 1.0}] * 5000 + [{"duration": 60.0}]
    _, axes = plots.plot_runtime_distribution(found)
    assert axes.get_yscale() == "log"
    assert axes.get_ylim()[0] < 1


def test_runtime_vs_events():
    found = chunks(30)
    good = [one for one in found if "error" not in one]
    x = np.array([one["num_events"] for one in good])
    y = np.array([one["duration"] for one in good])
    _, axes = plots.plot_runtime_vs_events(found)
    (points,) = axes.collections
    np.testing.assert_allclose(points.get_offsets(), np.column_stack([x, y]))
    (trend,) = axes.get_lines()
    slope, intercept = np.polyfit(x, y, 1)
    np.testing.assert_allclose(trend.get_ydata(), intercept + slope * np.asarray(trend.get_xdata()))


def test_runtime_vs_events_of_many_is_counted():
    source = np.random.default_rng(1)
    x, y = source.integers(1, 1000, 6000), source.uniform(0.1, 0.9, 6000)
    log = ChunkLog([{"num_events": int(a), "duration": float(b)} for a, b in zip(x, y)])
    figure, axes = plots.plot_runtime_vs_events(log)
    (mesh,) = axes.collections
    expected = np.histogram2d(np.asarray(Run(chunks=log).chunks.column("duration")), x, (60, 80))[0]
    np.testing.assert_array_equal(np.asarray(mesh.get_array()).reshape(60, 80), expected)
    assert len(figure.axes) == 2, "a colour bar"


def test_runtime_vs_events_of_one():
    _, axes = plots.plot_runtime_vs_events([{"num_events": 5, "duration": 1.0}])
    assert not axes.get_lines()


@pytest.mark.parametrize(("name", "key"), [
    ("plot_branch_access_per_chunk", lambda one: len(one["accessed_branches"])),
    ("plot_peak_memory_per_chunk", lambda one: one["mem_peak_mb"]),
])
def test_a_bar_a_chunk(name, key):
    found = chunks(20)
    expected = [key(one) for one in found]
    _, axes = getattr(plots, name)(found[::-1])
    np.testing.assert_allclose([height for _, _, _, height in bars(axes)], expected, rtol=1e-6)
    (mean,) = axes.get_lines()
    assert mean.get_ydata()[0] == pytest.approx(np.mean(expected))
    _, axes = getattr(plots, name)(chunks(4000))
    expected = np.array([key(one) for one in chunks(4000)]).reshape(400, 10)
    np.testing.assert_allclose(lines(axes)["Mean of these"], expected.mean(1) / unit_of(axes), rtol=1e-6)


def test_numbers_of_branches_without_their_names():
    _, axes = plots.plot_branch_access_per_chunk([{"num_branches_accessed": 3}, {"num_branches_accessed": 5}])
    assert [height for _, _, _, height in bars(axes)] == [3, 5]


@pytest.mark.parametrize("name,message", [
    ("plot_branch_access_per_chunk", "No chunk metrics data available"),
    ("plot_bytes_accessed_per_chunk", "No chunk metrics data available"),
    ("plot_runtime_distribution", "No chunk metrics available"),
    ("plot_runtime_vs_events", "No chunk metrics available"),
])
def test_words_for_no_chunks(name, message):
    """The words of 0.1.x."""
    for nothing in ([], None):
        with pytest.raises(ValueError, match=message):
            getattr(plots, name)(nothing)


def unit_of(axes):
    return 1000 if "(GB)" in axes.get_ylabel() else 1


def test_bytes_accessed():
    found = chunks(10)
    _, axes = plots.plot_bytes_accessed_per_chunk(found)
    assert axes.get_ylabel() == "Bytes (B)"
    heights = np.array([height for _, _, _, height in bars(axes)]).reshape(2, 10)
    np.testing.assert_allclose(heights, [[150 + i for i in range(10)], [800] * 10], err_msg="the chunk's own")
    _, axes = plots.plot_bytes_accessed_per_chunk(Run(chunks=found))
    np.testing.assert_allclose([height for _, _, _, height in bars(axes)], heights.ravel())
    for one in found:
        del one["reads"]
    _, axes = plots.plot_bytes_accessed_per_chunk(found)
    assert axes.get_ylabel().startswith("Bytes of the whole branches")
    heights = np.array([height for _, _, _, height in bars(axes)]).reshape(2, 10)
    scale = {"kB": 1e3, "MB": 1e6}[axes.get_ylabel()[-3:-1]]
    np.testing.assert_allclose(heights[0] * scale, [one["accessed_bytes"] for one in found])
    np.testing.assert_allclose(heights[1] * scale, [one["accessed_uncompressed_bytes"] for one in found])
    for one in found:
        del one["accessed_uncompressed_bytes"]
    _, axes = plots.plot_bytes_accessed_per_chunk(found)
    assert len(bars(axes)) == 10, "what was not measured is not drawn"
    _, axes = plots.plot_bytes_accessed_per_chunk(chunks(1000))
    assert [len(line) for line in lines(axes).values()] == [100, 100]


def test_gantt_bars():
    found = chunks(20)
    figure, axes = plots.plot_chunk_gantt(found)
    (collection,) = axes.collections[:1]
    corners = np.array([path.vertices[:4] for path in collection.get_paths()])
    np.testing.assert_allclose(corners[:, 0, 0], [one["t_start"] - S0 for one in found], atol=1e-6)
    np.testing.assert_allclose(corners[:, 1, 0] - corners[:, 0, 0], [one["duration"] for one in found], rtol=1e-5)
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names == ["tcp://10.0.0.0:4000", "tcp://10.0.0.1:4000", "tcp://10.0.0.2:4000"]
    rows = corners[:, 0, 1].astype(int)
    for row in set(rows):
        spans = sorted((one["t_start"], one["t_start"] + one["duration"]) for one, r in zip(found, rows) if r == row)
        assert all(end <= start + 1e-6 for (_, end), (start, _) in zip(spans, spans[1:])), "none hides another"
    assert any(text.startswith("failed (1)") for text in legend_texts(axes))
    assert len({tuple(color) for color in collection.get_facecolor()}) == 4
    figure.canvas.draw()


def test_gantt_of_a_run():
    """All tasks, those of chunks with the parts before and after process()."""
    attempts = Attempts()
    for i in range(3):
        attempts.add(f"P-{i}", kind="processing", name="P", worker=f"w{i}", start=S0 + i, stop=S0 + i + 4, thread=i + 1)
    attempts.add("merge-0", kind="reduction", name="merge", worker="w0", start=S0 + 8, stop=S0 + 9, thread=1)
    found = [{"t_start": S0 + i + 2, "duration": 1.0, "before_process_s": 2.0, "worker": f"w{i}", "dataset": "d",
              "task_key": f"P-{i}", "thread": i + 1} for i in range(3)]
    run = Run(chunks=found, attempts=attempts, t_start=S0 - 5, t_end=S0 + 20)
    for given, offset, n in ((run, 5, 4), (found, 0, 3), (run.chunks, 0, 3)):
        _, axes = plots.plot_chunk_gantt(given)
        whole, inside = (np.array([path.vertices[:4] for path in drawn.get_paths()]) for drawn in axes.collections[:2])
        assert len(whole) == n and len(inside) == 3
        np.testing.assert_allclose(inside[:, 0, 0], [2 + offset, 3 + offset, 4 + offset], atol=1e-5)
        np.testing.assert_allclose(np.ptp(inside[:, :, 0], axis=1), 1, atol=1e-5)
        np.testing.assert_allclose(sorted(whole[:, 0, 0])[:3], [offset, 1 + offset, 2 + offset], atol=1e-5)
        assert axes.get_ylim()[0] == 3, "one row a thread"
    assert len({round(float(np.ptp(bar[:, 0])), 3) for bar in whole}) == 1
    graph = Run(attempts=attempts, t_start=S0, t_end=S0 + 20)
    _, axes = plots.plot_chunk_gantt(graph)
    assert {text.split(" (")[0] for text in legend_texts(axes)} == {"P", "merge"}


# ---- the zero of time ----


def starts_of(path_or_axes):
    (text,) = (text.get_text() for text in path_or_axes.texts if text.get_text().startswith("start: "))
    return text


def time_plots(tracked, chunk_data, info):
    for name in TIMELINES:
        yield getattr(plots, name)(tracked)[1]
    yield plots.plot_throughput_timeline(info, tracked)[1]
    yield plots.plot_throughput_and_workers_timeline(info, tracked)[0].axes[1]
    if chunk_data is not None:
        yield plots.plot_chunk_gantt(chunk_data)[1]


def test_all_plots_of_a_run_have_one_zero():
    run = Run(chunks=chunks(), series=tracking(), t_start=S0 - 30, t_end=S0 + 30)
    data = TrackingData(run.series, run_start=run.t_start)
    for tracked, info in ((run, run), (data, run), (data, build_chunk_info(chunks()))):
        for axes in time_plots(tracked, run, info):
            assert starts_of(axes).endswith("11:59:30 UTC")
            assert axes.get_xlim()[0] <= 0 and axes.get_xlim()[1] > 30
    # A clock that does not count from 1970 is not the start.
    odd = Run(chunks=chunks(), series=tracking(), t_start=5.0, t_end=9.0)
    assert starts_of(plots.plot_worker_count_timeline(odd)[1]).endswith("12:00:00 UTC")


def test_plain_data_begin_with_their_first_moment():
    late = [{**one, "t_start": one["t_start"] + 4} for one in chunks()]
    assert starts_of(plots.plot_worker_count_timeline(tracking())[1]).endswith("12:00:00 UTC")
    assert starts_of(plots.plot_chunk_gantt(late)[1]).endswith("12:00:04 UTC")
    assert starts_of(plots.plot_throughput_timeline(build_chunk_info(late))[1]).endswith("12:00:04 UTC")
    assert starts_of(plots.plot_throughput_timeline(build_chunk_info(late), tracking())[1]).endswith("12:00:00 UTC")


def test_all_plots_of_plain_metrics_have_one_zero(tmp_path, monkeypatch):
    from roastcoffea.visualization import _axes

    zeros = set()
    original = _axes.note
    monkeypatch.setattr(_axes, "note", lambda axes, text, *rest, **more: (
        zeros.add(text) if text.startswith("start") else None, original(axes, text, *rest, **more)))
    late = [{**one, "t_start": one["t_start"] + 4} for one in chunks()]
    made = plots.plot_all({"tracking_data": tracking(), "raw_chunk_metrics": late}, tmp_path)
    assert {"worker_count_timeline", "chunk_gantt", "throughput_timeline"} <= set(made)
    assert zeros == {"start: 2026-03-01 12:00:00 UTC"}


# ---- ticks ----


def test_labels_of_ticks_differ():
    same = [{"t_start": S0 + i, "duration": 1.0 + i / 10, "num_events": 5000} for i in range(4)]
    figure, axes = plots.plot_runtime_vs_events(same)
    figure.canvas.draw()
    labels = [tick.get_text() for tick in axes.get_xticklabels()]
    assert len(set(labels)) == len(labels)


def test_names_that_are_cut():
    assert shorten("short", 9) == "short"
    assert shorten("a_long_name", 9) == "a_long_n…"
    # Names that differ are shown differently, and no mark is at the front.
    for names in (
        ["tcp://10.100.200.30:40001", "tcp://10.100.200.30:40002"],
        ["x" * 40 + "a" + "y" * 40, "x" * 40 + "b" + "y" * 40, "other"],
        ["x" * 40, "x" * 41, "z" * 99],
    ):
        shown = short_names(names, 17)
        assert len(set(shown)) == len(names)
        assert all(len(one) <= 17 and not one.startswith("…") for one in shown)


def test_gantt_of_many():
    n, workers = 8000, 150
    log = ChunkLog([{"t_start": S0 + (i // workers) * 2.0, "duration": 1.0, "worker": f"w{i % workers:03}"}
                    for i in range(n)])
    figure, axes = plots.plot_chunk_gantt(log)
    (image,) = axes.get_images()
    busy = np.asarray(image.get_array())
    assert busy.shape == (100, 600)
    span = axes.get_images()[0].get_extent()[1]
    seconds = busy.mean(1) * span * (60 if "min" in axes.get_xlabel() else 1)
    members = np.bincount(np.arange(workers) * 100 // workers)
    assert (seconds * members).sum() == pytest.approx(n, rel=1e-6)
    assert "150 workers" in axes.get_ylabel()
    figure.canvas.draw()


def test_branch_reads():
    found = chunks(10)
    figure, left = plots.plot_branch_reads(found)
    right = figure.axes[1]
    assert [text.get_text() for text in left.get_yticklabels()] == ["Jet_pt", "Jet_eta"]
    scale = {"B": 1, "kB": 1e3}[left.get_xlabel().split("(")[1][:-1]]
    np.testing.assert_allclose([width * scale for _, width, _, _ in bars(left)],
                               [sum(100 + i for i in range(10)), 500])
    scale = {"ms": 1e-3, "s": 1}[right.get_xlabel().split("(")[1][:-1]]
    np.testing.assert_allclose([width * scale for _, width, _, _ in bars(right)], [0.1, 0.3])
    _, left = plots.plot_branch_reads(found, top=1)
    assert [text.get_text() for text in left.get_yticklabels()] == ["Jet_pt"]
    with pytest.raises(ValueError, match="No reads"):
        plots.plot_branch_reads([{"duration": 1.0}])


# ---- throughput ----


@pytest.mark.parametrize("source", ["chunk_info", "chunks", "run"])
def test_throughput(source):
    listed = chunks(40)
    info = build_chunk_info(listed)
    given = {"chunk_info": info, "chunks": listed, "run": Run(chunks=listed)}[source]
    _, axes = plots.plot_throughput_timeline(given)
    steps = axes.patches[1]
    rates, edges, _ = steps.get_data()
    factor = {"kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9}[axes.get_ylabel().split("(")[1][:-1]]
    total = sum(bytes_read for _, _, bytes_read in info.values())
    assert np.sum(rates * np.diff(edges)) * factor / 8 == pytest.approx(total, rel=1e-6)
    starts = min(start for start, _, _ in info.values())
    ends = max(end for _, end, _ in info.values())
    assert edges[-1] == pytest.approx(ends - starts)


def test_workers_beside_the_throughput():
    info = build_chunk_info(chunks(40))
    counts = {"worker_counts": {time: n for n, time in enumerate(tracking(1, 6)["worker_counts"], 2)}}
    figure, axes = plots.plot_throughput_timeline(info, counts)
    (right,) = [other for other in figure.axes if other is not axes]
    (line,) = right.get_lines()
    np.testing.assert_array_equal(line.get_ydata(), range(2, 8))
    np.testing.assert_allclose(line.get_xdata(), np.arange(6) * 2.0, atol=1e-6)
    figure, top = plots.plot_throughput_and_workers_timeline(info, counts)
    below = figure.axes[1]
    (line,) = below.get_lines()
    np.testing.assert_array_equal(line.get_ydata(), range(2, 8))
    running, edges, _ = below.patches[0].get_data()
    seconds = sum(end - start for start, end, _ in info.values())
    assert np.sum(running * np.diff(edges)) == pytest.approx(seconds, rel=1e-6)


def test_workers_of_another_time():
    info = {("f", 0, 1): (100.0, 105.0, 10**6)}
    for name in ("plot_throughput_timeline", "plot_throughput_and_workers_timeline"):
        figure, axes = getattr(plots, name)(info, tracking())
        assert not any(other.get_lines() for other in figure.axes)
        assert any("another time" in text.get_text() for text in axes.texts)
        assert not any("UTC" in text.get_text() for other in figure.axes for text in other.texts)


# ---- metrics, tasks, budget ----


@pytest.mark.parametrize(("name", "key"), [
    ("plot_compression_ratio_distribution", "compression_ratios"),
    ("plot_data_access_percentage", "bytes_read_percent_per_file"),
])
def test_files(name, key):
    _, axes = getattr(plots, name)(METRICS, bins=4)
    np.testing.assert_array_equal([height for _, _, _, height in bars(axes)], np.histogram(METRICS[key], 4)[0])


def test_efficiency():
    _, axes = plots.plot_efficiency_summary(METRICS)
    assert [height for _, _, _, height in bars(axes)] == [50.0, 61.0]
    assert any("3.00×" in text.get_text() for text in axes.texts)
    _, axes = plots.plot_efficiency_summary({**METRICS, "worker_cpu_percent": 5.4})
    assert [height for _, _, _, height in bars(axes)] == [50.0, 5.4]  # in place of the samples
    _, axes = plots.plot_efficiency_summary({"speedup_factor": 2.0})
    assert not bars(axes)


def test_resources():
    figure, axes = plots.plot_resource_utilization(METRICS)
    assert [height for _, _, _, height in bars(axes)] == [2.5, 3, 10.0]
    assert [height for _, _, _, height in bars(figure.axes[1])] == pytest.approx([2.5, 4.0])
    assert len(axes.get_xticklabels()) == 5
    figure, axes = plots.plot_resource_utilization({"avg_workers": 2.0})
    assert len(figure.axes) == 1


@pytest.mark.parametrize(("name", "activities", "expected"), [
    ("plot_per_task_cpu_io", ["thread-cpu", "thread-noncpu"], {"Proc": [3.0, 1.0], "merge": [0.5, 0.0]}),
    ("plot_per_task_bytes_read", ["memory-read", "disk-read"], {"Proc": [1.0, 2.0]}),
    ("plot_per_task_overhead", ["compress", "decompress", "serialize", "deserialize"],
     {"merge": [0, 0, 300, 400], "Proc": [100, 200, 0, 0]}),
])
def test_tasks(name, activities, expected):
    for spans in (SPANS, {"cumulative_worker_metrics": SPANS}, Run(spans=SPANS)):
        _, axes = getattr(plots, name)(spans)
        assert [text.get_text() for text in axes.get_yticklabels()] == list(expected)
        widths = np.array([width for _, width, _, _ in bars(axes)]).reshape(len(activities), len(expected))
        np.testing.assert_allclose(widths.T, list(expected.values()))


def test_overhead_beside_tasks():
    spans = {("get-data", "serialize", "seconds"): 2.0, ("gather-dep", "deserialize", "seconds"): 1.0}
    _, axes = plots.plot_per_task_overhead(spans)
    assert [text.get_text() for text in axes.get_yticklabels()] == ["get-data", "gather-dep"]
    with pytest.raises(ValueError, match="No per-task CPU"):
        plots.plot_per_task_cpu_io(spans)


def test_extract_per_task_metrics():
    assert plots.extract_per_task_metrics(SPANS)["merge"] == {"thread-cpu": 0.5, "serialize": 0.3,
                                                              "deserialize": 0.4}


def test_many_tasks():
    spans = {("execute", f"task-{i}", "thread-cpu", "seconds"): float(i + 1) for i in range(60)}
    _, axes = plots.plot_per_task_cpu_io(spans)
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names == [f"task-{i}" for i in range(59, 39, -1)]
    assert any("40 more tasks" in text.get_text() for text in axes.texts)


def test_sections():
    _, axes = plots.plot_section_breakdown(METRICS)
    assert [text.get_text() for text in axes.get_yticklabels()] == ["select", "jets"]
    assert [width for _, width, _, _ in bars(axes)] == [3.6, 1.5, 2.1, 1.5]
    _, axes = plots.plot_section_breakdown(Run(chunks=chunks(4)))
    assert [width for _, width, _, _ in bars(axes)] == pytest.approx([900, 375, 525, 375]), "3 ended well"
    assert "(ms)" in axes.get_xlabel()
    _, axes = plots.plot_section_breakdown(METRICS, top=1)
    assert [text.get_text() for text in axes.get_yticklabels()] == ["select"]


def test_budget():
    parts = METRICS["budget"]["parts"]
    for given in (METRICS, METRICS["budget"]):
        _, axes = plots.plot_core_second_budget(given)
        widths = {patch[1] for patch in bars(axes)}
        assert widths == {value for value in parts.values() if value > 0}
        assert sum(width for _, width, _, _ in bars(axes)) == pytest.approx(100)
        assert "Core-seconds" in axes.get_xlabel()
        assert len(legend_texts(axes)) == 13
    run = Run(t_start=S0, t_end=S0 + 20, chunks=chunks(), series=WorkerSeries.from_tracking_data(tracking()))
    _, axes = plots.plot_core_second_budget(run)
    known = [value for value in run.budget()["parts"].values() if value > 0]
    assert sorted(width for _, width, _, _ in bars(axes)) == pytest.approx(sorted(known))
    by_dataset = {"small": METRICS["budget"],
                  "large": {"available_core_seconds": 7.2e6, "parts": {"read": 7.2e6, "something new": 3600.0}}}
    _, axes = plots.plot_core_second_budget(by_dataset)
    assert [text.get_text() for text in axes.get_yticklabels()] == ["large", "small"]
    assert axes.get_xlabel() == "Core-hours"
    largest = [width for _, width, y, _ in bars(axes) if y < 0.5]
    assert sum(largest) == pytest.approx(2001), "parts that are not known yet count as unaccounted"


# ---- all of them ----


def test_plot_all_of_a_run(tmp_path):
    run = Run(report={"entries": 9, "bytesread": 10**6, "processtime": 5.0, "chunks": 12}, t_start=S0,
              t_end=S0 + 20, chunks=chunks(), series=WorkerSeries.from_tracking_data(tracking()), spans=SPANS)
    made = plots.plot_all(run, tmp_path / "made")
    assert {*made, *made.left_out} == {name.removeprefix("plot_") for name, _, _ in ROWS}
    assert not made.left_out.keys() & made.keys()
    assert {path.name for path in (tmp_path / "made").iterdir()} == {f"{name}.png" for name in made}
    assert made["runtime_distribution"] == tmp_path / "made" / "runtime_distribution.png"
    assert set(made.left_out) == {"compression_ratio_distribution", "data_access_percentage"}
    assert "@track_metrics" in made.left_out["data_access_percentage"]
    assert "25 made, 2 left out" in repr(made)


def test_plot_all_of_metrics(tmp_path):
    made = roastcoffea.plot_all(
        {**METRICS, "tracking_data": {"worker_counts": {T0: 3}}, "raw_chunk_metrics": [], "chunk_info": {}},
        tmp_path, format="svg")
    assert "worker_count_timeline" in made and "core_second_budget" in made
    assert "No chunk metrics" in made.left_out["runtime_distribution"]
    assert all(path.read_text().startswith("<?xml") for path in made.values())


def test_plot_all_of_a_collector(tmp_path):
    class Collector:
        run = Run(spans=SPANS)
        metrics = {"core_efficiency": 0.5}
        chunk_metrics = [{"duration": 1.0, "num_events": 4}]
        tracking_data = None
        span_metrics = None

        def budget(self):
            return METRICS["budget"]

    made = plots.plot_all(Collector(), tmp_path)
    assert set(made) == {"core_second_budget", "runtime_distribution", "runtime_vs_events", "efficiency_summary",
                         "per_task_cpu_io", "per_task_bytes_read", "per_task_overhead"}
    assert "track_workers" in made.left_out["worker_count_timeline"]


def test_plot_all_of_something_else(tmp_path):
    with pytest.raises(TypeError, match="not of int"):
        plots.plot_all(3, tmp_path)


# ---- figures come and go ----


def test_no_figure_is_kept():
    from matplotlib import pyplot

    before = pyplot.get_fignums()
    data = tracking()
    kept = []
    for _ in range(100):
        kept.append(weakref.ref(plots.plot_worker_count_timeline(data)[0]))
    gc.collect()
    assert pyplot.get_fignums() == before
    assert not any(reference() for reference in kept)


def test_where_figures_are_looked_at_pyplot_has_them(monkeypatch, tmp_path):
    from matplotlib import pyplot

    monkeypatch.setattr(pyplot, "get_backend", lambda: "module://matplotlib_inline.backend_inline")
    before = set(pyplot.get_fignums())

    def fresh():
        return set(pyplot.get_fignums()) - before

    try:
        figure, _ = plots.plot_worker_count_timeline(tracking())
        assert fresh() == {figure.number}
        pyplot.close(figure)
        plots.plot_worker_count_timeline(tracking(), tmp_path / "saved.png")
        plots.plot_all({"core_efficiency": 0.5}, tmp_path)
        assert not fresh(), "saved by a script: nobody looks"
        monkeypatch.setattr(pyplot, "isinteractive", lambda: True)
        plots.plot_worker_count_timeline(tracking(), tmp_path / "saved.png")
        assert len(fresh()) == 1
    finally:
        for number in fresh():
            pyplot.close(number)


def test_a_notebook_shows_it():
    figure, _ = plots.plot_worker_count_timeline(tracking())
    assert figure._repr_png_().startswith(b"\x89PNG")


def in_python(script):
    result = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True,
                            check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_nothing_is_imported_before_its_time():
    in_python("""
        import sys
        import roastcoffea
        assert "matplotlib" not in sys.modules and "numpy" not in sys.modules
        roastcoffea.plot_efficiency_summary({"core_efficiency": 0.5})
        assert "matplotlib" in sys.modules
        assert "matplotlib.pyplot" not in sys.modules
    """)


def test_without_matplotlib():
    told = in_python("""
        import sys
        sys.modules["matplotlib"] = None
        import roastcoffea
        try:
            roastcoffea.plot_all
        except ImportError as error:
            print(error)
    """)
    assert "pip install 'roastcoffea[plots]'" in told


def test_style_of_the_user_stays():
    import matplotlib

    before = dict(matplotlib.rcParams)
    plots.plot_runtime_vs_events(chunks())
    assert dict(matplotlib.rcParams) == before


def test_start_is_the_first_sample():
    _, axes = plots.plot_memory_utilization_mean_timeline(tracking())
    assert any(f"{T0:%Y-%m-%d %H:%M:%S} UTC" in text.get_text() for text in axes.texts)
