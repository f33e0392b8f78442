"""Attempts, the watch that makes them, and what a run knows from them."""

from __future__ import annotations

import math
import pickle
import time
from types import SimpleNamespace

import pytest

from leaks import assert_nothing_is_kept
from roastcoffea import _core
from roastcoffea._core import Attempts, Run, WorkerSeries
from roastcoffea.backends.dask.task_watch import TaskWatch

A, B = "tcp://a:1", "tcp://b:2"
KEY = "Proc-0123456789abcdef0123456789abcdef"
# Seconds: two clocks are read one after the other, and a busy machine may do something else in between.
CLOCKS = 0.05


def task(worker=A, prefix="Proc"):
    return SimpleNamespace(
        processing_on=SimpleNamespace(address=worker), prefix=SimpleNamespace(name=prefix)
    )


class Scheduler:
    """As much of Dask's as a watch sees."""

    def __init__(self, own=()):
        self.tasks = {}
        self.watch = TaskWatch(self.tasks)
        self.watch.expect(own)

    def send(self, key, worker=A, prefix="Proc", queued=False):
        self.tasks[key] = task(worker, prefix)
        if queued:
            self.watch.transition(key, "waiting", "queued", stimulus_id="s-1")
        self.watch.transition(key, "queued" if queued else "waiting", "processing", stimulus_id="s-1")

    def done(self, key, start, stop, worker=A, **fields):
        self.watch.transition(
            key, "processing", "memory", stimulus_id="task-finished-1", worker=worker, thread=77,
            startstops=({"action": "transfer", "start": start - 0.5, "stop": start - 0.25},
                        {"action": "compute", "start": start, "stop": stop}), nbytes=1000, **fields)

    def release(self, key, stimulus):
        self.watch.transition(key, "processing", "released", stimulus_id=stimulus)

    def records(self, **options):
        return self.watch.finish().records(**options)


def test_a_task_that_goes_well():
    scheduler = Scheduler([KEY])
    before = time.time()
    scheduler.send(KEY, queued=True)
    start, stop = before + 0.125, before + 0.5
    scheduler.done(KEY, start, stop)
    # what is not about a try
    scheduler.watch.transition(KEY, "memory", "released", stimulus_id="x")
    scheduler.watch.transition(KEY, "released", "forgotten", stimulus_id="x")
    after = time.time()
    (record,) = scheduler.records()
    moments = [record.pop(name) for name in ("ready", "sent", "ended")]
    assert [before - 1e-3, *moments, after] == sorted([before - 1e-3, *moments, after])
    assert record == {
        "key": KEY, "prefix": "Proc", "kind": "other", "worker": A, "thread": 77,
        "start": pytest.approx(start, abs=CLOCKS), "stop": pytest.approx(stop, abs=CLOCKS), "transfer_seconds": 0.25,
        "deserialize_seconds": None, "disk_seconds": None,
        "nbytes": 1000, "outcome": "done", "exception": None, "wasted_seconds": 0.0,
        "wasted_bytes": 0}


def test_a_task_that_raises_is_told_of_before_it_is_tried_again():
    scheduler = Scheduler([KEY])
    scheduler.send(KEY)
    start = time.time()
    phases = [{"action": "compute", "start": start, "stop": start + 1.0}]
    # from another worker than the one that has it now: about another try
    scheduler.watch.raised(key=KEY, worker=B, startstops=phases, exception_text="KeyError(1)", thread=1)
    scheduler.watch.raised(
        key=KEY, worker=A, startstops=phases, exception_text=repr(ValueError("no, \"thanks\" it's\na \\")), thread=5)
    scheduler.release(KEY, "task-erred-17.5")
    scheduler.send(KEY, worker=B)
    scheduler.release(KEY, "task-erred-18.5")  # another one raised, and this one is not needed any more
    scheduler.send(KEY)
    scheduler.watch.transition(
        KEY, "processing", "erred", stimulus_id="task-erred-19", cause=KEY, worker=A, thread=5,
        startstops=phases, exception_text="OSError(2, 'no file')")
    first, second, third = scheduler.records()
    assert [r["outcome"] for r in (first, second, third)] == ["raised", "lost", "raised"]
    assert first["exception"] == 'ValueError: no, "thanks" it\'s\na \\'
    assert first["start"] == pytest.approx(start, abs=CLOCKS) and first["wasted_seconds"] == pytest.approx(1.0, abs=1e-5)
    assert first["thread"] == 5
    assert (second["exception"], second["worker"], second["start"]) == ("called off: task-erred", B, None)
    assert 0 <= second["wasted_seconds"] < 60
    assert third["exception"] == "OSError: 2, 'no file'"


