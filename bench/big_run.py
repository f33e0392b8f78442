"""A run of 500 workers over ten minutes with 20,000 chunks: computing its metrics, saving, loading, showing."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter

from bench.harness import Answers, Figure, Harness, Row, figure
from bench.sides import OURS, THEIRS, Side

SIZE = {"workers": 500, "seconds": 600, "chunks": 20_000, "branches": 30}
QUICK_SIZE = {"workers": 50, "seconds": 60, "chunks": 2_000, "branches": 30}
FOLDER = Path("build/bench-data")


def _size(harness: Harness, with_reads: bool = False) -> dict[str, int | bool]:
    return {**(QUICK_SIZE if harness.quick else SIZE), "with_reads": with_reads}


class Places:
    """Where each side keeps its measurement."""

    def __init__(self, folder: Path) -> None:
        self.of = {name: folder / name for name in (OURS, THEIRS)}


def _each(harness: Harness, sides: dict[str, Side], places: Places, rounds: dict[str, int],
          function: str) -> Answers:
    """Ours more often than theirs, which takes a hundred times as long; in turns all the same."""
    answers: dict[str, list[dict[str, float]]] = {OURS: [], THEIRS: []}
    for _ in range(rounds[THEIRS] if THEIRS in sides else 1):
        for name, side in sides.items():
            arguments = {} if function.startswith("aggregate") else {"folder": str(places.of[name])}
            for _ in range(max(1, rounds[name] // rounds[THEIRS])):
                answers[name].append(side.call("big_run", function, **arguments))
    return Answers(answers[OURS], answers[THEIRS])


def _copied(source: Path) -> Figure:
    """The floor: writing the same bytes to the disk, with the fsync that keeps them."""
    data = b"".join(file.read_bytes() for file in sorted(source.rglob("*")) if file.is_file())
    costs = []
    for _ in range(5):
        with tempfile.NamedTemporaryFile(dir=source.parent) as file:
            start = perf_counter()
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            costs.append(perf_counter() - start)
    return figure(costs)


def _read(source: Path) -> Figure:
    """The floor: reading the same bytes."""
    costs = []
    for _ in range(5):
        start = perf_counter()
        for file in source.rglob("*"):
            file.read_bytes()
        costs.append(perf_counter() - start)
    return figure(costs)


def _shown(harness: Harness, places: Places) -> Row:
    """As whole programs, as somebody calls them who wants to see the summary."""
    ours = [harness.run(harness.roast, "show", "--full", places.of[OURS] / "run") for _ in range(10)]
    if "Chunk Metrics" not in ours[0].output:
        raise AssertionError("roast show does not tell the chunks")
    theirs = None
    if harness.theirs_packages is not None:
        environment = {**os.environ, "PYTHONPATH": str(harness.theirs_packages.resolve())}
        command = (sys.executable, "-m", "bench.work.big_run", places.of[THEIRS])
        shown = [harness.run(*command, environment=environment) for _ in range(1 if harness.quick else 2)]
        if "Chunk Metrics" not in shown[0].output:
            raise AssertionError("0.1.2 does not tell the chunks")
        theirs = figure(one.seconds for one in shown)
    return Row("run/show", "s", figure(one.seconds for one in ours), theirs=theirs,
               theirs_is="a Python program that loads the measurement and prints its tables; ours is `roast show`")


def _rows_of(harness: Harness, sides: dict[str, Side], places: Places) -> Iterator[Row]:
    many = {OURS: 6 * harness.rounds // 4, THEIRS: max(2, harness.rounds // 4)}
    few = {OURS: harness.rounds // 2, THEIRS: 1 if harness.quick else 2}
    found = _each(harness, sides, places, many, "aggregate")
    yield Row("run/aggregate", "s", found.our("seconds"), theirs=found.their("seconds"))
    found = _each(harness, sides, places, few, "aggregate_dict")
    yield Row("run/aggregate, samples as a dict", "s", found.our("seconds"), theirs=found.their("seconds"))
    harness.progress("run: saving ...")
    found = _each(harness, sides, places, few, "save")
    yield Row("run/save", "s", found.our("seconds"), _copied(places.of[OURS] / "run"),
              "writing as many bytes to a file, with an fsync", found.their("seconds"))
    yield Row("run/size", "bytes", figure(found.our("bytes").best),
              theirs=None if found.their("bytes") is None else figure(found.their("bytes").best))
    harness.progress("run: loading ...")
    found = _each(harness, sides, places, few, "load")
    yield Row("run/load", "s", found.our("seconds"), _read(places.of[OURS] / "run"),
              "reading as many bytes", found.their("seconds"))
    found = _each(harness, sides, places, few, "look")
    yield Row("run/load and look at every chunk and sample", "s", found.our("seconds"),
              theirs=found.their("seconds"))
    yield _shown(harness, places)


def _rows_with_reads(harness: Harness, side: Side, places: Places) -> Iterator[Row]:
    """What a run on real files has on top, and 0.1.2 does not know: the reads of each branch."""
    harness.progress("run: the same with the reads of 30 branches a chunk ...")
    side.call("big_run", "prepare", **_size(harness, with_reads=True))
    rounds = {OURS: max(2, harness.rounds // 4), THEIRS: 1}
    for function in ("aggregate", "save", "load"):
        found = _each(harness, {OURS: side}, places, rounds, function)
        yield Row(f"run/{function}, with 30 reads a chunk", "s", found.our("seconds"))
        if function == "save":
            yield Row("run/size, with 30 reads a chunk", "bytes", figure(found.our("bytes").best))


def rows(harness: Harness) -> Iterator[Row]:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        places = Places(Path(stack.enter_context(tempfile.TemporaryDirectory(dir=FOLDER.resolve()))))
        sides = harness.sides()
        for side in sides.values():
            stack.enter_context(side)
        size = _size(harness)
        harness.progress(f"run: making {size['chunks']} chunks and the samples of {size['workers']} workers ...")
        for side in sides.values():
            side.call("big_run", "prepare", **size)
        yield from _rows_of(harness, sides, places)
        yield from _rows_with_reads(harness, sides[OURS], places)
