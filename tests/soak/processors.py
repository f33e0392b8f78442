"""Processors that count for themselves what a collector measures of them. Workers import this file."""

from __future__ import annotations

import os
import time
import zlib
from typing import Any

import awkward as ak
import numpy as np
from coffea import processor
from coffea.nanoevents import NanoAODSchema

from roastcoffea import track_metrics, track_time

NanoAODSchema.warn_missing_crossrefs = False


def text_of(number: int) -> str:
    """Some of these texts are long."""
    return f"{number:08x}" * (10_000 if number % 8 == 0 else 2)


class Plain(processor.ProcessorABC):
    """Without the decorator. In the folder `troubles` chunks leave a sign that they have raised once."""

    def __init__(self, troubles: str | None = None) -> None:
        self.troubles = troubles

    def process(self, events: Any) -> Any:
        piece = tuple(events.metadata[key] for key in ("dataset", "filename", "entrystart", "entrystop"))
        number = zlib.crc32(repr(piece).encode())
        uses = 1 + number % 3
        for _ in range(uses):
            with track_time(self, "loop"):
                energies = np.asarray(ak.flatten(events.Jet.pt + events.Jet.mass))
        chunk = getattr(self, "_roastcoffea_current_chunk", None)
        if chunk is not None:
            chunk["number"], chunk["text"] = number, text_of(number)
        time.sleep(number % 100 / 1000)  # so that faults hit chunks that are running
        sign = os.path.join(self.troubles or "", f"{number:x}")
        if self.troubles is not None and number % 4 == 0 and not os.path.exists(sign):
            open(sign, "w").close()
            raise ValueError("this chunk raises the first time")
        # A piece that were counted twice would have twice these numbers.
        counted = {"times": 1, "events": len(events), "uses": uses, "number": number}
        return {"pieces": {piece: counted}, "histogram": np.histogram(energies, bins=50, range=(0, 500))[0]}

    def postprocess(self, accumulator: Any) -> Any:
        return accumulator


class Tracked(Plain):
    @track_metrics
    def process(self, events: Any) -> Any:
        return super().process(events)


class Counts:
    """An output that is no mapping: records can only travel beside it."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.found = found

    def __add__(self, other: Counts) -> Counts:
        return Counts(processor.accumulate([self.found, other.found]))


class NoMapping(Plain):
    @track_metrics
    def process(self, events: Any) -> Any:
        return Counts(super().process(events))


class Found(processor.AccumulatorABC):  # type: ignore[misc]
    def __init__(self, found: dict[str, Any] | None = None) -> None:
        self.found = found

    def identity(self) -> Found:
        return Found()

    def add(self, other: Found) -> None:
        self.found = processor.accumulate([self.found, other.found])


class OfCoffea(Plain):
    """An output that merges in Coffea's own way."""

    @track_metrics
    def process(self, events: Any) -> Any:
        return processor.dict_accumulator(all=Found(super().process(events)))


PROCESSORS = (Plain, Tracked, NoMapping, OfCoffea)


def counts_of(output: Any) -> dict[str, Any]:
    """What the processor counted, in a form that can be compared."""
    found = output["all"] if isinstance(output, processor.dict_accumulator) else output
    found = found.found if isinstance(found, (Counts, Found)) else found
    return {**found, "histogram": found["histogram"].tolist()}