@pytest.mark.parametrize("off", [-30.0, 3600.0, -3600.0])
def test_a_worker_whose_clock_was_just_set(off):
    """Until its next heartbeat Dask puts its tasks somewhere else: the scheduler saw the task end. When it started is
    not known from when it was sent, as it may have waited on its worker."""
    scheduler = Scheduler([KEY])
    begin = time.time()
    scheduler.send(KEY)
    scheduler.done(KEY, begin + off, begin + off + 0.5)
    (record,) = scheduler.records()
    assert record["stop"] - record["start"] == pytest.approx(0.5, abs=1e-5)
    assert record["stop"] == pytest.approx(record["ended"], abs=1e-5)


@pytest.mark.parametrize("took", [-3600.0, 3600.0])
def test_a_clock_that_was_set_while_a_task_computed(took):
    scheduler = Scheduler([KEY])
    begin = time.time()
    scheduler.send(KEY)
    scheduler.done(KEY, begin, begin + took)
    (record,) = scheduler.records()
    assert record["start"] is None and record["stop"] is None


def test_a_task_that_raises_where_nobody_tells():
    scheduler = Scheduler([KEY])
    scheduler.send(KEY)
    scheduler.release(KEY, "task-erred-18.5")
    (record,) = scheduler.records()
    assert (record["outcome"], record["exception"], record["start"]) == ("raised", None, None)


def test_a_worker_that_leaves():
    keys = [f"Proc-{i}" for i in range(4)]
    scheduler = Scheduler(keys)
    for key in keys:
        scheduler.send(key)
    scheduler.done("Proc-0", 1.0, 2.0)
    scheduler.watch.moved("Proc-3", B)  # stolen: it is not lost
    # has killed too many: told before the departure itself
    scheduler.watch.transition("Proc-2", "processing", "erred", stimulus_id="gone-1", cause="Proc-2",
                               worker=A, exception=b"...")
    scheduler.watch.left(A, False, 2, ["Proc-0"], "gone-1")
    scheduler.release("Proc-1", "gone-1")
    scheduler.release("Proc-3", "gone-1")  # its input was lost
    scheduler.send("Proc-0", worker=B)
    scheduler.done("Proc-0", 3.0, 4.0, worker=B)
    attempts = scheduler.watch.finish()
    got = {(r["key"], r["worker"]): (r["outcome"], r["exception"]) for r in attempts.records()}
    assert got == {
        ("Proc-0", A): ("recomputed", None),
        ("Proc-2", A): ("lost", "KilledWorker"),
        ("Proc-1", A): ("lost", None),
        ("Proc-3", B): ("lost", "called off: gone"),
        ("Proc-0", B): ("done", None),
    }
    (departure,) = attempts.departures
    assert abs(departure.pop("when") - time.time()) < 60
    assert departure == {"worker": A, "expected": False, "running": 2, "lost_results": 1}
    (lost,) = Run(attempts=attempts).lost_workers()
    assert lost["running"] == ["Proc-2", "Proc-1"]
    assert (lost["cause"], lost["memory_fraction"]) == ("not known", None)


def test_tasks_of_others_have_no_name():
    scheduler = Scheduler([KEY])
    scheduler.send("secret-1", prefix="secret")
    scheduler.send(KEY)
    scheduler.done("secret-1", 1.0, 2.0)
    scheduler.done(KEY, 2.0, 3.0)
    scheduler.done("began-before-we-came", 1.0, 2.0, worker=B)
    attempts = scheduler.watch.finish()
    assert [r["key"] for r in attempts.records()] == [KEY]
    assert [(r["key"], r["prefix"], r["kind"]) for r in attempts.records(foreign=True)] == [
        (None, None, "foreign"), (KEY, "Proc", "other"), (None, None, "foreign")]
    assert b"secret" not in attempts.to_bytes() and b"before" not in attempts.to_bytes()


