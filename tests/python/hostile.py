"""Objects that do in the middle of the engine's work what no object should do.

Each case runs in a process of its own (see test_hostile.py): `hostile.py NAME`. A case that returns has
passed; one that crashes the interpreter is seen by its exit code.
"""

from __future__ import annotations

import gc
import pickle
import sys
import weakref

import samples
from samples import Events

from roastcoffea import BaseInstrumentationContext, _core, track_bytes, track_metrics, track_time
from roastcoffea._core import (
    Attempts,
    ChunkLog,
    ProcessTree,
    Progress,
    Run,
    Summary,
    TaskWatch,
    WorkerSeries,
    flush_outbox,
)

KEY = "__roastcoffea_metrics__"
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def refused(call, *args, **kwargs):
    """What cannot be read is the caller's mistake, told as one."""
    try:
        call(*args, **kwargs)
    except (TypeError, ValueError):
        return
    raise AssertionError(f"{args} {kwargs} were taken")


def collected():
    """Memory that was freed is used again, so that a stale pointer shows."""
    gc.collect()
    return [bytearray(size) for size in (16, 32, 64, 128, 256) for _ in range(200)]


class Plain:
    """A processor whose process() does what it is told to."""

    def __init__(self, body=lambda self, events: {}):
        self.body = body
        self._roastcoffea_collect_metrics = True

    @track_metrics
    def process(self, events):
        return self.body(self, events)


def current(processor):
    return processor._roastcoffea_current_chunk


# ---- mappings whose items() are no pairs ----

NO_PAIRS = [[1], [()], [("a",)], [("a", 1, 2)], ["ab c"], [None], [[]], 5, None, [("a", 1), 7]]


class NoPairs:
    """A mapping by its methods, but for what items() gives."""

    def __init__(self, items):
        self.given = items

    def keys(self):
        return ["a"]

    def values(self):
        return self.given

    def __getitem__(self, key):
        raise KeyError(key)

    def __len__(self):
        return 1

    def items(self):
        return self.given


class NoPairsDict(dict):
    """The same as a dict with an entry."""

    def __init__(self, items):
        super().__init__(a=1)
        self.given = items

    def items(self):
        return self.given


def no_pairs():
    return [kind(items) for kind in (NoPairs, NoPairsDict) for items in NO_PAIRS]


@case
def chunks_without_pairs():
    for odd in no_pairs():
        refused(ChunkLog, [odd])
        for key in ("timing", "memory", "bytes", "reads"):
            refused(ChunkLog, [{key: odd}])
        refused(ChunkLog, [{"file_metadata": {"filename": "f", "branch_bytes": odd}}])
        refused(_core.chunk_metrics, [{"timing": odd}])
        refused(_core.chunk_info, [{"reads": odd}])
        refused(Progress(0.0).add_chunks, [{"timing": odd}], 1.0)
        refused(ChunkLog().merge_unique, [{"memory": odd}])
        refused(Run, chunks=[{"timing": odd}])


@case
def changed_records_without_pairs():
    for odd in no_pairs():
        log = ChunkLog([{"duration": 1.0}, {"duration": 2.0}])
        log[0]["timing"] = odd
        for use in (log.copy, log.to_bytes, lambda log=log: Run(chunks=log)):
            refused(use)


@case
def reports_without_pairs():
    for odd in no_pairs():
        refused(_core.sum_reports, [{"entries": 1}, odd])


@case
def spans_without_pairs():
    for odd in no_pairs():
        refused(Run, spans=odd)
        refused(Run, spans={"cumulative_worker_metrics": odd})
        refused(_core.fine_metrics, odd)
        refused(_core.plot_tasks, odd)


@case
def tracking_data_without_pairs():
    for odd in no_pairs():
        refused(_core.worker_metrics, {"worker_counts": odd})
        refused(_core.worker_metrics, {"worker_memory": odd})
        refused(WorkerSeries.from_tracking_data, {"worker_memory": odd})
        refused(_core.plot_timeline, {"worker_memory": odd}, "memory")


@case
def metrics_without_pairs():
    for odd in no_pairs():
        for table in ("per_dataset", "sections", "branch_read_metrics", "worker_health"):
            refused(Summary, {table: odd})


@case
def values_that_are_no_mappings():
    for odd in (5, "text", [1], None):
        refused(_core.workflow_metrics, {}, 0, 1, {"a": 5})
        refused(Summary, {"per_dataset": {"a": odd}})
        refused(_core.plot_throughput, {"a": odd})


@case
def samples_without_pairs():
    series = WorkerSeries()
    for odd in [kind(items) for kind in (NoPairsDict,) for items in NO_PAIRS]:
        refused(series.tick_values, 1.0, odd)
        refused(series.tick_values, 1.0, {"w": odd})


