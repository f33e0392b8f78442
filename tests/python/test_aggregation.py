"""The formulas behind roastcoffea.aggregation, against calculations of the test's own."""

from __future__ import annotations

import math
import os
from collections import OrderedDict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest
from leaks import assert_nothing_is_kept
from samples import make_log

from roastcoffea import MetricsCollector, _core
from roastcoffea.aggregation.backends import get_parser, known_parsers, register_parser
from roastcoffea.aggregation.backends import dask as dask_parser
from roastcoffea.aggregation.branch_coverage import aggregate_branch_coverage, parse_accessed_branches
from roastcoffea.aggregation.chunk import aggregate_chunk_metrics, build_chunk_info
from roastcoffea.aggregation.core import MetricsAggregator
from roastcoffea.aggregation.efficiency import calculate_efficiency_metrics
from roastcoffea.aggregation.fine_metrics import parse_fine_metrics
from roastcoffea.aggregation.workflow import aggregate_workflow_metrics
from roastcoffea.backends.base import AbstractMetricsBackend
from roastcoffea.visualization.plots.per_task import extract_per_task_metrics

KEYS = Path(__file__).resolve().parent.parent / "data" / "contract_keys.txt"
T0 = datetime(2026, 3, 1, tzinfo=UTC)
REPORT = {"entries": 2_000_000, "bytesread": 5_000_000_000, "processtime": 800.0, "chunks": 40,
          "columns": ["Jet_pt-data", "nJet-offsets", "Muon_pt-data"]}


def at(seconds):
    return T0 + timedelta(seconds=seconds)


def same_names(metrics):
    """Every name of a row of the catalogue has the same value."""
    for row in _core.catalogue():
        if row["scope"] == "metrics" and row["key"] in metrics:
            for name in row["aliases"]:
                assert metrics[name] == metrics[row["key"]], name


# ---- workflow ----

def test_workflow():
    metrics = aggregate_workflow_metrics(REPORT, 100.0, 200.0)
    same_names(metrics)
    assert metrics["wall_time"] == metrics["elapsed_time_seconds"] == 100.0
    assert metrics["total_cpu_time"] == 800.0
    assert metrics["num_chunks"] == 40
    assert metrics["avg_cpu_time_per_chunk"] == 20.0
    assert metrics["total_events"] == 2_000_000
    assert metrics["total_bytes_read"] == 5_000_000_000
    assert metrics["data_rate_gbps"] == pytest.approx(5e9 * 8 / 100 / 1e9)
    assert metrics["overall_rate_mbps"] == pytest.approx(5e9 / 100 / 1e6)
    assert metrics["event_rate_wall_khz"] == pytest.approx(20.0)
    assert metrics["event_rate_agg_khz"] == pytest.approx(2.5)


def test_workflow_without_a_report_or_a_clock():
    metrics = aggregate_workflow_metrics(None, None, None)
    assert set(metrics.values()) == {None}
    assert aggregate_workflow_metrics({}, 1.0, 3.0)["wall_time"] == 2.0
    assert aggregate_workflow_metrics(REPORT, 5.0, 5.0)["event_rate_wall_khz"] == 0


def test_numbers_of_other_libraries():
    report = {"entries": np.int64(7), "bytesread": np.float64(8.0), "processtime": np.float32(0.5),
              "chunks": np.uint8(2)}
    metrics = aggregate_workflow_metrics(MappingProxyType(report), np.float64(0), 1)
    assert (metrics["total_events"], metrics["total_bytes_read"], metrics["num_chunks"]) == (7, 8, 2)
    assert metrics["total_cpu_time"] == 0.5
    assert aggregate_workflow_metrics({"chunks": {1, 2, 3}}, 0, 1)["num_chunks"] == 3


def test_custom_metrics_replace_the_totals():
    custom = {
        "a": {"entries": 10, "duration": 1.5, "performance_counters": {"num_requested_bytes": 100}},
        "b": {"entries": 20, "duration": 2.5, "performance_counters": {"num_requested_bytes": 200}},
    }
    metrics = aggregate_workflow_metrics(REPORT, 0.0, 2.0, custom)
    assert metrics["total_events"] == 30
    assert metrics["total_cpu_time"] == 4.0
    assert metrics["total_bytes_read_coffea"] == 300
    assert metrics["num_chunks"] == 40
    partial = aggregate_workflow_metrics(REPORT, 0.0, 2.0, {"a": {"entries": 10}, "b": {}})
    assert partial["total_events"] == 10
    assert partial["total_cpu_time"] == 800.0
    assert aggregate_workflow_metrics(REPORT, 0.0, 2.0, {})["total_events"] == 2_000_000


@pytest.mark.parametrize("report,start,custom,error,message", [
    ([], 0, None, TypeError, "coffea_report"),
    ("text", 0, None, TypeError, "coffea_report"),
    ({"entries": "x"}, 0, None, TypeError, "entries"),
    ({"bytesread": 2**70}, 0, None, ValueError, "bytesread"),
    ({"entries": math.inf}, 0, None, ValueError, "entries"),
    ({"processtime": []}, 0, None, TypeError, "processtime"),
    ({"processtime": math.nan}, 0, None, ValueError, "processtime"),
    ({"columns": 3}, 0, None, TypeError, "columns"),
    ({"columns": "Jet_pt"}, 0, None, TypeError, "columns"),
    ({"columns": [3]}, 0, None, TypeError, "columns"),
    ({}, "x", None, TypeError, "t_start"),
    ({}, math.nan, None, ValueError, "t_start"),
    ({}, 0, [], TypeError, "custom_metrics"),
    ({}, 0, {"a": 3}, TypeError, "custom_metrics"),
    ({}, 0, {"a": {"duration": "x"}}, TypeError, "duration"),
    ({}, 0, {"a": {"performance_counters": 3}}, TypeError, "performance_counters"),
    ({}, 0, {"a": {"entries": 2**62}, "b": {"entries": 2**62}}, ValueError, "entries"),
])
def test_reports_that_are_refused(report, start, custom, error, message):
    with pytest.raises(error, match=message):
        aggregate_workflow_metrics(report, start, 1.0, custom)


