"""Coffea's own TaskVineExecutor, with a stand-in for TaskVine itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "taskvine_run.py"


@pytest.fixture(scope="module")
def measured(fileset, tmp_path_factory):
    file = next(iter(fileset["ttbar"]["files"]))
    folder = tmp_path_factory.mktemp("vine")
    ran = subprocess.run([sys.executable, "-W", "ignore", PROGRAM, folder, file], capture_output=True, text=True, timeout=120,
                         env={**os.environ, "PBS_JOBID": "12.server"})
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


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
