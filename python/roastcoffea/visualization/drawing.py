"""Shared by the plots and the report: units, names, the parts of a budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from roastcoffea import _core


class Scale(NamedTuple):
    """The number that values are divided by, and the name of the unit then."""

    divisor: float
    unit: str

    def __call__(self, values: Any) -> Any:
        return np.asarray(values) / self.divisor


_PREFIXES = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0))


def scale_of(largest: float, unit: str) -> Scale:
    """For values of a unit up to `largest`: "B", "bps"."""
    for prefix, divisor in _PREFIXES:
        if largest >= divisor:
            break
    return Scale(divisor, f"{prefix}{unit}")


_TIMES = (Scale(3600, "h"), Scale(60, "min"), Scale(1, "s"), Scale(1e-3, "ms"), Scale(1e-6, "µs"))


def time_scale(largest: float) -> Scale:
    """For seconds up to `largest`: two minutes or hours at least, so that a minute is 60 s."""
    if largest <= 0:
        return Scale(1, "s")
    least = 2 if largest >= 60 else 1
    return next((scale for scale in _TIMES if largest >= least * scale.divisor), _TIMES[-1])


# A clock that counts from 1970 was there in 1973; others count from the start of a machine.
_IN_1973 = 1e8


def zero_of(run_start: float | None) -> float | None:
    """The zero of all axes of time: the start of the run in seconds since 1970; None where that is not known."""
    return run_start if run_start is not None and run_start >= _IN_1973 else None


# ---- names ----


def shorten(name: str, length: int = 34) -> str:
    """The beginning of a long name, with a mark at the end."""
    return name if len(name) <= length else f"{name[: length - 1]}…"


def shorten_path(name: str, length: int) -> str:
    """A long path without its middle: the end is the name of the file."""
    tail = 2 * (length - 1) // 3
    return name if len(name) <= length else f"{name[: length - 1 - tail]}…{name[-tail:]}"


def short_names(names: Sequence[str], length: int = 34) -> list[str]:
    """Names of one axis or legend: those that differ are shown differently."""
    shown = {name: shorten(name, length) for name in names}
    for cut in (shorten_path, None):
        seen = Counter(shown.values())
        alike = [name for name in shown if seen[shown[name]] > 1]
        for number, name in enumerate(alike, 1):
            shown[name] = cut(name, length) if cut is not None else f"{shorten(name, length - 4)} {number}"
    return [shown[name] for name in names]


def owner_column(chunks: _core.Table) -> str | None:
    """The column that names the owner of a chunk: the worker; if none is named, the host."""
    if len(chunks) == 0:
        return None
    return next((column for column in ("worker", "host") if chunks.categories(column)), None)


_PART_COLORS = {
    "preprocessing": "#a6761d",
    "cold_start": "#b15928",
    "before_process": "#E69F00",
    "read": "#56B4E9",
    "compute_cpu": "#009E73",
    "compute_offcpu": "#8fd0bb",
    "after_process": "#F0E442",
    "processing": "#66a61e",
    "reduction": "#0072B2",
    "other_tasks": "#7fa8c9",
    "worker_overhead": "#CC79A7",
    "lost": "#D55E00",
    "client": "#7570b3",
    "idle_ramp_up": "#737373",
    "idle_starved": "#949494",
    "idle_between": "#b5b5b5",
    "idle_tail": "#d1d1d1",
    "unaccounted": "#f2f2f2",
}
# The parts of a budget in the order of display: key, label, colour.
BUDGET_PARTS = tuple(
    (row["key"], row["label"], _PART_COLORS[row["key"]])
    for row in _core.catalogue()
    if row["group"] == "budget" and row["key"] != "available_core_seconds"
)