def test_a_mapping_that_raises_is_heard():
    class Broken(dict):
        def __getitem__(self, key):
            raise RuntimeError("broken")

    class Other(OrderedDict):
        def keys(self):
            return super().keys()

        def __getitem__(self, key):
            raise RuntimeError("broken")

    for broken in (Broken(), Other()):
        with pytest.raises(RuntimeError, match="broken"):
            aggregate_workflow_metrics(broken, 0.0, 1.0)


# ---- workers ----

def scaling_cluster():
    """2 workers, then 10, then 2 again; 3 threads each."""
    counts = {at(t): n for t, n in [(0, 2), (10, 2), (20, 10), (30, 10), (40, 2), (50, 2)]}
    memory, limit, cores, cpu = {}, {}, {}, {}
    for i in range(10):
        times = [t for t, n in zip(range(0, 60, 10), counts.values(), strict=True) if i < n]
        memory[f"w{i}"] = [(at(t), 1_000_000 * (i + 1) + 10_000 * t) for t in times]
        limit[f"w{i}"] = [(at(t), 100_000_000) for t in times]
        cores[f"w{i}"] = [(at(t), 3) for t in times]
        cpu[f"w{i}"] = [(at(t), 150.0 + i + t) for t in times]
    return {"worker_counts": counts, "worker_memory": memory, "worker_memory_limit": limit,
            "worker_cores": cores, "worker_cpu": cpu}


def over_time(points):
    seconds = np.array([(moment - T0).total_seconds() for moment, _ in points])
    values = np.array([value for _, value in points], dtype=float)
    if len(points) == 1:
        return values[0]
    area = ((values[1:] + values[:-1]) / 2 * np.diff(seconds)).sum()
    return area / (seconds[-1] - seconds[0])


def test_workers_of_a_cluster_that_scaled():
    data = scaling_cluster()
    metrics = _core.worker_metrics(data)
    same_names(metrics)
    average = over_time(list(data["worker_counts"].items()))
    assert metrics["avg_workers"] == metrics["time_avg_workers"] == pytest.approx(average)
    assert metrics["mean_workers"] == pytest.approx(np.mean(list(data["worker_counts"].values())))
    assert metrics["peak_workers"] == 10
    assert metrics["cores_per_worker"] == 3
    # Not the 30 cores that were ever seen.
    assert metrics["total_cores"] == pytest.approx(3 * average)
    assert metrics["total_cores"] < 20
    points = data["worker_memory"].values()
    assert metrics["peak_memory_bytes"] == max(value for list_ in points for _, value in list_)
    mean = np.mean([over_time(list_) for list_ in points])
    assert metrics["avg_memory_per_worker_bytes"] == pytest.approx(mean)
    assert metrics["memory_utilization_avg_pct"] == pytest.approx(mean / 1e8 * 100)
    assert metrics["cpu_utilization_max_pct"] == pytest.approx(
        max(value for list_ in data["worker_cpu"].values() for _, value in list_) / 3)
    assert metrics["cpu_utilization_avg_pct"] == pytest.approx(
        np.mean([over_time(list_) for list_ in data["worker_cpu"].values()]) / 3)


def test_a_series_gives_the_same_as_its_dict():
    data = scaling_cluster()
    series = _core.WorkerSeries.from_tracking_data(data)
    assert _core.worker_metrics(series) == pytest.approx(_core.worker_metrics(data))


def test_samples_between_two_counts_do_not_bend_the_count():
    metrics = _core.worker_metrics({
        "worker_counts": {at(0): 2, at(10): 4},
        "worker_memory": {"w": [(at(1), 100), (at(3), 300)]},
        "worker_cores": {"w": [(at(5), 2)]},
    })
    assert metrics["avg_workers"] == metrics["mean_workers"] == pytest.approx(3)
    assert metrics["total_cores"] == pytest.approx(6)
    assert metrics["avg_memory_per_worker_bytes"] == pytest.approx(200)


def test_what_was_not_tracked_is_none():
    for nothing in (None, {}, {"worker_counts": {}}, _core.WorkerSeries()):
        assert set(_core.worker_metrics(nothing).values()) == {None}
    metrics = _core.worker_metrics({"worker_memory": {"w": [(at(0), 5)]}})
    assert metrics["peak_memory_bytes"] == 5
    assert metrics["avg_workers"] is None
    assert metrics["total_cores"] is None


def test_parser():
    data = scaling_cluster()
    parser = get_parser("dask")
    assert parser.parse_tracking_data(data) == _core.worker_metrics(data)
    average = over_time(list(data["worker_counts"].items()))
    for source in (data, data["worker_counts"]):
        assert dask_parser.calculate_time_averaged_workers(source) == pytest.approx(average)
    for source in (data, data["worker_memory"]):
        assert parser.calculate_peak_memory(source) == 10_300_000
        assert dask_parser.calculate_average_memory_per_worker(source) == pytest.approx(
            np.mean([over_time(points) for points in data["worker_memory"].values()]))
    assert dask_parser.calculate_peak_memory(None) is None
    assert dask_parser.calculate_peak_memory({"worker_counts": {}}) is None
    assert dask_parser.calculate_time_averaged_workers(_core.WorkerSeries.from_tracking_data(data)) == (
        pytest.approx(average))


