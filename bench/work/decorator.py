"""@track_metrics: switched off and switched on, for events without a file."""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import perf_counter
from typing import Any

from coffea.processor import ProcessorABC

from bench.harness import with_own_code
from bench.work.chunks import KEY
from roastcoffea import track_metrics


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


def flagged(value: bool) -> Callable[[], ProcessorABC]:
    def make() -> ProcessorABC:
        processor = Tracked()
        processor._roastcoffea_collect_metrics = value
        return processor

    return make


def calls(make: Callable[[], ProcessorABC], uses: int) -> Callable[[], float]:
    """A round: `uses` calls of a processor that has seen no chunk."""
    loop = range(uses)

    def one_round() -> float:
        processor, events = make(), Events()
        start = perf_counter()
        for _ in loop:
            processor.process(events)
        seconds = perf_counter() - start
        recorded = KEY in processor.process(events)
        if recorded != bool(getattr(processor, "_roastcoffea_collect_metrics", False)):
            raise AssertionError("a chunk was not recorded, or one that should not be")
        return seconds / uses

    return with_own_code(one_round)


_bodies: dict[str, Callable[[], float]] = {}


def _costs(rounds: int, bodies: dict[str, Callable[[], float]]) -> dict[str, list[float]]:
    for name, body in bodies.items():
        if name not in _bodies:
            _bodies[name] = body
            body()  # the interpreter specialises code: not in a round
            gc.collect()
            gc.freeze()
    found: dict[str, list[float]] = {name: [] for name in bodies}
    for _ in range(rounds):
        for name in bodies:
            found[name].append(_bodies[name]())
    return found


def off(rounds: int, uses: int) -> dict[str, list[float]]:
    """Seconds a call over the bare one."""
    found = _costs(rounds, {"bare": calls(Bare, uses), "absent": calls(Tracked, uses),
                            "False": calls(flagged(False), uses)})
    bare = min(found["bare"])
    return {"bare": found["bare"], **{name: [one - bare for one in found[name]] for name in ("absent", "False")}}


def on(rounds: int, uses: int) -> dict[str, list[float]]:
    return _costs(rounds, {"on": calls(flagged(True), uses)})
