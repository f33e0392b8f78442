"""Measurements on disk: what was saved comes back, key by key."""

from __future__ import annotations

import gc
import json
import math
import os
import shutil
import stat
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

import pytest

from leaks import assert_nothing_is_kept
from run_samples import full_run, mixed_log, sample_series
from roastcoffea import _core, load_measurement, open_run
from roastcoffea._core import ChunkLog, LiveMeasurement, Run
from roastcoffea.aggregation.core import Metrics, MetricsAggregator
from roastcoffea.export import extras
from roastcoffea.export.measurements import save_measurement
from roastcoffea.collector.live_writer import LiveWriter
from roastcoffea.coffea.pieces import Pieces

OLD = Path(__file__).parent.parent / "data" / "measurements_0_1_2"
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


@pytest.mark.parametrize("plain", [False, True])
def test_keys_of_the_user_are_in_metrics_json(plain, tmp_path):
    metrics = aggregated()
    mine = {"site": "Lyon", "cuts": [1.5, None, math.inf], "nested": {"a": {"b": (1, 2)}}, "schl\u00fcssel \"x\"": True,
            "pairs": {("a", 1): 2}, "when": datetime(2026, 1, 2, tzinfo=timezone.utc), "meta": "not ours"}
    metrics.update(mine)
    path = save_measurement(dict(metrics) if plain else metrics, 100.0, 110.5, tmp_path)
    written = json.loads((path / "metrics.json").read_text())
    assert (written["site"], written["schl\u00fcssel \"x\""]) == ("Lyon", True)
    assert written["cuts"] == [1.5, None, None], "JSON has no infinity"
    assert written["nested"] == {"a": {"b": [1, 2]}}
    assert written["pairs"] == {"$": "dict", "value": [[{"$": "tuple", "value": ["a", 1]}, 2]]}
    assert written["when"] == "2026-01-02 00:00:00+00:00"
    assert written["meta"] != "not ours" and written["wall_time"] == 10.5
    loaded, _, _ = load_measurement(path)
    assert {name: loaded[name] for name in mine} == mine
    assert_same(loaded, metrics)
    again = save_measurement(loaded, 100.0, 110.5, tmp_path, "again")
    assert json.loads((again / "metrics.json").read_text()) == written


def test_a_long_value_of_the_user_is_not_in_metrics_json(tmp_path):
    metrics = aggregated()
    metrics["long"] = list(range(200_000))
    path = save_measurement(metrics, 100.0, 110.5, tmp_path)
    assert "long" not in json.loads((path / "metrics.json").read_text())
    assert load_measurement(path)[0]["long"] == metrics["long"]


def test_a_plain_dict_comes_back(tmp_path):
    """As programs of older versions have it: every record a dict, no run behind it."""
    metrics = dict(aggregated())
    metrics["raw_chunk_metrics"] = [chunk.as_dict() for chunk in metrics["raw_chunk_metrics"]]
    metrics["tracking_data"] = dict(metrics["tracking_data"])
    loaded, _, _ = load_measurement(save_measurement(metrics, 100.0, 110.5, tmp_path))
    assert_same(loaded, metrics)


NINE = ("worker_memory", "worker_memory_limit", "worker_active_tasks", "worker_cores", "worker_nbytes", "worker_occupancy",
        "worker_executing", "worker_last_seen", "worker_cpu")


def plain_samples(workers, seconds):
    """Tracking data as a program of 0.1.x holds them; the values are finer than a series keeps them."""
    moments = [datetime.fromtimestamp(1.7e9 + second, timezone.utc) for second in range(seconds)]
    return {"worker_counts": dict.fromkeys(moments, workers),
            **{name: {f"tcp://w{i}": [(when, 100 + i + second / 3) for second, when in enumerate(moments)]
                      for i in range(workers)} for name in NINE}}


