"""Workers, tasks and processes that change while they are read, and what a Run was made of."""

from __future__ import annotations

from hostile import case, collected
from hostile_mappings import Clears

from roastcoffea import _core
from roastcoffea._core import Attempts, ProcessTree, Run, WorkerSeries, sample_workers

# ---- the scheduler's side ----


@case
def workers_that_change_while_they_are_sampled():
    class Prefix:
        pass

    class Scheduler:
        bandwidth = 1e6

        def __init__(self):
            self.task_prefixes = {f"p{i}": Prefix() for i in range(30)}

        def get_prefix_duration(self, prefix):
            return 1.0

    scheduler = Scheduler()

    class Worker:
        _network_occ = 1.0
        _occupancy_cache = None
        processing = executing = {}
        nthreads = 1
        metrics = {}
        last_seen = 1.0
        memory_limit = nbytes = 1
        occupancy = 1.0

        def __init__(self, address):
            self.address = address
            self.scheduler = scheduler
            self.scheduler_ref = self._scheduler_ref = lambda: scheduler
            counts = {}
            for i in range(30):
                counts["".join(("p", str(i)))] = Clears(counts)
            self.task_prefix_count = counts

    series = WorkerSeries()
    sample_workers(series, [Worker(f"tcp://w{i}:1") for i in range(5)], 1.0)


@case
def workers_whose_class_changes_while_they_are_sampled():
    def new_class():
        class Worker:
            __slots__ = ("address", "metrics", "nthreads", "processing")

            @property
            def last_seen(self):
                self.__class__ = new_class()
                collected()
                return 1.0

        return Worker

    series = WorkerSeries()
    for _ in range(5):
        workers = []
        for i in range(5):
            worker = new_class()()
            worker.address, worker.metrics = f"tcp://w{i}:1", {"cpu": 1.0}
            worker.nthreads, worker.processing = 1, {}
            workers.append(worker)
        sample_workers(series, workers)


@case
def a_series_that_ticks_inside_a_tick():
    class Worker:
        def __init__(self, address):
            self.address = address

        @property
        def last_seen(self):
            for call in (lambda: sample_workers(series, []), lambda: series.join("tcp://new:1"),
                         lambda: series.tick_values(9.0, {"tcp://x:1": {"cpu": 1}}),
                         lambda: series.as_tracking_data(), lambda: series.extend(WorkerSeries())):
                try:
                    call()
                except ValueError:  # it was earlier than the last tick
                    pass
            return 1.0

    series = WorkerSeries()
    sample_workers(series, [Worker(f"tcp://w{i}:1") for i in range(40)])
    sample_workers(series, [Worker(f"tcp://w{i}:1") for i in range(400)])


@case
def processes_that_change_while_they_are_read():
    tree = ProcessTree()
    tree.sample()

    class Cores:
        def __index__(self):
            workers.clear()
            collected()
            try:
                tree.sample()
            except RuntimeError:
                pass
            return 2

    import os

    workers = {os.getpid(): Cores(), os.getppid(): Cores()}
    tree.series(workers, "host")


# ---- what a Run was made of ----


def filled_series(ticks=200):
    series = WorkerSeries()
    for i in range(ticks):
        series.tick_values(float(i), {f"tcp://w{k}:1": {"memory": 100 + i, "cores": 2} for k in range(5)})
    return series


@case
def a_series_that_goes_on_after_its_run_was_made():
    series = filled_series()
    run = Run(series=series, t_start=0, t_end=200)
    before = run.metrics()
    assert len(run.series) == 200
    for i in range(200, 2000):
        series.tick_values(float(i), {f"tcp://n{k}:1": {"memory": 5, "cores": 9} for k in range(5)})
        series.join(f"tcp://late{i}:1", float(i), 4, "host")
    collected()
    assert len(series) == 2000
    assert len(run.series) == 200
    assert run.metrics() == before == Run(series=filled_series(), t_start=0, t_end=200).metrics()
    own = run.series
    own.tick_values(9999.0, {"tcp://x:1": {"memory": 1}})
    assert len(own) == 201
    assert len(run.series) == 200


@case
def a_series_that_ticks_while_its_run_is_saved():
    import tempfile
    import threading

    series = filled_series(2000)
    run = Run(series=series, t_start=0, t_end=200)
    done = threading.Event()

    def tick():
        at = 5000.0
        while not done.is_set():
            at += 1
            series.tick_values(at, {f"tcp://v{at}:1": {"memory": 5, "cores": 9}})

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            for i in range(5):
                _core.save_measurement(run, f"{folder}/m{i}")
                assert len(_core.load_measurement(f"{folder}/m{i}")[0].series) == 2000
    finally:
        done.set()
        thread.join()


@case
def attempts_that_change_after_their_run_was_made():
    attempts = Attempts()
    attempts.add("process-1", name="process", worker="w", start=1.0, stop=2.0, nbytes=1)
    data = attempts.to_bytes()
    run = Run(attempts=attempts)
    attempts.set_kind("process", "reduction")
    assert run.attempts.to_bytes() == data
    run.attempts.set_kind("process", "reduction")
    assert run.attempts.to_bytes() == data
    assert Attempts.from_bytes(data).to_bytes() == data
