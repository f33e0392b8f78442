"""The task of a chunk: set by an engine, or found by a reader."""

from __future__ import annotations

import sys
import threading
import time
import types

import pytest
from samples import Events, Processor

from roastcoffea import tasks
from roastcoffea._core import faults

KEY = "__roastcoffea_metrics__"


@pytest.fixture(autouse=True)
def same_readers():
    before = dict(tasks._readers)
    yield
    tasks._readers.clear()
    tasks._readers.update(before)


def chunk():
    return Processor().process(Events())[KEY][0]


def test_a_task_that_an_engine_sets():
    assert tasks.current() is None
    with tasks.running(key="a", attempt=2, worker="w", sent=1.0, started=time.time() - 2):
        made = chunk()
        assert tasks.current().attempt == 2
        with tasks.running(key="inner"):
            inner = chunk()
        assert tasks.current().key == "a"
    assert tasks.current() is None
    assert (made["task_key"], made["worker"]) == ("a", "w")
    assert 2 <= made["before_process_s"] < 3
    assert inner["task_key"] == "inner" and inner.get("worker") is None and inner.get("before_process_s") is None


def test_a_task_is_one_of_its_thread():
    seen = []
    with tasks.running(key="mine"):
        thread = threading.Thread(target=lambda: seen.append(tasks.current()))
        thread.start()
        thread.join()
    assert seen == [None]


def test_a_reader_of_another_engine():
    tasks.register("vine", lambda: tasks.Task(key="task.7", worker="node1"))
    assert chunk()["task_key"] == "task.7"
    tasks.register("vine", lambda: None)
    assert chunk().get("task_key") is None


def test_a_reader_that_fails_is_a_fault_of_ours():
    def broken():
        raise ValueError("broken")

    tasks.register("broken", broken)
    before = faults()["count"]
    assert chunk().get("task_key") is None
    assert faults()["count"] == before + 1 and "broken" in faults()["last"]


@pytest.mark.parametrize("task", [3, "text", tasks.Task(key=3, worker=b"w", started="soon")])
def test_a_reader_that_answers_with_something_odd(task):
    tasks.register("odd", lambda: task)
    assert chunk().get("task_key") is None


def test_dask(monkeypatch):
    state = types.SimpleNamespace(
        key=("x", 1), start_time=time.time() - 5, execution_state={"worker": types.SimpleNamespace(address="tcp://a:1")}
    )
    monkeypatch.setitem(sys.modules, "distributed.worker", types.SimpleNamespace(thread_state=state))
    made = chunk()
    assert made["task_key"] == "('x', 1)" and made["worker"] == "tcp://a:1" and 5 <= made["before_process_s"] < 6
    del state.start_time  # no task runs in this thread
    assert chunk().get("task_key") is None


# ---- known from the process ----

@pytest.fixture
def fresh(monkeypatch):
    """As in a process that was just started by an engine."""
    for name in ("PARSL_WORKER_RANK", "PARSL_WORKER_POOL_ID", "PARSL_WORKER_BLOCK_ID", "CORES", "MEMORY", "DISK",
                 "SLURM_JOB_ID", "PBS_JOBID", "CONDOR_ID", "LSB_JOBID", "SGE_ROOT", "JOB_ID", "_CONDOR_JOB_AD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(tasks, "_known", tasks._Process())
    return monkeypatch


def test_a_process_of_no_engine(fresh):
    assert tasks.current() is None and tasks.whoami() == {}
    assert chunk().get("worker") is None


def test_a_worker_of_parsl(fresh):
    for name, value in (("RANK", "1"), ("POOL_ID", "7cded897974c"), ("BLOCK_ID", "0")):
        fresh.setenv(f"PARSL_WORKER_{name}", value)
    made = chunk()
    assert made["worker"] == "block-0/7cded897974c/1" and made.get("task_key") is None
    assert made.get("before_process_s") is None
    assert tasks.whoami() == {"engine": "parsl", "worker": "block-0/7cded897974c/1"}


def test_a_task_of_taskvine(fresh, tmp_path):
    (tmp_path / "task.12" / "sub").mkdir(parents=True)
    fresh.chdir(tmp_path / "task.12" / "sub")
    assert tasks.current() is None  # a folder of the user's
    fresh.setattr(tasks, "_known", tasks._Process())
    for name, value in (("CORES", "1"), ("MEMORY", "2000"), ("DISK", "2998")):
        fresh.setenv(name, value)
    assert chunk()["task_key"] == "task.12" and chunk().get("worker") is None
    fresh.chdir(tmp_path)  # user code may go elsewhere
    assert chunk()["task_key"] == "task.12"
    assert tasks.whoami() == {"engine": "taskvine", "cores": "1", "memory": "2000", "disk": "2998"}


def test_function_calls_of_taskvine(fresh, tmp_path):
    """One process runs one call after the other, each in a folder of its own."""
    fresh.setenv("CORES", "4")
    for number in (3, 4):
        (tmp_path / f"func.{number}").mkdir()
        fresh.chdir(tmp_path / f"func.{number}")
        assert chunk()["task_key"] == f"func.{number}"


def test_a_folder_that_was_removed(fresh, tmp_path):
    (tmp_path / "task.1").mkdir()
    fresh.setenv("CORES", "1")
    fresh.chdir(tmp_path / "task.1")
    (tmp_path / "task.1").rmdir()
    assert tasks.current() is None


def test_a_forked_process_is_another(fresh):
    assert tasks.current() is None
    fresh.setenv("PARSL_WORKER_RANK", "0")
    fresh.setenv("PARSL_WORKER_POOL_ID", "a")
    fresh.setenv("PARSL_WORKER_BLOCK_ID", "2")
    assert tasks.current() is None  # looked up once
    fresh.setattr("os.getpid", lambda: -1)
    assert tasks.current() == tasks.Task(worker="block-2/a/0")


@pytest.mark.parametrize("variables,job", [
    ({}, None),
    ({"SLURM_JOB_ID": "123"}, "slurm 123"),
    ({"PBS_JOBID": "7[2].server"}, "pbs 7[2].server"),
    ({"CONDOR_ID": "12.0"}, "htcondor 12.0"),
    ({"LSB_JOBID": "9"}, "lsf 9"),
    ({"JOB_ID": "9"}, None),  # of anybody
    ({"JOB_ID": "9", "SGE_ROOT": "/sge"}, "sge 9"),
    ({"_CONDOR_JOB_AD": "/nowhere"}, None),
])
def test_the_job_of_a_batch_system(variables, job):
    assert tasks.batch_job(variables) == job


def test_the_job_of_htcondor(tmp_path):
    ad = tmp_path / ".job.ad"
    ad.write_text('Args = "ClusterId = 1"\nClusterId = 4711\nProcId = 3\n')
    assert tasks.batch_job({"_CONDOR_JOB_AD": str(ad)}) == "htcondor 4711.3"
    ad.write_text("ClusterId = 4711\n")
    assert tasks.batch_job({"_CONDOR_JOB_AD": str(ad)}) is None
