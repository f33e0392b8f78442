"""Values that the engine takes: one maker for each type of it, and for each parameter of its functions."""

from __future__ import annotations

import os
import pickle
from array import array
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from world import Node, Slotted, World
from run_samples import SERIES, T0, full_chunk

from roastcoffea import _core, track_memory, track_metrics, track_time

MEASUREMENTS = str(Path(__file__).resolve().parents[2] / "tests" / "data" / "measurements_0_1_2")

Maker = Callable[[World], Any]
KEYS = [f"Proc-{i:032x}" for i in range(3)]
WORKERS = ("tcp://10.0.0.1:4000", "inproc://10.0.0.2/1/2", "wörker")
ROWS = 12

# ---- what the engine meets in a worker ----


class Events(list[Any]):
    """Events of Coffea's: a length and attributes."""


def root_branch(name: str, inside: tuple[Any, ...] = ()) -> Node:
    members = {"fName": name, "fZipBytes": 10, "fTotBytes": 30, "fEntries": 9, "fBranches": list(inside),
               "fBasketBytes": array("i", [4, 6]), "fBasketEntry": array("q", [0, 5, 9])}
    return Node(member=members.__getitem__, name=name, _num_normal_baskets=2)


def root_tree(_: World) -> Node:
    branches = [root_branch("pt"), root_branch("jets", (root_branch("eta"), root_branch("phi")))]
    members = {"fZipBytes": 100, "fTotBytes": 300, "fEntries": 9, "fBranches": branches}
    tree = Node(member=members.__getitem__)
    tree._lookup = {"pt": branches[0], "jets": branches[1]}  # type: ignore[attr-defined]
    return tree


def meta(**fields: Any) -> Node:
    return Node(_fields=fields)


def ntuple_tree(_: World) -> Node:
    page = meta(locator=meta(num_bytes=40), num_elements=10)
    pages = meta(pages=[page, page])
    return Node(_header=1, _footer=1, _page_list_envelopes=[meta(pagelinklist=[[pages, pages]])],
                all_fields=[Node(path="pt"), Node(path="eta")],
                field_records=[meta(parent_field_id=0), meta(parent_field_id=1)],
                column_records=[meta(field_id=0, nbits=32), meta(field_id=1, nbits=64)])


def parquet_tree(_: World) -> Node:
    part = Node(path_in_schema="pt.list.element", total_compressed_size=5, total_uncompressed_size=9)
    metadata = Node(num_row_groups=1, num_columns=1, serialized_size=10, num_rows=4,
                    row_group=lambda index: Node(column=lambda column: part))
    return Node(file=Node(metadata=metadata, schema_arrow=Node(names=["pt"])))


class Mapping(Node):
    """Between the columns of a file and the events."""

    _virtual = True

    def key_root(self) -> str:
        return "root:"

    def extract_column(self, handle: Any, *args: Any, **kwargs: Any) -> Any:
        source: Any = self.__dict__.get("source")
        if type(source) is Node:
            source.__dict__["num_requested_bytes"] = 200
        return Node(nbytes=24, _layout=Node(_offsets=Node(_data=Node(nbytes=8)), _content=Node(_data=Node(nbytes=16))))


def make_events(world: World) -> Events:
    tree = world.pick((root_tree, root_tree, ntuple_tree, parquet_tree))(world)
    source = Node(num_requested_bytes=100, num_requests=1)
    accesses = [Node(branch="pt"), Node(branch="jets/eta")]
    mapping = Mapping(_access_log=accesses, _cache={"root:uuid/Events": tree}, source=source, _start=0, _stop=9)
    if world.chance(0.3):
        mapping.preloaded_arrays = {"pt": 1}  # type: ignore[attr-defined]
    factory = Node(_mapping=mapping, access_log=accesses, _partition_key="uuid/Events/0-3",
                   file_handle=Node(file=Node(source=source)) if world.chance(0.3) else Node(source=source))
    events = Events(range(3))
    name = f"file {world.random.randrange(1000)}.root"
    events.metadata = world.poison({  # type: ignore[attr-defined]
        "dataset": "ttbar", "filename": name, "treename": "Events", "entrystart": 0, "entrystop": 3, "fileuuid": "u-1"})
    events.attrs = world.poison({"@events_factory": factory})  # type: ignore[attr-defined]
    return events


