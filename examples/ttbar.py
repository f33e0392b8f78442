"""A top-quark analysis in the manner of the Analysis Grand Challenge, on files that it makes itself, measured.

    python examples/ttbar.py --workers 2

One lepton, four jets, one or two b-tags; the mass of three jets is that of the top quark's candidate. Everything is done
again with the energies of the jets scaled up and down. Each variation is a section, so the summary says what it costs.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import awkward as ak
import hist
import ttbar_data
from coffea import processor
from coffea.nanoevents import NanoAODSchema

from roastcoffea import MetricsCollector, track_metrics, track_time

VARIATIONS = {"nominal": 1.0, "jes_up": 1.03, "jes_down": 0.97}
B_TAG = 0.7


class TopAnalysis(processor.ProcessorABC):
    @track_metrics
    def process(self, events: Any) -> dict[str, Any]:
        dataset = events.metadata["dataset"]
        observable = hist.Hist.new.Reg(25, 50, 550, name="observable").StrCat([], name="region", growth=True).StrCat(
            [], name="variation", growth=True).Double()
        with track_time(self, "leptons"):
            muons = events.Muon[(events.Muon.pt > 25) & (abs(events.Muon.eta) < 2.1)]
            electrons = events.Electron[(events.Electron.pt > 30) & (abs(events.Electron.eta) < 2.1)]
            one_lepton = ak.num(muons) + ak.num(electrons) == 1
        selected = 0
        for name, scale in VARIATIONS.items():
            with track_time(self, name):
                jets = ak.with_field(events.Jet, events.Jet.pt * scale, "pt")
                jets = jets[(jets.pt > 25) & (abs(jets.eta) < 2.4)]
                b_jets = ak.sum(jets.btag > B_TAG, axis=1)
                chosen = one_lepton & (ak.num(jets) >= 4)
                one, two = jets[chosen & (b_jets == 1)], jets[chosen & (b_jets >= 2)]
                observable.fill(ak.sum(one.pt, axis=1), region="4j1b", variation=name)
                with track_time(self, "three jets"):
                    observable.fill(top_mass(two), region="4j2b", variation=name)
                if name == "nominal":
                    selected = len(one) + len(two)
        return {dataset: {"events": len(events), "selected": selected, "observable": observable}}

    def postprocess(self, accumulator: Any) -> Any:
        return accumulator


def top_mass(jets: Any) -> Any:
    """The mass of the three jets with the largest momentum together, one of them with a b-tag."""
    three = ak.combinations(jets, 3, fields=["a", "b", "c"])
    candidates = three.a + three.b + three.c
    tagged = (three.a.btag > B_TAG) | (three.b.btag > B_TAG) | (three.c.btag > B_TAG)
    best = ak.argmax(ak.where(tagged, candidates.pt, -1), axis=1, keepdims=True)
    return ak.flatten(candidates[best].mass)


def main(arguments: list[str] | None = None) -> MetricsCollector:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--folder", default="build/ttbar", help="for the files; default: %(default)s")
    options.add_argument("--output-dir", default="measurements", help="for the measurement; default: %(default)s")
    options.add_argument("--name", help="of the measurement; default: date and time")
    options.add_argument("--events", type=int, default=10_000, help="of each file; default: %(default)s")
    options.add_argument("--chunksize", type=int, default=5_000, help="default: %(default)s")
    options.add_argument("--workers", type=int, default=0, help="processes of a pool; 0: this process")
    chosen = options.parse_args(arguments)

    warnings.filterwarnings("ignore", message="Missing cross-reference")  # a real NanoAOD has more branches
    fileset = ttbar_data.make(chosen.folder, events=chosen.events)
    executor = processor.FuturesExecutor(workers=chosen.workers) if chosen.workers else processor.IterativeExecutor()
    runner = processor.Runner(executor, schema=NanoAODSchema, chunksize=chosen.chunksize)
    with MetricsCollector(runner, output_dir=chosen.output_dir, measurement_name=chosen.name) as mc:
        output = runner(fileset, TopAnalysis())
    for dataset, found in output.items():
        print(f"{dataset}: {found['selected']:,} of {found['events']:,} events selected")
    print()
    mc.print_summary()
    print(f"\n  roast show --full {mc.measurement_path}\n  roast diagnose {mc.measurement_path}")
    return mc


if __name__ == "__main__":
    main()