@case
def current_chunk_without_pairs():
    for odd in no_pairs():
        for part in ("timing", "memory", "bytes", "mine"):

            def body(self, events, part=part, odd=odd):
                current(self)[part] = odd
                with track_time(self, "a"):
                    return {"n": 1}

            assert Plain(body).process(Events())["n"] == 1


# ---- values that change what holds them while they are read ----


class Clears:
    """Every way to ask for it empties a container, and drops what was in there."""

    def __init__(self, container, answer=1.0, name="a"):
        self.container, self.answer, self.name = container, answer, name

    def clear(self):
        self.container.clear()
        collected()

    def __float__(self):
        self.clear()
        return float(self.answer)

    def __index__(self):
        self.clear()
        return int(self.answer)

    def __str__(self):
        self.clear()
        return self.name

    def __repr__(self):
        self.clear()
        return self.name

    def __eq__(self, other):
        self.clear()
        return False

    def __hash__(self):
        return hash("timing")

    def __reduce__(self):
        self.clear()
        return (float, (1.0,))


@case
def a_part_that_its_values_clear():
    def body(self, events):
        with track_time(self, "a"):
            pass
        timing = current(self)["timing"]
        for i in range(50):
            timing[f"x{i}" * 20] = Clears(timing)
        return {"n": 1}

    assert Plain(body).process(Events())["n"] == 1


@case
def a_current_chunk_that_its_keys_clear():
    def body(self, events):
        chunk = current(self)
        clear = chunk.clear  # of the dict behind it

        class Mapping:
            def clear(self):
                clear()

        for i in range(50):
            chunk[f"x{i}" * 20] = Clears(Mapping(), i)
        chunk[Clears(Mapping())] = ["a list of mine"]
        for i in range(50, 100):
            chunk[f"x{i}" * 20] = [Clears(Mapping(), i)]
        return {"n": 1}

    assert Plain(body).process(Events())["n"] == 1


@case
def sections_that_a_value_opens():
    class Opens:
        def __init__(self, processor):
            self.processor = processor

        def __reduce__(self):
            for i in range(2000):
                track_time(self.processor, f"late {i}").__enter__()
            collected()
            return (float, (1.0,))

    def body(self, events):
        with track_time(self, "a"):
            pass
        current(self)["mine"] = Opens(self)
        return {"n": 1}

    output = Plain(body).process(Events())
    assert output["n"] == 1
    assert set(output[KEY][0]["timing"]) == {"a"}


@case
def a_target_that_changes_while_it_is_merged_into():
    log = samples.make_log(3)

    class Loosens:
        def __float__(self):
            log.append({"duration": 1.0})
            collected()
            return 1.0

    refused(log.merge_unique, [{"duration": Loosens()}])
    assert len(log) == 4


@case
def a_log_that_changes_while_it_is_packed():
    log = ChunkLog()
    for i in range(20):
        log.append({"duration": float(i)})

    class Empties:
        def __float__(self):
            log.clear()
            collected()
            return 1.0

    log.insert(3, {"duration": Empties()})
    log.copy()


@case
def a_log_that_grows_while_a_value_is_read():
    other = samples.make_log(200)
    log = samples.make_log(1)

    class Grows:
        def __reduce__(self):
            return (grow, ())

    globals()["grow"] = lambda: log.extend(other) or collected() and 1
    log[0]["a"] = Grows()
    log[0]["b"] = [1]
    log = log.copy()
    dict(log[0])
    len(log[0])
    repr(log[0])


@case
def a_log_that_grows_while_rubbish_is_collected():
    log, other = samples.make_log(300), samples.make_log(50)

    class Finalizer:
        def __init__(self):
            self.me = self

        def __del__(self):
            log.extend(other)

    gc.set_threshold(1)
    for _ in range(20):
        Finalizer()
        dict(log[0])
        _core.chunk_info(log)
        _core.file_metrics(log)
        Finalizer()
        log.to_bytes()
    gc.set_threshold(700)


@case
def a_log_that_falls_apart_while_rubbish_is_collected():
    class Finalizer:
        def __init__(self, log):
            self.me, self.log = self, log

        def __del__(self):
            self.log.reverse()
            list.clear(self.log)

    gc.set_threshold(1)
    for _ in range(20):
        log = samples.make_log(30)
        Finalizer(log)
        log[-1:]
        log = samples.make_log(30)
        Finalizer(log)
        try:
            log[20]
        except IndexError:
            pass
    gc.set_threshold(700)


