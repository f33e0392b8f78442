"""`roast what-if`: how long it takes, and how near it comes to the truth.

The truth are runs of one analysis of real files on a cluster of this machine, with other workers and other chunk sizes.
Each is predicted from another one of them. All are run several times in turns, and the fastest of each counts: other
work on the machine can only add to it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.harness import Harness, NotMeasured, Row, figure

FOLDER = Path("build/bench-data")
ROUNDS = 3
# Workers and events a chunk: recorded, predicted.
ONE, TWO = (1, 10_000), (2, 10_000)
SMALL, LARGE, LARGEST = (2, 5_000), (2, 20_000), (2, 40_000)
PREDICTIONS = (
    (ONE, TWO), (TWO, ONE),
    (TWO, SMALL), (TWO, LARGE), (TWO, LARGEST),
    (LARGE, SMALL), (LARGE, TWO), (LARGE, LARGEST),
    (ONE, LARGE), (SMALL, ONE),
)

Size = tuple[int, int]


def _name(size: Size) -> str:
    return f"{size[0]}x{size[1]}"


def _words(size: Size) -> str:
    return f"{size[0]} worker{'s' if size[0] > 1 else ''}, {size[1]:,} events a chunk"


def _ask(harness: Harness, run: Path, recorded: Size, wanted: Size) -> dict[str, float]:
    options = []
    if wanted[0] != recorded[0]:
        options += ["--workers", str(wanted[0])]
    if wanted[1] != recorded[1]:
        options += ["--chunksize", str(wanted[1])]
    told = harness.run(harness.roast, "what-if", run, "--json", *options)
    found: dict[str, float] = json.loads(told.output)
    return found


def _recorded(harness: Harness, folder: Path, sizes: list[Size]) -> dict[Size, Path]:
    """The fastest run of each size."""
    rounds = 1 if harness.quick else ROUNDS
    harness.progress(f"what_if: {rounds} times {len(sizes)} runs of real files ...")
    fastest: dict[Size, tuple[float, Path]] = {}
    for number in range(rounds):
        place = folder / str(number)
        for size in sizes:
            command = [sys.executable, "-W", "ignore", "-m", "bench.work.truth", str(place), "lengths", _name(size)]
            if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
                raise NotMeasured("a run of real files failed")
            wall = _ask(harness, place / _name(size), size, size)["recorded_wall_time"]
            fastest[size] = min(fastest.get(size, (wall, place / _name(size))), (wall, place / _name(size)))
    return {size: path for size, (_, path) in fastest.items()}


def _truth_rows(harness: Harness, folder: Path) -> Iterator[Row]:
    sizes = sorted({size for pair in PREDICTIONS for size in pair})
    runs = _recorded(harness, folder, sizes)
    truth = {size: _ask(harness, runs[size], size, size)["recorded_wall_time"] for size in sizes}
    misses = 0
    for recorded, wanted in PREDICTIONS:
        found = _ask(harness, runs[recorded], recorded, wanted)
        hit = found["low"] <= truth[wanted] <= found["high"]
        misses += not hit
        yield Row(f"what_if/{_words(wanted)}, from {_words(recorded)}", "s", figure(found["wall_time"]),
                  figure(truth[wanted]),
                  f"the true wall time; predicted {found['low']:.1f} to {found['high']:.1f} s with 90 %"
                  f"{'' if hit else ': missed'}")
    yield Row("what_if/predictions that miss the true time", "share", figure(misses / len(PREDICTIONS)), None,
              f"{len(PREDICTIONS) - misses} of {len(PREDICTIONS)} hold it")


def rows(harness: Harness) -> Iterator[Row]:
    FOLDER.mkdir(parents=True, exist_ok=True)
    measured = harness.program("bench_what_if", "2" if harness.quick else "4")
    yield Row(f"what_if/{measured['kept_chunks']:,} chunks on {measured['workers']:,} workers", "s",
              figure(measured["kept_seconds"]))
    yield Row(f"what_if/as many chunks of another size on {measured['workers']:,} workers", "s",
              figure(measured["cut_seconds"]))
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        yield from _truth_rows(harness, Path(folder))
