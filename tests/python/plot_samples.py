"""Data for the tests of the plots, as users have it: dicts and lists, made by plain loops."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

T0 = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
S0 = T0.timestamp()
COLUMNS = ("memory", "memory_limit", "active_tasks", "cores", "nbytes", "occupancy", "executing", "last_seen",
           "cpu")


def tracking(workers=3, ticks=5, seed=1):
    """tracking_data of workers that are all there all the time."""
    source = random.Random(seed)
    times = [T0 + timedelta(seconds=2 * tick) for tick in range(ticks)]
    data = {"worker_counts": {time: workers for time in times}}
    data |= {f"worker_{name}": {} for name in COLUMNS}
    for worker in range(workers):
        name = f"tcp://10.0.0.{worker}:4000"
        level = source.uniform(1e9, 5e9)
        rows = {
            "memory": lambda: int(level * source.uniform(0.8, 1.2)),
            "memory_limit": lambda: 8_000_000_000,
            "active_tasks": lambda: source.randrange(9),
            "cores": lambda: 4,
            "nbytes": lambda: 1000,
            "occupancy": lambda: source.randrange(100) / 8,
            "executing": lambda: source.randrange(5),
            "last_seen": lambda: 1.0,
            "cpu": lambda: source.randrange(0, 4000) / 10,
        }
        for key, value in rows.items():
            data[f"worker_{key}"][name] = [(time, value()) for time in times]
    return data


def chunk(i, source):
    events = source.randrange(1000, 50_000)
    return {
        "t_start": S0 + i * 0.5, "duration": 0.5 + events * 2e-5 * source.uniform(0.9, 1.3), "num_events": events,
        "dataset": ("ttbar", "wjets", "data")[i % 3], "file": f"root://eos//file_{i % 4}.root",
        "entry_start": i * 100, "entry_stop": i * 100 + 100, "bytes_read": events * 40,
        "mem_before_mb": 500.0, "mem_after_mb": 510.0, "mem_peak_mb": source.uniform(600, 900),
        "accessed_branches": [f"b{k}" for k in range(5 + i % 4)], "accessed_bytes": events * 20,
        "accessed_uncompressed_bytes": events * 70, "worker": f"tcp://10.0.0.{i % 3}:4000", "host": "node",
        "sections": [
            {"section_name": "select", "time_delta": 0.3, "start": 0.0, "depth": 0, "count": 1},
            {"section_name": "jets", "time_delta": 0.125, "start": 0.1, "depth": 1, "count": 1},
        ],
        "reads": {
            "Jet_pt": {"seconds": 0.01, "bytes": 100 + i, "uncompressed_bytes": 500, "count": 1},
            "Jet_eta": {"seconds": 0.03, "bytes": 50, "uncompressed_bytes": 300, "count": 1},
        },
    }


def chunks(n=12, seed=2):
    """A list of dicts; the last one failed."""
    source = random.Random(seed)
    made = [chunk(i, source) for i in range(n)]
    if made:
        made[-1]["error"] = "OSError: time-out"
    return made


SPANS = {
    ("execute", "Proc", "thread-cpu", "seconds"): 3.0,
    ("execute", "Proc", "thread-cpu", "count"): 99.0,
    ("execute", "Proc", "thread-noncpu", "seconds"): 1.0,
    ("execute", "merge", "thread-cpu", "seconds"): 0.5,
    ("execute", "Proc", "memory-read", "bytes"): 1e6,
    ("execute", "Proc", "disk-read", "seconds"): 0.25,
    ("execute", "Proc", "disk-read", "bytes"): 2e6,
    ("execute", "Proc", "compress", "seconds"): 0.1,
    ("execute", "Proc", "decompress", "seconds"): 0.2,
    ("execute", "merge", "serialize", "seconds"): 0.3,
    ("execute", "merge", "deserialize", "seconds"): 0.4,
    ("gather-dep", "network", "seconds"): 7.0,
}

METRICS = {
    "compression_ratios": [0.2, 0.25, 0.4, 0.25],
    "bytes_read_percent_per_file": [1.0, 2.0, 3.0],
    "core_efficiency": 0.5,
    "cpu_utilization_avg_pct": 61.0,
    "speedup_factor": 3.0,
    "avg_workers": 2.5,
    "peak_workers": 3,
    "total_cores": 10.0,
    "peak_memory_bytes": 4_000_000_000,
    "avg_memory_per_worker_bytes": 2.5e9,
    "sections": {
        "select": {"count": 12, "total_duration": 3.6, "self_duration": 2.1, "mean_duration": 0.3, "type": "time"},
        "jets": {"count": 12, "total_duration": 1.5, "self_duration": 1.5, "mean_duration": 0.125, "type": "time"},
        "fill": {"count": 2, "total_duration": None, "mean_duration": None, "mean_mem_delta_mb": 5.0,
                 "type": "memory"},
    },
    "budget": {
        "available_core_seconds": 100.0,
        "parts": {"before_process": 10.0, "read": 20.0, "compute_cpu": 30.0, "compute_offcpu": 5.0,
                  "after_process": 1.0, "reduction": 4.0, "other_tasks": 0.0, "worker_overhead": 5.0, "lost": 5.0,
                  "idle_ramp_up": 5.0, "idle_starved": 5.0, "idle_between": 2.0, "idle_tail": 6.0,
                  "unaccounted": 2.0},
    },
}