@pytest.mark.parametrize("name", ["condor", "", None, []])
def test_unknown_backend(name):
    for make in (get_parser, MetricsAggregator):
        with pytest.raises(ValueError, match="Unsupported backend: .* Known: dask, local"):
            make(name)


def test_a_backend_can_be_made_known():
    register_parser("mine")
    try:
        assert known_parsers() == ["dask", "local", "mine", "parsl", "taskvine"]
        assert MetricsAggregator("mine").aggregate(REPORT, None, 0.0, 1.0)["num_chunks"] == 40
    finally:
        from roastcoffea.aggregation import backends
        del backends._PARSERS["mine"]


# ---- fine metrics ----

SPANS = {
    ("execute", "MyProcessor", "thread-cpu", "seconds"): 30.0,
    ("execute", "MyProcessor", "thread-noncpu", "seconds"): 10.0,
    ("execute", "reduce", "thread-cpu", "seconds"): 4.0,
    ("execute", "reduce", "thread-noncpu", "seconds"): 6.0,
    ("execute", "MyProcessor", "memory-read", "bytes"): 1000,
    ("execute", "MyProcessor", "memory-read", "count"): 7,
    ("execute", "reduce", "disk-read", "bytes"): 500,
    ("gather-dep", "decompress", "seconds"): 0.25,
    ("get-data", "compress", "seconds"): 0.5,
    ("get-data", "serialize", "seconds"): 1.0,
    ("execute", "MyProcessor", "deserialize", "seconds"): 2.0,
    ("execute", "N/A", "idle or other spans", "seconds"): 99.0,
}


def test_fine_metrics_of_a_processor():
    metrics = parse_fine_metrics(SPANS, "MyProcessor")
    same_names(metrics)
    assert metrics["cpu_time_seconds"] == 34.0
    assert metrics["io_time_seconds"] == 16.0
    assert metrics["processor_cpu_time_seconds"] == 30.0
    assert metrics["processor_io_wait_time_seconds"] == 10.0
    assert metrics["processor_cpu_percent"] == pytest.approx(75.0)
    assert metrics["processor_noncpu_percentage"] == pytest.approx(25.0)
    assert metrics["overhead_cpu_time_seconds"] == 4.0
    assert metrics["overhead_io_wait_time_seconds"] == 6.0
    assert metrics["total_bytes_memory_read"] == 1000
    assert metrics["disk_read_bytes"] == 500
    assert metrics["disk_write_bytes"] is None
    assert metrics["total_compression_overhead_seconds"] == 0.75
    assert metrics["total_serialization_overhead_seconds"] == 3.0


def test_fine_metrics_of_all():
    metrics = parse_fine_metrics({"cumulative_worker_metrics": SPANS})
    assert metrics["processor_cpu_time_seconds"] == metrics["cpu_time_seconds"] == 34.0
    assert metrics["overhead_cpu_time_seconds"] == 0
    assert set(parse_fine_metrics(None).values()) == set(parse_fine_metrics({}).values()) == {None}


def test_keys_of_other_forms():
    metrics = parse_fine_metrics({"thread-cpu": 3.0, "disk-write": 8, ("thread-noncpu", "seconds"): 2,
                                  ("execute", "span-id", "p", "thread-cpu", "seconds"): 1.0,
                                  ("execute", None, "thread-cpu", "seconds"): 0.5}, "p")
    assert metrics["cpu_time_seconds"] == 4.5
    assert metrics["processor_cpu_time_seconds"] == 1.0
    assert metrics["io_time_seconds"] == 2
    assert metrics["disk_write_bytes"] == 8


def test_keys_of_three():
    """("execute", task, activity), and outside tasks (context, activity, unit)."""
    spans = {("execute", "P", "thread-cpu"): 5.0, ("execute", "P", "thread-noncpu"): 1.0,
             ("execute", "Q", "thread-cpu"): 2.0, ("execute", "P", "memory-read"): 100,
             ("execute", "P", "thread-cpu", "seconds"): 0.5, ("get-data", "compress", "seconds"): 0.25,
             ("execute", "disk-read", "bytes"): 8}
    metrics = parse_fine_metrics(spans, "P")
    assert (metrics["processor_cpu_time_seconds"], metrics["overhead_cpu_time_seconds"]) == (5.5, 2.0)
    assert metrics["processor_noncpu_time_seconds"] == 1.0
    assert metrics["processor_cpu_percentage"] == pytest.approx(5.5 / 6.5 * 100)
    assert (metrics["total_bytes_memory_read"], metrics["disk_read_bytes"]) == (100, 8)
    assert metrics["compression_time_seconds"] == 0.25
    assert extract_per_task_metrics(spans) == {
        "P": {"thread-cpu": 5.5, "thread-noncpu": 1.0, "memory-read": 100.0}, "Q": {"thread-cpu": 2.0}}


@pytest.mark.parametrize("spans,name,error,message", [
    ([], None, TypeError, "span_metrics"),
    ({"cumulative_worker_metrics": 3}, None, TypeError, "cumulative_worker_metrics"),
    ({}, 3, TypeError, "processor_name"),
])
def test_spans_that_are_refused(spans, name, error, message):
    with pytest.raises(error, match=message):
        parse_fine_metrics(spans, name)


