"""Measurements of roastcoffea 0.1.2, compared with what its own load_measurement made of them."""

from __future__ import annotations

import json
import shutil
from datetime import datetime
from pathlib import Path

import pytest

from leaks import assert_nothing_is_kept
from roastcoffea import _core
from roastcoffea.export.legacy import load_legacy

FOLDER = Path(__file__).parent.parent / "data" / "measurements_0_1_2"
NAMES = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())


def unspelled(value):
    """The value that make.py spelled out in JSON."""
    if isinstance(value, list):
        return [unspelled(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, inner),) = value.items()
    if kind == "datetime":
        return datetime.fromisoformat(inner)
    if kind == "float":
        return float(inner)
    if kind == "dict":
        return {unspelled(key): unspelled(item) for key, item in inner}
    return {"tuple": tuple, "set": set}[kind](unspelled(item) for item in inner)


def as_0_1_2(value):
    """Without what 0.1.2 lost in loading: tuples that were keys stayed texts."""
    if isinstance(value, dict):
        return {str(key) if isinstance(key, tuple) else key: as_0_1_2(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(as_0_1_2(item) for item in value)
    return value


def test_there_are_measurements():
    assert NAMES == ["failed_chunks", "local", "odd_values", "report_only", "sections"]


@pytest.mark.parametrize("name", NAMES)
def test_as_0_1_2_loads_it(name):
    expected, t0, t1 = unspelled(json.loads((FOLDER / f"{name}.loaded.json").read_text(encoding="utf-8")))
    _, metrics, _, times = load_legacy(FOLDER / name)
    assert times == (t0, t1)
    metrics = as_0_1_2(metrics)
    tracking = metrics.get("tracking_data")
    if tracking:  # 0.1.2 forgets the CPU load
        tracking.pop("worker_cpu")
    # repr: NaN is not equal to itself, 1 is equal to 1.0 and to True
    assert repr(metrics) == repr(expected)


def test_what_0_1_2_lost_in_loading():
    _, metrics, config, _ = load_legacy(FOLDER / "sections")
    saved = json.loads((FOLDER / "sections" / "metrics.json").read_text())
    assert config is None
    for worker, points in saved["tracking_data"]["worker_cpu"].items():
        assert metrics["tracking_data"]["worker_cpu"][worker] == [
            (datetime.fromisoformat(when), value) for when, value in points
        ]
    assert ("data/wjets.root", 0, 200) in metrics["chunk_info"]
    assert all(len(key) == 4 for key in metrics["raw_span_metrics"] if key[0] == "execute")
    _, metrics, _, _ = load_legacy(FOLDER / "odd_values")
    assert metrics["chunk_info"]["it's", -1, None] == [0.5, 1.5, 0]
    assert metrics["a", 1] == "tuple key"
    assert metrics["total_events"] == 2**53 + 1


def test_config():
    assert load_legacy(FOLDER / "local")[2] == {
        "executor": "iterative", "chunksize": 200, "note": "größer", "nested": {"list": [1, 2.5, None]},
    }


@pytest.mark.parametrize("name", ["sections", "failed_chunks", "report_only", "local"])
def test_the_run_gives_the_same_figures(name):
    """Computed anew by our formulas, from the raw data."""
    run, saved, _, _ = load_legacy(FOLDER / name)
    metrics = run.metrics()
    mib = 2**20 / 1e6  # 0.1.2 counted memory in these
    keys = ["total_events", "total_bytes_read", "total_cpu_time", "avg_workers", "peak_workers", "total_cores",
            "peak_memory_bytes", "num_successful_chunks", "num_failed_chunks", "chunk_duration_mean",
            "chunk_duration_max", "total_events_from_chunks", "processor_cpu_time_seconds",
            "overhead_cpu_time_seconds", "total_bytes_memory_read", "avg_cpu_time_per_chunk", "elapsed_time_seconds",
            "avg_branches_read_percent"]
    compared = 0
    for key in keys:
        if key in saved and saved[key] is not None:
            assert metrics[key] == pytest.approx(saved[key], rel=1e-6), key
            compared += 1
    assert compared >= 5
    if "chunk_mem_delta_max_mb" in saved:
        assert metrics["chunk_mem_delta_max_mb"] == pytest.approx(saved["chunk_mem_delta_max_mb"] * mib)
    assert len(run.chunk_log) == len(saved.get("raw_chunk_metrics") or [])
    for ours, theirs in zip(run.chunk_log, saved.get("raw_chunk_metrics") or []):
        for key in ("t_start", "duration"):
            assert ours[key] == pytest.approx(theirs[key], abs=1e-6)
        for key in ("num_events", "dataset", "file", "entry_start", "accessed_branches", "bytes", "error"):
            if key in theirs and theirs[key] is not None:
                assert ours[key] == theirs[key], key
        assert ours["timing"] == pytest.approx(theirs.get("timing") or {}, abs=1e-9)


def test_times_are_utc():
    run, saved, _, _ = load_legacy(FOLDER / "sections")
    first = min(run.series.as_tracking_data()["worker_counts"])
    local = min(saved["tracking_data"]["worker_counts"])
    assert local.tzinfo is None
    assert (local - first.replace(tzinfo=None)).total_seconds() == 3600
    assert run.t_start == pytest.approx(first.timestamp(), abs=1e-5)


# ---- what is wrong ----

@pytest.fixture
def copy(tmp_path):
    return Path(shutil.copytree(FOLDER / "report_only", tmp_path / "copy"))


def test_missing(copy, tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        load_legacy(tmp_path / "nowhere")
    (copy / "start_end_time.txt").unlink()
    with pytest.raises(FileNotFoundError, match="start_end_time.txt"):
        load_legacy(copy)
    (copy / "metrics.json").unlink()
    with pytest.raises(FileNotFoundError, match="metrics.json"):
        load_legacy(str(copy))
    (copy / "metadata.json").unlink()


def test_metadata_need_not_be_there(copy):
    (copy / "metadata.json").unlink()
    assert load_legacy(copy)[1]["total_events"] == 1200


@pytest.mark.parametrize(("file", "text", "what"), [
    ("metrics.json", '{"a": 1,\n "b": }', r"copy/metrics\.json: line 2, column 7"),
    ("metrics.json", "[]", r"metrics\.json: an object is expected"),
    ("metrics.json", '{"tracking_data": {"worker_cpu": {"w": [["noon", 1]]}}}', '"noon" is no time'),
    ("metrics.json", "[" * 5000, r"metrics\.json: line 1"),
    ("metrics.json", '{"a": ' + "[" * 1500 + "]" * 1500 + "}", r"metrics\.json: too many containers"),
    ("metadata.json", "{", r"metadata\.json"),
    ("config.json", "x", r"config\.json"),
    ("start_end_time.txt", "1", r"start_end_time\.txt: two numbers"),
])
def test_malformed(copy, file, text, what):
    (copy / file).write_text(text)
    with pytest.raises(ValueError, match=what):
        load_legacy(copy)


def test_cut_at_every_length(copy):
    text = (copy / "metrics.json").read_bytes()
    for length in range(0, len(text), 11):
        (copy / "metrics.json").write_bytes(text[:length])
        with pytest.raises(ValueError, match="metrics.json"):
            load_legacy(copy)


def test_flipped_bits(copy):
    text = bytearray((copy / "metrics.json").read_bytes())
    refused = 0
    for bit in range(0, 8 * len(text), 37):
        text[bit // 8] ^= 1 << bit % 8
        (copy / "metrics.json").write_bytes(text)
        try:
            assert isinstance(load_legacy(copy)[1], dict)
        except ValueError:
            refused += 1
        text[bit // 8] ^= 1 << bit % 8
    assert refused > 20


def test_keys_that_only_look_like_tuples(copy):
    keys = ["()x", "(1)", "(__import__('os'),)", "(1, 2,)", "([1],)", "(" * 300 + ")" * 300]
    (copy / "metrics.json").write_text(json.dumps(dict.fromkeys(keys, 1)))
    assert list(load_legacy(copy)[1]) == keys


def test_no_leak():
    def use():
        load_legacy(FOLDER / "sections")
        with pytest.raises(FileNotFoundError):
            load_legacy(FOLDER / "nothing")

    assert_nothing_is_kept(use, 20)


def test_memory_may_run_short():
    for after in range(0, 400, 7):
        _core._fail_allocations(after)
        try:
            load_legacy(FOLDER / "odd_values")
        except MemoryError:
            continue
        finally:
            _core._fail_allocations(None)
        break
    else:
        pytest.fail("it never had memory enough")
    assert after > 20
