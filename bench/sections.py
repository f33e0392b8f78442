"""`with track_time(self, "x"): pass` and its like, inside an open chunk of a decorated processor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from bench.harness import Harness, Row

# Uses of a section that a chunk keeps one by one; beyond them they are folded.
KEPT = 256
# Function of bench/work/sections.py: row, chunks in a round, other arguments, the floor in words.
ROWS: dict[str, tuple[str, int, dict[str, Any], str]] = {
    "time": ("track_time", 20, {"uses": 250}, "two perf_counter() and a dict store"),
    "time_folded": (f"track_time, folded beyond {KEPT}", 5, {"kept": KEPT, "uses": 1000},
                    "two perf_counter() and a dict store"),
    "memory": ("track_memory", 10, {"uses": 100}, "two os.pread of /proc/self/statm"),
    "bytes_": ("track_bytes", 20, {"uses": 250}, "asking the file twice for the bytes it read"),
}


def rows(harness: Harness) -> Iterator[Row]:
    with ExitStack() as stack:
        sides = harness.sides()
        for side in sides.values():
            stack.enter_context(side)
        for function, (name, chunks, arguments, floor_is) in ROWS.items():
            harness.progress(f"sections: {name} ...")
            found = harness.ask(sides, harness.rounds, "sections", function, chunks=chunks, **arguments)
            yield Row(f"sections/{name}", "s", found.our("product"), found.our("floor"), floor_is,
                      found.their("product"))