@case
def a_log_whose_list_is_changed_behind_its_back():
    for change in (
        lambda log: list.append(log, 5),
        lambda log: list.__setitem__(log, 0, "text"),
        lambda log: list.insert(log, 0, {}),
        lambda log: list.clear(log),
        lambda log: list.pop(log),
        lambda log: list.extend(log, [None] * 100),
    ):
        log = samples.make_log(3)
        list(log)
        change(log)
        for use in (log.copy, log.to_bytes, lambda log=log: log + log, lambda log=log: Run(chunks=log),
                    lambda log=log: pickle.dumps(log), lambda log=log: log[0], lambda log=log: log[2],
                    lambda log=log: samples.make_log(1).merge_unique(log)):
            try:
                use()
            except (TypeError, ValueError, IndexError):
                pass


@case
def reports_that_change_while_they_are_added_up():
    reports = []

    class Number:
        def __add__(self, other):
            reports.clear()
            collected()
            return self

        __radd__ = __add__

        def __float__(self):
            return 1.0

    reports.extend({"entries": Number(), f"other {i}": i} for i in range(20))
    _core.sum_reports(reports)


@case
def spans_that_change_while_they_are_read():
    spans = {}
    for i in range(20):
        spans["execute", f"p{i}", "thread-cpu", "seconds"] = Clears(spans)
    _core.fine_metrics(spans)
    spans = {}
    for i in range(20):
        spans["execute", Clears(spans, name=f"p{i}"), "thread-cpu", "seconds"] = 1.0
    _core.fine_metrics(spans)


@case
def tracking_data_that_changes_while_it_is_read():
    for key in ("worker_counts", "worker_memory"):
        part = {}
        for i in range(20):
            part[f"2026-01-01T00:00:{i:02}"] = Clears(part)
        try:
            _core.worker_metrics({key: part})
        except (TypeError, ValueError):
            pass
    points = []
    points.extend((float(i), Clears(points)) for i in range(20))
    _core.worker_metrics({"worker_memory": {"w": points}})
    point = {}
    point.update(timestamp=1.0, odd=Clears(point))
    _core.worker_metrics({"worker_memory": {"w": [point]}})


@case
def metrics_that_change_while_they_are_shown():
    rows = {}
    for i in range(20):
        rows[f"dataset {i}"] = {"num_chunks": Clears(rows), "total_duration": Clears(rows)}
    Summary({"per_dataset": rows})


# ---- sections ----


@case
def a_section_that_is_left_while_it_is_left():
    class Mapping(dict):
        def __setitem__(self, key, value):
            super().__setitem__(key, value)
            for _ in range(3):
                section.__exit__(None, None, None)
            collected()

    class Processor:
        pass

    processor = Processor()
    processor._roastcoffea_current_chunk = Mapping()
    section = track_time(processor, "a")
    section.__enter__()
    section.__enter__()
    del processor._roastcoffea_current_chunk
    section.__exit__(None, None, None)
    section.__exit__(None, None, None)


@case
def a_section_that_is_entered_while_it_is_entered():
    class Processor:
        deep = 0

        @property
        def _roastcoffea_current_chunk(self):
            self.deep += 1
            if self.deep < 5:
                section.__enter__()
            return {}

    section = track_time(Processor(), "a")
    section.__enter__()
    collected()
    for _ in range(10):
        section.__exit__(None, None, None)


@case
def events_that_leave_the_section():
    class Source:
        @property
        def num_requested_bytes(self):
            section.__exit__(None, None, None)
            collected()
            return 5

    class Handle:
        source = Source()

    class Factory:
        file_handle = Handle()

    class Odd(Events):
        attrs = {"@events_factory": Factory()}

    class Processor:
        _roastcoffea_current_chunk = {}

    section = track_bytes(Processor(), Odd(), "a")
    section.__enter__()
    section.__enter__()
    section.__exit__(None, None, None)
    section.__exit__(None, None, None)


@case
def a_section_name_with_a_hash_of_its_own():
    class Name(str):
        def __hash__(self):
            if self.armed:
                type(self).armed = False
                for i in range(3000):
                    with track_time(self.processor, f"more {i}"):
                        pass
                collected()
            return 1

        def __str__(self):
            return self

    def body(self, events):
        for i in range(600):
            Name.armed, Name.processor = i == 500, self
            with track_time(self, Name("a")):
                pass
        return {}

    Plain(body).process(Events())


@case
def a_context_that_loses_its_processor():
    class Processor:
        @property
        def _roastcoffea_current_chunk(self):
            context.processor = None
            collected()
            return {}

    context = BaseInstrumentationContext(Processor(), "a")
    context.record_metric("b", 1)


