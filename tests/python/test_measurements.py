"""Measurements on disk: what was saved comes back, key by key."""

from __future__ import annotations

import gc
import json
import math
import os
import stat
from datetime import datetime, timezone

import pytest

from leaks import assert_nothing_is_kept
from run_samples import full_run, mixed_log, sample_series
from roastcoffea import _core, load_measurement, open_run
from roastcoffea._core import ChunkLog, LiveMeasurement, Run
from roastcoffea.aggregation.core import Metrics, MetricsAggregator
from roastcoffea.export import extras
from roastcoffea.export.measurements import save_measurement
from roastcoffea.live import LiveWriter

REPORT = {"entries": 4000, "bytesread": 50_000_000, "processtime": 40.5, "chunks": 10,
          "columns": ["Jet_pt-data"]}
SPANS = {("execute", "Processor", "thread-cpu", "seconds"): 12.5,
         ("execute", "Processor", "thread-noncpu", "seconds"): 1.5,
         ("gather-dep", "network", "seconds"): 0.25}


def aggregated(**more):
    return MetricsAggregator("dask").aggregate(
        REPORT, sample_series(), 100.0, 110.5, span_metrics=SPANS, processor_name="Processor",
        chunk_metrics=mixed_log(), **more)


def same(left, right):
    """Equal, with NaN equal to itself."""
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right or (left != left and right != right)


def assert_same(loaded, saved):
    assert set(loaded) == set(saved)
    for name in saved:
        assert same(loaded[name], saved[name]), name


# ---- round trips ----

def test_all_comes_back(tmp_path):
    metrics = aggregated()
    path = save_measurement(metrics, 100.0, 110.5, tmp_path, "first")
    assert path == tmp_path / "first"
    loaded, t0, t1 = load_measurement(path)
    assert (t0, t1) == (100.0, 110.5)
    assert_same(loaded, metrics)
    assert isinstance(loaded["raw_chunk_metrics"], ChunkLog)
    assert loaded["tracking_data"] == sample_series().as_tracking_data()


def test_what_the_user_changed_comes_back(tmp_path):
    metrics = aggregated(section_metrics=[{"section_name": "by hand", "time_delta": 1.5, "note": "mine"}])
    metrics["wall_time"] = 3.25
    del metrics["speedup"]
    metrics["mine"] = {("a", 1): {2, 3}, "when": datetime(2026, 1, 2, tzinfo=timezone.utc),
                       "bytes": b"\x00\xff", "nan": math.nan, "inf": -math.inf, "$": [None, True]}
    path = save_measurement(metrics, 1.0, 2.0, tmp_path, "changed")
    loaded, t0, t1 = load_measurement(path)
    assert (t0, t1) == (1.0, 2.0)
    assert_same(loaded, metrics)


def test_a_plain_dict_comes_back(tmp_path):
    """As programs of older versions have it: every record a dict, no run behind it."""
    metrics = dict(aggregated())
    metrics["raw_chunk_metrics"] = [chunk.as_dict() for chunk in metrics["raw_chunk_metrics"]]
    metrics["tracking_data"] = dict(metrics["tracking_data"])
    loaded, _, _ = load_measurement(save_measurement(metrics, 100.0, 110.5, tmp_path))
    assert_same(loaded, metrics)


def test_an_empty_one(tmp_path):
    metrics = MetricsAggregator("dask").aggregate(None, None, 5.0, 6.0)
    loaded, t0, t1 = load_measurement(save_measurement(metrics, 5.0, 6.0, tmp_path))
    assert (t0, t1) == (5.0, 6.0)
    assert_same(loaded, metrics)
    assert loaded["wall_time"] == 1.0


def test_a_whole_run_comes_back(tmp_path):
    run = full_run()
    _core.save_measurement(run, tmp_path / "run", config=b'{"a": 1}')
    saved = open_run(tmp_path / "run")
    assert saved.state == "finished"
    assert saved.config == {"a": 1}
    assert saved.run.report == run.report
    assert saved.meta == run.meta
    assert saved.notes == run.notes
    assert saved.run.spans == run.spans
    assert (saved.t_start, saved.t_end) == (run.t_start, run.t_end)
    assert list(map(dict, saved.chunk_metrics)) == list(map(dict, run.chunk_log))
    assert saved.tracking_data == run.series.as_tracking_data()
    assert saved.run.series.events == run.series.events
    assert repr(saved) == "<SavedRun: 10 chunks, 10.5 s>"
    for name in ("chunks", "sections", "samples", "reads"):
        left, right = getattr(saved.run, name), getattr(run, name)
        assert left.columns == right.columns
        for column in left.columns:
            assert [str(value) for value in left.column(column)] == [
                str(value) for value in right.column(column)], column


# ---- the files ----

