"""A run that takes part in a question, with its figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from roastcoffea._core import Run

__all__ = ["Known", "mean_of"]


@dataclass
class Known:
    """A run with what is compared of it."""

    name: str
    run: Run
    metrics: dict[str, Any]

    @classmethod
    def of(cls, name: str, run: Run) -> Known:
        return cls(name, run, run.metrics(files_and_workers=False))

    def value(self, key: str) -> float:
        found = self.metrics.get(key)
        return math.nan if found is None else float(found)


def mean_of(side: Sequence[Known], key: str) -> float:
    """Of the runs that tell it; NaN: none does."""
    known = [one.value(key) for one in side if math.isfinite(one.value(key))]
    return sum(known) / len(known) if known else math.nan
