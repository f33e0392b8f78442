"""A NanoAOD-like file of 1,500 branches, an analysis of it, and one chunk of it."""

from __future__ import annotations

import gc
import os
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import awkward as ak
import numpy as np
import uproot
from coffea.nanoevents import NanoAODSchema, NanoEventsFactory
from coffea.processor import ProcessorABC

from bench.work.chunks import KEY
from roastcoffea import track_memory, track_metrics, track_time

FOLDER = Path("build/bench-data")
BRANCHES, CHUNK_EVENTS, CHUNKS_A_FILE, FILES = 1500, 20_000, 2, 2
FEW_EVENTS = 200  # of a chunk that is read in no time
COLLECTIONS = {"Jet": 4.0, "Muon": 1.5, "Electron": 1.5, "Tau": 1.0, "Photon": 1.0, "FatJet": 0.5}
FIELDS_A_COLLECTION = 40
READ: dict[str, tuple[str, ...]] = {
    name: ("pt", "eta", "phi", "mass", "charge") for name in ("Muon", "Electron", "Tau")}
READ["Jet"] = ("pt", "eta", "phi", "mass")
SECTIONS = ("leptons", "jets", "fill")


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


def _write(path: Path, seed: int, chunk_events: int, chunks: int) -> None:
    columns = _columns(chunk_events * chunks, seed)
    types = {name: values.type.content if isinstance(values, ak.Array) else values.dtype
             for name, values in columns.items()}
    unfinished = path.with_suffix(f".{os.getpid()}")
    with uproot.recreate(unfinished, compression=uproot.LZ4(1)) as file:
        tree = file.mktree("Events", types)  # a plain assignment would write an RNTuple
        for start in range(0, chunk_events * chunks, chunk_events):
            tree.extend({name: values[start:start + chunk_events] for name, values in columns.items()})
    unfinished.replace(path)


def _file(progress: Callable[[str], None], seed: int, chunk_events: int, chunks: int) -> Path:
    """Written once, and kept."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER.resolve() / f"nano-{BRANCHES}-{chunk_events}x{chunks}-{seed}.root"
    if not path.is_file():
        progress(f"writing {path.name} ...")
        _write(path, seed, chunk_events, chunks)
    with uproot.open(path) as file:
        found = len(file["Events"].keys())
    if found != BRANCHES:
        raise AssertionError(f"{path.name} has {found} branches, not {BRANCHES}")
    return path


def files(progress: Callable[[str], None]) -> list[Path]:
    """Those of an analysis."""
    return [_file(progress, seed, CHUNK_EVENTS, CHUNKS_A_FILE) for seed in range(FILES)]


def small_file(progress: Callable[[str], None]) -> Path:
    """As many branches and few events: reading does not drown what is sought."""
    return _file(progress, FILES, FEW_EVENTS, 1)


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


# ---- one chunk ----


def opened(path: Path, name: str) -> Any:
    """As Runner opens a chunk: each has a file object and a tree of its own. The factory, whose events() live
    as long as it does."""
    metadata = {"dataset": "bench", "filename": name, "treename": "Events", "entrystart": 0,
                "entrystop": FEW_EVENTS, "fileuuid": "0b1e2a1c-3c5d-11ee-8c99-0242ac120002"}
    return NanoEventsFactory.from_root(
        file=uproot.open(path), treepath="Events", schemaclass=NanoAODSchema, metadata=metadata,
        access_log=[], mode="virtual", entry_start=0, entry_stop=FEW_EVENTS)


class Logged(ProcessorABC):
    """Its columns are there; what a first look at them would leave in Coffea's access log is put there."""

    def __init__(self, log: list[Any]) -> None:
        self.log, self.names = log, list(log)

    @track_metrics
    def process(self, events: Any) -> dict[str, Any]:
        with track_time(self, "leptons"):
            self.log.extend(self.names)
        with track_memory(self, "jets"):
            pass
        with track_time(self, "fill"):
            pass
        return {}

    def postprocess(self, accumulator: Any) -> Any:
        return accumulator


def _timed(processor: ProcessorABC, events: Any, on: bool) -> float:
    """One call of process(). A pass of the garbage collector, which takes longer than all that is to be
    seen here, is kept out of it."""
    processor._roastcoffea_collect_metrics = on
    gc.collect(0)
    gc.disable()
    try:
        start = perf_counter()
        output = processor.process(events)
        seconds = perf_counter() - start
    finally:
        gc.enable()
    if (KEY in output) != on:
        raise AssertionError("a chunk was not recorded, or one that should not be")
    if on and output[KEY][0]["num_branches_accessed"] < sum(map(len, READ.values())):
        raise AssertionError(f"{output[KEY][0]['num_branches_accessed']} branches were seen")
    return seconds


def _in_turns(rounds: int, one: Callable[[bool], float]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {"on": [], "off": []}
    for round_ in range(rounds):
        for on in (False, True) if round_ % 2 else (True, False):
            found["on" if on else "off"].append(one(on))
    return found


class _Known:
    """Events of a file that this process knows, with all columns there."""

    def __init__(self, path: str) -> None:
        warnings.simplefilter("ignore")
        self.path = path
        self.factory = opened(Path(path), path)
        self.events = self.factory.events()
        self.log = self.factory.access_log
        _timed(Touch(), self.events, True)
        self.names = list(self.log)

    def once(self, on: bool) -> float:
        """As in a Dask worker each chunk has a processor of its own."""
        self.log[:] = self.names
        processor = Logged(self.log)
        self.log.clear()
        return _timed(processor, self.events, on)


_known: _Known | None = None


def _it(path: str) -> _Known:
    global _known
    if _known is None:
        _known = _Known(path)
        _in_turns(20, _known.once)
    return _known


def recorded(path: str, rounds: int) -> dict[str, list[float]]:
    """Seconds of process() beyond what it takes switched off, for events whose columns are there."""
    found = _in_turns(rounds, _it(path).once)
    return {"over": [one - min(found["off"]) for one in found["on"]], "off": found["off"]}


def first(path: str, rounds: int) -> dict[str, list[float]]:
    """Seconds of process() on the first chunk of a file in this process."""
    known, costs = _it(path), []
    try:
        for _ in range(rounds):
            known.events.metadata["filename"] = f"{path}?{perf_counter()}"
            costs.append(known.once(True))
    finally:
        known.events.metadata["filename"] = path
    return {"seconds": costs}


def wire(path: str) -> dict[str, int]:
    """Bytes of the records of one chunk on their way from the worker: the first of its file in this process,
    and a later one."""
    warnings.simplefilter("ignore")
    sizes = []
    for _ in range(2):
        processor = Touch()
        processor._roastcoffea_collect_metrics = True
        made = opened(Path(path), path)
        records = processor.process(made.events())[KEY]
        sizes.append(len(pickle.dumps(records, pickle.HIGHEST_PROTOCOL)))
    return {"first": sizes[0], "later": sizes[1]}