class Processor(Node):
    """Runs `body` inside of a chunk."""

    _roastcoffea_collect_metrics = True

    @track_metrics
    def process(self, events: Any) -> Any:
        body = self.__dict__.get("body")
        with track_time(self, "outer"), track_memory(self, "memory"):
            if body is not None:
                body()
        return self.__dict__.get("output", {})


class WaryProcessor(Processor):
    """One that hears of every attribute."""

    world: World

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_roastcoffea") or name == "_chunk_metrics":
            type(self).world.intrude(f"processor.{name}")
        return super().__getattribute__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        type(self).world.intrude(f"processor.{name} =")
        super().__setattr__(name, value)


def make_processor(world: World) -> Processor:
    wary = world.rate > 0 and world.chance(0.4)
    WaryProcessor.world = world
    made = WaryProcessor() if wary else Processor()
    if world.chance(0.5):
        made.__dict__["_roastcoffea_topic"] = world.poison(world.pick(("memory:a", "memory:b", "nowhere", "file:.")))
    made.__dict__["output"] = world.poison(world.pick(({}, {"n": 1}, {"__roastcoffea_metrics__": []}, [], None)))
    return made


# ---- what it meets on a scheduler ----


class WorkerState(Slotted):
    """A worker as Dask's scheduler keeps it."""

    __slots__ = ("_network_occ", "_occupancy_cache", "address", "executing", "host", "last_seen", "memory", "memory_limit",
                 "metrics", "nbytes", "nthreads", "occupancy", "processing", "scheduler", "scheduler_ref",
                 "task_prefix_count")


def make_worker(world: World) -> Any:
    scheduler = Node(task_prefixes={"process": Node(), "reduce": Node()}, bandwidth=1e8)
    scheduler._get_prefix_duration = lambda prefix: world.intrude("duration") or 0.5  # type: ignore[attr-defined,func-returns-value]
    attributes: dict[str, Any] = {
        "address": world.pick(WORKERS), "nthreads": 4, "memory_limit": 8_000_000_000, "nbytes": 123, "last_seen": 1.5,
        "metrics": {"cpu": 187.5, "memory": 1_234, "spilled_bytes": {"memory": 5, "disk": 7_000},
                    "host_net_io": {"read_bps": 1.25, "write_bps": 2.0},
                    "host_disk_io": {"read_bps": 3.0, "write_bps": 4.75}},
        "processing": {1, 2}, "executing": {"a": 1.0}, "scheduler": scheduler, "scheduler_ref": lambda: scheduler,
        "task_prefix_count": {"process": 2, "reduce": 1}, "_network_occ": 10, "_occupancy_cache": None,
        "occupancy": 1.5, "host": "node", "memory": Node(process=5),
    }
    made: Any = Node() if world.chance(0.3) else WorkerState()
    for name, value in attributes.items():
        if world.rate == 0 or world.chance(0.9):
            object.__setattr__(made, name, value)
    return made


# ---- objects of the engine ----


def make_chunk(world: World) -> dict[str, Any]:
    chunk = full_chunk(world.random.randrange(5))
    keep = world.pick((1.0, 1.0, 0.5, 0.1))
    made = {key: value for key, value in chunk.items() if keep == 1 or world.chance(keep)}
    made["custom_metrics"] = {"mine": [1, {"a": (2, 3)}], "other": 1.5}
    made["timing"] = {"by hand": 0.5}
    return made


