"""@track_metrics: switched off, switched on, and what of it each reading of the kernel costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from bench.harness import Figure, Harness, NotMeasured, Row, figure
from bench.work.decorator import calls, flagged
from roastcoffea import _core

OFF_USES = 1000
ON_USES = 100

# Names of configure(readings=...) and of the same group in bench_readings.
READINGS = {
    "rss": "read_statm",
    "peak_rss": "read_peak",
    "usage": "read_usage",
    "runqueue": "read_sched",
    "io_wait": "read_delay",
    "io": "read_io",
}


def _with_readings(readings: Sequence[Any]) -> Callable[[], float]:
    on = calls(flagged(True), ON_USES)

    def one_round() -> float:
        _core.configure(readings=readings)
        return on()

    return one_round


def _twice(harness: Harness, readings: Sequence[str]) -> Figure | None:
    """What the C engine's readings at the two ends of a chunk cost; None: not all are there."""
    names = ["read_all"] if len(readings) == len(READINGS) else [READINGS[name] for name in readings]
    costs = [harness.program("bench_readings")[name] for name in names]
    if any(cost is None for cost in costs):
        return None
    return figure(sum(2e-9 * cost["min_ns"] for cost in costs))


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
    yield Row("decorator/on, all readings", "s", on.our("on"), _twice(harness, list(READINGS)),
              "the readings alone, in C", on.their("on"), "it takes the memory twice and no other reading")


def _on_rows(harness: Harness) -> Iterator[Row]:
    harness.progress("decorator: on, each reading alone ...")
    before = _core.configure()
    known = before["readings"]
    if set(known) != set(READINGS):
        raise NotMeasured(f"readings are {known}, and bench/decorator.py knows {list(READINGS)}")
    bodies = {"none": _with_readings([])}
    bodies |= {name: _with_readings([name]) for name in known}
    try:
        costs = harness.interleave(bodies, times=5)
    finally:
        _core.configure(readings=known)
    yield Row("decorator/on, no readings", "s", costs["none"])
    for name in known:
        floor = _twice(harness, [name])
        if floor is None:
            harness.progress(f"decorator: this kernel does not tell {name}")
            continue
        extra = costs[name].less(costs["none"])
        yield Row(f"decorator/of it {name}", "s", extra, floor, "the reading twice, in C")


def rows(harness: Harness) -> Iterator[Row]:
    yield from _compared_rows(harness)
    yield from _on_rows(harness)
