"""@track_metrics: switched off, and switched on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from bench.harness import Figure, Harness, Row, figure

OFF_USES = 1000
ON_USES = 100

def _readings(harness: Harness) -> Figure:
    """What the C engine's readings at the two ends of a chunk cost."""
    return figure(2e-9 * harness.program("bench_readings")["read_all"]["min_ns"])


def _compared_rows(harness: Harness) -> Iterator[Row]:
    harness.progress("decorator: off and on, on both sides ...")
    with ExitStack() as stack:
        sides = harness.sides()
        for side in sides.values():
            stack.enter_context(side)
        off = harness.ask(sides, harness.rounds, "decorator", "off", rounds=10, uses=OFF_USES)
        on = harness.ask(sides, harness.rounds, "decorator", "on", rounds=5, uses=ON_USES)
    for flag in ("absent", "False"):
        yield Row(f"decorator/off, flag {flag}", "s", off.our(flag), off.our("bare"),
                  "the bare call, which is taken off", off.their(flag))
    yield Row("decorator/on, all readings", "s", on.our("on"), _readings(harness),
              "the readings alone, in C", on.their("on"), "it takes the memory twice and no other reading")


def rows(harness: Harness) -> Iterator[Row]:
    yield from _compared_rows(harness)