def test_small_files(tmp_path):
    path = save_measurement(aggregated(), 100.0, 110.5, tmp_path, "files", config={"chunk size": 7})
    metadata = json.loads((path / "metadata.json").read_text())
    assert metadata["elapsed_time_seconds"] == 10.5
    assert metadata["format"] == "roastcoffea_measurement_v2"
    assert abs(datetime.now(timezone.utc) - datetime.fromisoformat(metadata["timestamp"])).days == 0
    assert metadata["agc"]["walltime"] == 10.5
    assert metadata["agc"]["entries"] == 4000
    assert (path / "start_end_time.txt").read_text().strip().split(",") == ["100.0", "110.5"]
    assert json.loads((path / "config.json").read_text()) == {"chunk size": 7}
    metrics = json.loads((path / "metrics.json").read_text())
    assert metrics["total_events"] == 4000
    assert metrics["elapsed_time_seconds"] == metrics["wall_time"] == 10.5
    assert "raw_chunk_metrics" not in metrics
    assert (path / "run.sqlite").is_file()


# ---- names ----

def test_names_that_are_free(tmp_path):
    metrics = aggregated()
    first = save_measurement(metrics, 1700000000.0, 1700000001.0, tmp_path)
    second = save_measurement(metrics, 1700000000.0, 1700000001.0, tmp_path)
    assert first != second
    assert first.parent == second.parent == tmp_path
    assert first.name.startswith("2023-11-14")
    assert len(list(tmp_path.iterdir())) == 2


def test_a_name_that_somebody_else_takes_in_between(tmp_path, monkeypatch):
    metrics = aggregated()
    first = save_measurement(metrics, 0.0, 1.0, tmp_path, "taken")
    names = iter(["taken", "taken", "free"])
    monkeypatch.setattr(_core, "new_measurement_name", lambda folder, t: next(names))
    metrics["second"] = True
    assert save_measurement(metrics, 0.0, 1.0, tmp_path) == tmp_path / "free"
    assert "second" not in load_measurement(first)[0]


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../up", "/abs", "nul\0"])
def test_names_that_are_refused(name, tmp_path):
    with pytest.raises(ValueError, match="measurement_name"):
        save_measurement(aggregated(), 0.0, 1.0, tmp_path, name)
    assert not list(tmp_path.iterdir())


def test_an_older_one_is_replaced(tmp_path):
    metrics = aggregated()
    path = save_measurement(metrics, 100.0, 110.5, tmp_path, "same", config={"old": True})
    (path / "my notes.txt").write_text("mine")
    metrics["extra"] = 1
    with pytest.raises(FileExistsError, match="same"):
        save_measurement(metrics, 100.0, 110.5, tmp_path, "same", overwrite=False)
    assert "extra" not in load_measurement(path)[0]
    assert save_measurement(metrics, 100.0, 110.5, tmp_path, "same") == path
    assert load_measurement(path)[0]["extra"] == 1
    assert not (path / "config.json").exists()
    assert (path / "my notes.txt").read_text() == "mine"
    assert [entry.name for entry in tmp_path.iterdir()] == ["same"]


@pytest.mark.parametrize("overwrite", [True, False])
def test_what_is_no_measurement_is_never_touched(overwrite, tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("years of work")
    (tmp_path / "file").write_text("x")
    for name in ("thesis", "file"):
        with pytest.raises(FileExistsError):
            save_measurement(aggregated(), 0.0, 1.0, tmp_path, name, overwrite=overwrite)
    assert (tmp_path / "thesis" / "chapter.tex").read_text() == "years of work"
    assert (tmp_path / "file").read_text() == "x"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "thesis"]


# ---- faults ----

def test_what_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        load_measurement(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="empty"):
        load_measurement(tmp_path / "empty")
    path = save_measurement(aggregated(), 0.0, 1.0, tmp_path, "whole")
    (path / "metadata.json").unlink()
    with pytest.raises(FileNotFoundError, match="metadata.json"):
        load_measurement(path)


@pytest.mark.parametrize("name", ["run.sqlite", "metadata.json", "metrics.json", "start_end_time.txt"])
def test_damage_is_told(name, tmp_path):
    path = save_measurement(aggregated(), 0.0, 1.0, tmp_path, "whole")
    data = bytearray((path / name).read_bytes())
    data[len(data) // 2] ^= 4
    (path / name).write_bytes(data)
    with pytest.raises(ValueError, match=name):
        load_measurement(path)


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotADirectoryError):
        save_measurement(aggregated(), 0.0, 1.0, tmp_path / "file" / "below")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_read_only(tmp_path):
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        with pytest.raises(PermissionError):
            save_measurement(aggregated(), 0.0, 1.0, tmp_path)
    finally:
        tmp_path.chmod(0o700)


