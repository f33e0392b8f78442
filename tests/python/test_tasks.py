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
