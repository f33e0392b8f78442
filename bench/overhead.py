"""MetricsCollector around a real analysis: the same run with it and without it, and what a chunk costs."""

from __future__ import annotations

import gc
import io
import itertools
import math
import os
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, redirect_stdout
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import awkward as ak
import numpy as np
import uproot
from coffea.nanoevents import NanoAODSchema, NanoEventsFactory
from coffea.processor import DaskExecutor, IterativeExecutor, ProcessorABC, Runner
from coffea.util import _hash
from scipy import stats

from bench.decorator import Events
from bench.harness import Figure, Harness, NotMeasured, Row, figure
from bench.targets import TARGETS
from roastcoffea import MetricsCollector, channel, track_memory, track_metrics, track_time
from roastcoffea._core import ChunkLog

FOLDER = Path("build/bench-data")
BRANCHES, CHUNK_EVENTS, CHUNKS_A_FILE, FILES = 1500, 20_000, 2, 2
COLLECTIONS = {"Jet": 4.0, "Muon": 1.5, "Electron": 1.5, "Tau": 1.0, "Photon": 1.0, "FatJet": 0.5}
FIELDS_A_COLLECTION = 40
READ: dict[str, tuple[str, ...]] = {
    name: ("pt", "eta", "phi", "mass", "charge") for name in ("Muon", "Electron", "Tau")}
READ["Jet"] = ("pt", "eta", "phi", "mass")
SECTIONS = ("leptons", "jets", "fill")

WORKERS = 2
CONFIDENCE = 0.95
LIMIT_KEY = "{}, difference at least"
PACE = 200  # chunks a second, of the worker that sends records beside the output
PACED_SECONDS = 1.0


# ---- the files ----


def _columns(events: int, seed: int) -> dict[str, Any]:
    """As in NanoAOD: jagged collections, and many flags."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {
        "run": np.ones(events, "u4"),
        "luminosityBlock": np.ones(events, "u4"),
        "event": np.arange(events, dtype="u8"),
    }
    for name, mean in COLLECTIONS.items():
        counts = rng.poisson(mean, events)
        total = int(counts.sum())
        fields = {field: rng.exponential(40, total).astype("f4").round(1)
                  for field in ("pt", "eta", "phi", "mass")}
        fields["charge"] = rng.choice(np.array([-1, 1], "i4"), total)
        others = (f"other{i}" for i in range(FIELDS_A_COLLECTION - len(fields)))
        fields |= dict.fromkeys(others, np.zeros(total, "f4"))
        columns[name] = ak.zip({field: ak.unflatten(values, counts) for field, values in fields.items()})
    made = 3 + len(COLLECTIONS) * (1 + FIELDS_A_COLLECTION)  # a counter each
    flag = rng.random(events) < 0.3
    return columns | {f"HLT_path{i}": flag for i in range(BRANCHES - made)}


def _write(path: Path, seed: int) -> None:
    columns = _columns(CHUNK_EVENTS * CHUNKS_A_FILE, seed)
    types = {name: values.type.content if isinstance(values, ak.Array) else values.dtype
             for name, values in columns.items()}
    unfinished = path.with_suffix(f".{os.getpid()}")
    with uproot.recreate(unfinished, compression=uproot.LZ4(1)) as file:
        tree = file.mktree("Events", types)  # a plain assignment would write an RNTuple
        for start in range(0, CHUNK_EVENTS * CHUNKS_A_FILE, CHUNK_EVENTS):
            tree.extend({name: values[start:start + CHUNK_EVENTS] for name, values in columns.items()})
    unfinished.replace(path)


def _files(harness: Harness) -> list[Path]:
    """Written once, and kept."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    paths = [FOLDER.resolve() / f"nano-{BRANCHES}-{CHUNK_EVENTS}x{CHUNKS_A_FILE}-{i}.root"
             for i in range(FILES)]
    for seed, path in enumerate(paths):
        if not path.is_file():
            harness.progress(f"overhead: writing {path.name} ...")
            _write(path, seed)
    with uproot.open(paths[0]) as file:
        found = len(file["Events"].keys())
    if found != BRANCHES:
        raise AssertionError(f"{paths[0].name} has {found} branches, not {BRANCHES}")
    return paths


