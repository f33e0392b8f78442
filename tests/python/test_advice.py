"""Advice of made runs, whose fault is known."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from leaks import assert_nothing_is_kept

import roastcoffea
from roastcoffea import Advice, _core
from roastcoffea._core import Run

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
BRANCHES = ("Jet_pt", "Jet_eta", "nJet", "Muon_pt")


def chunk_of(number, start, before=0.5, duration=0.1, events=1000, file=None, reads=None):
    worker = number % 2
    return {
        "t_start": BEGIN.timestamp() + start + before, "duration": duration, "num_events": events,
        "dataset": f"set{number // 20 % 2}", "file": file or f"/data/f{number // 20}.root",
        "before_process_s": before, "worker": f"tcp://w{worker}", "cpu_user_s": duration * 0.95, "cpu_system_s": 0.0,
        "runqueue_wait_s": 0.0, **({} if reads is None else {"reads": reads}),
    }


def run_of(chunks, wall, executor="DaskExecutor", **more):
    """A run on two workers of one thread."""
    moments = [BEGIN, BEGIN + timedelta(seconds=wall)]
    tracking = {
        "worker_counts": {moment: 2 for moment in moments},
        "worker_cores": {f"tcp://w{i}": [(moment, 1) for moment in moments] for i in range(2)},
    }
    start = BEGIN.timestamp()
    backend = "dask" if executor == "DaskExecutor" else "local"
    return Run(t_start=start, t_end=start + wall, series=tracking, chunks=chunks,
               meta={"executor": executor, "backend": backend}, **more)


def small_chunks(count=160):
    """Half a second before the first of 1,000 events, in files of 20 chunks."""
    return run_of([chunk_of(i, 0.6 * (i // 2)) for i in range(count)], 0.6 * count / 2 + 0.1)


def waiting_reads():
    """Each chunk waits four times for a few bytes."""
    reads = {name: {"seconds": 0.4, "bytes": 20_000, "uncompressed_bytes": 40_000, "count": 1} for name in BRANCHES}
    chunks = [{**chunk_of(i, 2 * (i // 2), before=0.02, duration=1.98, events=100_000, reads=reads),
               "cpu_user_s": 0.3} for i in range(40)]
    return run_of(chunks, 40.1)


def slow_at_the_end(executor="DaskExecutor"):
    """One file has one chunk, the last one, which takes twenty times as long."""
    chunks = [chunk_of(i, i // 2, before=0.02, duration=0.98, events=100_000) for i in range(39)]
    chunks.append(chunk_of(39, 19, before=0.02, duration=20, events=100_000, file="/data/slow.root"))
    return run_of(chunks, 39.2, executor)


def skipping():
    ending = {"outcome": "done", "skipped_files": [
        {"dataset": "set0", "file": "/data/bad.root", "reason": "OSError: no such file"}]}
    chunks = [chunk_of(i, i // 2, before=0.02, duration=0.98, events=100_000) for i in range(40)]
    return run_of(chunks, 20.1, ending=ending)


def test_a_larger_chunk_size():
    advice = Advice(small_chunks())
    (item,) = advice.items
    assert item["setting"] == "chunksize" and item["finding"] == "chunks_too_small"
    assert advice.runner_arguments == {"chunksize": item["value"]} and item["value"] >= 5000
    predicted = item["prediction"]
    assert predicted["recorded"] == pytest.approx(48.1)
    assert predicted["low"] <= predicted["wall_time"] <= predicted["high"] < predicted["recorded"]
    assert advice.prediction == predicted  # of all changes together: there is one
    assert advice and advice.workers is None and advice.threads is None
    assert advice.executor_arguments == advice.cluster_arguments == {}


def test_preload():
    advice = Advice(waiting_reads())
    assert {name: sorted(branches) for name, branches in advice.preload.items()} == {
        "set0": sorted(BRANCHES), "set1": sorted(BRANCHES)}
    fileset = {
        "set0": {"files": {"/data/f0.root": "Events"}, "metadata": {"xsec": 2}, "preload": ["Flag_1"]},
        "set1": ["/data/f1.root"],
        "other": ["/data/f9.root"],
    }
    kept = json.dumps(fileset)
    changed = advice.fileset(fileset)
    assert json.dumps(fileset) == kept
    assert changed == {
        "set0": {"files": {"/data/f0.root": "Events"}, "metadata": {"xsec": 2}, "preload": advice.preload["set0"]},
        "set1": {"files": ["/data/f1.root"], "preload": advice.preload["set1"]},
        "other": ["/data/f9.root"],
    }


def test_files_that_come_first():
    advice = Advice(slow_at_the_end())
    assert advice.first_files == {"set1": ["/data/slow.root"]}
    changed = advice.fileset({
        "set0": ["/data/f0.root"],
        "set1": {"files": {"/data/f1.root": "Events", "/data/slow.root": "Events"}},
    })
    assert list(changed) == ["set1", "set0"]
    assert list(changed["set1"]["files"]) == ["/data/slow.root", "/data/f1.root"]
    (item,) = advice.items
    assert item["prediction"]["wall_time"] < 0.8 * item["prediction"]["recorded"]


def test_the_order_does_not_matter_to_one_thread():
    assert not Advice(slow_at_the_end("IterativeExecutor"))


def test_files_to_leave_out(tmp_path):
    advice = Advice(skipping())
    assert advice.exclude_files == {"set0": ["/data/bad.root"]}
    (item,) = advice.items
    assert "wall_time" not in item["prediction"] and "was recorded" in item["prediction"]["reason"]
    fileset = {"set0": ["/data/bad.root", "/data/f0.root"], "set1": ["/data/bad.root"]}
    changed = {"set0": ["/data/f0.root"], "set1": ["/data/bad.root"]}
    assert advice.fileset(fileset) == changed
    (tmp_path / "files.json").write_text(json.dumps(fileset))
    assert advice.fileset(tmp_path / "files.json") == changed
    assert advice.fileset({"set0": {"files": ["/data/bad.root"]}}) == {}


@pytest.mark.parametrize("fileset", [None, 3, [("a", ["f"])], {"set0": "f.root"}, {"set0": {"files": "f.root"}}])
def test_a_fileset_is_a_fileset(fileset):
    with pytest.raises(TypeError):
        Advice(skipping()).fileset(fileset)


def test_a_healthy_run():
    chunks = [chunk_of(i, i // 2, before=0.02, duration=0.98, events=100_000) for i in range(40)]
    advice = Advice(run_of(chunks, 20.1))
    assert not advice and advice.items == []
    assert str(advice) == "No advice: nothing stands out.\n"
    assert advice.fileset({"a": ["f.root"]}) == {"a": ["f.root"]}


def test_saved_runs_and_the_program(tmp_path, capsys, monkeypatch):
    run = small_chunks()
    _core.save_measurement(run, str(tmp_path / "run"))
    advice = roastcoffea.open_run(tmp_path / "run").advice()
    program = Path(sys.executable).with_name("roast")
    called = {"capture_output": True, "text": True, "check": True, "env": {"COLUMNS": "80"}}
    assert subprocess.run([program, "advise", tmp_path / "run"], **called).stdout == str(advice)
    printed = json.loads(subprocess.run([program, "advise", tmp_path / "run", "--json"], **called).stdout)
    assert printed["items"] == advice.items and printed["runner_arguments"] == advice.runner_arguments
    monkeypatch.setenv("COLUMNS", "80")
    advice.print_summary()
    assert capsys.readouterr().out == str(advice)
    assert repr(advice) == f"<Advice: {advice.headline}>"


def test_text():
    text = str(Advice(waiting_reads()))
    assert text.startswith("1 change for the next run: predicted wall time ")
    assert '\n"preload" in the fileset, 2 datasets\n  which      set0: Jet_pt, Jet_eta, nJet, Muon_pt\n' in text
    assert "\n  because    preload: 4 small reads per chunk wait one after the other\n" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_the_whole_text():
    assert str(Advice(skipping())) == """\
1 change for the next run.

Leave 1 file out of the fileset
  which      set0: /data/bad.root
  because    skipped_files: Events of 1 file are missing in the result
  then       no prediction: no chunk of these files was recorded, only that they
             were tried
  note       their events stay missing in the result

In Python: advice = open_run(RUN).advice(), then
Runner(**advice.runner_arguments, ...) and advice.fileset(fileset).
"""


@pytest.mark.parametrize("run", [None, 3, "run"])
def test_a_run_is_a_run(run):
    with pytest.raises(TypeError, match="a Run is expected"):
        _core.Advice(run)


def test_no_leak():
    run = small_chunks(40)

    def use():
        advice = _core.Advice(run)
        advice.draw(), advice.draw(100), advice.json()

    assert_nothing_is_kept(use, 200)
