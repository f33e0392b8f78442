"""Small NanoAOD-like files of made-up events: jets with b-tags, leptons, missing energy. The same every time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import uproot

# Mean numbers of jets, and the share of them that come from b quarks.
DATASETS = {"ttbar": (5.0, 0.40), "single_top": (3.5, 0.30), "wjets": (3.0, 0.05)}


def make(folder: str | Path, files: int = 2, events: int = 10_000) -> dict[str, Any]:
    """The fileset. A file that is there is not written again."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    fileset: dict[str, Any] = {}
    for dataset in DATASETS:
        paths = [folder / f"{dataset}_{number}_{events}.root" for number in range(files)]
        for number, path in enumerate(paths):
            if not path.exists():
                _write(path, dataset, np.random.default_rng([*dataset.encode(), number]), events)
        fileset[dataset] = {"files": {str(path): "Events" for path in paths}}
    return fileset


def _write(path: Path, dataset: str, rng: np.random.Generator, events: int) -> None:
    jets, bottom = DATASETS[dataset]
    columns = {
        "run": np.ones(events, "u4"),
        "luminosityBlock": np.ones(events, "u4"),
        "event": np.arange(events, dtype="u8"),
        "MET_pt": rng.exponential(40, events).astype("f4"),
        "MET_phi": rng.uniform(-np.pi, np.pi, events).astype("f4"),
        "Jet": _particles(rng, rng.poisson(jets, events), 25, 40, bottom),
        "Muon": _particles(rng, rng.poisson(0.6, events), 15, 30),
        "Electron": _particles(rng, rng.poisson(0.6, events), 15, 30),
    }
    unfinished = path.with_suffix(".part")
    with uproot.recreate(unfinished) as file:
        types = {name: column.type.content if isinstance(column, ak.Array) else column.dtype
                 for name, column in columns.items()}
        file.mktree("Events", types)
        file["Events"].extend(columns)
    unfinished.rename(path)  # a file that is there is whole


def _particles(rng: np.random.Generator, counts: Any, least: float, mean: float, bottom: float | None = None) -> Any:
    size = int(counts.sum())
    fields = {
        "pt": least + rng.exponential(mean, size), "eta": rng.normal(0, 1.2, size),
        "phi": rng.uniform(-np.pi, np.pi, size), "mass": rng.exponential(5, size),
    }
    if bottom is None:
        fields["charge"] = rng.choice([-1.0, 1.0], size)
    else:
        fields["btag"] = np.where(rng.random(size) < bottom, rng.beta(5, 1, size), rng.beta(1, 5, size))
    return ak.zip({name: ak.unflatten(values.astype("f4"), counts) for name, values in fields.items()})