@pytest.mark.parametrize("key,value,reason", [
    (("a", "b", "c", "d"), "x", "it is no number"),
    (("execute", "P", "thread-cpu", "seconds"), None, "it is no number"),
    (("a", "b", None, "d"), 1, "its name has another form"),
    ((None, "b"), 1, "its name has another form"),
    (("a",), 1, "its name has another form"),
    ((), 1, "its name has another form"),
    (3, 1, "its name has another form"),
    (None, 1, "its name has another form"),
    (frozenset("a"), 1, "its name has another form"),
])
def test_figures_that_are_not_known(key, value, reason):
    """A later Dask may have others: they are left out, and nothing raises."""
    spans = {("execute", "Q", "thread-cpu", "seconds"): 2.0, key: value, ("execute", "Q", "of-2031", "photons"): 3.0}
    assert parse_fine_metrics(spans, "Q")["processor_cpu_time_seconds"] == 2.0
    metrics = MetricsAggregator("dask").aggregate({}, None, 0.0, 1.0, span_metrics=spans, processor_name="Q")
    assert metrics["processor_cpu_time_seconds"] == 2.0
    assert metrics["notes"] == [f"the figure {key!r} of a span was left out: {reason}"]
    assert extract_per_task_metrics(spans) == {"Q": {"thread-cpu": 2.0}}


def test_notes_of_unknown_figures_are_few():
    metrics = MetricsAggregator("dask").aggregate({}, None, 0.0, 1.0, span_metrics={i: 1.0 for i in range(1000)})
    assert len(metrics["notes"]) == 10


# ---- chunks ----

def chunk_dicts(n=37):
    random = np.random.default_rng(4)
    chunks = []
    for i in range(n):
        events = int(random.integers(1, 50_000))
        start = 1_700_000_000.0 + i
        duration = round(0.5 + events * 2e-5 + float(random.random()), 6)
        chunks.append({
            "t_start": start, "t_end": start + duration, "duration": duration, "num_events": events,
            "dataset": "ttbar" if i % 3 else "zjets", "file": f"f{i % 4}.root", "entry_start": i * 10,
            "entry_stop": i * 10 + events, "mem_before_mb": 500.0, "mem_after_mb": 500.0 + i * 0.5 - 3,
            "bytes_read": 1000 * i, "timing": {"select": 0.25, "fill": 0.5}, "memory": {"fill": 1.5 * i},
        })
    return chunks


def contract_metrics():
    contract, *_ = KEYS.read_text().partition("# Beyond the contract")
    return {line.split()[1] for line in contract.splitlines() if line.startswith("metrics ")}


def test_chunk_statistics():
    chunks = chunk_dicts()
    failed = {"duration": 1e6, "num_events": 1, "error": "ValueError: no"}
    metrics = aggregate_chunk_metrics([*chunks, failed])
    durations = np.array([chunk["duration"] for chunk in chunks])
    events = np.array([chunk["num_events"] for chunk in chunks])
    memory = np.array([chunk["mem_after_mb"] - chunk["mem_before_mb"] for chunk in chunks])
    slope, intercept = np.polyfit(events, durations, 1)
    expected = {
        "num_chunks": len(chunks) + 1,
        "num_successful_chunks": len(chunks),
        "num_failed_chunks": 1,
        "chunk_duration_mean": durations.mean(),
        "chunk_duration_min": durations.min(),
        "chunk_duration_max": durations.max(),
        "chunk_duration_std": durations.std(ddof=1),
        **{f"chunk_duration_p{q}": np.percentile(durations, q) for q in (50, 95, 99)},
        "chunk_mem_delta_mean_mb": memory.mean(),
        "chunk_mem_delta_min_mb": memory.min(),
        "chunk_mem_delta_max_mb": memory.max(),
        "chunk_mem_delta_std_mb": memory.std(ddof=1),
        "total_events_from_chunks": events.sum(),
        "chunk_events_mean": events.mean(),
        "chunk_events_min": events.min(),
        "chunk_events_max": events.max(),
        "time_per_event_us_mean": (durations / events).mean() * 1e6,
        "time_per_event_us_min": (durations / events).min() * 1e6,
        "time_per_event_us_max": (durations / events).max() * 1e6,
        "memory_per_event_bytes_mean": (memory / events).mean() * 1e6,
        "memory_per_event_bytes_min": (memory / events).min() * 1e6,
        "memory_per_event_bytes_max": (memory / events).max() * 1e6,
        "runtime_events_correlation": np.corrcoef(events, durations)[0, 1],
        "chunk_fixed_cost_s": intercept,
        "chunk_cost_per_event_us": slope * 1e6,
    }
    tables = {"per_dataset", "sections"}
    assert set(metrics) & contract_metrics() == set(expected) | tables
    for key, value in expected.items():
        assert metrics[key] == pytest.approx(value), key
    assert metrics["chunk_seconds"] == pytest.approx(durations.sum())


def test_per_dataset():
    chunks = chunk_dicts()
    table = aggregate_chunk_metrics(chunks)["per_dataset"]
    assert set(table) == {"ttbar", "zjets"}
    for name, row in table.items():
        durations = [chunk["duration"] for chunk in chunks if chunk["dataset"] == name]
        events = [chunk["num_events"] for chunk in chunks if chunk["dataset"] == name]
        assert row == {
            "num_chunks": len(durations),
            "total_duration": pytest.approx(sum(durations)),
            "total_events": sum(events),
            "mean_duration": pytest.approx(np.mean(durations)),
            "mean_events_per_chunk": pytest.approx(np.mean(events)),
        }


