"""TaskVine: its log against what was recorded inside the tasks, and the source with a manager that replays a run."""

from __future__ import annotations

import gc
import json
import threading
import weakref
from pathlib import Path
from types import SimpleNamespace

import pytest

from roastcoffea import MetricsCollector
from roastcoffea._core import Run, TaskVineLog, WorkerSeries
from roastcoffea.backends.registry import known_backends, make_backend
from roastcoffea.backends.source import Ran
from roastcoffea.backends.taskvine import TaskVineSource
from roastcoffea.common.endings import describe_text
from roastcoffea.common.guard import listen, unlisten

DATA = Path(__file__).parents[1] / "data" / "taskvine"
RECORDINGS = sorted(path.name for path in DATA.iterdir())
WITH_CHUNKS = [name for name in RECORDINGS if (DATA / name / "chunks.json").exists()]
TRACEBACK = (
    'Traceback (most recent call last):\n  File "/x/executor.py", line 1730, in _work_function\n    raise Exception(\n'
    "Exception: Failed processing file: WorkItem(dataset='dy', entrystart=8). The error was: RuntimeError('told to raise').\n"
)


@pytest.fixture(autouse=True)
def recordings_are_of_now(monkeypatch):
    """What a manager did before the collector is not of its run; the recordings are older than any collector."""
    monkeypatch.setattr("roastcoffea.backends.taskvine.now", lambda: 0.0)


def log_of(name):
    return DATA / name / "vine-logs" / "transactions"


def chunks_of(name):
    return json.loads((DATA / name / "chunks.json").read_text())


def read(name):
    log = TaskVineLog()
    log.read(log_of(name))
    attempts, series = log.end()
    return log, attempts, series


# ---- recordings ----


@pytest.mark.parametrize("name", WITH_CHUNKS)
def test_every_chunk_lies_inside_its_try_and_no_other(name):
    _, attempts, _ = read(name)
    tries = [one for one in attempts.records() if one["kind"] == "processing"]
    chunks = chunks_of(name)
    assert len(chunks) >= 8
    for chunk in chunks:
        inside = [
            one for one in tries
            if one["key"] == f"task.{chunk['task']}" and one["start"] is not None
            and one["start"] <= chunk["t_start"] and chunk["t_end"] <= one["stop"]
        ]
        assert len(inside) == 1 and inside[0]["outcome"] in ("done", "recomputed")
    # Each try that made a result that was used has one chunk.
    used = [one["key"] for one in tries if one["outcome"] == "done"]
    assert sorted(used) == sorted(f"task.{chunk['task']}" for chunk in chunks)


@pytest.mark.parametrize("name", WITH_CHUNKS)
def test_budget_with_the_chunks(name):
    log, attempts, series = read(name)
    records = [
        {**chunk, "duration": chunk["t_end"] - chunk["t_start"], "task_key": f"task.{chunk['task']}", "cpu_user_s": 0.02,
         "cpu_system_s": 0.0} for chunk in chunks_of(name)
    ]
    tries = attempts.records()
    run = Run(t_start=log.facts["first"], t_end=log.facts["last"], chunks=records, series=series, attempts=attempts)
    budget = run.budget()
    parts = budget["parts"]
    assert sum(parts.values()) == pytest.approx(budget["available_core_seconds"])
    assert "processing" not in parts  # the chunks split it
    by_key = {one["key"]: one for one in tries if one["outcome"] == "done"}
    before = sum(chunk["t_start"] - by_key[chunk["task_key"]]["start"] for chunk in records)
    inside = sum(chunk["duration"] for chunk in records)
    after = sum(by_key[chunk["task_key"]]["stop"] - chunk["t_end"] for chunk in records)
    assert parts["before_process"] == pytest.approx(before, abs=0.1)
    assert parts["compute_cpu"] + parts["compute_offcpu"] + parts["read"] == pytest.approx(inside, abs=0.1)
    assert parts["after_process"] == pytest.approx(after, abs=0.1)
    lost = sum((one["stop"] or one["ended"]) - (one["start"] or one["sent"]) for one in tries if one["outcome"] != "done")
    assert parts["lost"] == pytest.approx(lost, abs=0.1)
    assert parts["unaccounted"] < 0.05


def test_killed_worker():
    log, attempts, series = read("kill")
    (left,) = attempts.departures
    assert (left["running"], left["lost_results"], left["expected"]) == (2, 6, False)
    (lost,) = Run(t_start=log.facts["first"], t_end=log.facts["last"], series=series, attempts=attempts).lost_workers()
    assert lost["memory_fraction"] is None  # nobody knows how it died
    assert any("does not say why" in note for note in log.notes)