@pytest.mark.parametrize("with_run", [True, False])
def test_samples_of_a_plain_dict_are_saved_once(with_run, tmp_path, monkeypatch):
    data = plain_samples(20, 60) | {"mine": {"site": (1, 2)}}
    metrics = MetricsAggregator("dask").aggregate(REPORT, data, 1.7e9, 1.7e9 + 60)
    assert metrics["tracking_data"] is data
    monkeypatch.setattr("roastcoffea.export.measurements._MAX_FILE", 20_000)
    path = save_measurement(metrics if with_run else dict(metrics), 1.7e9, 1.7e9 + 60, tmp_path, "one")
    run, parts, _ = _core.load_measurement(path)
    assert len(parts["extras"]) < 500 + 10_000 * (not with_run)
    loaded = open_run(path)
    assert loaded.notes == []
    tracking = loaded.tracking_data
    assert tracking["mine"] == data["mine"] and set(tracking) >= set(data)
    assert tracking["worker_counts"] == data["worker_counts"]
    for name in NINE:
        assert list(tracking[name]) == list(data[name])
        for worker, points in data[name].items():
            assert [when for when, _ in tracking[name][worker]] == [when for when, _ in points]
            assert [value for _, value in tracking[name][worker]] == pytest.approx(
                [value for _, value in points], abs=0.5)
    again, _, _ = load_measurement(save_measurement(loaded.metrics, 1.7e9, 1.7e9 + 60, tmp_path, "two"))
    assert again["tracking_data"] == tracking


def test_chunks_of_plain_dicts_are_saved_once(tmp_path):
    chunks = [{"file": "a.root", "duration": 1 / 3, "num_events": i, "mine": (i, "x")} for i in range(100)]
    metrics = MetricsAggregator("dask").aggregate(REPORT, None, 100.0, 110.5, chunk_metrics=chunks)
    path = save_measurement(metrics, 100.0, 110.5, tmp_path, "one")
    assert "extras" not in _core.load_measurement(path)[1]
    loaded, _, _ = load_measurement(path)
    for kept, chunk in zip(loaded["raw_chunk_metrics"], chunks, strict=True):
        assert {name: kept[name] for name in chunk} == {**chunk, "duration": pytest.approx(1 / 3)}
    chunks.append({"file": "b.root"})
    loaded, _, _ = load_measurement(save_measurement(metrics, 100.0, 110.5, tmp_path, "changed"))
    assert loaded["raw_chunk_metrics"] == chunks


def test_samples_that_were_changed_afterwards_come_back(tmp_path):
    metrics = MetricsAggregator("dask").aggregate(REPORT, plain_samples(2, 3), 1.7e9, 1.7e9 + 3)
    metrics["tracking_data"]["worker_memory"]["tcp://w0"].append((datetime(2024, 1, 1, tzinfo=timezone.utc), 7))
    loaded, _, _ = load_measurement(save_measurement(metrics, 1.7e9, 1.7e9 + 3, tmp_path))
    assert loaded["tracking_data"] == metrics["tracking_data"]


def test_samples_of_a_live_run_that_were_looked_at_are_saved_once(tmp_path):
    series = sample_series()
    series.join("w0", 100.0, cores=2, host="node")
    metrics = MetricsAggregator("dask").aggregate(REPORT, series, 100.0, 110.5)
    assert len(metrics["tracking_data"]) == 15
    path = save_measurement(metrics, 100.0, 110.5, tmp_path, "one")
    assert "extras" not in _core.load_measurement(path)[1]


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
    assert saved.run.series.changes == run.series.changes
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
    assert extras.load(extras.dump({"a": (1, [2.5, None])}, 100)) == {"a": (1, [2.5, None])}
    with pytest.raises(ValueError, match="unknown kind 'os.system'"):
        extras.load(b'{"$": "os.system", "value": "true"}')
    assert "object" in extras.load(extras.dump(object(), 100))


DEEP = "[" * 100_000 + "]" * 100_000
SHAPE = '{"metrics": [], "absent": [], "times": [0, 1]}'


@pytest.mark.parametrize("bad", [
    "3", "null", "[]", "{}", DEEP, "{", "\udc80", SHAPE.replace("[0, 1]", "[0]"), SHAPE.replace("[0, 1]", '["a", {}]'),
    SHAPE.replace("[0, 1]", "7"), SHAPE.replace('"metrics": []', '"metrics": [[[], 3]]'),
    SHAPE.replace('"metrics": []', '"metrics": [3]'), SHAPE.replace('"metrics": []', '"metrics": 3'),
    SHAPE.replace('"absent": []', '"absent": [[]]'), SHAPE.replace('"absent": []', '"absent": null'),
])
def test_extras_of_another_shape_are_damage(bad, tmp_path):
    _core.save_measurement(full_run(), tmp_path / "run", extras=bad.encode("utf-8", "surrogatepass"))
    for read in (load_measurement, open_run):
        with pytest.raises(ValueError, match="run.sqlite is damaged: extras"):
            read(tmp_path / "run")