def test_what_has_not_ended_is_lost():
    scheduler = Scheduler([KEY, "queued-1", ("tuple", 1)])
    scheduler.send(KEY)
    scheduler.send(("tuple", 1))
    scheduler.watch.transition("queued-1", "waiting", "queued", stimulus_id="x")
    scheduler.send("not ours")
    first, second = scheduler.records()
    assert (first["key"], first["outcome"]) == (KEY, "lost")
    assert first["exception"] == "cancelled: it had not ended when the run ended"
    assert second["key"] == "('tuple', 1)"
    # late messages do no harm
    scheduler.watch.transition(KEY, "processing", "memory", stimulus_id="x", worker=A)
    scheduler.watch.raised(key=KEY, worker=A)
    scheduler.watch.left(A, True, 0, [], "x")
    scheduler.watch.moved(KEY, B)
    scheduler.watch.expect(["x"])


@pytest.mark.parametrize("fields", [
    {}, {"startstops": None}, {"startstops": 3}, {"startstops": [1, {}, {"action": "compute"}]},
    {"startstops": [{"action": 3, "start": 1.0, "stop": 2.0}]}, {"nbytes": "many"}, {"nbytes": -1},
    {"startstops": [{"action": "compute", "start": float("nan"), "stop": 1e300}]},
    {"worker": None, "thread": "x"}, {"thread": 2**70}])
def test_odd_messages_are_no_error(fields):
    scheduler = Scheduler([KEY])
    scheduler.tasks[KEY] = object()  # nothing can be asked of it
    scheduler.watch.transition(KEY, "waiting", "processing", stimulus_id="x")
    scheduler.watch.transition(KEY, "processing", "memory", **fields)
    scheduler.watch.transition([], "processing", "memory", **fields)  # a key without a hash
    first, = scheduler.records()
    assert (first["outcome"], first["worker"], first["start"]) == ("done", None, None)


def test_a_worker_whose_name_has_no_encoding_is_told():
    scheduler = Scheduler([KEY])
    scheduler.watch.transition(KEY, "waiting", "processing", stimulus_id="x")
    scheduler.watch.transition(KEY, "processing", "memory", worker="\ud800")
    first, = scheduler.records()
    assert (first["outcome"], first["worker"]) == ("done", None)
    assert scheduler.watch.faults == 1


def test_wrong_calls():
    watch = TaskWatch({})
    watch.transition("x")
    watch.expect(3)
    watch.left(3, True, 0, [], "")
    watch.left("", True, 0, [], "")
    assert watch.faults == 4 and len(watch.finish()) == 0
    for call, error in (
        (lambda: Attempts(3), TypeError),
        (lambda: Attempts().set_kind("x", "foreign"), ValueError),
        (lambda: Attempts().set_kind(3, "other"), TypeError),
        (lambda: Attempts.from_bytes(b"x"), ValueError),
        (lambda: Attempts.from_bytes("x"), TypeError),
        (lambda: Run(attempts=[]), TypeError),
        (lambda: Run().budget("colour"), ValueError),
        (lambda: Run().budget(3), ValueError),
        (lambda: _core.parse_work_item(3), TypeError),
    ):
        with pytest.raises(error):
            call()


def make_attempts(begin=None):
    """Of a run that begins now and lasts a second."""
    begin = time.time() if begin is None else begin
    scheduler = Scheduler([KEY, "reduce-1"])
    scheduler.send(KEY)
    scheduler.done(KEY, begin + 0.1, begin + 0.4)
    scheduler.send("reduce-1", prefix="reduce")
    scheduler.done("reduce-1", begin + 0.5, begin + 0.6)
    return scheduler.watch.finish()


def test_bytes_and_pickle():
    attempts = make_attempts()
    for copy in (Attempts.from_bytes(attempts.to_bytes()), pickle.loads(pickle.dumps(attempts))):
        assert copy.records() == attempts.records()
        assert copy.workers == [A]
    assert len(attempts) == 2 and attempts.nbytes < 10_000
    assert repr(attempts) == "<Attempts: 2 of tasks on 1 workers, 0 of which left>"
    with pytest.raises(ValueError, match="checksum"):
        Attempts.from_bytes(attempts.to_bytes()[:-1] + b"x")


