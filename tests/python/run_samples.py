"""Runs with everything in them, and what their tables must say; for the tests of Run and its tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from roastcoffea._core import ChunkLog, Run, WorkerSeries

T0 = datetime(2026, 3, 1, 12, 0, 0, 250000, tzinfo=UTC)
SERIES = ("memory", "memory_limit", "active_tasks", "cores", "nbytes", "occupancy", "executing", "last_seen",
          "cpu", "spilled_bytes", "net_read_bps", "net_write_bps", "disk_read_bps", "disk_write_bps")


def full_chunk(i=0):
    """A chunk that has every key."""
    return {
        "t_start": 1_790_000_000.25 + i, "duration": 0.125 + i / 1000, "num_events": 1000 + i,
        "dataset": "tt̄ → 2ℓ2ν", "file": f"root://höst//store/Größe_{i % 3}.root",
        "uuid": f"0b1e2a1c-3c5d-11ee-8c99-{i % 3:012d}", "entry_start": 100 * i, "entry_stop": 100 * i + 100,
        "mem_before_mb": 512.25, "mem_after_mb": 600.5 + i, "bytes_read": 12_345_678 + i,
        "accessed_branches": ["Jet_pt", "Jet_eta"], "accessed_bytes": 1000 + i,
        "accessed_uncompressed_bytes": 3000 + i, "cpu_user_s": 0.1, "cpu_system_s": 0.0125,
        "mem_peak_mb": 700.0, "runqueue_wait_s": 0.001, "io_wait_s": 0.002, "minor_faults": 7,
        "major_faults": 1, "worker": f"tcp://10.0.0.{i % 2}:4000", "thread": 4000 + i % 2,
        "task_key": f"process-{i:032x}", "before_process_s": 0.5, "read_requests": 11,
        "metadata_bytes": 99, "error": f"ValueError: no jets ≥ {i}", "treename": "Events", "host": "nöde-7",
        "pid": 77, "voluntary_switches": 1, "involuntary_switches": 2, "os_read_bytes": 3,
        "os_read_calls": 4, "os_write_bytes": 5, "os_write_calls": 6, "storage_read_bytes": 4096,
        "storage_write_bytes": 8192, "dropped_sections": 0, "faults": 0, "measuring_s": 0.000125,
        "read_cpu_s": 0.0625,
        "file_metadata": {"filename": f"root://höst//store/Größe_{i % 3}.root", "compression_ratio": 0.25,
                          "total_branches": 8, "total_tree_bytes": 100_000, "branch_bytes": {"Jet_pt": 10}},
        "sections": [
            {"section_name": "select", "time_delta": 0.1, "start": 0.01, "depth": 0, "count": 1},
            {"section_name": "inner", "time_delta": 0.05, "start": 0.02, "depth": 1, "count": 12},
            {"section_name": "Größe", "time_delta": 0.001, "start": 0.07, "depth": 2, "count": 1},
            {"section_name": "fill", "time_delta": 0.01, "start": 0.11, "depth": 0, "count": 1},
        ],
        "memory_sections": [{"section_name": "fill", "memory_start_gb": 0.5, "memory_end_gb": 0.625,
                             "memory_delta_gb": 0.125}],
        "bytes": {"read": 4_000_000_000 + i},
        "reads": {
            "Jet_pt": {"seconds": 0.03, "bytes": 500, "uncompressed_bytes": 1500, "count": 2},
            "Élan": {"seconds": None, "bytes": None, "uncompressed_bytes": None, "count": 1},
        },
    }


def mixed_log(n=10):
    """Full chunks, chunks of which little is known, and chunks of which nothing is."""
    kinds = [full_chunk, lambda i: {"duration": i / 8, "dataset": "data", "num_events": i},
             lambda i: {"file": "", "mem_before_mb": 1.0}, lambda i: {}]
    return ChunkLog([kinds[i % 4](i) for i in range(n)])


def sample_series(ticks=3):
    series = WorkerSeries()
    for tick in range(ticks):
        workers = {"tcp://a": {name: 100 * (tick + k) for k, name in enumerate(SERIES)}}
        workers["tcp://a"]["cpu"] = 12.5 + tick
        if tick == 1:
            workers["wörker"] = {"memory": 5}
        series.tick_values(T0 + timedelta(microseconds=tick), workers)
    return series


def full_run(n=10):
    return Run(
        report={"entries": 4000, "bytesread": 50_000_000, "processtime": 40.5, "chunks": n,
                "columns": ["Jet_pt-data"]},
        t_start=100.0, t_end=110.5, chunks=mixed_log(n), series=sample_series(),
        spans={("execute", "Processor", "thread-cpu", "seconds"): 12.5,
               ("gather-dep", "network", "seconds"): 0.25},
        processor_name="Processor", meta={"executor": "DaskExecutor", "wörd": "ünïcode"},
        section_metrics=[{"section_name": "by hand", "duration": 2.0}])


# ---- what the tables must say, from the mappings alone ----

def chunk_rows(log):
    """A dict a chunk of all keys that hold one number or one text."""
    keys = [key for key, value in ChunkLog([full_chunk()])[0].items() if not isinstance(value, (list, dict))]
    return [{key: chunk.get(key) for key in keys} for chunk in log]


def section_rows(log):
    """Time sections, memory sections, sums of bytes: in the order of a chunk that came from a mapping."""
    rows = []
    for number, chunk in enumerate(log):
        first, open_at = len(rows), {}
        for section in chunk["sections"]:
            depth = section["depth"]
            open_at[depth] = len(rows)
            rows.append({"chunk": number, "name": section["section_name"], "kind": "time", "depth": depth,
                         "time_delta": section["time_delta"], "start": section["start"],
                         "count": section["count"], "parent": open_at[depth - 1] if depth else None})
        for section in chunk["memory_sections"]:
            rows.append({"chunk": number, "name": section["section_name"], "kind": "memory", "start": 0.0,
                         "depth": 0, "count": 1, "memory_start_gb": section["memory_start_gb"],
                         "memory_end_gb": section["memory_end_gb"],
                         "memory_delta_gb": section["memory_delta_gb"]})
        for name, total in chunk["bytes"].items():
            rows.append({"chunk": number, "name": name, "kind": "bytes", "start": 0.0, "depth": 0, "count": 1,
                         "bytes": total})
        assert len(rows) - first in (0, 6)
    return rows


def read_rows(log):
    return [{"chunk": number, "branch": branch, **values}
            for number, chunk in enumerate(log) for branch, values in (chunk["reads"] or {}).items()]


def sample_rows(series):
    """In nanoseconds, as the table has them."""
    rows = {}
    data = series.as_tracking_data()
    for name in SERIES:
        for worker, samples in data[f"worker_{name}"].items():
            for when, value in samples:
                microseconds = (when - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
                rows.setdefault((worker, microseconds * 1000), {})[name] = value
    return [{"worker": worker, "timestamp": when, **rows[worker, when]} for worker, when in sorted(rows)]


def expected_rows(run):
    """{table: rows} of full_run()."""
    by_hand = {"name": "by hand", "kind": "time", "time_delta": 2.0, "depth": 0, "count": 1}
    return {
        "chunks": chunk_rows(run.chunk_log),
        "sections": [*section_rows(run.chunk_log), by_hand],
        "samples": sample_rows(run.series),
        "reads": read_rows(run.chunk_log),
    }


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF
