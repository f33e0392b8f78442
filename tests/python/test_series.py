"""WorkerSeries: ticks from real WorkerState objects, the dict of the contract, the packed form."""

from __future__ import annotations

import copy
import gc
import json
import math
import os
import pickle
import random
from datetime import UTC, datetime, timedelta, timezone
from types import SimpleNamespace

import pytest

from leaks import assert_nothing_is_kept
from roastcoffea import _core
from roastcoffea._core import Run, WorkerSeries, sample_workers
from roastcoffea.aggregation.tracking import TrackingData

T0 = datetime(2026, 3, 1, 12, 0, 0, 250000, tzinfo=UTC)
COLUMNS = {
    "memory": "worker_memory",
    "memory_limit": "worker_memory_limit",
    "active_tasks": "worker_active_tasks",
    "cores": "worker_cores",
    "nbytes": "worker_nbytes",
    "occupancy": "worker_occupancy",
    "executing": "worker_executing",
    "last_seen": "worker_last_seen",
    "cpu": "worker_cpu",
    "spilled_bytes": "worker_spilled_bytes",
    "net_read_bps": "worker_net_read_bps",
    "net_write_bps": "worker_net_write_bps",
    "disk_read_bps": "worker_disk_read_bps",
    "disk_write_bps": "worker_disk_write_bps",
}
REAL_COLUMNS = {"worker_occupancy", "worker_last_seen", "worker_cpu"}


def at(seconds):
    return T0 + timedelta(seconds=seconds)


@pytest.fixture(scope="module")
def scheduler_module():
    return pytest.importorskip("distributed.scheduler")


class Prefix:
    def __init__(self, duration, longest=-1):
        self.duration_average = duration
        self.max_exec_time = longest


def make_scheduler(module):
    """An object with the parts of a scheduler that a WorkerState asks for, and the real formulas."""

    class Scheduler:
        validate = False
        bandwidth = 1e8
        UNKNOWN_TASK_DURATION = 0.5
        _calc_occupancy = module.SchedulerState._calc_occupancy
        _get_prefix_duration = module.SchedulerState._get_prefix_duration

    scheduler = Scheduler()
    scheduler.task_prefixes = {"process": Prefix(12.25), "reduce": Prefix(-1, 0.5), "new": Prefix(-1)}
    return scheduler


def make_worker(module, scheduler, number=0, **metrics):
    worker = module.WorkerState(
        address=f"tcp://10.0.0.{number}:4000", status=module.Status.running, pid=1, name=number,
        nthreads=4, memory_limit=8_000_000_000, local_directory="", nanny=None,
        server_id=f"w{number}", scheduler=scheduler)
    worker.metrics = {
        "cpu": 187.5,
        "memory": 1_234_567_890,
        "spilled_bytes": {"memory": 5, "disk": 7_000},
        "host_net_io": {"read_bps": 1000.25, "write_bps": 2000.0},
        "host_disk_io": {"read_bps": 3000.0, "write_bps": 4000.75},
        **metrics,
    }
    worker.processing = {object() for _ in range(6)}
    worker.executing = {object(): 1.0 for _ in range(3)}
    worker.nbytes = 123_456
    worker.last_seen = 1_700_000_000.125
    return worker


def one_row(series):
    """{column: value} of the one sample of a series."""
    data = series.as_tracking_data()
    (worker,) = series.workers
    return {column: data[key][worker][0][1] for column, key in COLUMNS.items() if worker in data[key]}


# ---- ticks from Dask's own objects ----

def test_tick_reads_every_column(scheduler_module):
    scheduler = make_scheduler(scheduler_module)  # a worker holds its scheduler weakly
    worker = make_worker(scheduler_module, scheduler)
    series = WorkerSeries()
    sample_workers(series, [worker], T0)
    assert one_row(series) == {
        "memory": 1_234_567_890,
        "memory_limit": 8_000_000_000,
        "active_tasks": 6,
        "cores": 4,
        "nbytes": 123_456,
        "occupancy": 0.0,
        "executing": 3,
        "last_seen": 1_700_000_000.125,
        "cpu": 187.5,
        "spilled_bytes": 7_000,
        "net_read_bps": 1000,
        "net_write_bps": 2000,
        "disk_read_bps": 3000,
        "disk_write_bps": 4000,
    }


def memory_and_spill(series, worker):
    data = series.as_tracking_data()
    return ([value for _, value in data["worker_memory"][worker.address]],
            [value for _, value in data["worker_spilled_bytes"][worker.address]])


def test_each_heartbeat_is_seen(scheduler_module):
    """What a worker told last is read once; what comes with the next heartbeat is read again."""
    worker = make_worker(scheduler_module, make_scheduler(scheduler_module))
    series = WorkerSeries()

    def heartbeat(memory, spilled):
        worker.metrics = {**worker.metrics, "memory": memory, "spilled_bytes": {"disk": spilled}}
        worker.last_seen += 1

    for number in range(6):
        if number % 2:
            heartbeat(1000 + number, 10 * number)
        worker.nbytes = number
        sample_workers(series, [worker], at(number))
    memory, spilled = memory_and_spill(series, worker)
    assert memory == [1_234_567_890, 1001, 1001, 1003, 1003, 1005]
    assert spilled == [7_000, 10, 10, 30, 30, 50]
    nbytes = series.as_tracking_data()["worker_nbytes"][worker.address]
    assert [value for _, value in nbytes] == list(range(6))


def test_metrics_are_read_again_where_either_sign_of_a_heartbeat_is_there(scheduler_module):
    worker = make_worker(scheduler_module, make_scheduler(scheduler_module))
    series = WorkerSeries()
    sample_workers(series, [worker], at(0))
    worker.metrics["memory"] = 5  # the same dict, heard of later
    worker.last_seen += 0.001
    sample_workers(series, [worker], at(1))
    worker.metrics = {**worker.metrics, "memory": 6}  # another dict at the same time
    sample_workers(series, [worker], at(2))
    assert memory_and_spill(series, worker)[0] == [1_234_567_890, 5, 6]


def test_workers_in_the_place_of_others(scheduler_module):
    """Whoever stands in another's place, even with its metrics, is read for itself."""
    scheduler = make_scheduler(scheduler_module)
    one, two = (make_worker(scheduler_module, scheduler, number, memory=1000 + number) for number in range(2))
    series = WorkerSeries()
    sample_workers(series, [one, two], at(0))
    sample_workers(series, [two, one], at(1))
    two.metrics = one.metrics
    sample_workers(series, [one], at(2))
    sample_workers(series, [two], at(3))
    sample_workers(series, [one, two], at(4))
    assert memory_and_spill(series, one)[0] == [1000] * 4
    assert memory_and_spill(series, two)[0] == [1001, 1001, 1000, 1000]


def test_numbers_have_the_type_of_their_column(scheduler_module):
    series, scheduler = WorkerSeries(), make_scheduler(scheduler_module)
    sample_workers(series, [make_worker(scheduler_module, scheduler)], T0)
    data = series.as_tracking_data()
    for key in COLUMNS.values():
        ((moment, value),) = next(iter(data[key].values()))
        assert moment == T0
        assert type(value) is (float if key in REAL_COLUMNS else int), key


@pytest.mark.parametrize("counts,network", [
    ({}, 0), ({}, 5_000_000), ({"process": 3}, 0), ({"process": 2, "reduce": 4, "new": 1}, 7_500_000),
])
def test_occupancy_is_the_schedulers(scheduler_module, counts, network):
    scheduler = make_scheduler(scheduler_module)
    workers = [make_worker(scheduler_module, scheduler, number) for number in range(3)]
    for worker in workers:
        worker.task_prefix_count.update(counts)
        worker._network_occ = network
    series = WorkerSeries()
    sample_workers(series, workers, T0)
    data = series.as_tracking_data()["worker_occupancy"]
    for worker in workers:
        assert data[worker.address] == [(T0, pytest.approx(worker.occupancy, abs=5e-4))]


def test_occupancy_from_the_cache(scheduler_module):
    worker = make_worker(scheduler_module, make_scheduler(scheduler_module))
    worker._occupancy_cache = 3.75
    series = WorkerSeries()
    sample_workers(series, [worker], T0)
    assert one_row(series)["occupancy"] == 3.75


def test_a_scheduler_with_another_formula_is_believed(scheduler_module):
    scheduler = make_scheduler(scheduler_module)
    scheduler._calc_occupancy = lambda counts, network: 41.5
    workers = [make_worker(scheduler_module, scheduler, number) for number in range(3)]
    for worker in workers:
        worker.task_prefix_count["process"] = 2
    series = WorkerSeries()
    for tick in range(2):
        sample_workers(series, workers, at(tick))
    data = series.as_tracking_data()["worker_occupancy"]
    assert {value for points in data.values() for _, value in points} == {41.5}


def test_scheduler_without_the_parts_uses_the_property():
    worker = SimpleNamespace(address="w", occupancy=2.5, task_prefix_count={"a": 1}, _network_occ=0,
                             scheduler_ref=None)
    series = WorkerSeries()
    sample_workers(series, [worker], T0)
    assert one_row(series) == {"occupancy": 2.5}


def test_what_is_missing_is_absent(scheduler_module):
    scheduler = make_scheduler(scheduler_module)
    worker = make_worker(scheduler_module, scheduler)
    worker.metrics = {}
    del worker.executing
    before = _core.faults()["count"]
    series = WorkerSeries()
    sample_workers(series, [worker, SimpleNamespace(address="bare")], T0)
    data = series.as_tracking_data()
    assert _core.faults()["count"] == before
    assert series.sample_count == 2
    assert set(data["worker_cores"]) == {worker.address}
    for key in ("worker_memory", "worker_cpu", "worker_executing", "worker_spilled_bytes",
                "worker_net_read_bps", "worker_disk_write_bps"):
        assert data[key] == {}


def test_memory_falls_back_to_the_polished_one():
    worker = SimpleNamespace(address="w", metrics={"cpu": 1}, memory=SimpleNamespace(process=77))
    series = WorkerSeries()
    sample_workers(series, [worker], T0)
    assert one_row(series) == {"memory": 77, "cpu": 1.0}


class Hostile:
    address = "hostile"
    metrics = {"cpu": "a lot", "memory": 5, "host_net_io": 3, "spilled_bytes": None}
    nthreads = 2

    @property
    def nbytes(self):
        raise RuntimeError("not today")

    @property
    def occupancy(self):
        raise KeyError("prefix")

    @property
    def processing(self):
        return 7

    @property
    def host(self):
        raise OSError("no host")


def test_no_exception_escapes_a_tick():
    before = _core.faults()["count"]
    series = WorkerSeries()
    sample_workers(series, [Hostile(), object(), SimpleNamespace(address=5), SimpleNamespace(address="")], T0)
    assert one_row(series) == {"memory": 5, "cores": 2}
    assert series.as_tracking_data()["worker_counts"] == {T0: 4}
    assert _core.faults()["count"] > before


def test_a_worker_counts_once_a_tick():
    worker = SimpleNamespace(address="w", nthreads=1)
    series = WorkerSeries()
    sample_workers(series, [worker, worker], T0)
    assert series.sample_count == 1


def test_workers_may_be_a_dict_a_view_or_a_generator():
    workers = {name: SimpleNamespace(address=name, nthreads=1) for name in "ab"}
    series = WorkerSeries()
    sample_workers(series, workers, at(0))
    sample_workers(series, workers.values(), at(1))
    sample_workers(series, (worker for worker in workers.values()), at(2))
    sample_workers(series, [], at(3))
    assert series.sample_count == 6
    assert list(series.as_tracking_data()["worker_counts"].values()) == [2, 2, 2, 0]


def test_tick_inside_a_tick():
    series = WorkerSeries()

    class Nested:
        address = "nested"

        @property
        def nbytes(self):
            sample_workers(series, [SimpleNamespace(address="inner", nbytes=2)], T0)
            return 1

    sample_workers(series, [Nested()], T0)
    sample_workers(series, [Nested()], at(1))
    assert len(series) == 4
    assert series.as_tracking_data()["worker_nbytes"] == {
        "inner": [(T0, 2), (T0, 2)], "nested": [(T0, 1), (at(1), 1)]}


# ---- classes with slots, which are read at their place in the object ----

class Slotted:
    __slots__ = ("address", "nthreads", "nbytes", "metrics", "processing", "executing", "last_seen",
                 "memory_limit")

    def __init__(self, address, **values):
        self.address = address
        for name, value in values.items():
            setattr(self, name, value)


class SlottedChild(Slotted):
    __slots__ = ("extra",)


class WithProperty(Slotted):
    """A property stands before the slot of the same name."""

    @property
    def nthreads(self):
        return 40


class AnswersItself(Slotted):
    def __getattribute__(self, name):
        return 50 if name == "nthreads" else super().__getattribute__(name)


class AnswersWhatIsMissing(Slotted):
    def __getattr__(self, name):
        if name == "nthreads":
            return 60
        raise AttributeError(name)


def cores_by_worker(series):
    return {name: [value for _, value in samples]
            for name, samples in series.as_tracking_data()["worker_cores"].items()}


def test_slots_of_all_kinds_of_classes():
    def workers():
        return [Slotted("a", nthreads=1), SlottedChild("b", nthreads=2),
                SimpleNamespace(address="c", nthreads=3), WithProperty("d"), AnswersItself("e", nbytes=1),
                AnswersWhatIsMissing("f"), Slotted("g"), Slotted("h", nthreads=None),
                Slotted("i", nthreads=True), Slotted("j", nthreads=2**70)]

    expected = {"a": 1, "b": 2, "c": 3, "d": 40, "e": 50, "f": 60, "i": 1}
    for first in range(len(workers())):  # the class of the first one is looked at
        everyone = workers()
        series = WorkerSeries()
        sample_workers(series, everyone[first:] + everyone[:first], T0)
        assert cores_by_worker(series) == {name: [value] for name, value in expected.items()}


def test_a_slot_with_a_number_that_is_no_float():
    before = _core.faults()["count"]
    series = WorkerSeries()
    sample_workers(series, [Slotted("a", nthreads=10**400, nbytes="many", last_seen=5)], T0)
    assert one_row(series) == {"last_seen": 5.0}
    assert _core.faults()["count"] == before + 2


def test_workers_that_change_places():
    series = WorkerSeries()
    rows = {name: Slotted(name, nthreads=number) for number, name in enumerate("abcdefgh", 1)}
    ticks = ["abcdefgh", "abcdefgh", "hgfedcba", "bcd", "bcdx", "abxcdefgh", ""]
    rows["x"] = Slotted("".join(["x"]), nthreads=9)
    for second, names in enumerate(ticks):
        sample_workers(series, [rows[name] for name in names], at(second))
    counts = {name: sum(name in names for names in ticks) for name in rows}
    assert cores_by_worker(series) == {name: [rows[name].nthreads] * n for name, n in counts.items()}
    # An equal address in another object is the same worker; another address in the same object is another.
    again = Slotted("-".join(["a", "b"]), nthreads=1)
    sample_workers(series, [again], at(50))
    again.address = "-".join(["a", "b"])
    sample_workers(series, [again], at(51))
    again.address = "elsewhere"
    sample_workers(series, [again], at(52))
    assert cores_by_worker(series)["a-b"] == [1, 1]
    assert cores_by_worker(series)["elsewhere"] == [1]


@pytest.mark.parametrize("key", ["memory", "cpu", "spilled_bytes", "host_net_io", "host_disk_io"])
def test_metrics_that_vanish_while_they_are_looked_at(key):
    """A key that is no str compares itself, and may do anything meanwhile."""
    workers, compared = [], []

    class Key:
        def __hash__(self):
            return hash(key)

        def __eq__(self, other):
            compared.append(other)
            for worker in workers:
                worker.metrics = {"memory": 5}
                worker.processing = {}
            gc.collect()
            return False

    for number in range(3):
        workers.append(Slotted(f"w{number}", metrics={Key(): 1, key: {"read_bps": 5.5}}, processing={1: 2}))
    series = WorkerSeries()
    sample_workers(series, workers, T0)
    assert compared
    assert series.sample_count == 3


def test_metrics_of_many_forms():
    class Mapping(dict):
        pass

    forms = [{}, None, 7, Mapping(cpu=5.5), {"cpu": Mapping()}, {"host_net_io": Mapping(read_bps=100.0)},
             {"host_net_io": [1], "host_disk_io": None, "spilled_bytes": {}},
             {"spilled_bytes": {"disk": 2**80}}]
    series = WorkerSeries()
    sample_workers(series, {str(i): Slotted(f"w{i}", metrics=form) for i, form in enumerate(forms)}, T0)
    assert series.sample_count == len(forms)
    data = series.as_tracking_data()
    assert data["worker_cpu"] == {"w3": [(T0, 5.5)]}
    assert data["worker_net_read_bps"] == {"w5": [(T0, 100)]}


def test_more_workers_than_are_fetched_together():
    series = WorkerSeries()
    workers = {number: Slotted(f"w{number}", nthreads=number) for number in range(1, 101)}
    for second in range(3):
        sample_workers(series, workers, at(second))
    assert cores_by_worker(series) == {f"w{number}": [number] * 3 for number in workers}


def test_time_of_a_tick():
    before = datetime.now(UTC) - timedelta(microseconds=1)
    series = WorkerSeries()
    sample_workers(series, [])
    (moment,) = series.as_tracking_data()["worker_counts"]
    assert before <= moment <= datetime.now(UTC)
    with pytest.raises(ValueError, match="before that of the last one"):
        sample_workers(series, [], 0)
    assert len(series) == 1


def test_a_clock_that_was_put_back_does_not_stop_the_ticks():
    series = WorkerSeries()
    future = datetime.now(UTC) + timedelta(days=1)
    sample_workers(series, [], future)
    sample_workers(series, [])
    assert len(series) == 2
    assert set(series.as_tracking_data()["worker_counts"]) == {future}


# ---- values of the caller's, events ----

def test_tick_values():
    series = WorkerSeries()
    series.tick_values(at(0), {"a": {"memory": 10, "cpu": 12.5, "host": "node1"}, "b": {}})
    series.tick_values(at(1), {"a": {"memory": None, "cores": 2}})
    data = series.as_tracking_data()
    assert data["worker_counts"] == {at(0): 2, at(1): 1}
    assert data["worker_memory"] == {"a": [(at(0), 10)]}
    assert data["worker_cores"] == {"a": [(at(1), 2)]}
    assert series.hosts == {"a": "node1", "b": None}


@pytest.mark.parametrize("workers,error,message", [
    ({"a": {"memroy": 1}}, ValueError, "'memroy' of 'a'"),
    ({"a": {"memory": "x"}}, TypeError, "memory of 'a'"),
    ({"a": {"host": 3}}, TypeError, "host"),
    ({"a": [1]}, TypeError, "values of 'a'"),
    ({3: {}}, TypeError, "worker"),
    ({"": {}}, ValueError, "name"),
    ([], TypeError, "dict"),
])
def test_tick_values_that_are_refused(workers, error, message):
    series = WorkerSeries()
    with pytest.raises(error, match=message):
        series.tick_values(T0, workers)
    assert len(series) == 0


def test_events():
    series = WorkerSeries()
    series.join("a", at(0), cores=4)
    series.leave("a", at(2.5))
    series.join("b", at(1))
    assert series.changes == [
        {"worker": "a", "kind": "joined", "when": at(0), "threads": 4},
        {"worker": "a", "kind": "left", "when": at(2.5), "threads": None},
        {"worker": "b", "kind": "joined", "when": at(1), "threads": None},
    ]
    assert series.workers == ["a", "b"]
    assert len(series) == 0
    series.join("c", host="here")
    assert abs(series.changes[-1]["when"] - datetime.now(UTC)) < timedelta(minutes=1)
    assert series.hosts == {"a": None, "b": None, "c": "here"}
    for call in (lambda: series.join(3), lambda: series.join("d", cores=-1),
                 lambda: series.join("d", host=1), lambda: series.join("d", host="\ud800"),
                 lambda: series.leave("d", "soon"), lambda: series.leave("d", [])):
        with pytest.raises((TypeError, ValueError)):
            call()


# ---- moments ----

@pytest.mark.parametrize("given", [
    T0, T0.replace(tzinfo=None), T0.astimezone(timezone(timedelta(hours=-7, minutes=30))),
    T0.isoformat(), T0.replace(tzinfo=None).isoformat(), "2026-03-01T12:00:00.250Z", T0.timestamp(),
])
def test_a_moment_may_be_given_in_many_ways(given):
    series = WorkerSeries()
    sample_workers(series, [], given)
    assert list(series.as_tracking_data()["worker_counts"]) == [T0]


@pytest.mark.parametrize("text", [
    "1970-01-01T00:00:00", "1969-12-31T23:59:59.999999", "1700-02-28T00:00:00", "1700-03-01T01:02:03",
    "2000-02-29T12:00:00", "2100-02-28T23:59:59", "2100-03-01", "2262-04-11", "1677-09-22",
])
def test_the_calendar_is_that_of_datetime(text):
    wanted = datetime.fromisoformat(text).replace(tzinfo=UTC)
    series = WorkerSeries()
    sample_workers(series, [], text)
    (moment,) = series.as_tracking_data()["worker_counts"]
    assert moment == wanted and moment.tzinfo is UTC


@pytest.mark.parametrize("given,error", [
    ("yesterday", ValueError), (datetime(3000, 1, 1), ValueError), (datetime(1, 1, 1), ValueError),
    (1e12, ValueError), (math.nan, ValueError), (math.inf, ValueError), ([], TypeError), (1j, TypeError),
])
def test_moments_that_are_refused(given, error):
    series = WorkerSeries()
    with pytest.raises(error, match="when"):
        sample_workers(series, [], given)
    assert len(series) == 0


# ---- one worker at a time ----

def test_samples_of_one_worker_at_a_time():
    series = WorkerSeries()
    series.join("a", at(0), cores=4, memory_limit=8e9)
    series.sample("a", at(1), memory=1e9, cpu=50.0)
    series.sample("b", at(1), memory=2e9, host="node")  # never told to join: it is there from now on
    series.sample("a", at(2), memory=3e9, memory_limit=9e9, cpu=None)
    series.leave("b", at(2))
    series.sample("a", at(3))
    data = series.as_tracking_data()
    assert data["worker_counts"] == {at(1): 2, at(2): 2, at(3): 1}
    assert data["worker_memory"] == {"a": [(at(1), 1e9), (at(2), 3e9)], "b": [(at(1), 2e9)]}
    assert data["worker_cores"] == {"a": [(at(1), 4), (at(2), 4), (at(3), 4)]}
    assert data["worker_memory_limit"] == {"a": [(at(1), 8e9), (at(2), 9e9), (at(3), 8e9)]}
    assert data["worker_cpu"] == {"a": [(at(1), 50.0)]}
    assert data["worker_nbytes"] == {}
    assert series.hosts == {"a": None, "b": "node"}
    assert WorkerSeries.from_bytes(series.to_bytes()).as_tracking_data() == data


@pytest.mark.parametrize("call,error,message", [
    (lambda s: s.sample("a", at(1), memory=1), ValueError, "before"),
    (lambda s: s.sample("a", at(2), memory=1), RuntimeError, "already"),
    (lambda s: s.sample("a", at(3), colour=1), ValueError, "colour"),
    (lambda s: s.sample("a", at(3), memory="much"), TypeError, "memory"),
    (lambda s: s.sample("a", at(3), memory=-1), ValueError, "memory of 'a'"),
    (lambda s: s.sample("a", at(3), cores=-1), ValueError, "cores of 'a'"),
    (lambda s: s.sample("a", None, memory=1), TypeError, "when"),
    (lambda s: s.sample(3, at(3)), TypeError, "str"),
    (lambda s: s.sample("a"), TypeError, "argument"),
    (lambda s: s.join("a", at(3), cores=1.5), TypeError, "cores"),
    (lambda s: s.join("a", at(3), cores=2**40), ValueError, "cores"),
    (lambda s: s.join("a", at(3), cores=2**80), ValueError, "cores"),
    (lambda s: s.join("a", at(3), memory_limit=-1), ValueError, "memory_limit of 'a'"),
    (lambda s: s.join("a", at(3), memory_limit="much"), TypeError, "memory_limit"),
])
def test_samples_that_are_refused(call, error, message):
    series = WorkerSeries()
    series.sample("a", at(2), memory=1)
    before = series.as_tracking_data()
    with pytest.raises(error, match=message):
        call(series)
    assert series.as_tracking_data() == before and series.changes == []


def test_a_sample_that_is_refused_does_not_bring_a_worker_back():
    series = WorkerSeries()
    series.sample("a", at(2), memory=1)
    series.leave("a", at(3))
    with pytest.raises(ValueError, match="before"):
        series.sample("a", at(1), memory=1)
    series.sample("b", at(4), memory=1)
    assert series.as_tracking_data()["worker_counts"] == {at(2): 1, at(4): 1}


@pytest.mark.parametrize("odd", [math.nan, math.inf, 1e300, None])
def test_what_is_no_amount_is_absent(odd):
    series = WorkerSeries()
    series.sample("a", at(1), memory=odd, cpu=1.0)
    data = series.as_tracking_data()
    assert data["worker_memory"] == {} and data["worker_cpu"] == {"a": [(at(1), 1.0)]}


def test_joins_and_leaves_alone_tell_the_core_seconds():
    series = WorkerSeries()
    series.join("a", 100.0, cores=2)
    series.join("b", 104.0, cores=4)
    series.leave("b", 106.0)
    chunk = {"t_start": 102.0, "duration": 1.5, "cpu_user_s": 1.0, "cpu_system_s": 0.0, "worker": "a"}
    budget = Run(t_start=100.0, t_end=110.0, chunks=[chunk], series=series).budget()
    assert budget["available_core_seconds"] == pytest.approx(2 * 10 + 4 * 2)


# ---- the dict and the packed form ----

def sample_series(ticks=5):
    series = WorkerSeries()
    for tick in range(ticks):
        series.tick_values(at(tick), {
            f"w{i}": {"memory": 1000 * tick + i, "cpu": 1.25 * i, "occupancy": 0.125 * tick, "cores": 2,
                      "memory_limit": 10_000}
            for i in range(tick % 3 + 1)})
    return series


def test_every_series_is_in_the_dict():
    data = sample_series().as_tracking_data()
    assert set(data) == {"worker_counts", *COLUMNS.values()}
    assert data["worker_counts"] == {at(0): 1, at(1): 2, at(2): 3, at(3): 1, at(4): 2}
    assert data["worker_memory"]["w2"] == [(at(2), 2002)]


def test_round_trip_through_the_dict():
    series = sample_series()
    again = WorkerSeries.from_tracking_data(series.as_tracking_data())
    assert again.as_tracking_data() == series.as_tracking_data()
    assert again.to_bytes() == series.to_bytes()


def as_json(data):
    """The form of a saved measurement."""
    names = {"worker_memory": "memory_bytes", "worker_memory_limit": "memory_limit_bytes"}
    out = {"worker_counts": [{"timestamp": moment.isoformat(), "worker_count": n}
                             for moment, n in data["worker_counts"].items()]}
    for key in COLUMNS.values():
        name = names.get(key, key.removeprefix("worker_"))
        out[key] = {worker: [{"timestamp": moment.isoformat(), name: value} for moment, value in points]
                    for worker, points in data[key].items()}
    return json.loads(json.dumps(out))


def test_round_trip_through_json():
    data = sample_series().as_tracking_data()
    assert WorkerSeries.from_tracking_data(as_json(data)).as_tracking_data() == data


def test_unordered_and_partial_data():
    series = WorkerSeries.from_tracking_data({
        "worker_counts": {at(2): 5, at(0): 3},
        "worker_memory": {"b": [(at(2), 8), (at(0), 7)], "a": [[at(1), 9], (at(2), None)]},
        "worker_cpu": None,
        "somebody_elses": 3,
    })
    data = series.as_tracking_data()
    assert data["worker_memory"] == {"b": [(at(0), 7), (at(2), 8)], "a": [(at(1), 9)]}
    assert data["worker_counts"] == {at(0): 3, at(1): 3, at(2): 5}


def test_points_in_any_order_make_one_series():
    draw = random.Random(7)
    keys = ("worker_memory", "worker_cores", "worker_nbytes")
    points = [(worker, key, second, draw.randrange(1000))
              for worker in "abc" for key in keys for second in range(300) if draw.random() < 0.7]
    made = []
    for shuffle in (lambda: None, points.reverse, lambda: draw.shuffle(points)):
        shuffle()
        data = {key: {worker: [] for worker in "abc"} for key in keys}
        for worker, key, second, value in points:
            data[key][worker].append((at(second), value))
        made.append(WorkerSeries.from_tracking_data(data))
    in_order = {key: {worker: [(at(second), value) for w, k, second, value in sorted(points)
                               if (w, k) == (worker, key)] for worker in "abc"} for key in keys}
    for series in made:
        found = series.as_tracking_data()
        assert {key: found[key] for key in keys} == in_order
        assert series.samples_equal(made[0])


def test_the_last_of_several_points_of_a_moment_counts():
    for seconds in ((0, 0, 1), (1, 0, 0), (1, 0, 1, 0)):
        points = [(at(second), place) for place, second in enumerate(seconds)]
        series = WorkerSeries.from_tracking_data({"worker_memory": {"a": points}})
        assert series.as_tracking_data()["worker_memory"]["a"] == sorted(dict(points).items())


@pytest.mark.parametrize("moment", [
    datetime(1678, 1, 1, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC), datetime(1970, 1, 1, tzinfo=UTC),
    datetime(2000, 2, 29, 12, tzinfo=UTC), datetime(2100, 2, 28, tzinfo=UTC), datetime(2261, 12, 31, tzinfo=UTC),
    datetime(2024, 3, 1, 1, tzinfo=timezone(timedelta(hours=2))),
])
def test_moments_come_back(moment):
    series = WorkerSeries.from_tracking_data({"worker_counts": {moment: 1}})
    assert list(series.as_tracking_data()["worker_counts"]) == [moment]


def test_equal_samples():
    series, other = sample_series(), sample_series()
    other.join("w0", at(0), cores=2, host="node")
    assert series.samples_equal(other) and other.samples_equal(series)
    other.tick_values(at(9), {"w0": {"memory": 1}})
    assert not series.samples_equal(other) and not other.samples_equal(series)
    series.tick_values(at(9), {"w1": {"memory": 1}})
    assert not series.samples_equal(other)
    with pytest.raises(TypeError, match="WorkerSeries"):
        series.samples_equal(None)


@pytest.mark.parametrize("data,error,message", [
    ([], TypeError, "tracking_data"),
    ({"worker_counts": 3}, TypeError, "worker_counts"),
    ({"worker_counts": {"soon": 1}}, ValueError, "worker_counts"),
    ({"worker_counts": {0: "many"}}, TypeError, "worker_counts"),
    ({"worker_counts": {0: -1}}, ValueError, "worker_counts"),
    ({"worker_counts": {0: 1.5}}, ValueError, "worker_counts"),
    ({"worker_counts": {0: 10**9}}, ValueError, "worker_counts"),
    ({"worker_counts": [{"worker_count": 1}]}, ValueError, "timestamp"),
    ({"worker_memory": [1]}, TypeError, "worker_memory"),
    ({"worker_memory": {"a": 5}}, TypeError, "worker_memory"),
    ({"worker_memory": {"a": "text"}}, TypeError, "worker_memory"),
    ({"worker_memory": {"a": [5]}}, ValueError, "worker_memory"),
    ({"worker_memory": {"a": [(0, 1, 2)]}}, ValueError, "worker_memory"),
    ({"worker_memory": {"a": [(0, "x")]}}, TypeError, "worker_memory of 'a'"),
    ({"worker_memory": {"a": [([], 1)]}}, TypeError, "worker_memory"),
    ({"worker_memory": {"a": [{"timestamp": 0}]}}, ValueError, "memory_bytes"),
    ({"worker_cpu": {"": [(0, 1)]}}, ValueError, "name"),
    ({"worker_cpu": {"x" * 5000: [(0, 1)]}}, ValueError, "limit"),
])
def test_data_that_is_refused(data, error, message):
    with pytest.raises(error, match=message):
        WorkerSeries.from_tracking_data(data)


def test_packed_form_pickle_and_copies():
    series = sample_series()
    series.join("w0", at(0), 2)
    packed = series.to_bytes()
    for again in (WorkerSeries.from_bytes(packed), WorkerSeries.from_bytes(memoryview(packed)),
                  pickle.loads(pickle.dumps(series)), copy.copy(series), copy.deepcopy(series)):
        assert again.to_bytes() == packed
        assert again.changes == series.changes
        # It goes on where it was.
        again.tick_values(at(9), {"w1": {"memory": 5}})
        assert again.workers == series.workers
        assert len(again) == len(series) + 1