def test_chunks_without_a_dataset_have_a_row_of_their_own():
    table = aggregate_chunk_metrics([{"duration": 1.0}, {"duration": 2.0, "dataset": "a"}])["per_dataset"]
    assert table["unknown"]["total_duration"] == 1.0
    both = aggregate_chunk_metrics([{"duration": 1.0}, {"duration": 2.0, "dataset": "unknown"}])["per_dataset"]
    assert sorted(row["total_duration"] for row in both.values()) == [1.0, 2.0]


def test_sections():
    chunks = chunk_dicts()
    table = aggregate_chunk_metrics(chunks)["sections"]
    n = len(chunks)
    assert table["select"] == {"count": n, "total_duration": pytest.approx(0.25 * n),
                               "mean_duration": pytest.approx(0.25), "type": "time",
                               "self_duration": pytest.approx(0.25 * n)}
    deltas = [chunk["memory"]["fill"] for chunk in chunks]
    # One name for two sorts: what both measured is there.
    assert table["fill"]["type"] == "time"
    assert table["fill"]["total_duration"] == pytest.approx(0.5 * n)
    assert table["fill"]["mean_mem_delta_mb"] == pytest.approx(np.mean(deltas))
    assert table["fill"]["max_mem_delta_mb"] == pytest.approx(max(deltas))
    assert table["fill"]["min_mem_delta_mb"] == pytest.approx(min(deltas))


def test_sections_recorded_by_hand():
    chunks = [{"duration": 1.0, "timing": {"select": 0.25}}]
    by_hand = [
        {"section_name": "select", "time_delta": 0.75},
        {"name": "io", "duration": 2, "type": "time"},
        {"section": "io", "duration": 4.0, "mem_delta_mb": 3.0},
        {"section_name": "load", "memory_delta_gb": 0.5, "type": "memory"},
        {"section_name": "read", "bytes": 12_345},
    ]
    metrics = aggregate_chunk_metrics(chunks, by_hand)
    assert metrics["num_successful_chunks"] == 1
    assert list(metrics["per_dataset"]) == ["unknown"]
    table = metrics["sections"]
    assert (table["select"]["count"], table["select"]["total_duration"]) == (2, pytest.approx(1.0))
    assert (table["io"]["count"], table["io"]["mean_duration"]) == (2, pytest.approx(3.0))
    assert table["io"]["mean_mem_delta_mb"] == pytest.approx(3.0)
    assert table["load"]["type"] == "memory"
    assert table["load"]["total_duration"] is None
    assert table["load"]["max_mem_delta_mb"] == pytest.approx(500.0)
    assert (table["read"]["type"], table["read"]["total_bytes"]) == ("bytes", 12_345)
    alone = aggregate_chunk_metrics(None, by_hand)
    assert alone["num_successful_chunks"] is None
    assert set(alone["sections"]) == {"select", "io", "load", "read"}


def test_records_keep_the_type_that_they_state():
    records = [{"name": "cut", "type": "time", "duration": 2.0}, {"name": "cut", "type": "time", "duration": 1.0},
               {"name": "load", "type": "memory", "duration": 1.0, "mem_delta_mb": 5.0},
               {"name": "load", "type": "memory", "duration": 2.0, "mem_delta_mb": 7.0}]
    chunks = [{"duration": 1.0, "num_events": 10}, {"duration": 1.0, "num_events": 10, "error": "ValueError: x"}]
    metrics = aggregate_chunk_metrics(chunks, (record for record in records))
    assert metrics["num_chunks"] == 2
    assert metrics["sections"]["cut"] == {
        "count": 2, "total_duration": 3.0, "mean_duration": 1.5, "self_duration": 3.0, "type": "time"}
    assert metrics["sections"]["load"] == {
        "count": 2, "total_duration": 3.0, "mean_duration": 1.5, "self_duration": 3.0, "type": "memory",
        "mean_mem_delta_mb": 6.0, "max_mem_delta_mb": 7.0, "min_mem_delta_mb": 5.0}
    whole = MetricsAggregator("dask").aggregate({}, None, 0.0, 1.0, chunk_metrics=chunks, section_metrics=records)
    assert whole["sections"] == metrics["sections"]


@pytest.mark.parametrize("sections,error,message", [
    (3, TypeError, "section_metrics"),
    ([3], TypeError, "section_metrics"),
    ([{"name": 3, "duration": 1}], TypeError, "section_name"),
    ([{"name": "a", "duration": "x"}], TypeError, "duration"),
    ([{"name": "a", "duration": math.nan}], ValueError, "duration"),
    ([{"name": "a", "mem_delta_mb": 1e30}], ValueError, "mem_delta_mb"),
])
def test_sections_that_are_refused(sections, error, message):
    with pytest.raises(error, match=message):
        aggregate_chunk_metrics([], sections)


@pytest.mark.parametrize("record,note", [
    ({}, "a recorded section was left out: it has no name"),
    ({"duration": 1.0}, "a recorded section was left out: it has no name"),
    ({"name": "b"}, "the recorded section 'b' was left out: it has neither a duration nor a change of memory nor bytes"),
    ({"name": "b", "duration": None, "type": "time"},
     "the recorded section 'b' was left out: it has neither a duration nor a change of memory nor bytes"),
])
def test_sections_without_a_measurement(record, note):
    """They are left out, and nothing raises."""
    records = [{"name": "a", "duration": 2.0}, record]
    sections = {"a": {"count": 1, "total_duration": 2.0, "mean_duration": 2.0, "self_duration": 2.0, "type": "time"}}
    assert aggregate_chunk_metrics([], records)["sections"] == sections
    whole = MetricsAggregator("dask").aggregate({}, None, 0.0, 1.0, section_metrics=records)
    assert whole["sections"] == sections and whole["notes"] == [note]
    with MetricsCollector() as mc:
        for one in records:
            mc.record_section_metrics(one)
    assert mc.metrics["sections"] == sections and mc.notes == [note]