# ---- the analysis ----


class Analysis(ProcessorABC):
    """Reads some twenty columns, in three sections."""

    @track_metrics
    def process(self, events: Any) -> dict[str, Any]:
        with track_time(self, "leptons"):
            leptons = sum(int(ak.sum((events[name].pt > 25) & (abs(events[name].eta) < 90)
                                     & (events[name].charge > 0) & (events[name].mass < 80)
                                     & (events[name].phi > 1)))
                          for name in ("Muon", "Electron", "Tau"))
        with track_memory(self, "jets"):
            jets = events.Jet[(events.Jet.pt > 30) & (events.Jet.eta < 90)]
            energy = ak.sum(jets.pt * np.cos(jets.phi) + jets.mass, axis=1)
        with track_time(self, "fill"):
            counts, _ = np.histogram(ak.to_numpy(energy), bins=50, range=(-500, 500))
        return {"events": len(events), "leptons": leptons, "energy": counts}

    def postprocess(self, accumulator: Any) -> Any:
        return accumulator


class Touch(ProcessorABC):
    """Asks for the same columns in the same sections and computes next to nothing with them."""

    @track_metrics
    def process(self, events: Any) -> dict[str, Any]:
        with track_time(self, "leptons"):
            for name in ("Muon", "Electron", "Tau"):
                for field in READ[name]:
                    ak.materialize(events[name, field])
        with track_memory(self, "jets"):
            for field in READ["Jet"]:
                ak.materialize(events["Jet", field])
        with track_time(self, "fill"):
            pass
        return {}

    def postprocess(self, accumulator: Any) -> Any:
        return accumulator


# ---- whole runs ----


def balanced(item: Any, index: int) -> Any:
    """The chunk, shortened by a few events until Coffea's worker_affinity gives it to worker `index` modulo
    WORKERS. Left to itself Dask gives one worker two chunks or four, and that is all one would measure."""
    for fewer in range(256):
        shorter = replace(item, entrystop=item.entrystop - fewer)
        place = (shorter.fileuuid, shorter.treename, shorter.entrystart, shorter.entrystop)
        if _hash(place) % WORKERS == index % WORKERS:
            return shorter
    raise AssertionError("no length of the chunk fits")


class Runs:
    """Runs of the analysis over files with names that no process has seen: sizes are looked up as in a real
    run, and no run profits from the one before."""

    def __init__(self, links: Path, files: list[Path], executor: Any, client: Any) -> None:
        self.links, self.executor, self.client = links, executor, client
        self.runner = Runner(executor=executor, schema=NanoAODSchema, chunksize=CHUNK_EVENTS)
        with redirect_stdout(io.StringIO()):
            fileset = {"bench": {"files": {str(path): "Events" for path in files}}}
            found = list(self.runner.preprocess(fileset))
        self.items = [balanced(item, i) for i, item in enumerate(found)]
        self.serial = itertools.count()
        self.expected: Any = None
        self.outside: list[float] = []  # of a run with the collector: into the context and out of it

    def _fresh_items(self) -> list[Any]:
        folder = self.links / f"{type(self.executor).__name__}-{next(self.serial)}"
        folder.mkdir()
        items = []
        for item in self.items:
            link = folder / Path(item.filename).name
            if not link.exists():
                link.symlink_to(item.filename)
            items.append(replace(item, filename=str(link)))
        return items

    def _check(self, output: Any) -> None:
        if output["events"] != sum(map(len, self.items)):
            raise AssertionError(f"{output['events']} events in {len(self.items)} chunks")
        if self.expected is None:
            self.expected = output
        if any(not np.array_equal(output[name], self.expected[name]) for name in self.expected):
            raise AssertionError("two runs of the same analysis differ")

    def without(self) -> float:
        items, analysis = self._fresh_items(), Analysis()
        gc.collect()
        with redirect_stdout(io.StringIO()):  # Coffea's bar
            start = perf_counter()
            output = self.runner.run(items, analysis)
            seconds = perf_counter() - start
        self._check(output["out"])
        return seconds

    def with_collector(self) -> float:
        items, analysis = self._fresh_items(), Analysis()
        gc.collect()
        with redirect_stdout(io.StringIO()):
            start = perf_counter()
            with MetricsCollector(self.client, processor_instance=analysis) as collector:
                inside = perf_counter()
                output = self.runner.run(items, analysis)
                inside = perf_counter() - inside
            seconds = perf_counter() - start
        self._check(output["out"])
        self._check_records(collector)
        self.outside.append(seconds - inside)
        return seconds

    def _check_records(self, collector: MetricsCollector) -> None:
        chunks = collector.chunk_metrics
        if len(chunks) != len(self.items) or not collector.get_metrics()["total_events"]:
            raise AssertionError(f"{len(chunks)} records of {len(self.items)} chunks; {collector.notes}")
        wanted = sum(map(len, READ.values()))
        for chunk in chunks:
            if {one["section_name"] for one in chunk["sections"]} | set(chunk["memory"]) != set(SECTIONS):
                raise AssertionError(f"sections {chunk['sections']}, {chunk['memory']}")
            if chunk["num_branches_accessed"] < wanted or not chunk["accessed_bytes"]:
                raise AssertionError(f"{chunk['num_branches_accessed']} branches accessed, not {wanted}")