def test_damaged_bytes():
    packed = sample_series().to_bytes()
    for cut in range(len(packed)):
        with pytest.raises(ValueError):
            WorkerSeries.from_bytes(packed[:cut])
    for position in range(len(packed)):
        broken = bytearray(packed)
        broken[position] ^= 0x41
        with pytest.raises(ValueError):
            WorkerSeries.from_bytes(broken)
    with pytest.raises(TypeError):
        WorkerSeries.from_bytes("text")


def test_it_is_final_and_takes_no_arguments():
    with pytest.raises(TypeError):
        type("Derived", (WorkerSeries,), {})
    for call in (lambda: WorkerSeries(1), lambda: WorkerSeries(ticks=3), lambda: sample_workers(WorkerSeries()),
                 lambda: sample_workers(WorkerSeries(), 3), lambda: sample_workers(WorkerSeries(), [], whenever=1)):
        with pytest.raises(TypeError):
            call()


def test_memory_kept_a_sample():
    """A busy cluster: the scheduler's own columns move every tick, those of a heartbeat every second one
    (beyond 50 workers Dask sends one every 2 s)."""
    series = WorkerSeries()
    workers = 60
    for tick in range(200):
        beat = tick // 2
        series.tick_values(at(tick), {
            f"tcp://10.0.0.{i}:40000": {
                "memory": 4096 * (100_000 + (beat * 37 + i * 11) % 5000), "memory_limit": 8 * 2**30,
                "active_tasks": (tick + i) % 9, "cores": 4, "nbytes": 10_000_000 + tick * 997,
                "occupancy": 3.0 * ((tick + i) % 9), "executing": (beat + i) % 4,
                "last_seen": 1_700_000_000 + 2 * beat + i / 64, "cpu": 90 + (beat * 7 + i) % 100 / 10,
                "spilled_bytes": 0, "net_read_bps": 1_000_000 + (beat * 7919) % 900_000,
                "net_write_bps": 200_000 + (beat * 104729) % 90_000, "disk_read_bps": 0,
                "disk_write_bps": (beat * 1299709) % 60_000}
            for i in range(workers)})
    assert series.sample_count == 200 * workers
    assert series.nbytes / series.sample_count <= 24
    assert repr(series) == "<WorkerSeries: 200 ticks, 60 workers, 12000 samples>"


# ---- memory ----

def exercise():
    series = sample_series(3)
    sample_workers(series, [Hostile(), SimpleNamespace(address="x", nthreads=1)], at(10))
    sample_workers(series, {name: Slotted(name, nthreads=1, metrics={"cpu": 1.5}) for name in ("x", "z")}, at(10.5))
    series.join("y", at(1), 3, memory_limit=1e9)
    series.sample("y", at(10.5), cpu=1)
    data = series.as_tracking_data()
    WorkerSeries.from_tracking_data(data)
    WorkerSeries.from_tracking_data(as_json(data))
    pickle.loads(pickle.dumps(series))
    _ = (series.workers, series.hosts, series.changes, repr(series), len(series), series.nbytes)
    for refused in (
        lambda: WorkerSeries.from_tracking_data({"worker_memory": {"a": [(0, "x")]}}),
        lambda: WorkerSeries.from_tracking_data({"worker_counts": {0: -1}}),
        lambda: series.tick_values(at(11), {"a": {"nonsense": 1}}),
        lambda: series.join("y", "no time"),
        lambda: series.sample("y", at(0)),
        lambda: series.sample("y", at(12), nonsense=1),
        lambda: WorkerSeries.from_bytes(b"RCWS"),
    ):
        try:
            refused()
        except (TypeError, ValueError):
            pass
        else:
            raise AssertionError("was taken")


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizers keep what is freed")
def test_nothing_leaks():
    assert_nothing_is_kept(exercise, 500, megabytes=8)


def test_every_failing_allocation():
    """Memory that runs short anywhere is a MemoryError (or a worker less), and the next try works."""
    data = sample_series().as_tracking_data()
    packed = sample_series().to_bytes()
    calls = [lambda: WorkerSeries.from_tracking_data(data), lambda: WorkerSeries.from_bytes(packed).to_bytes(),
             lambda: sample_series().join("new", T0)]
    for call in calls:
        failures = 0
        for after in range(10_000):
            _core._fail_allocations(after)
            try:
                call()
            except MemoryError:
                failures += 1
            else:
                break
            finally:
                _core._fail_allocations(None)
        assert 0 < failures < 10_000


def test_tracking_data_that_nobody_has_looked_at():
    data = {"worker_counts": {datetime(2026, 1, 1, tzinfo=timezone.utc): 2}}
    left, right = (TrackingData(WorkerSeries.from_tracking_data(data)) for _ in range(2))
    assert left.series is not None
    assert left == right
    assert left.series is None and right.series is None
    assert {**TrackingData(WorkerSeries.from_tracking_data(data))} == right
