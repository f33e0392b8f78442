"""What is read from Parsl, checked with runs that were recorded: logs, the monitoring database, and chunk records."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
import threading
import types
from collections import Counter
from concurrent.futures import Future
from concurrent.futures import ThreadPoolExecutor as Threads
from contextlib import closing
from pathlib import Path

import pytest
from stand_ins import ParslExecutor, run_python

from roastcoffea import MetricsCollector
from roastcoffea.worker import channel
from roastcoffea._core import ChunkLog, Run
from roastcoffea.backends import make_backend
from roastcoffea.backends.parsl import logs as _parsl_logs
from roastcoffea.backends.parsl import source as source_module
from roastcoffea.backends.parsl.database import Database, database_of
from roastcoffea.backends.parsl.logs import read_logs
from roastcoffea.backends.parsl.tries import Try
from roastcoffea.backends.parsl.source import ParslSource
from roastcoffea.backends.source import Collected, Ran

DATA = Path(__file__).resolve().parent.parent / "data" / "parsl"
RECORDINGS = ["htex", "worker-killed", "pool-killed", "raise-retry", "monitoring-worker-killed"]
KINDS = {"FileMeta": ("other", "preprocessing"), "WorkItem": ("processing", "")}


def logs_of(recording):
    return read_logs(DATA / recording / "jobs" / "interchange.log", DATA / recording / "jobs")


def chunks_of(recording):
    return json.loads((DATA / recording / "chunks.json").read_text())


def outside(recording):
    """When which process was killed."""
    when, pid = (DATA / recording / "outside.txt").read_text().split()
    return float(when), int(pid)


# ---- logs ----

@pytest.mark.parametrize("recording", RECORDINGS)
def test_each_chunk_is_in_one_execution(recording):
    logs = logs_of(recording)
    assert {life.host for life in logs.lives} == {"submit-host"}
    found = Counter()
    for chunk in chunks_of(recording):
        inside = [
            number for number, seen in logs.tasks.items()
            if seen.life.pid == chunk["pid"] and seen.start <= chunk["t_start"]
            and chunk["t_end"] <= (seen.stop or float("inf"))
        ]
        assert len(inside) == 1
        found[inside[0]] += 1
    # Coffea tries again inside a task; here it did not.
    assert set(found.values()) == {1}


def test_a_worker_that_was_killed_comes_back_under_its_rank():
    killed, pid = outside("worker-killed")
    logs = logs_of("worker-killed")
    before, after = [life for life in logs.lives if life.worker.endswith("/1")]
    assert before.worker == after.worker == "block-0/8cbf6245cb81/1"
    assert before.pid == pid and after.pid != pid
    assert killed < before.left < after.joined and not before.expected and after.left is None
    assert [seen.stop for seen in logs.tasks.values() if seen.life is before].count(None) == 1


def test_an_orphan_finishes_its_chunk():
    killed, _ = outside("pool-killed")
    logs = logs_of("pool-killed")
    (orphan,) = [life for life in logs.lives if life.left is not None]
    last = max((seen for seen in logs.tasks.values() if seen.life is orphan), key=lambda seen: seen.start)
    assert last.start < killed < last.stop <= orphan.left < last.stop + 1
    assert not orphan.expected


def test_a_pool_that_is_lost_with_its_workers(tmp_path):
    """Nothing of it is written: the interchange notices that it is gone."""
    jobs = tmp_path / "jobs"
    shutil.copytree(DATA / "pool-killed" / "jobs", jobs)
    log = next(jobs.glob("block-0/*/worker_0.log"))
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:-3]))
    (lost,) = [life for life in read_logs(jobs / "interchange.log", jobs).lives if life.left is not None]
    assert lost.left == 1794845214.941762 and lost.by_client and not lost.expected
    with open(jobs / "interchange.log", "a") as interchange:
        interchange.write(f"1.0 x MainProcess INFO: Received HOLD_MANAGER for b'{log.parent.name}'\n")
    (left,) = [life for life in read_logs(jobs / "interchange.log", jobs).lives if life.left is not None]
    assert left.expected


def test_a_pool_that_stopped(tmp_path):
    jobs = tmp_path / "jobs"
    shutil.copytree(DATA / "htex" / "jobs", jobs)
    with open(next(jobs.glob("block-0/*/manager.log")), "a") as log:
        log.write("1794844700.5 2026-11-16 x MainThread INFO: process_worker_pool ran for 60.1 seconds\n")
    assert {(life.left, life.expected) for life in read_logs(jobs / "interchange.log", jobs).lives} == {
        (1794844700.5, True)}


def test_logs_that_are_damaged(tmp_path):
    jobs = tmp_path / "jobs"
    shutil.copytree(DATA / "htex" / "jobs", jobs)
    whole = len(logs_of("htex").tasks)
    log = next(jobs.glob("block-0/*/worker_0.log"))
    data = log.read_bytes()
    log.write_bytes(data[:-20] + b"\n\xff\xfe executor task \n99 HTEX-Worker-x-y Received executor task 7\n"
                    b"1.5 a b HTEX-Worker-0-1 quoted: Received executor task x\n" + data[-60:])
    assert len(read_logs(jobs / "interchange.log", jobs).tasks) == whole
    os.remove(jobs / "interchange.log")
    next(jobs.glob("block-0/*/manager.log")).unlink()
    os.mkfifo(jobs / "interchange.log")  # is not waited for
    (jobs / "block-0" / "odd").write_text("no folder")
    (log.parent / "worker_x.log").write_text("no rank")
    assert {life.host for life in read_logs(jobs / "interchange.log", jobs).lives} == {None}
    assert read_logs(tmp_path / "nothing.log", tmp_path / "nothing") == _parsl_logs.Logs()


# ---- the database ----

def test_the_database():
    path = DATA / "monitoring-worker-killed" / "monitoring.db"
    (run,) = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True).execute("SELECT run_id FROM workflow").fetchone()
    modified = path.stat().st_mtime_ns
    before = os.environ.get("TZ")
    try:
        os.environ["TZ"] = "UTC"  # of the machine that recorded it
        import time

        time.tzset()
        with closing(Database(path)) as database:
            started, readings = database.read(run)
            assert database.read("another run") == ([], [])
    finally:
        os.environ.pop("TZ")
        if before is not None:
            os.environ["TZ"] = before
        time.tzset()
    assert path.stat().st_mtime_ns == modified
    seen = {number: execution for number, execution in logs_of("monitoring-worker-killed").tasks.items()}
    launched = launches_of("monitoring-worker-killed")
    for one in started:
        execution = seen[launched[one.task, one.number]]
        assert execution.start <= one.start <= (execution.stop or one.start + 5) and one.host == "submit-host"
        assert (one.stop is None) == (execution.stop is None)  # its worker was killed
        assert one.stop is None or one.start < one.stop <= execution.stop
    assert len(started) == len(seen)
    for reading in readings:
        assert reading.pid == seen[launched[reading.task, reading.number]].life.pid
    assert sorted(readings, key=lambda reading: reading.when) == readings


def test_a_database_that_grows(tmp_path, load, monkeypatch):
    """It is read again only after somebody has written to it, and not for ever."""
    path = shutil.copy(DATA / "monitoring-worker-killed" / "monitoring.db", tmp_path / "m.db")
    tries = tries_of("monitoring-worker-killed")
    looks, reads = [], []
    with closing(sqlite3.connect(path)) as hub:
        (run,) = hub.execute("SELECT run_id FROM workflow").fetchone()
        last = hub.execute("SELECT * FROM try ORDER BY task_id DESC LIMIT 1").fetchone()
        hub.execute("DELETE FROM try WHERE task_id = ?", (last[1],))
        hub.commit()

        class Counted(Database):
            def version(self):
                looks.append(1)
                if len(looks) == 5:
                    hub.execute(f"INSERT INTO try VALUES ({', '.join('?' * len(last))})", last)
                    hub.commit()
                return super().version()

            def read(self, run):
                reads.append(1)
                return super().read(run)

        monkeypatch.setattr(source_module, "Database", Counted)
        monkeypatch.setattr(source_module, "_HUB_SECONDS", 600.0)
        monkeypatch.setattr(source_module, "_LOOK_SECONDS", 0.0)
        hub_of_kernel = types.SimpleNamespace(logging_endpoint=f"sqlite:///{path}", resource_monitoring_enabled=True)
        watched = types.SimpleNamespace(kernel=types.SimpleNamespace(monitoring=hub_of_kernel, run_id=run), tries=tries)
        source = ParslSource(None)
        started, readings = source._read_monitoring(watched)
        assert (len(looks), len(reads)) == (5, 2) and len(started) == len(tries) and readings
        assert list(source._notes) == []
        hub_of_kernel.resource_monitoring_enabled = False  # nobody waits for what is never written
        hub.execute("DELETE FROM try WHERE task_id = ?", (last[1],))
        hub.commit()
        started, readings = source._read_monitoring(watched)
        assert len(started) == len(tries) - 1 and readings == []
        assert "resource_monitoring_enabled" in source._notes[0]
        hub_of_kernel.resource_monitoring_enabled = True
        hub.execute("DELETE FROM resource")
        hub.commit()
        monkeypatch.setattr(source_module, "_HUB_SECONDS", 0.0)
        assert source._read_monitoring(watched)[1] == []
        assert "lacks" in source._notes[-1]


@pytest.mark.parametrize("endpoint,path", [
    ("sqlite:////scratch/monitoring.db", "/scratch/monitoring.db"), ("sqlite:///runinfo/m.db", "runinfo/m.db"),
    ("postgresql://host/db", None), ("sqlite:///", None), (None, None),
])
def test_the_file_of_the_database(endpoint, path):
    assert database_of(endpoint) == (None if path is None else Path(path))


# ---- the whole ----

class HighThroughputExecutor:
    def __init__(self, folder):
        self.logdir = self.worker_logdir = str(folder)
        self.blocks_to_job_id = {"0": "4711"}


class Kernel:
    """As much of a DataFlowKernel as is used."""

    def __init__(self, executors=None, monitoring=None, run="run"):
        self.executors = {"_parsl_internal": object(), **(executors or {})}
        self.monitoring, self.run_id = monitoring, run

    def submit(self, func, app_args=(), **_):
        return self.launch_task(record(0, *app_args, function=func))

    def launch_task(self, task_record):
        return self.executors[task_record["executor"]].submit(task_record["func"], *task_record["args"])


class ThreadPoolExecutor:
    max_threads = 2

    def __init__(self):
        self.executor = Threads(2)

    def submit(self, function, *args):
        return self.executor.submit(function, *args)


@pytest.fixture
def load(monkeypatch):
    def loaded(kernel):
        monkeypatch.setitem(sys.modules, "parsl", types.SimpleNamespace(dfk=lambda: kernel, __version__="2026.10"))
        return kernel

    return loaded


def launches_of(recording):
    lines = map(json.loads, (DATA / recording / "tries.jsonl").read_text().splitlines())
    return {(line["id"], line["try"]): line["executor_id"] for line in lines if line["kind"] == "launch"}


def tries_of(recording):
    tries = {}
    for line in map(json.loads, (DATA / recording / "tries.jsonl").read_text().splitlines()):
        place = line["id"], line["try"]
        if line["kind"] == "launch":
            kind, name = KINDS.get(line["item"], ("reduction", "reduction"))
            before = tries.get((line["id"], line["try"] - 1))
            if before is not None and before.outcome == "done":  # an exception travels as a result
                before.outcome, before.exception = "raised", "Exception: Failed processing file"
            tries[place] = Try(line["id"], line["try"], "jobs", line["executor_id"], kind, name, line["t"])
        else:
            one = tries[place]
            one.ended = line["t"]
            one.outcome, one.exception = ("done", None) if line["exception"] is None else ("lost", line["exception"])
    return list(tries.values())


def replay(recording, load, monkeypatch):
    """What the source tells at the end of a recorded run, and the run that is made of it."""
    tries, chunks = tries_of(recording), chunks_of(recording)
    kernel = load(Kernel({"jobs": HighThroughputExecutor(DATA / recording / "jobs")}))
    begin, end = tries[0].launched - 1, max(one.ended for one in tries) + 1
    monkeypatch.setattr(source_module, "now", lambda: begin)
    source = ParslSource(None)
    engine = source.begin(1.0)
    assert engine.name == "Parsl 2026.10" and engine.cannot == [] and engine.topic is None
    source._watched.tries += tries
    monkeypatch.setattr(source_module, "now", lambda: end)
    workers = {life.pid: life.worker for life in logs_of(recording).lives}
    records = ChunkLog([{**chunk, "worker": workers[chunk["pid"]]} for chunk in chunks])
    found = source.end(Ran({"MyProcessor"}, records))
    assert found.notes == [] and "launch_task" not in vars(kernel) and source._watched is None
    run = Run(chunks=records, series=found.series, attempts=found.attempts, t_start=begin, t_end=end,
              processor_name="MyProcessor")
    return found, run, end - begin


@pytest.mark.parametrize("recording", ["htex", "raise-retry", "monitoring-worker-killed"])
def test_a_recorded_run(recording, load, monkeypatch):
    found, run, seconds = replay(recording, load, monkeypatch)
    logs, tries = logs_of(recording), tries_of(recording)
    rows = found.attempts.records()
    assert len(rows) == len(tries) == len(logs.tasks)
    assert Counter(row["kind"] for row in rows) == Counter(one.kind for one in tries)
    assert Counter(row["outcome"] for row in rows) == Counter(one.outcome for one in tries)
    for row in rows:
        # The recorder noted a launch when it was over.
        assert row["ready"] - 0.05 <= row["start"] <= row["ended"] and row["worker"].startswith("block-0/")
    metrics = run.metrics()
    assert metrics["peak_workers"] == 2 and metrics["workers_seen"] == 2
    assert metrics["peak_memory_bytes"] is None and metrics["cpu_utilization_avg_pct"] is None
    budget = run.budget()
    assert budget["available_core_seconds"] == pytest.approx(metrics["total_cores"] * seconds)
    assert sum(budget["parts"].values()) == pytest.approx(budget["available_core_seconds"])
    # Every chunk was found in its try: their time is in the parts of process().
    chunks = chunks_of(recording)
    done = sum(chunk["duration"] for chunk in chunks)
    inside = sum(budget["parts"][part] for part in ("read", "compute_cpu", "compute_offcpu"))
    assert inside == pytest.approx(done, rel=0.001) if recording != "raise-retry" else inside <= done
    assert found.about == {"parsl_jobs": "block-0: 4711"}


def test_lost_work_of_a_recorded_run(load, monkeypatch):
    found, run, _ = replay("monitoring-worker-killed", load, monkeypatch)
    killed, pid = outside("monitoring-worker-killed")
    (departure,) = found.attempts.departures
    assert departure["worker"] == "block-0/be0b01de110b/1" and departure["running"] == 1 and not departure["expected"]
    (lost,) = [row for row in found.attempts.records() if row["outcome"] == "lost"]
    assert lost["start"] < killed < departure["when"] and lost["exception"].startswith("WorkerLost")
    assert run.budget()["parts"]["lost"] == pytest.approx(departure["when"] - lost["start"], abs=0.01)


def test_clocks_of_workers(load, monkeypatch):
    """A worker whose clock is an hour ahead: its tasks would begin after they ended."""
    ahead = 3600.0
    real = read_logs

    def shifted(*places):
        logs = real(*places)
        for life in logs.lives:
            life.joined += ahead
        for seen in logs.tasks.values():
            seen.start += ahead
            seen.stop += ahead
        return logs

    monkeypatch.setattr(source_module, "read_logs", shifted)
    tries = tries_of("htex")
    load(Kernel({"jobs": HighThroughputExecutor(DATA / "htex" / "jobs")}))
    monkeypatch.setattr(source_module, "now", lambda: tries[0].launched - 1)
    source = ParslSource(None)
    source.begin(1.0)
    source._watched.tries += tries
    monkeypatch.setattr(source_module, "now", lambda: tries[-1].ended + 1)
    found = source.end(Ran())
    assert {round(-offset, 1) for offset in found.clock_offsets.values()} == {ahead}
    assert all(row["ready"] <= row["start"] <= row["stop"] <= row["ended"] + 0.001
               for row in found.attempts.records())


def test_no_kernel_is_loaded(monkeypatch):
    def dfk():
        raise RuntimeError("Must first load config")

    monkeypatch.setitem(sys.modules, "parsl", types.SimpleNamespace(dfk=dfk))
    source = make_backend(ParslExecutor())
    assert type(source) is ParslSource
    (note,) = source.begin(1.0).cannot
    assert "parsl.load(config)" in note and "Must first load config" in note
    assert source.news().records == []
    found = source.end(Ran())
    assert found.series is None and found.attempts is None and found.notes == [note]


def test_logs_that_cannot_be_seen(load, tmp_path, monkeypatch):
    load(Kernel({"jobs": HighThroughputExecutor(tmp_path / "elsewhere")}))
    source = ParslSource(None)
    source.begin(1.0)
    source._watched.tries += tries_of("htex")
    found = source.end(Ran({"P"}))
    (note,) = found.notes
    assert str(tmp_path / "elsewhere") in note and "worker_logdir_root" in note and "log_config" in note
    assert found.series is None
    rows = found.attempts.records()
    assert len(rows) == 22 and not any(row.get("start") for row in rows)


def test_other_executors_of_parsl(load):
    class WorkQueueExecutor:
        pass

    load(Kernel({"jobs": WorkQueueExecutor()}))
    source = ParslSource(None)
    (note,) = source.begin(1.0).cannot
    assert "jobs" in note and "WorkQueueExecutor" in note
    assert source.end(Ran()).series is None


def test_executors_that_coffea_does_not_use(load):
    kernel = load(Kernel({"jobs": HighThroughputExecutor("x"), "mine": HighThroughputExecutor("y")}))
    source = ParslSource(types.SimpleNamespace(jobs_executors=["jobs"], merges_executors=["jobs"]))
    source.begin(1.0)
    assert [place.label for place in source._watched.places] == ["jobs"]
    source.abandon()
    assert "launch_task" not in vars(kernel)


def test_a_kernel_without_the_method_that_is_watched(load):
    class Other:
        executors = {"jobs": HighThroughputExecutor("x")}
        monitoring = None

    load(Other())
    source = ParslSource(None)
    (note,) = source.begin(1.0).cannot
    assert note.startswith("the tries of the tasks are not known")
    assert isinstance(source.end(Ran()), Collected)


# ---- tries ----

class WorkItem:
    pass


class FileMeta:
    pass


class WorkerLost(Exception):
    pass


class RemoteExceptionWrapper:
    def __init__(self, error):
        self.e_value = error


def record(number, item, function=len, **more):
    return {"id": number, "fail_count": 0, "executor": "jobs", "func": function, "func_name": "wrapper",
            "args": [item], "from_memo": False, **more}


def test_launches_and_ends(load):
    futures = {}

    class Executor(HighThroughputExecutor):
        def submit(self, function, *args):
            future = futures[len(futures)] = Future()
            future.parsl_executor_task_id = len(futures)
            return future

    Executor.__name__ = "HighThroughputExecutor"
    kernel = load(Kernel({"jobs": Executor("x")}))
    source = ParslSource(None)
    source.begin(None)
    items = [WorkItem(), (WorkItem(), 1), FileMeta(), [1, 2], WorkItem(), WorkItem()]
    for number, item in enumerate(items):
        assert kernel.launch_task(record(number, item)) is futures[number]
    kernel.launch_task(record(6, 3, func_name="mine", args=[]))
    kernel.launch_task(record(7, WorkItem(), from_memo=True))
    futures[0].set_result({})
    futures[1].set_result(RemoteExceptionWrapper(ValueError("bad")))
    futures[2].set_exception(OSError("gone"))
    futures[4].set_exception(WorkerLost("worker 1"))
    futures[5].cancel()
    tries = source._watched.tries
    assert [(one.task, one.id, one.kind, one.name, one.outcome, one.exception) for one in tries] == [
        (0, "1", "processing", "", "done", None),
        (1, "2", "processing", "", "raised", "ValueError: bad"),
        (2, "3", "other", "preprocessing", "raised", "OSError: gone"),
        (3, "4", "reduction", "reduction", "lost", None),
        (4, "5", "processing", "", "lost", "WorkerLost: worker 1"),
        (5, "6", "processing", "", "lost", None),
        (6, "7", "other", "mine", "lost", None),
    ]
    assert tries[3].ended is None
    found = source.end(Ran())
    assert len(found.attempts.records()) == 7 and found.series is None
    kernel.launch_task(record(8, WorkItem()))  # is not watched any more
    assert len(tries) == 7


def test_news_while_the_processes_are_sampled(load):
    """Another thread does that, all the time."""
    load(Kernel({"jobs": ThreadPoolExecutor()}))
    source = ParslSource(None)
    topic = source.begin(10.0).topic
    told, samples, ended = [], 0, threading.Event()

    def look():
        while not ended.is_set():
            source._watched.sampler._look()

    others = threading.Thread(target=look)
    others.start()
    try:
        for i in range(200):
            channel.put(topic, ChunkLog([{"num_events": i}]), True)
            records, series, *_ = source.news()
            told += records
            samples += 0 if series is None else len(series)
    finally:
        ended.set()
        others.join()
    found = source.end(Ran())
    assert told == found.records and len(told) == 200 and 0 < samples <= len(found.series)


def test_records_that_were_taken_are_told_after_a_failure(load, monkeypatch):
    load(Kernel({"jobs": ThreadPoolExecutor()}))
    source = ParslSource(None)
    topic = source.begin(10.0).topic
    channel.put(topic, ChunkLog([{"num_events": 1}]), True)
    with monkeypatch.context() as patch, pytest.raises(RuntimeError):
        patch.setattr("roastcoffea.backends.local._Sampler.news", lambda self, workers: exec("raise RuntimeError('busy')"))
        source.news()
    assert len(source.news().records) == 1
    source.abandon()


def test_threads(load):
    kernel = load(Kernel({"jobs": ThreadPoolExecutor()}))
    source = ParslSource(None)
    engine = source.begin(0.05)
    assert engine.topic.startswith("memory:parsl-")

    def fails(item):
        raise ValueError("bad")

    kernel.launch_task(record(0, WorkItem(), function=lambda item: 7)).result()
    with pytest.raises(ValueError):
        kernel.launch_task(record(1, WorkItem(), function=fails)).result()
    assert source.news().series is not None
    found = source.end(Ran({"P"}))
    own = f"{os.uname().nodename}:{os.getpid()}"
    rows = found.attempts.records()
    assert [(row["outcome"], row["worker"]) for row in rows] == [("done", own), ("raised", own)]
    assert all(row["ready"] <= row["start"] <= row["stop"] <= row["ended"] and row["thread"] for row in rows)
    assert found.series.workers == [own]
    assert {value for _, value in found.series.as_tracking_data()["worker_cores"][own]} == {2}
    pool = kernel.executors["jobs"].executor
    assert "submit" not in vars(pool) and "launch_task" not in vars(kernel)
    pool.shutdown()


def test_two_collectors_at_once(load):
    kernel = load(Kernel({"jobs": ThreadPoolExecutor()}))
    outer, inner = ParslSource(None), ParslSource(None)
    outer.begin(None)
    inner.begin(None)
    kernel.launch_task(record(0, WorkItem(), function=id)).result()
    seen = [len(source.end(Ran()).attempts.records()) for source in (outer, inner)]
    assert seen == [1, 1] and "launch_task" not in vars(kernel)
    kernel.executors["jobs"].executor.shutdown()


def test_parsl_is_imported_by_those_who_use_it():
    code = "import sys, roastcoffea.backends.parsl; print('parsl' in sys.modules)"
    assert run_python(code).strip() == "False"


def test_a_collector_with_a_parsl_executor(load, tmp_path):
    """Its pool has been there for long, and no log says that it has left."""
    load(Kernel({"jobs": HighThroughputExecutor(DATA / "htex" / "jobs")}))
    with MetricsCollector(ParslExecutor(), output_dir=tmp_path, measurement_name="m") as mc:
        pass
    assert mc.backend == "parsl" and mc.metrics["peak_workers"] == 2
    assert mc.budget()["available_core_seconds"] == pytest.approx(2 * mc.metrics["wall_time"], abs=1e-5)
    assert mc.metrics["peak_memory_bytes"] is None and mc.metrics["cpu_utilization_avg_pct"] is None
    about = json.loads((tmp_path / "m" / "metrics.json").read_text())
    assert about["meta"]["parsl_jobs"] == "block-0: 4711" and about["meta"]["engine"] == "Parsl 2026.10"
