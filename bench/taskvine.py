"""The log of TaskVine, read from memory, as the C program bench_taskvine measures it."""

from __future__ import annotations

from collections.abc import Iterator

from bench.harness import Harness, Row, figure


def rows(harness: Harness) -> Iterator[Row]:
    measured = harness.program("bench_taskvine", str(max(2, harness.rounds // 4)))
    lines = measured["lines"]
    yield Row("taskvine/a line of the log", "s", figure([seconds / lines for seconds in measured["seconds"]]))
    yield Row("taskvine/memory a try", "bytes", figure([measured["memory"] / measured["tries"]]))
