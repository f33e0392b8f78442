"""Mappings that are none, and values that change what holds them while they are read."""

from __future__ import annotations

import gc
import pickle

import samples
from hostile import KEY, case, collected, current, refused
from samples import Events, Plain

from roastcoffea import _core, track_time
from roastcoffea._core import ChunkLog, Progress, Run, Summary, WorkerSeries
from roastcoffea.aggregation.reports import sum_reports
from roastcoffea.aggregation.chunk import build_chunk_info

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
        refused(build_chunk_info, [{"reads": odd}])
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
        refused(sum_reports, [{"entries": 1}, odd])


@case
def spans_without_pairs():
    for odd in no_pairs():
        refused(Run, spans=odd)
        refused(Run, spans={"cumulative_worker_metrics": odd})
        refused(_core.fine_metrics, odd)


@case
def tracking_data_without_pairs():
    for odd in no_pairs():
        refused(_core.worker_metrics, {"worker_counts": odd})
        refused(_core.worker_metrics, {"worker_memory": odd})
        refused(WorkerSeries.from_tracking_data, {"worker_memory": odd})
        refused(Run, series={"worker_memory": odd})


@case
def metrics_without_pairs():
    for odd in no_pairs():
        for table in ("per_dataset", "sections", "branch_read_metrics", "worker_health", "task_metrics"):
            refused(Summary, {table: odd})


@case
def values_that_are_no_mappings():
    for odd in (5, "text", [1], None):
        refused(_core.workflow_metrics, {}, 0, 1, {"a": 5})
        refused(Summary, {"per_dataset": {"a": odd}})


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
        build_chunk_info(log)
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
    sum_reports(reports)


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