def test_extras_run_nothing():
    assert extras.load(extras.dump({"a": (1, [2.5, None])})) == {"a": (1, [2.5, None])}
    with pytest.raises(ValueError, match="unknown kind 'os.system'"):
        extras.load(b'{"$": "os.system", "value": "true"}')
    with pytest.raises(ValueError, match="extras"):
        extras.load(b'{"$": "tuple"}')
    with pytest.raises(ValueError, match="extras"):
        extras.load(b"{")
    with pytest.warns(UserWarning, match="object"):
        assert "object" in extras.load(extras.dump(object()))


# ---- while a run goes on ----

def test_live(tmp_path):
    path = tmp_path / "live"
    live = LiveMeasurement(path)
    chunks, series = mixed_log(), sample_series()
    live.append(Run(t_start=100.0, t_end=101.0, chunks=chunks[:4], meta={"executor": "X"}))
    live.append(Run(t_start=100.0, t_end=102.0, chunks=chunks[4:], series=series))
    seen = open_run(path)
    assert seen.state == "live"
    assert (seen.t_start, seen.t_end) == (100.0, 102.0)
    assert list(map(dict, seen.chunk_metrics)) == list(map(dict, chunks))
    assert seen.tracking_data == series.as_tracking_data()
    run = full_run()
    live.finish(run, config=b"{}")
    with pytest.raises(RuntimeError, match="ended"):
        live.append(run)
    done = open_run(path)
    assert done.state == "finished"
    assert done.run.report == run.report
    assert len(done.chunk_metrics) == len(run.chunk_log)


def test_news_that_could_not_be_written_are_written_later(tmp_path, monkeypatch):
    chunks, series = mixed_log(), sample_series()

    class Source:
        told = [([chunks[:4].to_bytes(), b"damaged", chunks[4:5].to_bytes()], series), ([chunks[5:].to_bytes()], None)]

        def news(self):
            return self.told.pop(0)

    writer = LiveWriter(tmp_path / "live", False, Source(), dict)
    with monkeypatch.context() as patch:
        patch.setattr("roastcoffea.live.Run", lambda **parts: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            writer.append()
    writer.append()
    seen = open_run(tmp_path / "live")
    assert list(map(dict, seen.chunk_metrics)) == list(map(dict, chunks))
    assert seen.tracking_data == series.as_tracking_data() and "ValueError" in writer.failure
    writer.abandon()


def test_a_live_one_that_is_given_up(tmp_path):
    live = LiveMeasurement(tmp_path / "gone")
    live.append(Run(chunks=mixed_log()))
    live.abandon()
    assert not list(tmp_path.iterdir())


def test_a_live_one_that_is_forgotten(tmp_path):
    live = LiveMeasurement(tmp_path / "kept")
    live.append(Run(chunks=mixed_log()))
    del live
    gc.collect()
    left = open_run(tmp_path / "kept")
    assert left.state == "unfinished"
    assert len(left.chunk_metrics) == len(mixed_log())


# ---- memory ----

def exercise(folder):
    run = full_run()
    _core.save_measurement(run, folder / "a", config=b"{}", extras=b"x")
    _core.load_measurement(folder / "a")
    _core.measurement_kind(folder / "a")
    _core.new_measurement_name(folder, 1.0)
    live = LiveMeasurement(folder / "b")
    live.append(run)
    live.finish(run)
    for refused in (lambda: _core.save_measurement(3, folder / "c"), lambda: live.append(run),
                    lambda: LiveMeasurement(folder / "a", overwrite=False),
                    lambda: _core.load_measurement(folder / "none"), lambda: live.append(3),
                    lambda: _core.new_measurement_name(folder, math.nan)):
        with pytest.raises((TypeError, RuntimeError, OSError, ValueError)):
            refused()


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizers keep what is freed")
def test_nothing_leaks(tmp_path):
    exercise(tmp_path)
    _core.get_process_memory()  # opens what a thread reads its own state from, once
    files = len(os.listdir("/proc/self/fd"))
    assert_nothing_is_kept(lambda: exercise(tmp_path), 20)
    assert len(os.listdir("/proc/self/fd")) == files


def test_every_failing_allocation(tmp_path):
    run = full_run()
    _core.save_measurement(run, tmp_path / "there")
    calls = [lambda: _core.save_measurement(run, tmp_path / "there", config=b"{}", extras=b"y"),
             lambda: _core.load_measurement(tmp_path / "there")]
    for call in calls:
        after = 0
        while True:
            _core._fail_allocations(after)
            try:
                call()
                break
            except (MemoryError, OSError, ValueError):
                after += 1 + after // 20
            finally:
                _core._fail_allocations(None)
        assert after > 10
        assert len(_core.load_measurement(tmp_path / "there")[0].chunk_log) == 10
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["there"]