def interval(differences: list[float]) -> tuple[float, float, float]:
    """The mean, and Student's t interval around it."""
    mean = statistics.fmean(differences)
    if len(differences) < 2:
        return mean, -math.inf, math.inf
    error = statistics.stdev(differences) / math.sqrt(len(differences))
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(differences) - 1)) * error
    return mean, mean - reach, mean + reach


def _reading(low: float, high: float, limit: float, pairs: int) -> str:
    """The interval in words: a wide one must not pass for a good result."""
    if low > limit:
        found = "the limit is missed"
    elif high <= limit:
        found = "the limit is kept"
    else:
        found = "the limit lies within: these runs can neither show nor refute that it is kept"
    return (f"{100 * CONFIDENCE:g} % t interval of {pairs} paired differences, "
            f"{100 * low:+.2f} % to {100 * high:+.2f} %; {found}")


def _run_rows(harness: Harness, name: str, runs: Runs) -> Iterator[Row]:
    pairs = max(2, harness.rounds // 4)
    harness.progress(f"{name}: {pairs} pairs of runs of {len(runs.items)} chunks ...")
    few = Harness(pairs, harness.quick, harness.programs)
    walls = few.interleave({"without": runs.without, "with": runs.with_collector})
    differences = [a / b - 1 for a, b in zip(walls["with"].rounds, walls["without"].rounds, strict=True)]
    mean, low, high = interval(differences)
    limit = TARGETS[LIMIT_KEY.format(name)].limit
    yield Row(f"{name}, a run", "s", walls["with"], walls["without"],
              f"the same {len(runs.items)} chunks without the collector")
    yield Row(f"{name}, in and out of the context", "s", figure(runs.outside[1:]))
    yield Row(f"{name}, difference", "share", figure(mean))
    yield Row(LIMIT_KEY.format(name), "share", figure(low), None, _reading(low, high, limit, pairs))
    yield Row(f"{name}, difference at most", "share", figure(high))


def _iterative_rows(harness: Harness, links: Path, files: list[Path]) -> Iterator[Row]:
    executor = IterativeExecutor(status=False)
    yield from _run_rows(harness, "overhead/iterative", Runs(links, files, executor, executor))


def _dask_rows(harness: Harness, links: Path, files: list[Path]) -> Iterator[Row]:
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise NotMeasured(f"without distributed: {error}") from error
    with ExitStack() as stack:
        cluster = stack.enter_context(
            LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None))
        client = stack.enter_context(Client(cluster))
        client.run(warnings.simplefilter, "ignore")  # Coffea has many for files that are not quite NanoAOD
        executor = DaskExecutor(client=client, status=False, worker_affinity=True)
        yield from _run_rows(harness, "overhead/Dask", Runs(links, files, executor, client))


# ---- one chunk ----


