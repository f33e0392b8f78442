"""How the event rate of several runs depends on their cores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from roastcoffea.common.answers import Answer
from roastcoffea.common.extras import needed
from roastcoffea.collector.results import runs_of

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
        needed("scaling()", "numpy", "plots")
        from roastcoffea.runs.scaling import scale

        found = self._found = scale(runs_of(runs, "runs"))
        largest: float = found.points[-1]["cores"]
        self._cores = [float(one) for one in cores] or [2 * largest, 4 * largest]
        known = self._known = found.as_dict(self._cores)
        self.headline = found.headline  #: the answer in a sentence
        self.kind: str = found.kind  #: "strong": the same events, "weak": as many per core, or "unknown"
        self.points: list[dict[str, Any]] = found.points  #: one per number of cores
        self.runs: list[dict[str, Any]] = found.runs  #: those that are compared
        self.left_out: list[dict[str, str]] = found.left_out  #: runs that cannot be compared: name, reason
        self.law: str | None = found.law  #: the law that the runs choose; None: too few sizes, or none fits
        self.laws: dict[str, dict[str, Any]] = known["laws"]  #: "amdahl", "usl"; empty below three sizes
        self.losses: list[dict[str, Any]] = found.losses

    def predict(self, cores: float, law: str = "usl") -> dict[str, float]:
        """Events per second: `at` by the law, and `low` and `high`, which hold what all laws say that fit the runs.

        A ValueError if the law could not be fitted.

        Args:
            cores: The number of cores.
            law: "amdahl" or "usl".
        """
        if law not in self.laws:
            raise ValueError(f"law {law!r} is not known: {', '.join(self.laws) or 'that takes three sizes'}")
        return self._found.predict(float(cores), law)

    @property
    def tables(self) -> list[_SummaryTable]:
        """The tables as texts: id, title, columns, rows, caption."""
        from roastcoffea.runs.scaling import tables

        return [one.as_dict() for one in tables(self._found, self._cores)]

    def as_dict(self) -> dict[str, Any]:
        """All of it, as ``roast scaling --json`` prints it."""
        return self._known

    def _draw(self, width: int = 80, color: bool = False) -> str:
        from roastcoffea.runs.scaling import tables
        from roastcoffea.runs.tables import draw

        text = draw([("", self.headline)], tables(self._found, self._cores), width, color)
        few = len(self.points) < 3
        return text + ("\nNo law is fitted, and nothing predicted: that takes three sizes.\n" if few else "")


def scaling(runs: Any, cores: Sequence[float] = ()) -> Scaling:
    """Throughput, speed-up and efficiency of several runs against their cores, with a fit of Amdahl's law and of the
    universal scalability law from three sizes on. Runs of another processor, of other datasets, on another executor or with
    other threads per worker are left out.

    Args:
        runs: Measurements (paths, or what ``open_run`` gives) and collectors after their run.
        cores: Numbers of cores to predict; by default twice and four times the largest.
    """
    return Scaling(runs, cores)