def test_exhaustion():
    """Ten pieces of work, twelve chunks: one was split, and a half of it once more."""
    log, attempts, _ = read("exhaustion")
    assert len(chunks_of("exhaustion")) == 12
    assert log.facts["exhausted"] == 2
    raised = [one for one in attempts.records() if one["outcome"] == "raised"]
    assert ["RESOURCE_EXHAUSTION" in str(one) for one in raised] == [True, True]


@pytest.mark.parametrize("name", RECORDINGS)
def test_figures_only_from_the_monitor(name):
    log, _, _ = read(name)
    measured = {key: value for key, value in log.figures.items() if key[0] not in ("transfer", "worker")}
    assert bool(measured) == (name in ("exhaustion", "resource-monitor"))
    assert log.facts["unreadable"] == 0 and log.clock_offsets == {}


def test_transfers():
    """Of the log itself: TRANSFER INPUT goes to a worker, TRANSFER OUTPUT to the manager."""
    log, attempts, series = read("kill")
    lines = [line.split() for line in log_of("kill").read_text().splitlines() if " TRANSFER " in line and line[0] != "#"]
    for way, direction in (("manager", "INPUT"), ("output", "OUTPUT")):
        sizes = [(int(line[7]), int(line[8])) for line in lines if line[5] == direction]
        assert log.figures["transfer", way, "count"] == len(sizes) > 0
        assert log.figures["transfer", way, "bytes"] == sum(size for size, _ in sizes)
        assert log.figures["transfer", way, "seconds"] == pytest.approx(sum(us for _, us in sizes) / 1e6)
    run = Run(t_start=log.facts["first"], t_end=log.facts["last"], spans=log.figures, series=series, attempts=attempts)
    metrics = run.metrics()
    for way in ("manager", "peer", "output"):
        assert metrics[f"transfer_{way}_bytes"] == log.figures["transfer", way, "bytes"]
        assert metrics[f"transfer_{way}_seconds"] == pytest.approx(log.figures["transfer", way, "seconds"])
        assert metrics[f"transfer_{way}_files"] == log.figures["transfer", way, "count"]
    # They are the time of no task.
    assert metrics["cpu_time_seconds"] is None and metrics["overhead_noncpu_time_seconds"] is None


@pytest.mark.parametrize("name", RECORDINGS)
def test_memory_for_a_task(name):
    """Of the lines WORKER id RESOURCES: MB of the worker, divided by its cores."""
    log, _, _ = read(name)
    lines = [line.split(" RESOURCES ")[1] for line in log_of(name).read_text().splitlines()
             if " RESOURCES " in line and line[0] != "#"]
    least = min(one["memory"][0] / one["cores"][0] for one in map(json.loads, lines))
    assert log.figures["worker", "task-memory", "bytes"] == pytest.approx(least * 2**20)


# ---- the reader ----


def test_pieces_and_a_growing_file(tmp_path):
    data = log_of("kill").read_bytes()
    whole, attempts, _ = read("kill")
    path = tmp_path / "transactions"
    log = TaskVineLog()
    for start in range(0, len(data), 999):
        with path.open("ab") as file:
            file.write(data[start : start + 999])
        assert log.read(path) == min(999, len(data) - start)
    assert log.read(path) == 0
    assert log.end()[0].records() == attempts.records()
    assert log.facts == whole.facts


def test_two_managers():
    log = TaskVineLog()
    assert log.read(log_of("kill")) > 0 and log.read(log_of("raise")) > 0
    assert len(log.end()[0]) == 34 + 27


def test_what_is_refused(tmp_path):
    log = TaskVineLog()
    with pytest.raises(FileNotFoundError):
        log.read(tmp_path / "nothing")
    with pytest.raises((ValueError, OSError)):
        log.read(tmp_path)
    with pytest.raises(TypeError):
        log.feed("text")
    log.end()
    with pytest.raises(RuntimeError):
        log.feed(b"x")
    with pytest.raises(RuntimeError):
        log.end()


@pytest.mark.parametrize(("text", "found"), [
    (TRACEBACK, ("RuntimeError", "told to raise")),
    ('  File "x", line 1, in f\n    g()\nmy.module.Odd: one\nand two\n', ("my.module.Odd", "one\nand two")),
    ("    g()\nKeyError\n", ("KeyError", "")),
    ("", None), ("hello\nworld", None), ("  \n", None),
])
def test_exceptions_as_printed(text, found):
    assert describe_text(text) == found


# ---- the source, with a manager that replays a run ----


class Item(SimpleNamespace):
    """As much of a WorkItem or a FileMeta as there is to see."""


class Task:
    def __init__(self, number, category, item, exit_code=0, printed=""):
        self.id, self.category, self.exit_code, self.std_output = number, category, exit_code, printed
        if item is not None:
            self.item = item

    def successful(self):
        return self.exit_code == 0