def told_attempts():
    """As an engine other than Dask tells of them."""
    attempts = Attempts()
    attempts.add("t1", kind="processing", worker="w1", sent=100.0, start=101.0, stop=103.0)
    attempts.add("t2", kind="processing", worker="w2", sent=100.0, start=101.0, stop=102.0, outcome="raised",
                 exception="OSError: no: file", name="analysis")
    attempts.worker_left("w2", 105.0, expected=True, running=1)
    attempts.add("t2", kind="processing", worker="w2", start=103.0, outcome="lost", name="analysis")
    attempts.add("t3", kind="reduction", ended=107.0)
    attempts.add("t4", worker="w1", start=104.0, outcome="lost")
    attempts.add("theirs", kind="foreign")
    return attempts


def test_tries_from_any_engine():
    attempts = told_attempts()
    for one in (attempts, Attempts.from_bytes(attempts.to_bytes())):
        names = ("key", "kind", "prefix", "worker", "sent", "start", "stop", "ended", "outcome", "exception",
                 "wasted_seconds")
        assert [tuple(record[name] for name in names) for record in one.records()] == [
            ("t1", "processing", "processing", "w1", 100.0, 101.0, 103.0, 103.0, "done", None, 0.0),
            ("t2", "processing", "analysis", "w2", 100.0, 101.0, 102.0, 102.0, "raised", "OSError: no: file", 1.0),
            ("t2", "processing", "analysis", "w2", None, 103.0, None, 105.0, "lost", None, 2.0),
            ("t3", "reduction", "reduction", None, None, None, None, 107.0, "done", None, 0.0),
            ("t4", "other", "other", "w1", None, 104.0, None, None, "lost", None, None)]
        assert one.records(foreign=True)[-1]["key"] is None
        assert one.departures == [
            {"worker": "w2", "when": 105.0, "expected": True, "running": 1, "lost_results": 0}]


def test_budget_of_told_tries():
    series = WorkerSeries()
    for worker in ("w1", "w2"):
        series.join(worker, 100.0, cores=1)
    run = Run(t_start=100.0, t_end=110.0, series=series, attempts=told_attempts())
    budget = run.budget()
    assert budget["available_core_seconds"] == pytest.approx(20)
    assert budget["parts"]["lost"] == pytest.approx(1 + 2)
    assert sum(budget["parts"].values()) == pytest.approx(20)
    (lost,) = run.lost_workers()
    assert (lost["worker"], lost["running"]) == ("w2", ["t2"])


def test_a_run_keeps_the_tries_that_it_was_given():
    attempts = told_attempts()
    run = Run(attempts=attempts)
    attempts.add("more")
    attempts.worker_left("w1", 108.0)
    assert len(attempts) == 7 and len(run.attempts) == 6 and len(run.attempts.departures) == 1


@pytest.mark.parametrize("fields,error,message", [
    ({"key": 3}, TypeError, "key"),
    ({"kind": "analysis"}, ValueError, "kind: processing, reduction, other or foreign, not 'analysis'"),
    ({"kind": None}, TypeError, "kind"),
    ({"outcome": "fine"}, ValueError, "outcome: done, raised, lost or recomputed"),
    ({"worker": 3}, TypeError, "worker"),
    ({"worker": ""}, ValueError, "worker"),
    ({"sent": "soon"}, ValueError, "sent"),
    ({"start": 1e300}, ValueError, "start"),
    ({"start": 3.0, "stop": 2.0}, ValueError, "stop"),
    ({"ended": []}, TypeError, "ended"),
    ({"exception": ValueError("no")}, TypeError, "exception"),
    ({"name": 3}, TypeError, "name"),
    ({"colour": 3}, TypeError, "colour"),
    ({"outcome": "done\0"}, ValueError, "outcome"),
    ({"start": math.nan}, ValueError, "start"),
    ({"thread": -1}, ValueError, "thread"),
    ({"thread": 2**64}, ValueError, "thread"),
    ({"thread": 1.5}, TypeError, "thread"),
    ({"nbytes": -1}, ValueError, "nbytes"),
    ({"nbytes": 2**64}, ValueError, "nbytes"),
    ({"transfer_seconds": math.inf}, ValueError, "transfer_seconds"),
])
def test_tries_that_are_refused(fields, error, message):
    attempts = Attempts()
    with pytest.raises(error, match=message):
        attempts.add(**{"key": "t1", **fields})
    assert len(attempts) == 0
    for call in (lambda: attempts.worker_left("w1"), lambda: attempts.worker_left(3, 100.0),
                 lambda: attempts.worker_left("w1", "soon"), lambda: attempts.worker_left("w1", 1.0, running="x")):
        with pytest.raises((TypeError, ValueError)):
            call()
    assert attempts.departures == []