def test_a_packed_log_gives_the_same_as_its_dicts():
    log = make_log(20)
    packed = aggregate_chunk_metrics(log)
    plain = aggregate_chunk_metrics([dict(chunk) for chunk in log])
    assert {key for key in packed if packed[key] is None} == {key for key in plain if plain[key] is None}
    for key, value in packed.items():
        if not isinstance(value, dict):
            assert plain[key] == pytest.approx(value), key
    assert packed["sections"].keys() == plain["sections"].keys() == {"selection", "inner", "filling"}
    assert packed["num_successful_chunks"] == 20
    assert len(log) == 20


def test_no_chunks():
    for nothing in ([], None, (), _core.ChunkLog()):
        metrics = aggregate_chunk_metrics(nothing)
        assert metrics.pop("sections") == metrics.pop("per_dataset") == {}
        assert metrics.pop("num_chunks") == 0
        assert set(metrics.values()) == {None}
    for wrong in (3, [3], ["text"], [[1]]):
        with pytest.raises(TypeError):
            aggregate_chunk_metrics(wrong)


def test_chunk_info():
    chunks = chunk_dicts(3)
    info = build_chunk_info([*chunks, {"duration": 1.0}, {"file": "x", "entry_start": 0, "entry_stop": 5}])
    assert info == {
        (chunk["file"], chunk["entry_start"], chunk["entry_stop"]):
            (pytest.approx(chunk["t_start"]), pytest.approx(chunk["t_end"]), chunk["bytes_read"])
        for chunk in chunks}
    again = {**chunks[0], "bytes_read": None}
    assert next(iter(build_chunk_info([chunks[0], again]).values()))[2] is None
    assert build_chunk_info(None) == build_chunk_info([]) == {}


# ---- files ----

def file_chunks():
    metadata = {"filename": "a.root", "compression_ratio": 0.25, "total_branches": 4,
                "total_tree_bytes": 1000,
                "branch_bytes": {"Jet_pt": 100, "Muon_pt": 200, "MET": 300, "run": 400}}
    return [
        {"file": "a.root", "accessed_branches": ["Jet_pt"], "file_metadata": metadata, "duration": 1.0},
        {"file": "a.root", "accessed_branches": ["Jet_pt", "MET"], "duration": 1.0},
        {"file": "b.root", "accessed_branches": ["run"], "duration": 1.0},
    ]


def test_branch_coverage_of_chunks():
    metrics = aggregate_branch_coverage(file_chunks())
    assert metrics["total_branches_read"] == 3
    assert metrics["avg_branches_read_percent"] == pytest.approx(50.0)
    assert metrics["avg_bytes_read_percent"] == pytest.approx(40.0)
    assert metrics["file_read_metrics"]["a.root"] == {
        "total_branches": 4, "branches_read_percent": pytest.approx(50.0), "total_tree_bytes": 1000,
        "bytes_read": 400, "bytes_read_percent": pytest.approx(40.0)}
    assert set(metrics["file_read_metrics"]["b.root"].values()) == {None}
    assert metrics["compression_ratios"] == [pytest.approx(0.25)]
    assert metrics["bytes_read_percent_per_file"] == [pytest.approx(40.0)]
    assert metrics["file_metadata"] == {"a.root": file_chunks()[0]["file_metadata"]}


def test_branch_coverage_of_a_report():
    chunks = [{key: value for key, value in chunk.items() if key != "accessed_branches"}
              for chunk in file_chunks()]
    metrics = aggregate_branch_coverage(chunks, REPORT)
    assert metrics["total_branches_read"] == 3  # the counter nJet was read as well, as chunks would tell
    assert metrics["file_read_metrics"]["a.root"]["bytes_read"] == 300
    nothing = aggregate_branch_coverage(None)
    assert nothing["total_branches_read"] is None
    assert nothing["file_read_metrics"] == nothing["file_metadata"] == {}
    assert nothing["compression_ratios"] == nothing["bytes_read_percent_per_file"] == []


def test_branch_coverage_of_figures_alone():
    """Chunks of 0.1.x: how much was read, but not which branches."""
    def chunk(name, percent, accessed, ratio, **more):
        return {"file": name, "accessed_bytes": accessed, "branches_read_percent": percent,
                "bytes_read_percent": accessed / 10_000 * 100,
                "file_metadata": {"filename": name, "compression_ratio": ratio, "total_branches": 200,
                                  "total_tree_bytes": 10_000}, **more}

    chunks = [chunk("b.root", 10.0, 500, 2.0), chunk("b.root", 20.0, 700, 8.0), chunk("a.root", 30.0, 300, 4.0)]
    for report in (None, REPORT):
        metrics = aggregate_branch_coverage(chunks, report)
        assert metrics["file_read_metrics"] == {
            "b.root": {"total_branches": 200, "branches_read_percent": pytest.approx(10.0), "total_tree_bytes": 10_000,
                       "bytes_read": 500, "bytes_read_percent": pytest.approx(5.0)},
            "a.root": {"total_branches": 200, "branches_read_percent": pytest.approx(30.0), "total_tree_bytes": 10_000,
                       "bytes_read": 300, "bytes_read_percent": pytest.approx(3.0)}}
        assert metrics["compression_ratios"] == [2.0, 4.0]
        assert metrics["bytes_read_percent_per_file"] == [pytest.approx(5.0), pytest.approx(3.0)]
        assert metrics["avg_branches_read_percent"] == pytest.approx(20.0)
        assert metrics["avg_bytes_read_percent"] == pytest.approx(4.0)
        assert list(metrics["file_metadata"]) == ["b.root", "a.root"]
        assert metrics["file_metadata"]["b.root"]["compression_ratio"] == 2.0
    assert metrics["total_branches_read"] == 3, "of the report"
    log = _core.ChunkLog([*chunks, {"num_branches_accessed": 7}, {"duration": 1.0}])
    assert [one["num_branches_accessed"] for one in log] == [20, 40, 60, 7, None]
    assert log[0]["branches_read_percent"] == pytest.approx(10.0)
    named = {**chunks[0], "accessed_branches": ["Jet_pt"], "num_branches_accessed": 9}
    assert _core.ChunkLog([named])[0]["num_branches_accessed"] == 1