# ---- the decorator ----


@case
def an_exception_whose_class_is_renamed():
    class Failure(Exception):
        def __str__(self):
            return "text"

    class Odd(Events):
        @property
        def attrs(self):
            Failure.__name__ = "Another" * 30
            collected()
            return {}

    def body(self, events):
        raise Failure

    try:
        Plain(body).process(Odd())
    except Failure:
        pass


@case
def a_dict_of_the_decorator_that_is_replaced():
    @track_metrics
    def process(events):
        return {}

    class Key(str):
        def __eq__(self, other):
            process.__dict__ = {}
            collected()
            return False

        def __hash__(self):
            return hash("__module__")

    process.__dict__ = {Key("x"): 1, "__wrapped__": 1, "__qualname__": "process"}
    try:
        pickle.dumps(process)
    except Exception:  # noqa: BLE001
        pass
    state = {Key("y"): 1, "__module__": 2}
    process.__dict__ = {Key("x"): 1}
    process.__setstate__(state)


@case
def a_current_chunk_that_outlives_its_processor():
    def body(self, events):
        kept.append(current(self))
        del self._roastcoffea_current_chunk
        return {}

    kept = []
    processor = Plain(body)
    processor.process(Events())
    gone = weakref.ref(processor)
    del processor
    collected()
    assert gone() is None
    assert dict(kept[0]) == {}
    kept[0]["a"] = 1


@case
def a_topic_that_is_flushed_while_it_is_delivered():
    from roastcoffea import channel

    deep = [0]

    class Odd(Plain):
        pass

    processor = Odd()
    processor._roastcoffea_topic = "memory:hostile"

    def deliver(topic, data):
        deep[0] += 1
        if deep[0] < 4:
            flush_outbox(topic)
            collected()

    channel.deliver = deliver
    import builtins

    real = builtins.__import__

    def importing(name, *args, **kwargs):
        if name == "roastcoffea.channel":
            flush_outbox("memory:hostile")
            collected()
        return real(name, *args, **kwargs)

    builtins.__import__ = importing
    for _ in range(300):
        processor.process(Events())
    flush_outbox("memory:hostile")
    flush_outbox()


@case
def output_that_is_changed_while_it_is_filled():
    class Output(dict):
        def __setitem__(self, key, value):
            self.clear()
            collected()
            super().__setitem__(key, value)

    class Sums(list):
        def __add__(self, other):
            self.owner.clear()
            collected()
            return [other]

    def body(self, events):
        output = Output()
        sums = Sums()
        sums.owner = output
        dict.__setitem__(output, KEY, sums)
        return output

    for _ in range(5):
        Plain(body).process(Events())


# ---- files ----


class Attributes:
    def __init__(self, **values):
        self.__dict__.update(values)


def with_factory(**parts):
    events = Events()
    events.attrs = {"@events_factory": Attributes(**parts)}
    return events


@case
def a_reader_that_is_taken_off_while_it_reads():
    class Source:
        armed = False

        @property
        def num_requested_bytes(self):
            if self.armed:
                mapping.__dict__.clear()
                collected()
            return 5

    class Mapping:
        def __init__(self):
            self._access_log = [Attributes(branch="a")]

        def extract_column(self, handle):
            return Attributes(nbytes=3)

    source = Source()
    mapping = Mapping()
    events = with_factory(file_handle=Attributes(source=source), _mapping=mapping, mapping=mapping,
                          access_log=[])

    def body(self, events):
        reader = mapping.extract_column
        Source.armed = True
        for i in range(100):
            reader(Attributes(_column=f"c{i}", column=f"c{i}"))
        Source.armed = False
        return {"n": 1}

    assert Plain(body).process(events)["n"] == 1


@case
def preloaded_columns_that_change_while_they_are_counted():
    preloaded = {}

    class Name(str):
        def __eq__(self, other):
            preloaded.clear()
            collected()
            return str(self) == str(other)

        def __hash__(self):
            return 7

    for i in range(30):
        dict.__setitem__(preloaded, f"plain {i}", 1)
    preloaded[Name("x")] = 1

    class Lookup(dict):
        def __missing__(self, key):
            preloaded.clear()
            for i in range(100):
                preloaded[f"{key} again {i}"] = 1
            collected()
            raise KeyError(key)

    _core_reads(preloaded, Lookup())


