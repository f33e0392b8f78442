"""How the event rate of several runs depends on their cores."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from roastcoffea import _core
from roastcoffea.answers import Answer
from roastcoffea.results import runs_of

if TYPE_CHECKING:
    from roastcoffea._core import _SummaryTable

__all__ = ["Scaling", "scaling"]


class Scaling(Answer):
    """Speed-up, efficiency, and two laws fitted to them.

    Args:
        runs: Measurements (paths, or what ``open_run`` gives) and collectors after their run.
        cores: Numbers of cores to predict; by default twice and four times the largest.
    """

    def __init__(self, runs: Any, cores: Sequence[float] = ()) -> None:
        self._engine: _core.Scaling = _core.Scaling(runs_of(runs, "runs"))
        known: dict[str, Any] = json.loads(self._engine.json(()))
        largest: float = known["points"][-1]["cores"]
        self._cores = list(cores) or [2 * largest, 4 * largest]
        known = json.loads(self._engine.json(self._cores))
        self.headline = known["headline"]  #: the answer in a sentence
        self.kind: str = known["kind"]  #: "strong": the same events, "weak": as many per core, or "unknown"
        self.points: list[dict[str, Any]] = known["points"]  #: one per number of cores
        self.runs: list[dict[str, Any]] = known["runs"]
        self.laws: dict[str, dict[str, Any]] = known["laws"]  #: "amdahl", "usl"; empty below three sizes
        self.losses: list[dict[str, Any]] = known["losses"]

    def predict(self, cores: float, law: str = "usl") -> dict[str, float]:
        """Events per second: `at`, and `low` and `high` if there are enough runs for an interval.

        A ValueError if the law could not be fitted.

        Args:
            cores: The number of cores.
            law: "amdahl" or "usl".
        """
        known = json.loads(self._engine.json((cores,)))["laws"]
        if law not in known:
            raise ValueError(f"law {law!r} is not known: {', '.join(known) or 'that takes three sizes'}")
        found: dict[str, float] = known[law]["predictions"][0]["event_rate_hz"]
        return found

    @property
    def tables(self) -> list[_SummaryTable]:
        """The tables as texts: id, title, columns, rows, caption."""
        return self._engine.tables(self._cores)

    def _draw(self, width: int = 80, color: bool = False) -> str:
        return self._engine.draw(self._cores, width, color)


def scaling(runs: Any, cores: Sequence[float] = ()) -> Scaling:
    """Throughput, speed-up and efficiency of several runs against their cores, with a fit of Amdahl's law and of the
    universal scalability law from three sizes on.

    Args:
        runs: Measurements (paths, or what ``open_run`` gives) and collectors after their run.
        cores: Numbers of cores to predict; by default twice and four times the largest.
    """
    return Scaling(runs, cores)