@pytest.mark.parametrize("bad", ["3", "null", "[]", '"text"', DEEP, "{", "\udc80", "1" * 5000])
def test_a_config_of_another_shape_is_damage(bad, tmp_path):
    _core.save_measurement(full_run(), tmp_path / "run", config=bad.encode("utf-8", "surrogatepass"))
    for read in (load_measurement, open_run):
        with pytest.raises(ValueError, match="config.json"):
            read(tmp_path / "run")


@pytest.mark.parametrize("name", ["config.json", "metadata.json", "metrics.json"])
def test_a_deep_file_of_0_1_x_is_damage(name, tmp_path):
    shutil.copytree(OLD / "sections", tmp_path / "old")
    (tmp_path / "old" / name).write_text('{"format": "roastcoffea_measurement_v1", "a": ' + DEEP + "}")
    for read in (load_measurement, open_run):
        with pytest.raises(ValueError, match=name):
            read(tmp_path / "old")


@pytest.mark.parametrize("name", ["sections", "local", "report_only", "failed_chunks", "odd_values"])
def test_every_measurement_of_0_1_x_has_a_repr(name):
    saved = open_run(OLD / name)
    assert repr(saved).startswith(f"<SavedRun: {len(saved.run.chunk_log)} chunks")


# ---- only regular files are read, and nothing blocks ----

FILES = ["run.sqlite", "metrics.json", "metadata.json", "config.json", "start_end_time.txt"]
KINDS = {
    "fifo": os.mkfifo,
    "link to a fifo": lambda path: (os.mkfifo(f"{path}.fifo"), os.symlink(f"{path}.fifo", path)),
    "device": lambda path: os.symlink("/dev/zero", path),
    "folder": os.mkdir,
}
READ = """
import sys
from roastcoffea import open_run, load_measurement, _core
_core.measurement_kind(sys.argv[1])
for read in (open_run, load_measurement):
    try:
        read(sys.argv[1])
        print("read")
    except (OSError, ValueError) as error:
        print(type(error).__name__, error)
"""


def read_in_time(path):
    """What reading says; in a process of its own, as one that blocks could not be ended here."""
    result = subprocess.run([sys.executable, "-c", READ, path], capture_output=True, text=True, timeout=60, check=True)
    return result.stdout.splitlines()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FILES)
def test_what_is_no_file_does_not_block(name, kind, tmp_path):
    path = save_measurement(aggregated(), 0.0, 1.0, tmp_path, "whole", config={"a": 1})
    (path / name).unlink()
    KINDS[kind](path / name)
    for line in read_in_time(path):
        assert name in line and line != "read", line


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FILES[1:])
def test_what_is_no_file_in_one_of_0_1_x_does_not_block(name, kind, tmp_path):
    path = tmp_path / "old"
    shutil.copytree(OLD / "sections", path)
    (path / name).unlink(missing_ok=True)
    KINDS[kind](path / name)
    for line in read_in_time(path):
        assert line != "read", line


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
def test_what_is_no_file_beside_an_unfinished_one_does_not_block(end, kind, tmp_path):
    live = LiveMeasurement(tmp_path / "live")
    live.append(Run(t_start=1.0, t_end=2.0, chunks=mixed_log()))
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "live", copy)
    live.abandon()
    (copy / f"run.sqlite{end}").unlink(missing_ok=True)
    KINDS[kind](copy / f"run.sqlite{end}")
    assert len(read_in_time(copy)) == 2  # damaged or not: it ends


# ---- one value that cannot be saved costs that value ----

class Refuses:
    def __str__(self):
        raise OSError("not me")

    def __eq__(self, other):
        raise OSError("not me")

    __hash__ = None


def circle():
    value = []
    value.append(value)
    return value


def deep(levels=100_000):
    value = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("bad", [circle(), deep(), Refuses(), "x" * (70 << 20), 10**5000], ids=lambda bad: type(bad).__name__)
def test_a_metric_that_cannot_be_saved_is_left_out(bad, tmp_path):
    metrics = aggregated()
    metrics.update(before=1, bad=bad, behind=2, wall_time=bad)
    loaded = open_run(save_measurement(metrics, 100.0, 110.5, tmp_path, "one"))
    assert (loaded.metrics["before"], loaded.metrics["behind"]) == (1, 2)
    assert "bad" not in loaded.metrics
    assert [note.split(" was left out: ")[0] for note in loaded.notes] == ["metric 'wall_time'", "metric 'bad'"]
    assert loaded.notes == json.loads((tmp_path / "one" / "metrics.json").read_text())["notes"]
    assert len(loaded.chunk_metrics) == 10


