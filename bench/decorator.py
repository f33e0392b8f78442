"""@track_metrics: switched off, switched on, and what of it each reading of the kernel costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any

from coffea.processor import ProcessorABC

from bench.harness import Figure, Harness, NotMeasured, Row, figure, with_own_code
from roastcoffea import _core, track_metrics

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


class Events(list[int]):
    """Events with what Coffea says of a chunk, and no open file behind them."""

    metadata = {
        "dataset": "TTbar_semileptonic_2018",
        "filename": "root://eospublic.cern.ch//eos/opendata/cms/nanoaod/TTbar/0B1E2A1C-7C5B-E811-9D1A.root",
        "treename": "Events",
        "entrystart": 0,
        "entrystop": 100000,
        "fileuuid": "0b1e2a1c-3c5d-11ee-8c99-0242ac120002",
    }


def _process(self: ProcessorABC, events: Events) -> dict[str, Any]:
    return {}


class Bare(ProcessorABC):
    process = _process

    def postprocess(self, accumulator: object) -> object:
        return accumulator


class Tracked(Bare):
    process = track_metrics(_process)


def _calls(make: Callable[[], ProcessorABC], uses: int) -> Callable[[], float]:
    """A round: `uses` calls of a processor that has seen no chunk."""
    loop = range(uses)

    def one_round() -> float:
        processor, events = make(), Events()
        start = perf_counter()
        for _ in loop:
            processor.process(events)
        seconds = perf_counter() - start
        seen = len(getattr(processor, "_chunk_metrics", ()))
        if seen != (uses if getattr(processor, "_roastcoffea_collect_metrics", False) else 0):
            raise AssertionError(f"{seen} chunks were recorded in {uses} calls")
        return seconds / uses

    return with_own_code(one_round)


def _flagged(value: bool) -> Callable[[], ProcessorABC]:
    def make() -> ProcessorABC:
        processor = Tracked()
        processor._roastcoffea_collect_metrics = value
        return processor

    return make


def _with_readings(readings: Sequence[Any]) -> Callable[[], float]:
    on = _calls(_flagged(True), ON_USES)

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


def _off_rows(harness: Harness) -> Iterator[Row]:
    harness.progress("decorator: off ...")
    costs = harness.interleave(
        {
            "bare": _calls(Bare, OFF_USES),
            "absent": _calls(Tracked, OFF_USES),
            "False": _calls(_flagged(False), OFF_USES),
        },
        times=10,
    )
    for flag in ("absent", "False"):
        yield Row(f"decorator/off, flag {flag}", "s", costs[flag], costs["bare"], "the bare call")


def _on_rows(harness: Harness) -> Iterator[Row]:
    harness.progress("decorator: on, each reading alone ...")
    before = _core.configure()
    known = before["readings"]
    if set(known) != set(READINGS):
        raise NotMeasured(f"readings are {known}, and bench/decorator.py knows {list(READINGS)}")
    bodies = {"all": _with_readings(known), "none": _with_readings([])}
    bodies |= {name: _with_readings([name]) for name in known}
    try:
        costs = harness.interleave(bodies, times=5)
    finally:
        _core.configure(readings=known)
    floor = _twice(harness, known)
    yield Row("decorator/on, all readings", "s", costs["all"], floor, "the readings alone, in C")
    yield Row("decorator/on, no readings", "s", costs["none"])
    for name in known:
        floor = _twice(harness, [name])
        if floor is None:
            harness.progress(f"decorator: this kernel does not tell {name}")
            continue
        extra = costs[name].less(costs["none"])
        yield Row(f"decorator/of it {name}", "s", extra, floor, "the reading twice, in C")


def rows(harness: Harness) -> Iterator[Row]:
    yield from _off_rows(harness)
    yield from _on_rows(harness)
