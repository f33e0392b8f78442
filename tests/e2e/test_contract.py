"""Every metric that the contract names, of one real run on Dask, calculated once more by other means.

The run has what makes formulas differ: chunks of several sizes, datasets that read different branches, a
chunk that raises and is tried again, sections in one another.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import awkward as ak
import numpy as np
import pytest
import uproot
from coffea import processor
from coffea.nanoevents import NanoAODSchema

from roastcoffea import MetricsCollector, _core, track_bytes, track_memory, track_metrics, track_time

NAMES = Path(__file__).parents[1] / "data" / "contract_keys.txt"
COMMON = {"nJet", "Jet_pt", "nMuon", "Muon_pt"}
ACCESSED = {"ttbar": COMMON, "wjets": COMMON, "data": COMMON | {"event"}}


class Analysis(processor.ProcessorABC):
    """Raises once, in the first chunk of a file of one dataset."""

    def __init__(self, flag):
        self.flag = str(flag)

    @track_metrics
    def process(self, events):
        self.raise_once(events.metadata)
        with track_time(self, "selection"):
            with track_bytes(self, events, "jets read"):
                jets = int(ak.sum(events.Jet.pt > 30))
            for _ in range(2):
                with track_time(self, "inner"):
                    time.sleep(1e-5 * len(events))
        with track_memory(self, "muons"):
            muons = int(ak.sum(events.Muon.pt > 20))
        if events.metadata["dataset"] == "data":
            assert int(events.event[0]) == events.metadata["entrystart"]
        return {"events": len(events), "jets": jets, "muons": muons}

    def raise_once(self, metadata):
        if metadata["dataset"] != "wjets" or metadata["entrystart"] != 0:
            return
        try:
            os.close(os.open(self.flag, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        time.sleep(0.3)  # so long that it would be seen in every figure
        raise OSError("not yet")

    def postprocess(self, accumulator):
        return accumulator


class Histograms(Analysis):
    """Something large to return, which can be compressed."""

    @track_metrics
    def process(self, events):
        counts = np.zeros(200_000)
        counts[:1000] = np.histogram(ak.flatten(events.Jet.pt), 1000)[0]
        return {"events": len(events), "counts": counts}


class Measured:
    """The run, and the raw things of it."""

    def __init__(self, mc, report, fileset, name):
        self.mc, self.report, self.fileset = mc, report, fileset
        self.name = name  # of the processor, as Coffea names its tasks
        self.metrics = mc.get_metrics()
        self.chunks = [dict(chunk) for chunk in mc.chunk_metrics]
        self.good = [chunk for chunk in self.chunks if chunk.get("error") is None]
        self.tracking = mc.tracking_data
        self.spans = mc.span_metrics
        self.wall = mc.t_end - mc.t_start

    def column(self, key):
        return np.array([chunk[key] for chunk in self.good], float)

    def files(self):
        """(file, dataset)"""
        return [(file, name) for name, entry in self.fileset.items() for file in entry["files"]]


def measure(client, fileset, analysis):
    runner = processor.Runner(
        executor=processor.DaskExecutor(client=client, status=False, retries=1),
        schema=NanoAODSchema,
        chunksize=400,
        savemetrics=True,
    )
    with MetricsCollector(client, processor_instance=analysis, worker_tracking_interval=0.05) as mc:
        output, report = runner(fileset, processor_instance=analysis)
        mc.set_coffea_report(report)
    assert output["events"] == 2100 * len(fileset)
    return Measured(mc, report, fileset, type(analysis).__name__)


@pytest.fixture(scope="module")
def measured(idle_client, fileset, tmp_path_factory):
    return measure(idle_client(), fileset, Analysis(tmp_path_factory.mktemp("contract") / "raised"))


@pytest.fixture(scope="module")
def spilled(fileset):
    """A run on a worker without room: what a task returns goes to disk, and comes back from there."""
    dask = pytest.importorskip("dask")
    distributed = pytest.importorskip("distributed")
    memory = {"target": 1e-6, "spill": False, "pause": False, "terminate": False}
    with dask.config.set({f"distributed.worker.memory.{key}": value for key, value in memory.items()}):
        cluster = distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=None, memory_limit="4GB"
        )
    with cluster, distributed.Client(cluster) as own:
        return measure(own, {"ttbar": fileset["ttbar"]}, Histograms(os.devnull))


# ---- the calculations: {key: value}, None for what this run cannot have ----


def workflow(run):
    entries, read = run.report["entries"], run.report["bytesread"]
    cpu, chunks = run.report["processtime"], run.report["chunks"]
    return {
        "wall_time": run.wall,
        "total_cpu_time": cpu,
        "num_chunks": chunks,
        "avg_cpu_time_per_chunk": cpu / chunks,
        "total_events": entries,
        "total_bytes_read_coffea": read,
        "data_rate_gbps": read * 8 / run.wall / 1e9,
        "data_rate_mbps": read / run.wall / 1e6,
        "event_rate_wall_khz": entries / run.wall / 1000,
        "event_rate_agg_khz": entries / cpu / 1000,
        "efficiency_ratio": (entries / run.wall) / (entries / cpu),
        "speedup_factor": cpu / run.wall,
    }


def over_time(samples):
    """The mean over time of [(datetime, value), ...]."""
    seconds = np.array([(when - samples[0][0]).total_seconds() for when, _ in samples])
    return np.trapezoid([value for _, value in samples], seconds) / seconds[-1]


def shares(series, whole, percent):
    """{worker: [(datetime, value / whole)]} of two series, where both were measured."""
    found = {}
    for worker, samples in series.items():
        other = dict(whole[worker])
        found[worker] = [
            (when, value / other[when] * percent)
            for when, value in samples
            if value is not None and other.get(when)
        ]
    return found


def three(series, name):
    values = [value for samples in series.values() for _, value in samples]
    return {
        f"{name}_avg_pct": np.mean([over_time(samples) for samples in series.values()]),
        f"{name}_min_pct": min(values),
        f"{name}_max_pct": max(values),
    }


def workers(run):
    tracking = run.tracking
    counts = list(tracking["worker_counts"].items())
    memory = tracking["worker_memory"]
    cores = np.mean([np.mean([n for _, n in samples]) for samples in tracking["worker_cores"].values()])
    total = over_time(counts) * cores
    cpu, entries = run.report["processtime"], run.report["entries"]
    return {
        "avg_workers": over_time(counts),
        "mean_workers": np.mean([n for _, n in counts]),
        "peak_workers": max(n for _, n in counts),
        "cores_per_worker": cores,
        "total_cores": total,
        "peak_memory_bytes": max(value for samples in memory.values() for _, value in samples),
        "avg_memory_per_worker_bytes": np.mean([over_time(samples) for samples in memory.values()]),
        **three(shares(memory, tracking["worker_memory_limit"], 100), "memory_utilization"),
        **three(shares(tracking["worker_cpu"], tracking["worker_cores"], 1), "cpu_utilization"),
        "core_efficiency": cpu / (run.wall * total),
        "cpu_efficiency_fine": activity(run, "thread-cpu") / (run.wall * total),
        "event_rate_core_hz": entries / (run.wall * total),
        "event_rate_core_khz": entries / (run.wall * total) / 1000,
    }


def activity(run, name, unit="seconds", of=lambda context, prefix: True):
    """The sum of an activity over the spans; None where Dask has none of it."""
    values = [
        value
        for (context, prefix, what, in_unit), value in run.spans.items()
        if (what, in_unit) == (name, unit)
    ]
    if not values:
        return None
    return sum(
        value
        for (context, prefix, what, in_unit), value in run.spans.items()
        if (what, in_unit) == (name, unit) and of(context, prefix)
    )


def known_sum(*values):
    values = [value for value in values if value is not None]
    return sum(values) if values else None


def fine(run):
    def ours(context, prefix):
        return context == "execute" and prefix == run.name

    def others(context, prefix):
        return not ours(context, prefix)

    cpu, noncpu = (activity(run, name, of=ours) for name in ("thread-cpu", "thread-noncpu"))
    seconds = {
        name: activity(run, name) for name in ("compress", "decompress", "serialize", "deserialize")
    }
    return {
        "cpu_time_seconds": activity(run, "thread-cpu"),
        "io_time_seconds": activity(run, "thread-noncpu"),
        "io_overhead_pct": activity(run, "thread-noncpu") / run.wall * 100,
        "processor_cpu_time_seconds": cpu,
        "processor_noncpu_time_seconds": noncpu,
        "processor_cpu_percentage": 100 * cpu / (cpu + noncpu),
        "processor_noncpu_percentage": 100 * noncpu / (cpu + noncpu),
        "overhead_cpu_time_seconds": activity(run, "thread-cpu", of=others),
        "overhead_noncpu_time_seconds": activity(run, "thread-noncpu", of=others),
        "total_bytes_memory_read_dask": activity(run, "memory-read", "bytes"),
        "disk_read_bytes": activity(run, "disk-read", "bytes"),
        "disk_write_bytes": activity(run, "disk-write", "bytes"),
        "compression_time_seconds": seconds["compress"],
        "decompression_time_seconds": seconds["decompress"],
        "total_compression_overhead_seconds": known_sum(seconds["compress"], seconds["decompress"]),
        "serialization_time_seconds": seconds["serialize"],
        "deserialization_time_seconds": seconds["deserialize"],
        "total_serialization_overhead_seconds": known_sum(
            seconds["serialize"], seconds["deserialize"]
        ),
    }


def spread(values, name, end=""):
    return {
        f"{name}_mean{end}": np.mean(values),
        f"{name}_min{end}": np.min(values),
        f"{name}_max{end}": np.max(values),
    }


def distributions(run):
    duration, events, delta = (run.column(k) for k in ("duration", "num_events", "mem_delta_mb"))
    slope, intercept = np.polyfit(events, duration, 1)
    return {
        "num_successful_chunks": len(run.good),
        "num_failed_chunks": len(run.chunks) - len(run.good),
        **spread(duration, "chunk_duration"),
        "chunk_duration_std": np.std(duration, ddof=1),
        **{f"chunk_duration_p{q}": np.percentile(duration, q) for q in (50, 95, 99)},
        **spread(delta, "chunk_mem_delta", "_mb"),
        "chunk_mem_delta_std_mb": np.std(delta, ddof=1),
        "total_events_from_chunks": events.sum(),
        **spread(events, "chunk_events"),
        **spread(duration / events * 1e6, "time_per_event_us"),
        **spread(delta * 1e6 / events, "memory_per_event_bytes"),
        "runtime_events_correlation": np.corrcoef(events, duration)[0, 1],
        "chunk_fixed_cost_s": intercept,
        "chunk_cost_per_event_us": slope * 1e6,
    }


def read_by_uproot(run):
    """{file: row of file_read_metrics}"""
    found = {}
    for file, dataset in run.files():
        with uproot.open({file: "Events"}) as tree:
            names = ACCESSED[dataset]
            read = sum(tree[name].compressed_bytes for name in names)
            found[file] = {
                "total_branches": len(tree.keys()),
                "branches_read_percent": 100 * len(names) / len(tree.keys()),
                "total_tree_bytes": tree.compressed_bytes,
                "bytes_read": read,
                "bytes_read_percent": 100 * read / tree.compressed_bytes,
            }
    return found


def files(run):
    rows = read_by_uproot(run).values()
    return {
        "avg_branches_read_percent": np.mean([row["branches_read_percent"] for row in rows]),
        "avg_bytes_read_percent": np.mean([row["bytes_read_percent"] for row in rows]),
        "total_branches_read": len(set.union(*ACCESSED.values())),
        "useful_rate_gbps": sum(row["bytes_read"] for row in rows) * 8 / run.wall / 1e9,
    }


# What the run on the usual cluster may lack: Dask writes an activity down only when it happens. These are
# checked in the run that spills.
NEEDS_SPILLING = {
    "disk_read_bytes",
    "disk_write_bytes",
    "compression_time_seconds",
    "decompression_time_seconds",
    "total_compression_overhead_seconds",
    "serialization_time_seconds",
    "deserialization_time_seconds",
    "total_serialization_overhead_seconds",
}
SCALARS = (workflow, workers, fine, distributions, files)
# The contract's other names, each with its own test below.
TABLES = {
    "tracking_data": "test_raw_records",
    "raw_chunk_metrics": "test_raw_records",
    "raw_section_metrics": "test_raw_records",
    "raw_span_metrics": "test_raw_records",
    "chunk_info": "test_chunk_info",
    "budget": "test_budget",
    "per_dataset": "test_per_dataset",
    "sections": "test_sections",
    "file_metadata": "test_files",
    "file_read_metrics": "test_files",
    "compression_ratios": "test_files",
    "bytes_read_percent_per_file": "test_files",
}


# ---- the tests ----


def contract_names():
    contract, *_ = NAMES.read_text().partition("# Beyond the contract")
    lines = (line.split() for line in contract.splitlines())
    return {words[1] for words in lines if words[:1] == ["metrics"]}


def aliases():
    """{alias: main name}"""
    return {
        alias: row["key"]
        for row in _core.catalogue()
        if row["scope"] == "metrics"
        for alias in row["aliases"]
    }


def compare(metrics, expected):
    for key in [key for key, value in expected.items() if value is None]:
        assert key not in metrics
        assert metrics[key] is None
    wrong = {
        key: (metrics.get(key), value)
        for key, value in expected.items()
        # times of samples are cut to microseconds in Python
        if value is not None and metrics.get(key) != pytest.approx(value, rel=1e-4, abs=1e-9)
    }
    assert wrong == {}


@pytest.mark.parametrize("family", SCALARS, ids=lambda family: family.__name__)
def test_scalars(measured, family):
    expected = family(measured)
    assert {key for key, value in expected.items() if value is None} <= NEEDS_SPILLING
    compare(measured.metrics, expected)


def test_scalars_of_a_run_that_spills(spilled):
    expected = fine(spilled)
    assert all(expected[key] > 0 for key in NEEDS_SPILLING)
    assert None not in expected.values()
    compare(spilled.metrics, expected)


def test_every_name_of_the_contract_is_tested(measured, spilled):
    calculated = {key for family in SCALARS for key in family(measured)}
    tested = calculated | set(TABLES)
    tested |= {alias for alias, key in aliases().items() if key in tested}
    assert contract_names() - tested == set()
    assert all(callable(globals()[test]) for test in TABLES.values())
    for name in contract_names():
        assert name in (spilled if name in NEEDS_SPILLING else measured).metrics, name


def test_aliases_are_the_same_value(measured):
    # typed from the contract's table: the catalogue must not be its own judge
    rows = """wall_time elapsed_time_seconds
        total_bytes_read_coffea total_bytes_read
        data_rate_gbps overall_rate_gbps
        data_rate_mbps overall_rate_mbps
        event_rate_wall_khz event_rate_elapsed_khz
        event_rate_agg_khz event_rate_cpu_total_khz
        avg_workers time_avg_workers
        core_efficiency cpu_efficiency
        speedup_factor speedup
        processor_noncpu_time_seconds processor_io_wait_time_seconds
        processor_cpu_percentage processor_cpu_percent
        processor_noncpu_percentage processor_io_wait_percent
        overhead_noncpu_time_seconds overhead_io_wait_time_seconds
        total_bytes_memory_read_dask total_bytes_memory_read"""
    typed = dict(reversed(row.split()) for row in rows.splitlines())
    known = aliases()
    assert typed.items() <= known.items()
    assert set(known) & contract_names() == set(typed)
    for alias, key in known.items():
        assert measured.metrics[alias] == measured.metrics[key], alias


def test_the_run_is_what_the_test_says(measured):
    (failed,) = [chunk for chunk in measured.chunks if chunk.get("error") is not None]
    assert failed["error"] == "OSError: not yet"
    assert failed["duration"] >= 0.3
    assert len(set(measured.column("num_events"))) > 1
    assert len(measured.good) == measured.report["chunks"]
    for chunk in measured.good:
        assert set(chunk["accessed_branches"]) == ACCESSED[chunk["dataset"]]
    assert sum(chunk["bytes_read"] for chunk in measured.good) == measured.report["bytesread"]
    assert len(measured.tracking["worker_counts"]) > 5
    with uproot.open({measured.files()[0][0]: "Events"}) as tree:
        assert len(tree.keys()) >= 50


def test_budget(measured):
    budget = measured.metrics["budget"]
    assert set(budget["parts"]) == {
        "preprocessing", "client", "before_process", "read", "compute_cpu", "compute_offcpu", "after_process", "reduction",
        "other_tasks", "worker_overhead", "lost", "idle_ramp_up", "idle_starved", "idle_between",
        "idle_tail", "unaccounted"}
    available = budget["available_core_seconds"]
    assert available == pytest.approx(2 * measured.metrics["wall_time"], rel=0.01)
    assert sum(budget["parts"].values()) == pytest.approx(available)


def test_per_dataset(measured):
    expected = {}
    for name in measured.fileset:
        chunks = [chunk for chunk in measured.good if chunk["dataset"] == name]
        seconds, events = (sum(c[k] for c in chunks) for k in ("duration", "num_events"))
        assert events == 2100
        expected[name] = {
            "num_chunks": len(chunks),
            "total_duration": pytest.approx(seconds),
            "total_events": events,
            "mean_duration": pytest.approx(seconds / len(chunks)),
            "mean_events_per_chunk": pytest.approx(events / len(chunks)),
        }
    assert measured.metrics["per_dataset"] == expected


def test_sections(measured):
    def uses(name):
        return [s["time_delta"] for c in measured.good for s in c["sections"] if s["section_name"] == name]

    def timed(name, inside=()):
        times = uses(name)
        return {
            "count": len(times),
            "total_duration": pytest.approx(sum(times)),
            "mean_duration": pytest.approx(np.mean(times)),
            "self_duration": pytest.approx(sum(times) - sum(sum(uses(n)) for n in inside)),
            "type": "time",
        }

    assert len(uses("selection")) == len(measured.good)
    assert len(uses("inner")) == 2 * len(measured.good)
    for chunk in measured.good:
        # what the sections did: sleep that long
        assert chunk["timing"]["inner"] >= 2e-5 * chunk["num_events"]
        assert chunk["duration"] >= chunk["timing"]["selection"] >= chunk["timing"]["inner"]
    deltas = [c["memory"]["muons"] for c in measured.good]
    read = sum(
        c["reads"][name]["bytes"] for c in measured.good for name in ("nJet", "Jet_pt")
    )
    none = {"total_duration": None, "mean_duration": None}
    assert measured.metrics["sections"] == {
        "selection": timed("selection", inside=["inner"]),
        "inner": timed("inner"),
        "muons": {
            "count": len(deltas),
            **none,
            "type": "memory",
            "mean_mem_delta_mb": pytest.approx(np.mean(deltas)),
            "max_mem_delta_mb": pytest.approx(max(deltas)),
            "min_mem_delta_mb": pytest.approx(min(deltas)),
        },
        "jets read": {"count": len(measured.good), **none, "type": "bytes", "total_bytes": read},
    }


def test_files(measured):
    metrics = measured.metrics
    rows = read_by_uproot(measured)
    assert metrics["file_read_metrics"] == {
        file: {key: pytest.approx(value) for key, value in row.items()} for file, row in rows.items()
    }
    order = list(metrics["file_read_metrics"])
    assert metrics["bytes_read_percent_per_file"] == pytest.approx(
        [rows[file]["bytes_read_percent"] for file in order]
    )
    ratios, metadata = {}, {}
    for file in order:
        with uproot.open({file: "Events"}) as tree:
            ratios[file] = tree.compressed_bytes / tree.uncompressed_bytes
            metadata[file] = {
                "filename": file,
                "compression_ratio": pytest.approx(ratios[file]),
                "total_branches": len(tree.keys()),
                "total_tree_bytes": tree.compressed_bytes,
                "branch_bytes": {name: branch.compressed_bytes for name, branch in tree.items()},
            }
    assert metrics["compression_ratios"] == pytest.approx([ratios[file] for file in order])
    assert metrics["file_metadata"] == metadata


def test_chunk_info(measured):
    # of a chunk that was tried twice: the try that was good
    assert measured.metrics["chunk_info"] == {
        (c["file"], c["entry_start"], c["entry_stop"]): (c["t_start"], c["t_end"], c["bytes_read"])
        for c in measured.good
    }
    for start, end, _ in measured.metrics["chunk_info"].values():
        assert measured.mc.t_start <= start < end <= measured.mc.t_end


def test_raw_records(measured):
    metrics, mc = measured.metrics, measured.mc
    assert [dict(chunk) for chunk in metrics["raw_chunk_metrics"]] == measured.chunks
    assert metrics["raw_section_metrics"] == mc.section_metrics == []
    assert metrics["raw_span_metrics"] == mc.span_metrics
    assert metrics["tracking_data"] == mc.tracking_data