class Manager:
    """Replays a recording: submit() and wait() write the log up to the line of the task."""

    def __init__(self, name, folder):
        self.logging_directory = str(folder / "vine-logs")
        Path(self.logging_directory).mkdir(parents=True)
        self._log = open(Path(self.logging_directory) / "transactions", "wb", buffering=0)
        self._lines = log_of(name).read_bytes().splitlines(keepends=True)
        self._next = 0
        self.done = []

    def _write_until(self, wanted):
        while self._next < len(self._lines):
            line = self._lines[self._next]
            self._next += 1
            middle = len(line) // 2  # as a reader may find it
            self._log.write(line[:middle])
            self._log.write(line[middle:])
            if wanted(line.split()):
                return line.split()
        return None

    def submit(self, task):
        self._write_until(lambda fields: fields[2:5] == [b"TASK", str(task.id).encode(), b"READY"])
        return task.id

    def wait(self, timeout=None):
        fields = self._write_until(lambda fields: fields[2:3] == [b"TASK"] and fields[4:5] == [b"DONE"])
        if fields is None:
            return None
        exit_code = int(fields[6])
        task = Task(int(fields[3]), "processing", None, exit_code, TRACEBACK if exit_code else "")
        self.done.append(task.id)
        return task


class ExecutorBase:
    pass


class TaskVineExecutor(ExecutorBase):
    def __init__(self, name, folder, custom_init=None):
        self.custom_init = custom_init
        self._name, self._folder = name, folder
        self.managers = []

    def run(self):
        """As Coffea's executor does it, in both phases with one manager."""
        manager = Manager(self._name, self._folder)
        self.managers.append(weakref.ref(manager))
        for _ in ("Preprocessing", "Processing"):
            if self.custom_init:
                self.custom_init(manager)
        item = Item(dataset="dy", filename="f", treename="Events", entrystart=0, entrystop=8)
        manager.submit(Task(1, "preprocessing", Item(dataset="dy", filename="f", treename="Events")))
        manager.submit(task=Task(3, "processing", item))
        manager.submit(Task(4, "processing", item))  # again
        manager.submit(Task(5, "processing", Item(**{**vars(item), "entrystop": 4})))  # split
        while manager.wait(5) is not None:
            pass
        return len(manager.done)


def run_source(name, folder, custom_init=None):
    executor = TaskVineExecutor(name, folder, custom_init)
    source = TaskVineSource(executor)
    engine = source.begin(1.0)
    executor.run()
    return executor, engine, source.end(Ran())


@pytest.mark.parametrize("name", [name for name in RECORDINGS if name != "functioncall-failing-library"])
def test_replay(name, tmp_path):
    calls = []
    executor, engine, found = run_source(name, tmp_path, calls.append)
    log, attempts, series = read(name)
    assert engine.name.startswith("TaskVine") and set(engine.tells) == {"series", "attempts"}
    assert len(calls) == 2  # the user's own, in both phases
    assert executor.custom_init == calls.append
    strip = [{key: value for key, value in one.items() if "exception" not in key} for one in attempts.records()]
    assert [
        {key: value for key, value in one.items() if "exception" not in key} for one in found.attempts.records()
    ] == strip
    assert found.figures == log.figures
    assert (found.about["chunks_submitted_again"], found.about["parts_of_split_chunks"]) == ("1", "1")
    calls.clear()  # they held the manager
    gc.collect()
    assert executor.managers[0]() is None


def test_the_text_of_an_exception(tmp_path):
    _, _, found = run_source("raise", tmp_path)
    (raised,) = [one for one in found.attempts.records() if one["outcome"] == "raised"]
    assert "RuntimeError" in str(raised) and "told to raise" in str(raised)


def test_nothing_stays_with_the_manager(tmp_path):
    executor = TaskVineExecutor("raise", tmp_path)
    source = TaskVineSource(executor)
    source.begin(None)
    manager = Manager("raise", tmp_path)
    executor.custom_init(manager)
    assert {"submit", "wait"} <= set(vars(manager))
    source.abandon()
    assert not {"submit", "wait"} & set(vars(manager)) and executor.custom_init is None
    kept = weakref.ref(manager)
    del manager
    assert kept() is None  # without the collector of cycles: the port is free at once


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_collectors_of_one_executor(order, tmp_path):
    executor = TaskVineExecutor("raise", tmp_path)
    sources = [TaskVineSource(executor) for _ in range(2)]
    for source in sources:
        source.begin(None)
    manager = Manager("raise", tmp_path)
    executor.custom_init(manager)
    while manager.wait(5) is not None:
        pass
    found = [sources[number].end(Ran()) for number in order[:1]]
    assert {"submit", "wait"} <= set(vars(manager))  # the other one listens still
    found += [sources[number].end(Ran()) for number in order[1:]]
    assert not {"submit", "wait"} & set(vars(manager)) and executor.custom_init is None
    for one in found:
        assert "told to raise" in str([each for each in one.attempts.records() if each["outcome"] == "raised"])


