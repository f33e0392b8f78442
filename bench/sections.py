"""`with track_time(self, "x"): pass` and its like, inside an open chunk of a decorated processor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from bench.harness import Answers, Harness, Row

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


# Where a process's memory lies makes a fifth of a difference in what is so short, and stays as it is.
PROCESSES = 5


def rows(harness: Harness) -> Iterator[Row]:
    found = {function: Answers() for function in ROWS}
    for process in range(PROCESSES):
        harness.progress(f"sections: {process + 1} of {PROCESSES} processes ...")
        with ExitStack() as stack:
            sides = harness.sides()
            for side in sides.values():
                stack.enter_context(side)
            for function, (_, chunks, arguments, _) in ROWS.items():
                found[function] += harness.ask(sides, max(1, harness.rounds // PROCESSES), "sections", function,
                                               chunks=chunks, **arguments)
    for function, (name, _, _, floor_is) in ROWS.items():
        told = found[function]
        yield Row(f"sections/{name}", "s", told.our("product"), told.our("floor"), floor_is, told.their("product"))