@pytest.mark.parametrize("fields,error,message", [
    ({"running": -1}, ValueError, "running"),
    ({"running": 2**32}, ValueError, "running"),
    ({"running": 1.5}, TypeError, "running"),
    ({"lost": "t1"}, TypeError, "lost"),
    ({"lost": 3}, TypeError, "int"),
    ({"lost": ["t1", 3]}, TypeError, "lost"),
])
def test_departures_that_are_refused(fields, error, message):
    attempts = Attempts()
    attempts.add("t1", worker="w1")
    with pytest.raises(error, match=message):
        attempts.worker_left("w1", 100.0, **fields)
    assert attempts.departures == [] and attempts.records()[0]["outcome"] == "done"


def make_run():
    begin = time.time()
    series = WorkerSeries()
    series.join(A, begin, 2, "node")
    chunk = {"t_start": begin + 0.2, "duration": 0.15, "task_key": KEY, "worker": A, "dataset": "x",
             "file": "f.root", "before_process_s": 0.1, "cpu_user_s": 0.1, "cpu_system_s": 0.0,
             "reads": {"pt": {"seconds": 0.025, "bytes": 1, "uncompressed_bytes": 1, "count": 1}}}
    attempts = make_attempts(begin)
    attempts.set_kind("reduce", "reduction")
    return Run(t_start=begin, t_end=begin + 1.0, chunks=[chunk], series=series, processor_name="Proc",
               attempts=attempts)


def test_budget_of_a_run():
    run = make_run()
    assert [r["kind"] for r in run.attempts.records()] == ["processing", "reduction"]
    budget = run.budget()
    parts = budget["parts"]
    assert budget["available_core_seconds"] == pytest.approx(2, abs=1e-5)
    assert sum(parts.values()) == pytest.approx(2, abs=1e-5)
    expected = {"before_process": 0.1, "read": 0.025, "compute_cpu": 0.1, "compute_offcpu": 0.025,
                "after_process": 0.05, "reduction": 0.1, "other_tasks": 0, "lost": 0, "unaccounted": 0}
    assert {name: parts[name] for name in expected} == pytest.approx(expected, abs=1e-5)
    assert set(parts) - set(expected) == {"worker_overhead", "client", "idle_ramp_up", "idle_starved",
                                          "idle_between", "idle_tail"}
    assert budget["compute_offcpu"] == {"io_wait": None, "runqueue": None,
                                        "rest": pytest.approx(0.025, abs=1e-5)}
    assert budget["saved_wall_seconds"]["idle_tail"] == pytest.approx(parts["idle_tail"] / 2)
    assert budget["from_attempts"] is True
    assert set(run.budget(by="worker")) == {A}
    assert set(run.budget(by="host")) == {"node"}
    assert set(run.budget("dataset")) == {"x", None}
    assert run.budget("file")["f.root"]["available_core_seconds"] == pytest.approx(0.3, abs=1e-5)
    assert run.has_budget is True


def test_what_is_not_known_is_not_there():
    assert Run().budget() is None and Run().budget("worker") is None
    assert Run().has_budget is False
    assert Run().attempts is None
    assert Run().lost_workers() == Run().failed_pieces() == []
    series = WorkerSeries()
    series.join("host:7", 100.0, 1, "host")
    chunk = {"t_start": 102.0, "duration": 1.5, "cpu_user_s": 1.0, "cpu_system_s": 0.0, "pid": 7,
             "host": "host"}
    budget = Run(t_start=100.0, t_end=110.0, chunks=[chunk], series=series).budget()
    assert not {"after_process", "reduction", "other_tasks", "worker_overhead"} & set(budget["parts"])
    assert sum(budget["parts"].values()) == pytest.approx(10)
    assert budget["from_attempts"] is False


def test_phases_are_kept(tmp_path):
    phases = [("preprocessing", 100.5, 101.0), ("execution", 101.0, 109.0)]
    series = WorkerSeries()
    series.join("host:7", 100.0, 1, "host")
    run = Run(t_start=100.0, t_end=110.0, series=series, phases=phases)
    assert run.phases == phases and Run().phases == []
    parts = run.budget()["parts"]
    assert parts == pytest.approx({"preprocessing": 0.5, "compute_cpu": 0, "client": 1.5, "unaccounted": 8})
    _core.save_measurement(run, str(tmp_path / "m"))
    loaded = _core.load_measurement(str(tmp_path / "m"))[0]
    assert loaded.phases == phases and loaded.budget() == run.budget()


