"""`roast show` of a measurement of a million chunks: time and memory of the whole program."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.harness import Harness, Row, figure

CHUNKS = 1_000_000
FOLDER = Path("build/bench-data")


def rows(harness: Harness) -> Iterator[Row]:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        harness.progress(f"show: saving {CHUNKS:,} chunks ...")
        path = Path(folder) / "run"
        harness.run(harness.built("bench_store"), "save", str(CHUNKS), path, "1")
        shown = [harness.run(harness.roast, "show", "--full", path) for _ in range(harness.rounds)]
        floor = [harness.run(harness.roast, "--version") for _ in range(harness.rounds)]
    if f"{CHUNKS:,} done" not in shown[0].output:
        raise AssertionError("roast show does not tell the chunks")
    yield Row(f"show/{CHUNKS:,} chunks", "s", figure(one.seconds for one in shown),
              figure(one.seconds for one in floor), "`roast --version`")
    yield Row(f"show/{CHUNKS:,} chunks, memory", "bytes", figure(one.peak_bytes for one in shown),
              figure(one.peak_bytes for one in floor), "`roast --version`")
