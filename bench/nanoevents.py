"""@track_metrics on a chunk of a real file with 1,500 branches, opened as Coffea opens it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from bench.harness import Harness, Row
from bench.work.nano import BRANCHES, READ, small_file

COLUMNS = sum(map(len, READ.values()))


def rows(harness: Harness) -> Iterator[Row]:
    path = str(small_file(harness.progress))
    harness.progress(f"nanoevents: a chunk of {BRANCHES} branches ...")
    with ExitStack() as stack:
        sides = harness.sides()
        for side in sides.values():
            stack.enter_context(side)
        found = harness.ask(sides, harness.rounds, "nano", "recorded", path=path, rounds=10)
        yield Row("nanoevents/a chunk", "s", found.our("over"), found.our("off"),
                  f"the same call switched off, which is taken off; its {COLUMNS} columns are there",
                  found.their("over"))
        found = harness.ask(sides, harness.rounds, "nano", "first", path=path, rounds=2)
        yield Row("nanoevents/a chunk, the first of its file in a process", "s", found.our("seconds"),
                  theirs=found.their("seconds"))