@pytest.mark.parametrize("phases, error", [
    ([("lunch", 1.0, 2.0)], ValueError), ([("execution", 2.0, 1.0)], ValueError),
    ([("execution", math.nan, 1.0)], ValueError), (["execution"], TypeError), ([("execution", 1.0)], TypeError), (5, TypeError)])
def test_phases_that_are_refused(phases, error):
    with pytest.raises(error):
        Run(phases=phases)


def test_failed_pieces():
    text = ("Failed processing file: WorkItem(dataset='x', filename='g.root', treename='Events', "
            "entrystart=0, entrystop=20, fileuuid=b'', usermeta={}). The error was: OSError().")
    assert _core.parse_work_item(text) == ("x", "g.root", "Events", 0, 20)
    assert _core.parse_work_item("nothing") is None
    scheduler = Scheduler([KEY])
    scheduler.send(KEY)
    scheduler.watch.transition(KEY, "processing", "erred", startstops=[], worker=A,
                               exception_text=repr(Exception(text)))
    chunks = [{"dataset": "x", "file": "f.root", "treename": "Events", "entry_start": 0,
               "entry_stop": 10, "error": "ValueError: no"},
              {"dataset": "x", "file": "f.root", "treename": "Events", "entry_start": 10,
               "entry_stop": 20, "duration": 1.0}]
    run = Run(chunks=chunks, attempts=scheduler.watch.finish())
    known = [("x", "f.root", "Events", 0, 10), ("x", "g.root", "Events", 0, 20)]
    assert run.failed_pieces() == known
    more = [("x", "f.root", "Events", 10, 20), known[1], ("x", "h.root", None, None, None)]
    assert run.failed_pieces(iter(more)) == [*known, more[2]]  # the first went well
    for wrong in ([1], [("x",)], [(1, "f", "t", 0, 1)], [("x", "f", "t", "0", 1)], 5):
        with pytest.raises(TypeError):
            run.failed_pieces(wrong)


def test_failed_tasks():
    assert Run().failed_tasks() == []
    scheduler = Scheduler([KEY])
    scheduler.send(KEY)
    scheduler.watch.transition(KEY, "processing", "erred", worker=A, stimulus_id="gone")
    attempts = scheduler.watch.finish()
    attempts.set_kind("Proc", "processing")
    assert Run(attempts=attempts).failed_tasks() == [KEY]
    good = {"task_key": KEY, "dataset": "x", "duration": 1.0}
    assert Run(attempts=attempts, chunks=[good]).failed_tasks() == []


# ---- leaks ----

def use_attempts():
    run = make_run()
    run.budget(), run.budget("dataset"), run.budget("worker"), run.lost_workers()
    run.has_budget, run.metrics()
    run.failed_pieces(), run.attempts.departures, repr(run.attempts)
    pickle.loads(pickle.dumps(run.attempts)), Attempts.from_bytes(run.attempts.to_bytes())
    _core.parse_work_item("WorkItem(")
    test_failed_pieces()
    test_failed_tasks()
    told_attempts()
    test_a_run_keeps_the_tries_that_it_was_given()
    test_a_worker_that_leaves()
    test_tasks_of_others_have_no_name()
    test_a_task_that_raises_is_told_of_before_it_is_tried_again()


def use_wrong_calls():
    test_wrong_calls()
    test_tries_that_are_refused({"kind": "analysis"}, ValueError, "kind")
    test_odd_messages_are_no_error({"worker": None, "startstops": [1]})


@pytest.mark.parametrize("use", [use_attempts, use_wrong_calls], ids=lambda use: use.__name__)
def test_no_leak(use):
    assert_nothing_is_kept(use, 50)


def test_failing_allocations():
    keys = [f"Proc-{i}" for i in range(20)]
    failed = 0
    for after in range(60):
        scheduler = Scheduler(keys)
        _core._fail_allocations(after)
        try:
            for key in keys:
                scheduler.send(key)
                scheduler.done(key, 1.0, 2.0)
        finally:
            _core._fail_allocations(None)
        lost = scheduler.watch.faults
        failed += lost > 0
        assert len(scheduler.records()) >= len(keys) - lost
    assert failed > 3