def _core_reads(preloaded, lookup):
    tree = Attributes(_lookup=lookup)

    class Mapping:
        _preloaded_arrays = preloaded
        preloaded_arrays = preloaded
        _start = start = 0
        _stop = stop = 10
        cache = _cache = {"rootuuid/path": tree}

        def key_root(self):
            return "root"

        def extract_column(self, handle):
            return None

    mapping = Mapping()
    events = with_factory(file_handle=Attributes(source=Attributes(num_requested_bytes=9)),
                          _mapping=mapping, mapping=mapping, access_log=[],
                          _partition_key="uuid/path/0-10", partition_key="uuid/path/0-10")
    Plain().process(events)


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
    series.tick([Worker(f"tcp://w{i}:1") for i in range(5)], 1.0)


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
        series.tick(workers)


@case
def a_series_that_ticks_inside_a_tick():
    class Worker:
        def __init__(self, address):
            self.address = address

        @property
        def last_seen(self):
            for call in (lambda: series.tick([self]), lambda: series.join("tcp://new:1"),
                         lambda: series.tick_values(9.0, {"tcp://x:1": {"cpu": 1}}),
                         lambda: series.as_tracking_data(), lambda: series.extend(WorkerSeries())):
                try:
                    call()
                except RuntimeError:
                    pass
            return 1.0

    series = WorkerSeries()
    series.tick([Worker(f"tcp://w{i}:1") for i in range(40)], 1.0)
    series.tick([Worker(f"tcp://w{i}:1") for i in range(400)], 2.0)


@case
def tasks_that_end_the_watch():
    def make():
        watch = TaskWatch(tasks)
        for i in range(100):
            watch.transition(f"k{i}", "waiting", "processing")
        return watch

    class Tasks(dict):
        def __missing__(self, key):
            if watches:
                watches.pop().finish()
                collected()
            raise KeyError(key)

    tasks = Tasks()
    watches = []
    for step in (("k", "waiting", "processing"), ("k1", "processing", "memory")):
        watch = make()
        watches.append(watch)
        watch.transition(*step)

    class Phase(dict):
        def __getitem__(self, key):
            if watches:
                watch = watches.pop()
                for i in range(2000):
                    watch.transition(f"more {i}", "waiting", "processing")
                watch.finish()
                collected()
            phases.clear()
            return super().__getitem__(key)

    for _ in range(3):
        watch = make()
        watches.append(watch)
        phases = [Phase(action="compute", start=1.0, stop=2.0) for _ in range(10)]
        watch.transition("k1", "processing", "memory", startstops=phases, worker="w", nbytes=3)
    for _ in range(3):
        watch = make()
        watches.append(watch)
        phases = [Phase(action="compute", start=1.0, stop=2.0) for _ in range(10)]
        watch.raised(key="k1", worker="w", startstops=phases)


@case
def keys_of_tasks_that_run_code():
    class Key(str):
        def __eq__(self, other):
            act()
            return str.__eq__(self, other)

        def __hash__(self):
            act()
            return 3

        def __str__(self):
            act()
            return "k"

    armed = []

    def act():
        if armed:
            armed.pop()()
            collected()

    for step in (("waiting", "queued"), ("waiting", "processing"), ("processing", "memory"),
                 ("processing", "released"), ("released", "forgotten")):
        for action in (lambda w: w.finish(), lambda w: [
                w.transition(f"more {i}", "waiting", "queued") for i in range(2000)]):
            for count in range(1, 6):
                watch = TaskWatch({})
                keys = [Key(f"k{i}") for i in range(5)]
                for key in keys:
                    watch.transition(key, "waiting", "queued")
                watch.expect(keys)
                armed[:] = [lambda a=action, w=watch: a(w)] * count
                try:
                    watch.transition(keys[1], *step)
                    watch.moved(keys[2], "w")
                    watch.transition(keys[3], *step)
                    watch.finish()
                except RuntimeError:
                    pass
                armed.clear()


@case
def results_that_end_the_watch():
    def keys(watch):
        yield "a"
        watch.finish()
        yield "b"
        yield "c"

    watch = TaskWatch({})
    try:
        watch.left("w", False, 1, keys(watch), "s")
    except RuntimeError:
        pass


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
    watch = TaskWatch({})
    watch.expect(["process-1"])
    watch.transition("process-1", "waiting", "processing")
    watch.transition("process-1", "processing", "memory", worker="w",
                     startstops=[{"action": "compute", "start": 1.0, "stop": 2.0}], nbytes=1)
    attempts = watch.finish()
    data = attempts.to_bytes()
    run = Run(attempts=attempts)
    attempts.set_kind("process", "reduction")
    assert run.attempts.to_bytes() == data
    run.attempts.set_kind("process", "reduction")
    assert run.attempts.to_bytes() == data
    assert Attempts.from_bytes(data).to_bytes() == data


if __name__ == "__main__":
    CASES[sys.argv[1]]()