def make_chunks(world: World) -> Any:
    chunks = [make_chunk(world) for _ in range(1 + world.random.randrange(3))]
    return world.pick((list, tuple, _core.ChunkLog, list))(chunks)


def make_log(world: World) -> Any:
    if world.chance(0.3):
        processor = Processor()
        processor.process(make_events(world))
        made: Any = processor.__dict__.get("_chunk_metrics")
        if type(made) is _core.ChunkLog:
            return made
    return _core.ChunkLog([make_chunk(world) for _ in range(3)])


def make_series(world: World, first: int = 0) -> Any:
    series = _core.WorkerSeries()
    for tick in range(first, first + world.random.randrange(2, 5)):
        series.tick_values(T0 + timedelta(seconds=tick), {
            worker: {name: 100 * (tick + k) for k, name in enumerate(SERIES)} for worker in WORKERS[: 1 + tick % 3]})
    series.join("tcp://new", T0 + timedelta(seconds=9), 4, "node")
    return series


def make_attempts(_: World) -> Any:
    attempts = _core.Attempts()
    for key in KEYS:
        attempts.add(key, name="Proc", worker=WORKERS[0], start=2.0, stop=3.0, transfer_seconds=1.0, nbytes=1000)
    attempts.worker_left(WORKERS[0], 4.0, False, 1, KEYS[2:])
    return attempts


def make_report(_: World) -> dict[str, Any]:
    return {"entries": 4000, "bytesread": 50_000_000, "processtime": 40.5, "chunks": 10, "columns": ["Jet_pt-data"]}


def make_spans(_: World) -> dict[Any, Any]:
    return {("execute", "Proc", "thread-cpu", "seconds"): 12.5, ("gather-dep", "network", "seconds"): 0.25}


def make_run(world: World) -> Any:
    return _core.Run(
        report=make_report(world), t_start=100.0, t_end=110.5, chunks=make_chunks(world), series=make_series(world),
        spans=make_spans(world), processor_name="Proc", meta={"executor": "x"}, notes=["a note"],
        section_metrics=[{"section_name": "by hand", "duration": 2.0}], attempts=make_attempts(world))


def make_table(world: World) -> Any:
    return getattr(make_run(world), world.pick(("chunks", "sections", "samples", "reads")))


def make_column(world: World) -> Any:
    """The owner of the memory behind an array."""
    array_of = make_run(world).chunks.column("duration")
    while not isinstance(array_of, _core.Column):
        array_of = array_of.obj if isinstance(array_of, memoryview) else array_of.base
    return array_of


def make_live(world: World) -> Any:
    return _core.LiveMeasurement(make_place(world))


def make_tree(world: World) -> Any:
    tree = _core.ProcessTree()
    tree.sample()
    return tree


VINE_LOG = Path(__file__).parents[2] / "fuzz/corpus/taskvine/recovered"


def make_vine_log(world: World) -> Any:
    log = _core.TaskVineLog()
    log.feed(VINE_LOG.read_bytes())
    return log


def make_progress(world: World) -> Any:
    progress = _core.Progress(1.0)
    progress.add_chunks(make_log(world), 2.0)
    return progress


def make_tally(world: World) -> Any:
    tally = _core.Tally()
    tally.add(make_log(world))
    return tally


def make_live_numbers(world: World) -> Any:
    each = [{"worker": worker, "threads": 2, "tasks": 3, "memory": None} for worker in WORKERS]
    return [{"run": "r", "tally": make_tally(world), "run_open": True, "workers": 2, "memory": None, "each": each}]


def make_section(kind: str) -> Maker:
    def make(world: World) -> Any:
        owner = world.pick((make_processor(world), Node(_roastcoffea_current_chunk=world.poison({"timing": {}})), Node()))
        events = (make_events(world),) if kind == "track_bytes" else ()
        return getattr(_core, kind)(owner, *events, world.poison("section"))

    return make