def test_branch_coverage_of_chunks_with_the_sizes_of_their_file():
    """Beside their own, and without a list of branches."""
    chunk = {"file": "a.root", "accessed_bytes": 250, "total_tree_bytes": 1000, "total_branches": 40,
             "num_branches_accessed": 10, "compression_ratio": 0.25}
    metrics = aggregate_branch_coverage([chunk, {**chunk, "file": "b.root", "accessed_bytes": 500}])
    assert metrics["file_read_metrics"]["a.root"] == {
        "total_branches": 40, "branches_read_percent": pytest.approx(25.0), "total_tree_bytes": 1000,
        "bytes_read": 250, "bytes_read_percent": pytest.approx(25.0)}
    assert metrics["avg_bytes_read_percent"] == pytest.approx(37.5) and metrics["files_tree_bytes"] == 2000
    assert metrics["avg_branches_read_percent"] == pytest.approx(25.0)
    assert metrics["compression_ratios"] == [pytest.approx(0.25)] * 2
    assert metrics["bytes_read_percent_per_file"] == [pytest.approx(25.0), pytest.approx(50.0)]
    (kept,) = _core.ChunkLog([chunk])
    assert kept["bytes_read_percent"] == pytest.approx(25.0) and kept["total_tree_bytes"] == 1000
    bare = {name: chunk[name] for name in ("file", "accessed_bytes", "total_tree_bytes")}
    metrics = aggregate_branch_coverage([bare])
    assert metrics["avg_bytes_read_percent"] == pytest.approx(25.0) and metrics["avg_branches_read_percent"] is None
    assert metrics["compression_ratios"] == []
    percent = {**bare, "total_branches": 40, "branches_read_percent": 50.0}
    assert aggregate_branch_coverage([percent])["avg_branches_read_percent"] == pytest.approx(50.0)
    for odd in ("many", math.nan, -5, [], {}, 1e30):
        metrics = aggregate_branch_coverage([{**bare, "total_tree_bytes": odd}])
        assert metrics["num_files"] == 1 and metrics["avg_bytes_read_percent"] is None


def test_metadata_without_the_name_of_their_file():
    metrics = aggregate_branch_coverage([{"file_metadata": {"total_tree_bytes": 1000}, "file": "a.root", "accessed_bytes": 100}])
    assert metrics["file_read_metrics"]["a.root"]["bytes_read_percent"] == pytest.approx(10.0)


def test_accessed_branches():
    assert parse_accessed_branches(REPORT["columns"]) == {"Jet_pt", "Muon_pt"}
    assert parse_accessed_branches(None) == parse_accessed_branches([]) == set()


# ---- efficiency ----

def test_efficiency():
    workflow = aggregate_workflow_metrics(REPORT, 0.0, 100.0)
    metrics = calculate_efficiency_metrics({**workflow, "cpu_time_seconds": 700.0, "io_time_seconds": 50.0},
                                           {"total_cores": 16.0})
    same_names(metrics)
    assert metrics["core_efficiency"] == metrics["cpu_efficiency"] == pytest.approx(800 / 1600)
    assert metrics["cpu_efficiency_fine"] == pytest.approx(700 / 1600)
    assert metrics["speedup"] == pytest.approx(8.0)
    assert metrics["io_overhead_pct"] == pytest.approx(50.0)
    assert metrics["efficiency_ratio"] == pytest.approx(20.0 / 2.5)
    assert metrics["event_rate_core_hz"] == pytest.approx(2_000_000 / 1600)
    assert metrics["event_rate_core_khz"] == pytest.approx(2_000 / 1600)


def test_efficiency_by_other_names_and_without():
    metrics = calculate_efficiency_metrics({"elapsed_time_seconds": 10, "total_cpu_time": 20}, {})
    assert metrics["speedup_factor"] == 2.0
    assert metrics["core_efficiency"] is None
    assert set(calculate_efficiency_metrics(None, None).values()) == {None}
    with pytest.raises(TypeError, match="wall_time"):
        calculate_efficiency_metrics({"wall_time": "x"}, {})
    with pytest.raises(TypeError, match="worker_metrics"):
        calculate_efficiency_metrics({}, [])


# ---- all ----

def aggregate_all():
    return MetricsAggregator("dask").aggregate(
        REPORT, scaling_cluster(), 0.0, 50.0, span_metrics=SPANS, processor_name="MyProcessor",
        chunk_metrics=[*chunk_dicts(), *file_chunks()],
        section_metrics=[{"section_name": "by hand", "time_delta": 1.0}])


