"""NanoAOD-like ROOT files for the demo: made once, the same every time.

Three datasets of four files, 25,000 events each, 300 branches. One file is unlike the others: it was
written by a program that flushed its baskets every 125 events, with slow compression. For the second run it is written
again, like the others.
"""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import uproot

DATASETS = {"ttbar": 4.0, "wjets": 2.0, "data": 2.5}  # and how many jets an event has
FILES = 4
EVENTS = 25_000
SLOW = ("wjets", 2)
COLLECTIONS = {"Jet": 32, "Muon": 16, "Electron": 16, "Tau": 10}  # variables of each
FLAGS = 219
FLUSH, SLOW_FLUSH = 25_000, 125


def make(folder: Path, mended: bool = False) -> dict[str, dict[str, dict[str, str]]]:
    """The fileset; files that are there already are taken as they are. `mended`: without the slow file."""
    folder.mkdir(parents=True, exist_ok=True)
    either = folder / ("fast.root" if mended else "slow.root")
    paths = {
        (dataset, number): either if (dataset, number) == SLOW else path_of(folder, dataset, number)
        for dataset in DATASETS for number in range(FILES)
    }
    missing = [one for one, path in paths.items() if not path.exists()]
    for done, one in enumerate(missing):
        _progress(f"writing file {done + 1} of {len(missing)}", done / len(missing))
        _write(paths[one], *one, slow=one == SLOW and not mended)
    if missing:
        _progress("files written", 1.0)
        print(file=sys.stderr)
    shutil.copyfile(either, path_of(folder, *SLOW))
    return {
        dataset: {"files": {str(path_of(folder, dataset, n)): "Events" for n in range(FILES)}}
        for dataset in DATASETS
    }


def path_of(folder: Path, dataset: str, number: int) -> Path:
    return folder / f"{dataset}_{number}.root"


def _progress(text: str, share: float) -> None:
    if sys.stderr.isatty():
        full = round(24 * share)
        print(f"\r{'━' * full}{'╌' * (24 - full)} {text:<24}", end="", file=sys.stderr, flush=True)


def _write(path: Path, dataset: str, number: int, slow: bool) -> None:
    rng = np.random.default_rng([*dataset.encode(), number])
    compression = uproot.LZMA(7) if slow else uproot.ZLIB(1)
    unfinished = path.with_suffix(".part")
    with uproot.recreate(unfinished, compression=compression) as file:
        tree = None
        for part in _parts(rng, DATASETS[dataset], SLOW_FLUSH if slow else FLUSH):
            if tree is None:
                types = {
                    name: column.type if isinstance(column, ak.Array) else column.dtype
                    for name, column in part.items()
                }
                tree = file.mktree("Events", types)
            tree.extend(part)
    unfinished.rename(path)  # a file that is there is whole


def _parts(rng: np.random.Generator, jets: float, flush: int) -> Iterator[dict[str, Any]]:
    """The same events, however many are flushed at once."""
    events = _events(rng, jets, EVENTS)
    for start in range(0, EVENTS, flush):
        yield {name: column[start : start + flush] for name, column in events.items()}


def _events(rng: np.random.Generator, jets: float, events: int) -> dict[str, Any]:
    part: dict[str, Any] = {
        "run": np.ones(events, "u4"),
        "luminosityBlock": 1 + np.arange(events, dtype="u4") // 1000,
        "event": np.arange(events, dtype="u8"),
        "MET_pt": _rounded(rng.exponential(40, events)),
        "MET_phi": _rounded(rng.uniform(-math.pi, math.pi, events)),
        "genWeight": np.ones(events, "f4"),
        "PV_npvs": rng.poisson(30, events).astype("i4"),
    }
    means = {"Jet": jets, "Muon": 1.2, "Electron": 1.0, "Tau": 0.5}
    for name, variables in COLLECTIONS.items():
        counts = rng.poisson(means[name], events)
        size = int(counts.sum())
        fields = {"pt": _rounded(20 + rng.exponential(30, size)), "eta": _rounded(rng.normal(0, 1.5, size)),
                  "phi": _rounded(rng.uniform(-math.pi, math.pi, size)),
                  "mass": _rounded(rng.exponential(5, size))}
        if name != "Jet":
            fields["charge"] = rng.choice(np.array([-1, 1], "i4"), size)
        fields.update({
            f"var{i:02}": _rounded(rng.random(size)) for i in range(variables - len(fields))
        })
        part[name] = ak.zip({key: ak.unflatten(value, counts) for key, value in fields.items()})
    for i in range(FLAGS):
        part[f"HLT_path{i:03}"] = rng.random(events) < 0.02
    return part


def _rounded(values: np.ndarray) -> np.ndarray:
    """As NanoAOD does: only as many bits as mean something, so that the rest compresses away."""
    bits = values.astype("f4").view("u4")
    return ((bits + 0x8000) & np.uint32(0xFFFF0000)).view("f4")