@pytest.mark.parametrize("bad", [circle(), deep(), Refuses(), "x" * (70 << 20)], ids=lambda bad: type(bad).__name__)
def test_a_part_of_the_config_that_cannot_be_saved_is_left_out(bad, tmp_path):
    config = {"before": 1, "bad": bad, ("a", "pair"): 2, "behind": {"x": [1, None]}, 3: 4}
    loaded = open_run(save_measurement(aggregated(), 100.0, 110.5, tmp_path, "one", config=config))
    assert loaded.config == {"before": 1, "behind": {"x": [1, None]}, "3": 4}
    assert [note.split(" was left out: ")[0] for note in loaded.notes] == ["config 'bad'", "config ('a', 'pair')"]
    empty = open_run(save_measurement(aggregated(), 100.0, 110.5, tmp_path, "none", config={"bad": bad}))
    assert empty.config == {}


def test_figures_and_names_that_cannot_be_saved(tmp_path):
    metrics = {
        "raw_chunk_metrics": [{"dataset": "a\udc80", "file": "b\ud800", "duration": 1.0, "timing": {"c\udc80": 1.0}}],
        "raw_span_metrics": {("execute", "P\udc80", "thread-cpu", "seconds"): 1.5,
                             ("execute", "P", "thread-cpu", "seconds"): math.nan,
                             ("execute", "P", "disk-read", "bytes"): math.inf},
        "raw_section_metrics": [{"section_name": "d\udc80", "duration": 1.0}],
        "tracking_data": {"worker_memory": {"e\udc80": [(datetime(2026, 1, 1, tzinfo=timezone.utc), 5)]}},
        "notes": ["f\udc80"],
    }
    saved = open_run(save_measurement(metrics, 100.0, 110.5, tmp_path, "odd"))
    (chunk,) = saved.run.chunk_log
    assert (chunk["dataset"], chunk["file"], list(chunk["timing"])) == ("a\\udc80", "b\\ud800", ["c\\udc80"])
    assert saved.run.spans == {("execute", "P\\udc80", "thread-cpu", "seconds"): 1.5}
    assert saved.notes == [
        "the figure ('execute', 'P', 'thread-cpu', 'seconds') of a span was left out: it is nan",
        "the figure ('execute', 'P', 'disk-read', 'bytes') of a span was left out: it is infinite",
        "f\\udc80"]
    assert list(saved.run.series.as_tracking_data()["worker_memory"]) == ["e\\udc80"]


def test_many_notes(tmp_path):
    notes = [f"note {i}" for i in range(100_000)]
    run = Run(notes=[*notes, *notes])
    assert run.notes == notes
    _core.save_measurement(run, tmp_path / "many", notes=["one more", "note 7"])
    assert open_run(tmp_path / "many").notes == [*notes, "one more"]
    assert run.notes == notes


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
    writer = LiveWriter(tmp_path / "live", False, dict, Pieces())
    with monkeypatch.context() as patch:
        patch.setattr("roastcoffea.collector.live_writer.Run", lambda **parts: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            writer.take([chunks[:4].to_bytes(), b"damaged", chunks[4:5].to_bytes()], series)
    writer.take([chunks[5:].to_bytes()], None)
    seen = open_run(tmp_path / "live")
    assert list(map(dict, seen.chunk_metrics)) == list(map(dict, chunks))
    assert seen.tracking_data == series.as_tracking_data() and "ValueError" in writer.failure
    assert seen.run.report["chunks"] == _core.chunk_metrics(chunks)["num_successful_chunks"]  # each once
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
    _core.save_measurement(run, folder / "a", config=b"{}", extras=b"x", notes=["one"], own=[(b"mine", b"3")])
    _core.load_measurement(folder / "a")
    _core.measurement_kind(folder / "a")
    _core.new_measurement_name(folder, 1.0)
    live = LiveMeasurement(folder / "b")
    live.append(run)
    live.finish(run)
    LiveMeasurement(folder / "given up").abandon()
    closed = LiveMeasurement(folder / "closed")
    closed.append(run)
    closed.close()
    for refused in (lambda: _core.save_measurement(3, folder / "c"),
                    lambda: _core.save_measurement(run, folder / "c", own=[("mine", b"3")]), lambda: live.append(run),
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
    calls = [lambda: _core.save_measurement(run, tmp_path / "there", config=b"{}", extras=b"y", notes=["one"],
                                            own=[(b"mine", b"3")]),
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
