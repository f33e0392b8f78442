"""`roast ls` and `roast trend` of many measurements: time and memory of the whole programs."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.harness import Harness, Row, figure

RUNS, QUICK_RUNS = 10_000, 1_000
FOLDER = Path("build/bench-data")
MEMORY = Path("/dev/shm")  # each save waits for the disk, which is not what is measured here
FLOOR = "`cat` of every metadata.json, as `find` finds them"


def rows(harness: Harness) -> Iterator[Row]:
    runs = QUICK_RUNS if harness.quick else RUNS
    rounds = max(3, harness.rounds // 2)
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        harness.progress(f"runs: saving {runs:,} measurements ...")
        with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else FOLDER) as quick:
            harness.run(harness.built("bench_runs"), quick, str(runs))
            shutil.copytree(quick, folder, dirs_exist_ok=True)
        read = ("find", folder, "-name", "metadata.json", "-exec", "cat", "{}", "+")
        turns = [(harness.run(harness.roast, "ls", folder),
                  harness.run(harness.roast, "trend", "--metric", "wall_time", folder),
                  harness.run(*read)) for _ in range(rounds)]
    listed, followed, floor = zip(*turns, strict=True)
    if len(listed[0].output.splitlines()) < runs:
        raise AssertionError("roast ls does not list all runs")
    if f"2 changes of level in {runs:,} runs (1 group" not in followed[0].output:
        raise AssertionError("roast trend does not find the changes")
    for name, taken in (("ls", listed), ("trend", followed)):
        yield Row(f"runs/{name} of {runs:,}", "s", figure(one.seconds for one in taken),
                  figure(one.seconds for one in floor), FLOOR)
        yield Row(f"runs/{name} of {runs:,}, memory", "bytes", figure(one.peak_bytes for one in taken))
