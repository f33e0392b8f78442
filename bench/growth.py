"""What a chunk costs among ten thousand and among a million, a worker among a hundred and among ten thousand, and a
look at one chunk in a short run and in a long one.

Every step runs in a process of its own, so that the most memory that it held is told by the kernel.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.harness import Figure, Harness, Row, figure
from bench.sides import OURS, Side
from bench.tick import SIZES as WORKERS
from bench.tick import sampled

SIZES = (10_000, 100_000, 1_000_000)
FOLDER = Path("build/bench-data")


@dataclass(frozen=True)
class Point:
    """A step with so many chunks: seconds and bytes of memory, of all together."""

    seconds: Figure
    memory: float


Step = Callable[[Harness, Path, int], Point]


# ---- the steps ----


def _rounds(harness: Harness, chunks: int) -> int:
    return max(3, harness.rounds // 2) if chunks < 1_000_000 else 2 if harness.quick else 3


def _in_store(action: str) -> Step:
    def step(harness: Harness, folder: Path, chunks: int) -> Point:
        measured = harness.program("bench_store", action, str(chunks), str(folder / "run"),
                                   str(_rounds(harness, chunks)))
        return Point(figure(measured["seconds"]), measured["peak_bytes"] - measured["before_bytes"])

    return step


def _of_program(*words: str) -> Step:
    def step(harness: Harness, folder: Path, chunks: int) -> Point:
        empty = harness.run(harness.roast, "--version")
        verb, *rest = words
        ended = [harness.run(harness.roast, verb, folder / "run", *rest)
                 for _ in range(_rounds(harness, chunks))]
        return Point(figure(one.seconds for one in ended),
                     max(one.peak_bytes for one in ended) - empty.peak_bytes)

    return step


def _reduced(harness: Harness, folder: Path, chunks: int) -> Point:
    leaves = folder / "leaves"
    harness.program("bench_store", "leaves", str(chunks), str(leaves), "1")
    seconds, memory = [], []
    for _ in range(_rounds(harness, chunks)):
        with Side(OURS, None) as side:
            before = side.call("reduction", "held")["bytes"]
            seconds.append(chunks * side.call("reduction", "grow", leaves=str(leaves))["seconds"])
            memory.append(side.call("reduction", "held")["bytes"] - before)
    return Point(figure(seconds), max(memory))


# In this order: what is saved is loaded, shown and exported.
STEPS: dict[str, Step] = {
    "reduction": _reduced, "aggregate": _in_store("compute"), "save": _in_store("save"), "load": _in_store("load"),
    "show": _of_program("show"), "export": _of_program("export", "--json", "-o", "/dev/null"),
}


# ---- the rows ----


def _note(harness: Harness, subject: str, of: str, n: int, seconds: float, memory: float | None) -> None:
    point: dict[str, Any] = {"subject": subject, "of": of, "n": n, "seconds": seconds}
    harness.growth.append(point if memory is None else {**point, "bytes": memory})


def _chunk_points(harness: Harness) -> dict[str, list[Point]]:
    points: dict[str, list[Point]] = {name: [] for name in STEPS}
    FOLDER.mkdir(parents=True, exist_ok=True)
    for chunks in SIZES:
        with tempfile.TemporaryDirectory(dir=FOLDER.resolve()) as folder:
            for name, step in STEPS.items():
                harness.progress(f"growth: {name} of {chunks:,} chunks ...")
                point = step(harness, Path(folder), chunks)
                points[name].append(point)
                _note(harness, name, "chunk", chunks, point.seconds.best / chunks, point.memory / chunks)
    return points


def _chunk_rows(harness: Harness) -> Iterator[Row]:
    least, most = SIZES[0], SIZES[-1]
    for name, points in _chunk_points(harness).items():
        few, many = points[0], points[-1]
        yield Row(f"growth/{name}, a chunk", "times", figure(
            (many.seconds.best / most) / (few.seconds.best / least)))
        yield Row(f"growth/{name}, a chunk of {most:,}", "s", figure(one / most for one in many.seconds.rounds),
                  figure(one / least for one in few.seconds.rounds), f"a chunk of {least:,}")
        yield Row(f"growth/{name}, memory a chunk", "bytes", figure(many.memory / most))


def _worker_rows(harness: Harness) -> Iterator[Row]:
    """At Dask's pace: as often as a cluster of the size hears from each worker. With a heartbeat of every worker
    before every look, which no large cluster has, the memory of all that they brought has to be waited for."""
    pace, most_heard = {}, {}
    for size in WORKERS:
        harness.progress(f"growth: a tick of {size:,} workers ...")
        pace[size] = sampled(harness, size, at_dasks_pace=True).sampler
        most_heard[size] = sampled(harness, size).sampler
        _note(harness, "tick", "worker", size, pace[size].best, None)
    least, most = min(WORKERS), max(WORKERS)
    yield Row("growth/tick, a worker", "times", figure(pace[most].best / pace[least].best))
    yield Row("growth/tick, a worker, every one heard from", "times",
              figure(most_heard[most].best / most_heard[least].best))


# Functions of bench/work/looks.py: of how many chunks, files or samples in a short run and in a long one.
LOOKS = {
    "dict of a chunk": ("chunk_dict", 1_000, 20_000), "pickle of a chunk": ("chunk_pickle", 1_000, 20_000),
    "chunk_metrics[i]": ("chunk_metrics", 2_000, 40_000), "record after the end": ("record_late", 2_000, 40_000),
    "news of this machine": ("local_news", 500, 10_000), "live measurement": ("live_look", 500, 10_000),
}


def _look_rows(harness: Harness) -> Iterator[Row]:
    for name, (function, few, many) in LOOKS.items():
        seconds = {}
        for n in (few, many):
            harness.progress(f"growth: {name}, among {n:,} ...")
            with Side(OURS, None) as side:
                seconds[n] = side.call("looks", function, n=n)["seconds"]
            _note(harness, name, "look", n, seconds[n], None)
        yield Row(f"growth/{name}, {many:,} against {few:,}", "times", figure(seconds[many] / seconds[few]))


def rows(harness: Harness) -> Iterator[Row]:
    yield from _look_rows(harness)
    yield from _chunk_rows(harness)
    yield from _worker_rows(harness)
