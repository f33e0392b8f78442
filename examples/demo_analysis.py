"""The analysis of the demo: an ordinary Coffea processor, with sections marked."""

from __future__ import annotations

from typing import Any

import awkward as ak
import numpy as np
from coffea import processor

from roastcoffea import track_memory, track_metrics, track_time


class DimuonAnalysis(processor.ProcessorABC):
    """Selects events with two muons and some jets, and fills three histograms."""

    @track_metrics
    def process(self, events: Any) -> dict[str, Any]:
        dataset = events.metadata["dataset"]
        with track_time(self, "muons"):
            muons = events.Muon[(events.Muon.pt > 25) & (abs(events.Muon.eta) < 2.4)]
            two = ak.num(muons) == 2
        with track_time(self, "jets"):
            jets = events.Jet[(events.Jet.pt > 30) & (abs(events.Jet.eta) < 2.5)]
            ht = ak.sum(jets.pt, axis=1)
        with track_time(self, "all jet variables"):
            # What it reads here is thrown away again: a selection that was once an idea.
            quality = sum(ak.sum(events.Jet[name], axis=1) for name in events.Jet.fields)
            good = quality > -1
        with track_memory(self, "histograms"):
            chosen = two & good
            pairs = muons[chosen]
            mass = (pairs[:, 0] + pairs[:, 1]).mass
            histograms = {
                "mass": np.histogram(ak.to_numpy(mass), bins=60, range=(0, 150))[0],
                "ht": np.histogram(ak.to_numpy(ht[chosen]), bins=60, range=(0, 600))[0],
                "met": np.histogram(ak.to_numpy(events.MET.pt[chosen]), bins=60, range=(0, 300))[0],
            }
        return {dataset: {"events": len(events), "selected": int(ak.sum(chosen)), **histograms}}

    def postprocess(self, accumulator: Any) -> Any:
        return accumulator
