"""Settings, versions and work that differ between two sides, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from roastcoffea import _core
from roastcoffea.runs.changes import Sides
from roastcoffea.runs.known import Known, mean_of

__all__ = ["conditions"]

#: Key of the texts of a run, label, what follows.
_TEXTS = {
    "processor": ("Processor", "other code ran: differences may come from what it computes"),
    "executor": ("Executor", "what one engine tells, the other may not: see what is missing"),
    "backend": ("Engine", "what one engine tells, the other may not: see what is missing"),
    "schema": ("Schema", None),
    "chunksize": ("Chunk Size", "the chunks are not the same: compared by file, dataset and event"),
    "maxchunks": ("Most Chunks", None),
    "format": ("Format of the Files", None),
    "host": ("Host", "another machine: differences may come from it alone"),
    "cores": ("Cores of the Host", "another machine: differences may come from it alone"),
    "git_revision": ("Revision", None),
    "python_version": ("Python", None),
    "coffea_version": ("Coffea", None),
    "dask_version": ("Dask", None),
    "uproot_version": ("uproot", None),
    "awkward_version": ("awkward", None),
    "numpy_version": ("numpy", None),
    "roastcoffea_version": ("roastcoffea", None),
}
_REVISION = 12  # as git itself shortens it


def _condition(what: str, a: str, b: str, follows: str | None = None) -> dict[str, str]:
    found = {"what": what, "a": a, "b": b}
    return {**found, "follows": follows} if follows else found


def conditions(a: Sequence[Known], b: Sequence[Known], sides: Sides) -> list[dict[str, str]]:
    return [*_outcomes(a, b), *_datasets(sides),
            *_numbers(a, b, "total_events", "Events", 0, "totals and the wall time are of different work: compare rates"),
            *_numbers(a, b, "avg_workers", "Workers", 0.05,
                      "wall time and rates depend on the workers; rates per core do not"),
            *_texts(a, b, sides.compared == "pairs")]


def _outcomes(a: Sequence[Known], b: Sequence[Known]) -> Iterator[dict[str, str]]:
    outcomes = ["done", "done"]
    for i, side in enumerate((a, b)):
        for one in side:
            outcome = (one.run.ending or {}).get("outcome")
            if outcome not in (None, "done"):
                outcomes[i] = outcome
    if outcomes != ["done", "done"]:
        yield _condition("Outcome", outcomes[0], outcomes[1], "a run that did not finish: only chunks that were done are compared, and "
                         "its totals are not those of the whole work")


def _datasets(sides: Sides) -> Iterator[dict[str, str]]:
    a, b = (set(np.unique(sides.dataset[side & (sides.dataset >= 0)])) for side in (sides.in_a, sides.in_b))
    if a and b and a != b:
        shared = len(a & b)
        yield _condition("Datasets", str(len(a)), str(len(b)),
                         f"both have {shared} of {len(a | b)} datasets: the chunks of only these are compared" if shared
                         else "no dataset is in both: no chunk can be compared")


def _numbers(a: Sequence[Known], b: Sequence[Known], key: str, label: str, least: float,
             follows: str) -> Iterator[dict[str, str]]:
    first, second = (mean_of(side, key) for side in (a, b))
    if abs(first - second) > least * max(first, second):  # neither is NaN
        # a mean over time is hardly ever whole
        texts = [_core.format_value(one if least else round(one), "1") for one in (first, second)]
        yield _condition(label, texts[0], texts[1], follows)


def _texts(a: Sequence[Known], b: Sequence[Known], paired: bool) -> Iterator[dict[str, str]]:
    for key, (label, follows) in _TEXTS.items():
        texts = []
        for side in (a, b):
            found = [one.run.meta.get(key) for one in side]
            texts.append(found[0] if len(set(found)) == 1 else f"{found[0] or ''}, and others")
        if None in texts or texts[0] == texts[1]:
            continue
        if key == "git_revision":
            texts = [str(one)[:_REVISION] for one in texts]
        yield _condition(label, str(texts[0]), str(texts[1]), None if key == "chunksize" and paired else follows)
