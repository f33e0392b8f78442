"""`import roastcoffea` in a fresh process: alone, and where an analysis has imported Coffea and Dask before."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping

from bench.harness import Answers, Figure, Harness, Row, figure
from bench.sides import OURS, THEIRS

TIMED = """
from time import perf_counter
{before}
start = perf_counter()
{statement}
print(perf_counter() - start)
"""
ANALYSIS = "import coffea.processor, coffea.nanoevents, distributed"
PACKAGE = "import roastcoffea"  # as on a worker, for its decorators
COLLECTOR = "from roastcoffea import MetricsCollector"


def _seconds(environment: Mapping[str, str], before: str, statement: str) -> float:
    result = subprocess.run([sys.executable, "-c", TIMED.format(before=before, statement=statement)],
                            env=dict(environment), capture_output=True, text=True, check=True)
    return float(result.stdout)


def _environments(harness: Harness) -> dict[str, dict[str, str]]:
    found = {OURS: dict(os.environ)}
    if harness.theirs_packages is not None:
        found[THEIRS] = {**os.environ, "PYTHONPATH": str(harness.theirs_packages.resolve())}
    for environment in found.values():  # the first import compiles, which an installation does once
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return found


def _timed(harness: Harness, before: str, statement: str) -> Answers:
    environments = _environments(harness)
    answers: dict[str, list[dict[str, float]]] = {OURS: [], THEIRS: []}
    order = list(environments)
    for round_ in range(1 + max(3, harness.rounds // 3)):
        for name in order:
            seconds = _seconds(environments[name], before, statement)
            if round_ > 0:
                answers[name].append({"seconds": seconds})
        order.reverse()
    return Answers(answers[OURS], answers[THEIRS])


def _floor(harness: Harness, statement: str) -> Figure:
    environment = _environments(harness)[OURS]
    return figure(_seconds(environment, "", statement) for _ in range(max(3, harness.rounds // 4)))


def rows(harness: Harness) -> Iterator[Row]:
    harness.progress("import: fresh processes ...")
    found = _timed(harness, "", PACKAGE)
    yield Row("import/import", "s", found.our("seconds"), _floor(harness, "import coffea.processor"),
              "import coffea.processor", found.their("seconds"))
    for name, statement in (("import", PACKAGE), ("MetricsCollector", COLLECTOR)):
        found = _timed(harness, ANALYSIS, statement)
        yield Row(f"import/{name}, Coffea and Dask are there", "s", found.our("seconds"),
                  theirs=found.their("seconds"))