def _factory(path: Path, name: str) -> Any:
    """As Runner opens a chunk: each has a file object and a tree of its own."""
    metadata = {"dataset": "bench", "filename": name, "treename": "Events", "entrystart": 0,
                "entrystop": CHUNK_EVENTS, "fileuuid": "0b1e2a1c-3c5d-11ee-8c99-0242ac120002"}
    return NanoEventsFactory.from_root(
        file=uproot.open(path), treepath="Events", schemaclass=NanoAODSchema, metadata=metadata,
        access_log=[], mode="virtual", entry_start=0, entry_stop=CHUNK_EVENTS)


def _touched(events: Any, on: bool) -> float:
    """One call of process(). A pass of the garbage collector, which takes longer than all that is to be
    seen here, is kept out of both."""
    processor = Touch()
    processor._roastcoffea_collect_metrics = on
    gc.disable()
    try:
        start = perf_counter()
        processor.process(events)
        seconds = perf_counter() - start
    finally:
        gc.enable()
    if len(getattr(processor, "_chunk_metrics", ())) != on:
        raise AssertionError("a chunk was not recorded, or one that should not be")
    return seconds


def _chunk_rows(harness: Harness, path: Path) -> Iterator[Row]:
    harness.progress("overhead: one chunk ...")
    name = str(path)
    factory = _factory(path, name)
    events = factory.events()
    _touched(events, True)  # the columns are there, the file is known
    costs = harness.interleave(
        {"off": lambda: _touched(events, False), "on": lambda: _touched(events, True)}, times=10)
    floor_is = f"the same call switched off, {BRANCHES} branches, columns materialised"
    yield Row("overhead/chunk, columns there", "s", costs["on"], costs["off"], floor_is)

    read: dict[bool, list[float]] = {False: [], True: []}
    first = []
    for round_ in range(max(2, harness.rounds * 3 // 10)):
        for on in (False, True) if round_ % 2 else (True, False):
            fresh = _factory(path, name)
            fresh_events = fresh.events()
            read[on].append(_touched(fresh_events, on))
            if on:
                fresh_events.metadata["filename"] = f"{name}?{round_}"  # a file that nobody has seen
                first.append(_touched(fresh_events, True))
    yield Row("overhead/chunk, columns read", "s", Figure(tuple(read[True])), Figure(tuple(read[False])),
              "the same call switched off, columns read from the file")
    yield Row("overhead/chunk, first of its file", "s", Figure(tuple(first)), costs["off"],
              "the call switched off, columns materialised")


# ---- records beside the output ----


class Empty(ProcessorABC):
    @track_metrics
    def process(self, events: Any) -> dict[str, Any]:
        return {}

    def postprocess(self, accumulator: Any) -> Any:
        return accumulator


def _paced(topic: str | None) -> Callable[[], float]:
    """CPU seconds a second of a process that handles PACE chunks in one."""
    uses = round(PACE * PACED_SECONDS)

    def one_round() -> float:
        processor, events = Empty(), Events()
        processor._roastcoffea_collect_metrics = True
        if topic is not None:
            processor._roastcoffea_topic = topic
        start, cpu = perf_counter(), time.process_time()
        for i in range(uses):
            time.sleep(max(0.0, start + i / PACE - perf_counter()))
            processor.process(events)
        if topic is not None:
            channel.flush(topic)
        cpu, wall = time.process_time() - cpu, perf_counter() - start
        sent = sum(len(ChunkLog.from_bytes(data)) for data in channel.take_memory(topic)) if topic else 0
        if sent != (uses if topic else 0):
            raise AssertionError(f"{sent} records of {uses} were delivered")
        return cpu / wall

    return one_round


def _beside_rows(harness: Harness) -> Iterator[Row]:
    harness.progress("overhead: records beside the output ...")
    few = Harness(1 if harness.quick else 2, harness.quick, harness.programs)
    costs = few.interleave({"without": _paced(None), "with": _paced("memory:bench-overhead")})
    yield Row("overhead/records beside the output", "share", costs["with"], costs["without"],
              f"{PACE} chunks a second that are recorded, but not sent beside the output")


def rows(harness: Harness) -> Iterator[Row]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        files = _files(harness)
        yield from _chunk_rows(harness, files[0])
        yield from _beside_rows(harness)
        with tempfile.TemporaryDirectory(dir=FOLDER.resolve()) as links:
            yield from _iterative_rows(harness, Path(links), files)
            yield from _dask_rows(harness, Path(links), files)
