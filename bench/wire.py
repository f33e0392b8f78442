"""What the records of one chunk weigh on their way from the worker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from bench.harness import Answers, Figure, Harness, Row, figure
from bench.sides import Side
from bench.work.nano import BRANCHES, small_file


def _size(found: Answers, name: str) -> tuple[Figure, Figure | None]:
    theirs = found.their(name)
    return figure(found.our(name).best), None if theirs is None else figure(theirs.best)


def _outputs(harness: Harness, sides: dict[str, Side]) -> Iterator[Row]:
    for branches in (2, 100):
        found = harness.ask(sides, 1, "wire", "one_chunk", branches=branches)
        ours, theirs = _size(found, "bytes")
        yield Row(f"wire/a chunk, {branches} branches accessed", "bytes", ours, theirs=theirs)
        yield Row(f"wire/a chunk, {branches} branches accessed, there and back", "s", found.our("seconds"),
                  found.our("floor"), "pickle and unpickle as many bytes", found.their("seconds"))


def rows(harness: Harness) -> Iterator[Row]:
    path = str(small_file(harness.progress))
    harness.progress("wire: one chunk ...")
    with ExitStack() as stack:
        sides = harness.sides()
        for side in sides.values():
            stack.enter_context(side)
        yield from _outputs(harness, sides)
        found = harness.ask(sides, 1, "nano", "wire", path=path)
        for name, words in (("first", "the first of its file in a process"), ("later", "a later one")):
            ours, theirs = _size(found, name)
            yield Row(f"wire/a chunk of a file with {BRANCHES} branches, {words}", "bytes", ours, theirs=theirs)