def make_played_run(_: World) -> Any:
    """One that can be played again: its chunks tell their time and their worker."""
    series = _core.WorkerSeries()
    series.join("w", 100.0, 2, "node")
    chunks = [{"t_start": 100.5 + i, "duration": 0.9, "before_process_s": 0.05, "num_events": 1000 + i,
               "dataset": "ttbar", "file": "f.root", "worker": "w"} for i in range(8)]
    return _core.Run(t_start=100.0, t_end=110.0, chunks=chunks, series=series)


def make_named_runs(world: World) -> Any:
    return [("first", make_run(world)), ("second", make_run(world))]


RECEIVERS: dict[str, Maker] = {
    "Advice": lambda world: _core.Advice(make_run(world)),
    "Attempts": make_attempts,
    "ChunkLog": make_log,
    "ChunkRecord": lambda world: make_log(world)[0],
    "Column": make_column,
    "LiveMeasurement": make_live,
    "ProcessTree": make_tree,
    "Progress": make_progress,
    "Run": make_run,
    "Summary": lambda world: _core.Summary(make_run(world)),
    "Table": make_table,
    "Tally": make_tally,
    "TaskVineLog": make_vine_log,
    "WhatIf": lambda world: _core.WhatIf(make_played_run(world)),
    "WorkerSeries": make_series,
    "track_bytes": make_section("track_bytes"),
    "track_memory": make_section("track_memory"),
    "track_metrics": lambda world: _core.track_metrics(lambda *args, **kwargs: world.intrude("process")),
    "track_time": make_section("track_time"),
}

# ---- values of parameters ----


def make_place(world: World) -> str:
    """In the folder of the case, which is the working directory."""
    return f"place-{world.random.randrange(3)}"


def make_saved(world: World) -> Any:
    place = make_place(world)
    _core.save_measurement(make_run(world), place, config=b"{}", extras=b"{}")
    return world.pick((place, Path(place)))


def make_legacy(_: World) -> str:
    folder = Path(MEASUREMENTS)
    return str(sorted(path for path in folder.iterdir() if path.is_dir())[0])


def make_when(world: World) -> Any:
    return world.pick((datetime.now(UTC), "2026-03-01T12:00:00+00:00", 1_790_000_000.5, None))


def numbers(kind: str, values: list[Any]) -> Maker:
    return lambda world: array(kind, values) if world.chance(0.5) else list(values)


def make_tracking(world: World) -> Any:
    series = make_series(world)
    return series.as_tracking_data() if world.chance(0.6) else series


def make_metrics(world: World) -> Any:
    return make_run(world).metrics()


REALS, CODES = numbers("d", [0.5 * i for i in range(ROWS)]), numbers("q", [i % 3 for i in range(ROWS)])
ENDS = numbers("d", [0.5 * i + 1 for i in range(ROWS)])


def doubles(more: float) -> Maker:
    return lambda _: array("d", [0.5 * i + more for i in range(ROWS)])


def maybe(make: Maker) -> Maker:
    return lambda world: make(world) if world.chance(0.7) else None


def one_of(*choices: Any) -> Maker:
    return lambda world: world.pick(choices)