def test_every_key_of_the_contract():
    wanted = contract_metrics()
    assert len(wanted) > 80
    metrics = aggregate_all()
    # No span wrote to a disk, and the workers were seen at another time than the run's: what was not
    # measured is not there.
    assert wanted - set(metrics) == {"disk_write_bytes", "budget"}
    assert metrics["disk_write_bytes"] is None
    assert metrics.get("disk_write_bytes", 0) == 0
    same_names(metrics)
    empty = MetricsAggregator("local").aggregate(None, None, None, None)
    assert all(empty[name] in (None, 0, [], {}) for name in wanted)
    with pytest.raises(KeyError, match="no_such_metric"):
        empty["no_such_metric"]
    assert empty.pop("replayed_chunks") == 0  # counted: there are none
    assert {type(value) for value in empty.values()} == {type(None), list, dict}


def test_the_families_share_all_numbers_between_them():
    data, chunks = scaling_cluster(), [*chunk_dicts(), *file_chunks()]
    families = [
        _core.workflow_metrics(REPORT, 0.0, 50.0),
        _core.worker_metrics(data),
        _core.fine_metrics(SPANS, "MyProcessor"),
        _core.chunk_metrics(chunks, [{"section_name": "by hand", "time_delta": 1.0}]),
        _core.file_metrics(chunks, REPORT),
    ]
    families.append(_core.efficiency_metrics({**families[0], **families[2], **families[4]}, families[1]))
    together = {}
    for family in families:
        assert not set(family) & set(together)
        together.update(family)
    scalars = {name for row in _core.catalogue()
               if row["scope"] == "metrics" and row["type"] in ("integer", "int", "real")
               for name in (row["key"], *row["aliases"])}
    assert len(scalars) > 80
    assert scalars <= set(together)
    metrics = aggregate_all()
    for key, value in together.items():
        if value is None or isinstance(value, dict | list):
            assert metrics[key] == value, key
        else:
            assert metrics[key] == pytest.approx(value), key


def test_raw_records_are_handed_through():
    log, series = make_log(3), _core.WorkerSeries.from_tracking_data(scaling_cluster())
    metrics = MetricsAggregator("dask").aggregate({}, series, 0.0, 1.0, chunk_metrics=log)
    assert metrics["raw_chunk_metrics"] is log
    assert metrics["raw_section_metrics"] == []
    assert metrics["raw_span_metrics"] == {}
    assert metrics["tracking_data"] == series.as_tracking_data()
    assert metrics["num_chunks"] == 3
    generated = MetricsAggregator("dask").aggregate(
        {}, None, 0.0, 1.0, chunk_metrics=(chunk for chunk in chunk_dicts(2)))
    assert generated["num_successful_chunks"] == len(generated["raw_chunk_metrics"]) == 2


def test_a_sample_beside_the_counts_counts_in_the_efficiency_too():
    tracking = {"worker_counts": {at(0): 2, at(10): 4}, "worker_cores": {"w": [(at(5), 2)]}}
    metrics = MetricsAggregator("dask").aggregate(REPORT, tracking, 0.0, 10.0)
    assert metrics["total_cores"] == pytest.approx(6.0)
    assert metrics["core_efficiency"] == pytest.approx(800 / 60)


def test_backend_is_abstract():
    methods = {"start_tracking", "stop_tracking", "create_span", "get_span_metrics", "supports_fine_metrics"}
    assert AbstractMetricsBackend.__abstractmethods__ == methods
    with pytest.raises(TypeError):
        AbstractMetricsBackend()


# ---- memory ----

REFUSED = [
    lambda: _core.workflow_metrics({"entries": "x"}, 0, 1),
    lambda: _core.workflow_metrics({}, 0, 1, {"a": {"performance_counters": 3}}),
    lambda: _core.worker_metrics({"worker_memory": {"a": [(0, "x")]}}),
    lambda: _core.fine_metrics({"cumulative_worker_metrics": 3}),
    lambda: _core.chunk_metrics([{"duration": 1.0}, 3]),
    lambda: _core.chunk_metrics([], [{"name": "a", "duration": "x"}]),
    lambda: _core.file_metrics([], {"columns": [3]}),
    lambda: _core.efficiency_metrics({"wall_time": "x"}, {}),
    lambda: build_chunk_info([3]),
]


def exercise():
    chunks, data = [*chunk_dicts(3), *file_chunks()], scaling_cluster()
    _core.Run(report=REPORT, series=data, t_start=0.0, t_end=1.0, custom_metrics={"a": {"entries": 3}}, spans=SPANS,
              processor_name="MyProcessor", chunks=chunks,
              section_metrics=[{"name": "x", "duration": 1.0, "bytes": 3}]).metrics()
    _core.worker_metrics({"worker_counts": {at(0): 1}, "worker_memory": {"w": [(at(1), 2)]}})
    _core.efficiency_metrics({"wall_time": 1.0}, {"total_cores": 2})
    _core.workflow_metrics(REPORT, 0.0, 1.0, {"a": {"entries": 3}})
    _core.fine_metrics({**SPANS, ("a",): 1, ("a", "b", "c", "d"): "x"}, "MyProcessor")
    _core.chunk_metrics(chunks, [{"name": "x", "duration": 1.0}, {}, {"name": "y"}])
    _core.file_metrics(chunks, REPORT)
    for call in REFUSED:
        try:
            call()
        except (TypeError, ValueError):
            continue
        raise AssertionError("was taken")


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizers keep what is freed")
def test_nothing_leaks():
    assert_nothing_is_kept(exercise, 500, megabytes=8)


def test_every_failing_allocation():
    """Memory that runs short anywhere is a MemoryError, and the next try works."""
    whole = aggregate_all()
    failures = 0
    for after in range(100_000):
        _core._fail_allocations(after)
        try:
            again = aggregate_all()
        except MemoryError:
            failures += 1
            continue
        finally:
            _core._fail_allocations(None)
        break
    assert failures > 10
    assert again == whole
