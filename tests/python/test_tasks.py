"""The task of a chunk: set by an engine, or found by a reader."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import types
from pathlib import Path

import pytest
from samples import Events, Processor, forks

from roastcoffea.worker import tasks
from roastcoffea._core import ChunkLog, batch_jobs, faults

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
    with tasks.running(key="a", worker="w", started=time.time() - 2):
        made = chunk()
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


@forks
def test_the_job_of_a_process(fresh):
    """Asked once: it is in the record of every chunk of the process."""
    program = (
        "import os, sys; sys.path.insert(0, sys.argv[1])\n"
        "from samples import Events, Processor\n"
        "chunks = []\n"
        "for job in ('17', '18'):\n"
        "    os.environ['SLURM_JOB_ID'] = job\n"
        "    chunks += Processor().process(Events())['__roastcoffea_metrics__']\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    chunks = list(Processor().process(Events())['__roastcoffea_metrics__'])\n"
        "    os.environ['ROAST_PROVENANCE_OFF'] = 'job'\n"
        "else:\n"
        "    os.waitpid(child, 0)\n"
        "print([chunk['batch_job'] for chunk in chunks], flush=True)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program, str(Path(__file__).parent)], capture_output=True, text=True,
                         timeout=60, check=True)
    assert ran.stdout.splitlines() == ["['Slurm 18']", "['Slurm 17', 'Slurm 17']"]


def test_jobs_of_many_processes():
    log = ChunkLog([{"pid": n, "host": "a", "batch_job": f"Slurm {n % 2}", "duration": 1.0} for n in range(9)])
    log += ChunkLog([{"pid": 1, "host": "b", "duration": 1.0}])
    assert sorted(batch_jobs(log)) == ["Slurm 0", "Slurm 1"] and batch_jobs(ChunkLog()) == []
    assert [chunk["batch_job"] for chunk in log][-2:] == ["Slurm 0", None]
