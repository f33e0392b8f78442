"""Coffea's own TaskVineExecutor, with a stand-in for TaskVine itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from files import nano_columns, write_ttree

PROGRAM = Path(__file__).parent / "taskvine_run.py"
ROAST = Path(sys.executable).with_name("roast")
BRANCHES = 1600


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """With as many branches as NanoAOD has."""
    path = tmp_path_factory.mktemp("nano") / "many_branches.root"
    return write_ttree(path, nano_columns(1000, 1, flat=BRANCHES))


def run(folder, file, code=0, **environment):
    ran = subprocess.run([sys.executable, "-W", "ignore", PROGRAM, folder, file], capture_output=True, text=True, timeout=300,
                         env={**os.environ, **environment})
    assert ran.returncode == code, ran.stdout + ran.stderr
    return json.loads(ran.stdout.splitlines()[-1]) if code == 0 else None


@pytest.fixture(scope="module")
def measured(file, tmp_path_factory):
    return run(tmp_path_factory.mktemp("vine"), file, PBS_JOBID="12.server")


def test_output_and_objects_are_the_users(measured):
    assert measured["output"] == {"events": 1000} and measured["outcome"] == "done"
    assert measured["custom_init"] and measured["calls"] == 2
    assert measured["alive"] is False  # nobody holds the manager


def test_tries(measured):
    """The first chunk raises in both tries inside its task; Coffea submits it again as another task, which raises once
    inside."""
    assert measured["backend"] == "taskvine"
    outcomes = [outcome for _, kind, outcome in measured["tries"] if kind == "processing"]
    assert sorted(outcomes) == ["done"] * 4 + ["raised"]
    assert {kind for _, kind, _ in measured["tries"]} == {"processing", "reduction", "other"}
    assert "RuntimeError: told to raise" in measured["raised"][0]


def test_chunks_are_in_their_tries(measured):
    done = {key for key, kind, outcome in measured["tries"] if kind == "processing" and outcome == "done"}
    assert {key for key, _ in measured["chunks"]} == done
    assert sum(events for _, events in measured["chunks"]) == 1000


def test_a_try_inside_a_task(measured):
    """It has a record, which came with the output of the task; it is no try of the task."""
    ((key, worker, error),) = measured["repeated"]
    (again,) = [[key, worker] for key_, kind, outcome in measured["tries"] if key_ == key and outcome == "done"]
    assert again == [key, measured["named"][0]] and "told to raise" in error


def test_chunks_have_their_worker(measured):
    assert measured["named"] == measured["by_worker"] == ["worker-0123456789abcdef0123456789abcdef"]


def test_the_job_of_the_workers(measured):
    assert measured["jobs"] == "PBS 12.server"


def test_findings(measured):
    """A chunk that raised was lost; transfers are those of the log."""
    assert "lost_work" in {kind for kind, _, _ in measured["findings"]}
    assert measured["transfers"] is not None


def test_budget(measured):
    parts = measured["parts"]
    assert sum(parts.values()) == pytest.approx(measured["available"])
    assert measured["available"] == pytest.approx(measured["wall"], rel=0.1)  # one worker with one core
    assert measured["workers"] == pytest.approx(1, abs=0.05)
    assert parts["before_process"] > 0 and parts["reduction"] > 0 and parts["lost"] > 0 and parts["preprocessing"] > 0
    assert parts["unaccounted"] < 0.05 * measured["available"]
    assert "processing" not in parts


def test_the_start_of_python(measured):
    """Each task imports Coffea, and Python ends with it: neither opening the file nor packing the output."""
    parts = measured["parts"]
    assert parts["cold_start"] > parts["after_process"]
    known = [before for before in measured["before"] if before is not None]
    assert len(known) == 3  # of the one that was repeated inside its task it is not known
    assert measured["before_seconds"] == pytest.approx(sum(known))
    assert sum(known) < parts["before_process"] < parts["cold_start"] + parts["before_process"] < measured["available"]
    kinds = {kind for kind, _, _ in measured["findings"]}
    # From 15 % on it is worth a finding; on a busy machine everything else takes longer, too.
    large = parts["cold_start"] >= 0.15 * measured["available"]
    assert ("cold_start" in kinds) == large and not {"before_process_dominates", "serialization_heavy", "metadata_bound"} & kinds
    advice = [advice for kind, advice in measured["advice"] if kind == "cold_start"]
    assert ["TaskVine" in text for text in advice] == [True] * large and "DaskExecutor" not in str(measured["advice"])


def test_one_task_of_each_file_sends_its_sizes(measured):
    assert measured["branches"] == {next(iter(measured["branches"])): BRANCHES + 14}
    *small, large = sorted(measured["outputs"])
    assert len(small) == 3 and max(small) < 1000 < large


def test_names_of_the_engine(measured):
    assert measured["engine"] == "TaskVine 7.0 of the tests"  # its module tells where there is no Python package
    assert "Fine Metrics (from TaskVine)" in measured["tables"]
    assert measured["by_host"] == [os.uname().nodename]


def test_what_was_done_before_the_user_stopped_it(file, tmp_path):
    """The outputs, and the records in them, are lost; the tasks of the pieces are known."""
    found = run(tmp_path, file, VINE_ENDS="stopped 5")
    ending = found["ending"]
    assert (ending["outcome"], ending["pieces"], ending["pieces_done"], ending["pieces_failed"]) == ("interrupted", 4, 3, 1)
    assert found["failed"] == [[0, 250]]


def test_a_program_that_was_killed(file, tmp_path):
    run(tmp_path, file, code=-signal.SIGKILL, VINE_ENDS="killed 5")
    log = tmp_path / "vine-logs" / "transactions"
    shown = subprocess.run([ROAST, "show", tmp_path / "m"], capture_output=True, text=True, check=True,
                           env={**os.environ, "COLUMNS": "500"}).stdout
    assert "of 4 chunks done" in shown and "0 of 4" not in shown
    assert "Failed Tries: 1, the last one: RuntimeError: told to raise" in shown
    assert f"roast import --taskvine {log}" in shown
    assert "savemetrics" not in shown and "decorated" not in shown
    subprocess.run([ROAST, "import", "--taskvine", log, "--dry-run"], check=True, capture_output=True)
