"""A tree reduction as Coffea does it: 20 outputs are unpickled, added up, and the sum is pickled.

It is measured twice: with the `+` and `+=` that Coffea's accumulate() comes down to, which is what the records
cost, and through accumulate() itself with an output of two integers and the records, beside the two integers alone
and the two with an empty list.
Everything that goes into a merge is pickled, moved and unpickled; the result is moved to the client in the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from bench.harness import Answers, Figure, Harness, Row, figure
from bench.sides import OURS, Side

CHUNKS, QUICK_CHUNKS = 20_000, 2_000
BRANCHES, MANY_BRANCHES = 2, 100


def _program_rows(harness: Harness) -> Iterator[Row]:
    """The same in C, without Python objects."""
    tree = harness.program("bench_chunklog")["tree"]
    floor = figure(1e-9 * tree["memcpy_floor_ns"])
    yield Row("reduction/time a chunk, engine alone", "s", figure(1e-9 * tree["total_ns"]), floor,
              "memcpy, in C")
    yield Row("reduction/moved a chunk, engine alone", "bytes", figure(tree["bytes"]))


def _time_rows(harness: Harness, sides: dict[str, Side]) -> Iterator[Row]:
    found = harness.ask(sides, harness.rounds, "reduction", "reduce")
    beside = harness.ask({OURS: sides[OURS]}, harness.rounds, "reduction", "beside")
    around = "the same bytes in an object of a C type in a dict"
    yield Row("reduction/time a chunk", "s", found.our("all"), beside.our("bytes"),
              "pickle and unpickle bytes of the same sizes", found.their("all"))
    for part, floor, words in (("pickle", "pickle", around), ("unpickle", "unpickle", around),
                               ("add", "copy", "memcpy of the same bytes")):
        yield Row(f"reduction/of it {part}", "s", found.our(part), beside.our(floor), words, found.their(part))
    bare = beside.our("Coffea alone"), "the same without the records: two integers"
    yield Row("reduction/time a chunk, by Coffea's accumulate", "s", beside.our("Coffea"), *bare)
    yield Row("reduction/an empty list in place of the records", "s", beside.our("Coffea, a list"), *bare)


def _moved(found: Answers, name: str) -> tuple[Figure, Figure | None]:
    theirs = found.their(name)
    return figure(found.our(name).best), None if theirs is None else figure(theirs.best)


def _rows_of(harness: Harness, branches: int) -> Iterator[Row]:
    chunks = QUICK_CHUNKS if harness.quick else CHUNKS
    harness.progress(f"reduction: making {chunks} outputs with {branches} branches ...")
    with ExitStack() as stack:
        sides = harness.sides()
        for side in sides.values():
            stack.enter_context(side)
        sizes = harness.ask(sides, 1, "reduction", "prepare", chunks=chunks, branches=branches)
        harness.progress("reduction: merging ...")
        if branches == BRANCHES:
            yield from _time_rows(harness, sides)
        else:
            found = harness.ask(sides, max(2, harness.rounds // 4), "reduction", "reduce")
            yield Row(f"reduction/time a chunk, {branches} branches", "s", found.our("all"),
                      theirs=found.their("all"))
    what = "reduction/moved a chunk" + ("" if branches == BRANCHES else f", {branches} branches")
    ours, theirs = _moved(sizes, "moved")
    yield Row(what, "bytes", ours, theirs=theirs)
    if branches == BRANCHES:
        ours, theirs = _moved(sizes, "result")
        yield Row("reduction/of it the result, to the client", "bytes", ours, theirs=theirs)


def rows(harness: Harness) -> Iterator[Row]:
    yield from _rows_of(harness, BRANCHES)
    yield from _rows_of(harness, MANY_BRANCHES)
    yield from _program_rows(harness)
