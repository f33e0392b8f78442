"""`roast compare` of two measurements: time and memory of the whole program."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.harness import Harness, Row, figure

SIZES = (20_000, 1_000_000)
FOLDER = Path("build/bench-data")


def rows(harness: Harness) -> Iterator[Row]:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for chunks in SIZES:
        with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
            harness.progress(f"compare: saving {chunks:,} chunks ...")
            a, b = Path(folder) / "a", Path(folder) / "b"
            harness.run(harness.built("bench_store"), "save", str(chunks), a, "1")
            shutil.copytree(a, b)
            rounds = max(2, harness.rounds // (1 if chunks < 100_000 else 4))
            compared = [harness.run(harness.roast, "compare", a, b, "--json") for _ in range(rounds)]
            floor = [harness.run(harness.roast, "show", "--full", a) for _ in range(rounds)]
        if f'"compared": "pairs", "chunks": {chunks}' not in " ".join(compared[0].output.split()):
            raise AssertionError("roast compare does not tell the pairs")
        yield Row(f"compare/{chunks:,} chunks", "s", figure(one.seconds for one in compared),
                  figure(one.seconds for one in floor), "`roast show` of one of them")
        yield Row(f"compare/{chunks:,} chunks, memory", "bytes", figure(one.peak_bytes for one in compared),
                  figure(one.peak_bytes for one in floor), "`roast show` of one of them")