def test_what_the_user_sets_on_the_manager_meanwhile_stays(tmp_path):
    executor = TaskVineExecutor("raise", tmp_path)
    source = TaskVineSource(executor)
    source.begin(None)
    manager = Manager("raise", tmp_path)
    executor.custom_init(manager)
    manager.wait = executor.custom_init = print
    source.abandon()
    assert manager.wait is print and executor.custom_init is print and "submit" not in vars(manager)


def test_a_manager_is_free_while_the_run_goes_on(tmp_path):
    executor = TaskVineExecutor("raise", tmp_path)
    source = TaskVineSource(executor)
    source.begin(None)
    gc.disable()
    try:
        executor.run()
        assert executor.managers[0]() is None
    finally:
        gc.enable()
        source.abandon()


def test_failures_of_ours_do_not_reach_the_run(tmp_path):
    notes = []
    listen(notes.append)
    try:
        executor = TaskVineExecutor("raise", tmp_path)
        source = TaskVineSource(executor)
        source.begin(None)

        class Bad:
            logging_directory = property(lambda self: 1 / 0)

        executor.custom_init(Bad())
        manager = Manager("raise", tmp_path)
        executor.custom_init(manager)
        manager.submit(SimpleNamespace(id=1, item=Item(entrystart="x")))
        found = source.end(Ran())
    finally:
        unlisten(notes.append)
    assert any("ZeroDivisionError" in note for note in notes)
    assert found.attempts is not None


def test_without_a_log(tmp_path):
    executor = TaskVineExecutor("raise", tmp_path)
    source = TaskVineSource(executor)
    source.begin(None)
    found = source.end(Ran())
    assert found.attempts is None and "no manager" in found.notes[0]
    source.begin(None)
    executor.run()
    (tmp_path / "vine-logs" / "transactions").unlink()
    found = source.end(Ran())
    assert found.attempts is None and "transactions" in found.notes[0]


def test_workers_while_the_log_grows(tmp_path):
    executor = TaskVineExecutor("kill", tmp_path)
    source = TaskVineSource(executor)
    source.begin(1.0)
    assert source.news().series is None  # there is no manager yet
    manager = Manager("kill", tmp_path)
    executor.custom_init(manager)
    assert source.news().series is None
    whole, last, present = WorkerSeries(), None, []
    while manager.wait(5) is not None:
        last = source.news()
        whole.extend(last.series)
        data = last.series.as_tracking_data()
        (count,) = data["worker_counts"].values()
        present.append(set(data["worker_cores"]))
        assert count == len(present[-1]) and source.news().series is None
    # Two workers; one is killed, and another one joins.
    assert len(present[0]) == 2 and len(set.union(*present)) == 3 and len(present[-1]) == 2
    found = source.end(Ran())
    assert whole.changes == found.series.changes[: len(whole.changes)]  # as exact as at the end
    assert len(whole.changes) >= 4
    tries = found.attempts.records()
    assert last.done == len({one["key"] for one in tries if one["kind"] == "processing" and one["outcome"] == "done"}) > 0
    assert last.failures[0] == sum(one["outcome"] == "raised" for one in tries)


def test_nothing_depends_on_a_thread(tmp_path):
    before = threading.active_count()
    executor = TaskVineExecutor("raise", tmp_path)
    source = TaskVineSource(executor)
    source.begin(0.01)
    assert threading.active_count() == before
    source.abandon()


def test_it_is_found(tmp_path):
    executor = TaskVineExecutor("raise", tmp_path)
    assert "taskvine" in known_backends()
    assert isinstance(make_backend(executor), TaskVineSource)
    runner = type("Runner", (), {})()
    runner.executor = executor
    assert make_backend(runner).executor is executor
    assert isinstance(make_backend(executor, "taskvine"), TaskVineSource)


def test_with_a_collector(tmp_path):
    executor = TaskVineExecutor("kill", tmp_path)
    with MetricsCollector(executor) as collector:
        executor.run()
    assert collector.backend == "taskvine"
    assert len(collector.attempts) == 34
    assert len(collector.lost_workers) == 1


def test_without_the_executor():
    source = TaskVineSource()
    engine = source.begin(None)
    assert engine.cannot and engine.tells == ()
    assert source.end(Ran()).attempts is None
