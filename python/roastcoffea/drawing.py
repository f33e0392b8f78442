"""Shared by the plots and the report: units, names, the parts of a budget."""

from __future__ import annotations

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


def shorten(name: str, length: int = 34) -> str:
    """A long name without its middle."""
    if len(name) <= length:
        return name
    head = (length - 1) // 2
    return f"{name[:head]}…{name[-(length - 1 - head) :]}"


def owner_column(chunks: _core.Table) -> str | None:
    """The column that names the owner of a chunk: the worker; if none is named, the host."""
    if len(chunks) == 0:
        return None
    return next((column for column in ("worker", "host") if chunks.categories(column)), None)


_PART_COLORS = {
    "preprocessing": "#a6761d",
    "before_process": "#E69F00",
    "read": "#56B4E9",
    "compute_cpu": "#009E73",
    "compute_offcpu": "#8fd0bb",
    "after_process": "#F0E442",
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