# By entry and parameter, else by parameter, else by annotation. A parameter that is not found and has a default is left
# out of the case that must succeed.
VALUES: dict[str, Maker] = {
    # by entry and parameter
    "Attempts.add.outcome": one_of("done", "raised"),
    "WorkerSeries.sample.when": lambda world: T0 + timedelta(seconds=60),
    "Attempts.from_bytes.data": lambda world: make_attempts(world).to_bytes(),
    "ChunkLog.from_bytes.data": lambda world: make_log(world).to_bytes(),
    "WorkerSeries.from_bytes.data": lambda world: make_series(world).to_bytes(),
    "_unpack_record.data": lambda world: make_log(world)[:1].to_bytes(),
    "WorkerSeries.from_tracking_data.data": lambda world: make_series(world).as_tracking_data(),
    "ChunkLog.append.value": make_chunk,
    "ChunkLog.__getitem__.key": one_of(0, -1, slice(0, 2), slice(None, None, -1)),
    "ChunkLog.__delitem__.key": one_of(0, -1, slice(0, 2)),
    "ChunkRecord.__getitem__.key": one_of("duration", "dataset", "sections", "reads"),
    "ChunkRecord.__delitem__.key": one_of("mine"),
    "CurrentChunk.__getitem__.key": one_of("timing", "memory"),
    "CurrentChunk.__delitem__.key": one_of("mine"),
    "Progress.__new__.start": one_of(1.0, 1e9),
    "ProcessTree.news.workers": lambda _: {os.getpid(): 2, 1: None},
    "ProcessTree.series.workers": lambda _: {os.getpid(): 2, 1: None},
    "TaskVineLog.feed.data": lambda _: VINE_LOG.read_bytes(),
    "TaskVineLog.read.path": lambda _: str(VINE_LOG),
    "TaskVineLog.explain.task": one_of(1, 2, 10**12),
    "TaskVineLog.explain.type": one_of("ValueError", None),
    "TaskVineLog.explain.message": one_of("no", None),
    "Summary.__new__.source": lambda world: make_metrics(world) if world.rate == 0 or world.chance(0.5) else make_run(world),
    "WhatIf.__new__.run": make_played_run,
    "WhatIf.__new__.workers": one_of(None, 20),
    "WhatIf.__new__.threads": one_of(None, 2),
    "WhatIf.__new__.chunksize": one_of(None, 500),
    "WhatIf.__new__.times": one_of(None, 3),
    "WhatIf.__new__.without_files": one_of(None, ()),
    "WhatIf.__new__.at_rate": one_of(None, "2Gbps", 1e9),
    "draw_table.title": one_of("Runs", ""),
    "draw_table.columns": lambda _: (("Run", "left"), ("Events", "number")),
    "draw_table.rows": lambda _: (("a", "1.5"), ("b", "-")),
    "draw_table.caption": one_of(None, "of two runs"),
    "find_runs.folders": lambda _: (os.fsencode(MEASUREMENTS),),
    "find_runs.metric": one_of("wall_time", "total_events"),
    "find_runs.where": one_of((), ("wall>0.1",)),
    "find_runs.depth": one_of(1, 3),
    "wrap_text.text": one_of("some words that are long enough to be broken", ""),
    "wrap_text.indent": one_of(0, 4),
    "machine_cpu.text": one_of("cpu  100 0 50 1000 20 0 5 0 0 0\n"),
    "format_value.value": one_of(1.5, None, 0.025),
    "format_column.values": lambda _: [1.5, None, 0.025],
    "split_replayed.chunks": make_log,
    "Summary.draw.table": one_of(None),
    "Table.categories.name": lambda world: {"chunks": "dataset", "sections": "name", "samples": "worker", "reads": "branch"}[
        repr(world.things[0]).split()[1].rstrip(":")],
    "Table.column.name": lambda world: world.pick(world.things[0].columns),
    "sample_workers.when": one_of(None),
    "sample_workers.series": make_series,
    "WorkerSeries.extend.more": lambda world: make_series(world, 100),
    "WorkerSeries.samples_equal.other": lambda world: make_series(world, 100),
    "Progress.add_series.more": make_series,
    "WorkerSeries.sample.when": one_of(T0 + timedelta(seconds=60)),
    "WorkerSeries.join.cores": one_of(4, None),
    "WorkerSeries.join.memory_limit": one_of(8e9, None),
    "Attempts.add.kind": one_of("processing", "reduction", "other", "foreign"),
    "Attempts.add.outcome": one_of("done", "raised", "lost", "recomputed"),
    "Attempts.add.exception": one_of("ValueError: no", None),
    "Attempts.add.start": one_of(1.0, None),
    "Attempts.add.stop": one_of(2.0, None),
    "Attempts.worker_left.lost": lambda world: list(KEYS),
    "WorkerSeries.tick_values.when": one_of(None),
    "sample_workers.workers": lambda world: world.pick((list, lambda some: dict(enumerate(some)))[: 2])(
        [make_worker(world) for _ in range(3)]),
    "WorkerSeries.tick_values.workers": lambda world: {
        worker: {name: 5 * k for k, name in enumerate(SERIES)} for worker in WORKERS},
    "_fail_allocations.after": one_of(None, 0, 3),
    "configure.sampler_interval": one_of(None, 0.0, 0.001, 0.5),
    "efficiency_metrics.worker": make_metrics,
    "load_legacy.path": make_legacy,
    "list_runs.folder": lambda world: MEASUREMENTS,
    "load_measurement.path": make_saved,
    "load_news.path": make_saved,
    "load_news.after": one_of(0),
    "prometheus_live.runs": make_live_numbers,
    "Run.metrics_table.table": one_of("file_metadata", "file_read_metrics", "worker_health"),
    "Run.metrics_table.names": lambda world: world.pick((None, [*WORKERS, "x"])),
    "Run.chunk_columns.names": lambda world: ["duration", "dataset"],
    "spread.starts": doubles(0.0), "spread.ends": doubles(1.0), "spread.amounts": doubles(2.0),
    "spread.row": one_of(None), "spread.rows": one_of(1), "spread.low": one_of(0.0), "spread.high": one_of(9.0),
    "spread.bins": one_of(3),
    "measurement_kind.path": make_saved,
    "name_workers.chunks": make_log,
    "name_workers.attempts": make_attempts,
    "shift_clocks.chunks": make_log,
    "shift_clocks.offsets": lambda _: {"tcp://10.0.0.0:4000": 0.5, "nobody": -1.0},
    "split_replayed.topics": one_of([], ["memory:a"], ("x", "y")),
    "sum_reports.reports": lambda world: [make_report(world)] * 2,
    "sum_reports.replayed": maybe(make_log),
    "track_metrics.__new__.func": lambda world: lambda *args, **kwargs: world.intrude("process"),
    # by parameter
    "address": one_of(*WORKERS), "attempts": maybe(make_attempts), "by": one_of(None, "dataset", "worker", "host", "file"),
    "chunk_metrics": make_chunks, "chunks": make_chunks, "codes": CODES, "config": one_of(None, b"{}", bytearray(b"{}")),
    "cumulative": make_spans, "custom_metrics": one_of({"a": {"x": 1.5}}, {"b": {"y": 2}}, None), "ends": ENDS,
    "events": make_events, "exc_type": one_of(None, ValueError), "exc": one_of(None, ValueError("x")),
    "extras": one_of(None, b"{}"), "folder": one_of("."), "overwrite": lambda world: world.rate == 0 or world.chance(0.5), "groups": one_of(3, 5), "host": one_of("node", "höst"),
    "instance": lambda world: Node(), "intervals": lambda world: world.pick((
        {("f", 0, 1): (1.0, 2.0, 30)}, (REALS(world), ENDS(world), REALS(world)))),
    "key": one_of(*KEYS, "mine", "duration", "timing", ("a", 1)), "keys": lambda _: list(KEYS),
    "kind": one_of("processing", "reduction", "other"), "limit": one_of(0, 5, 100), "line_points": one_of(2, 10),
    "log": make_log, "lost": lambda _: list(KEYS), "measure": one_of("memory", "cpu", "occupancy"), "memo": lambda _: {},
    "meta": lambda _: {"executor": "x", "ü": "y"}, "more": lambda _: [("a", "b", "c", 0, 1), (None,) * 5],
    "n_owners": one_of(3), "name": one_of("name", "ü"), "notes": lambda _: ["one", "two"], "now": one_of(3.0, 4.0),
    "owner": one_of(None, Node), "owners": CODES, "path": make_place, "pid": one_of(0),
    "points": one_of(2, 50), "prefix": one_of("Proc"), "proc_root": one_of(None), "processor": make_processor,
    "processor_name": one_of(None, "Proc"), "report": maybe(make_report), "requested_schema": one_of(None),
    "run": make_run, "section_metrics": lambda _: [{"section_name": "by hand", "duration": 2.0}], "series": make_tracking,
    "skip": maybe(numbers("b", [0, 1] * (ROWS // 2))), "span_metrics": make_spans, "spans": make_spans, "starts": REALS,
    "stimulus_id": one_of("gone-1"), "t": one_of(2e9), "t_end": one_of(110.0, None), "t_start": one_of(100.0, None),
    "text": one_of("WorkItem(dataset='a', filename='b', treename='c', entrystart=0, entrystop=1)", "x"),
    "topic": one_of(None, "memory:a"), "tracking_data": make_tracking, "unit": one_of("s", "bytes", "", "B/s"),
    "values": REALS, "when": make_when, "worker": one_of(*WORKERS), "workflow": make_metrics, "x": REALS, "y": ENDS,
    "value": one_of(1.5, "text", [1], {"a": 1}),
    # by annotation
    "Any": one_of(1, "x", [1, 2], {"a": (1, 2)}), "object": one_of(1, "x"), "bool": one_of(False, True),
    "int": one_of(0, 1, 3, 20), "float": one_of(0.0, 1.5, 100.0), "float | None": one_of(1.5, None), "str": one_of("x"),
}

# Entries that no signature tells of: methods of list and of object, and those that take anything.
LOG_OR_LIST: Maker = lambda world: world.pick((make_log, make_chunks))(world)  # noqa: E731
ARGUMENTS: dict[str, tuple[Maker, ...]] = {
    "ChunkLog.__add__": (LOG_OR_LIST,), "ChunkLog.__iadd__": (LOG_OR_LIST,), "ChunkLog.__radd__": (make_chunks,),
    "ChunkLog.__mul__": (one_of(0, 2),), "ChunkLog.__rmul__": (one_of(0, 2),), "ChunkLog.__imul__": (one_of(0, 2),),
    "ChunkLog.__setitem__": (one_of(0), make_chunk), "ChunkLog.append": (make_chunk,), "ChunkLog.extend": (make_chunks,),
    "ChunkLog.insert": (one_of(0, 9), make_chunk), "ChunkLog.count": (make_chunk,), "ChunkLog.pop": (),
    "ChunkLog.index": (lambda world: world.things[0][0],), "ChunkLog.remove": (lambda world: world.things[0][0],),
    "ChunkLog.__contains__": (make_chunk,), "ChunkLog.sort": (), "ChunkLog.__class_getitem__": (one_of(int),),
    "ChunkLog.__getitem__": (VALUES["ChunkLog.__getitem__.key"],),
    "ChunkLog.__delitem__": (VALUES["ChunkLog.__delitem__.key"],),
    "ColumnReader.__call__": (lambda _: root_branch("pt"),),
    "track_metrics.__call__": (make_processor, make_events),
    "track_metrics._copy": (one_of("valid"), one_of("Processor.process")),
    "track_metrics.__setstate__": (lambda _: {},),
    "Run.__reduce_ex__": (one_of(2),),
}
BY_NAME: dict[str, tuple[Maker, ...]] = {
    "__getattribute__": (one_of("__doc__", "__class__"),), "__reduce_ex__": (one_of(2, 4),),
    **{f"__{name}__": (one_of(1, "x", [], {}),) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{name: () for name in ("__len__", "__iter__", "__repr__", "__reversed__", "__sizeof__", "__reduce__", "__enter__",
                             "__hash__", "__copy__", "copy", "clear", "reverse", "_copy")},
}


def travels(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))
