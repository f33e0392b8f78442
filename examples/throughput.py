"""How fast can columns be read? The loop of the 200 Gbps challenge: read some branches, compute nothing, add workers.

    python examples/throughput.py --workers 1 2 4
    python examples/throughput.py --scheduler tls://localhost:8786 --files fileset.json --workers 50 100 200

Each number of workers is a run of its own. At the end: the rates side by side, how they scale, and the factor to 200 Gbps.
A run that reads its baskets twice has twice the data rate; the useful rate counts each byte once.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import awkward as ak
import rich
import ttbar_data
from coffea import processor
from coffea.nanoevents import BaseSchema
from distributed import Client, LocalCluster

import roastcoffea
from roastcoffea import MetricsCollector, track_metrics, track_time
from roastcoffea.export.reporter import format_challenge_table

BRANCHES = ("Jet_pt", "Jet_eta", "Jet_phi", "Jet_mass", "Muon_pt", "MET_pt")


class ReadBranches(processor.ProcessorABC):
    """Reads branches and returns how many bytes they take in memory."""

    def __init__(self, branches: Sequence[str]) -> None:
        self.branches = list(branches)

    @track_metrics
    def process(self, events: Any) -> dict[str, int]:
        size = 0
        for branch in self.branches:
            with track_time(self, branch):
                size += ak.to_packed(ak.materialize(events[branch])).nbytes
        return {"events": len(events), "bytes": size}

    def postprocess(self, accumulator: Any) -> Any:
        return accumulator


def measure(client: Client, fileset: dict[str, Any], options: argparse.Namespace, workers: int) -> MetricsCollector:
    """One run. The measurement is named after the number of workers."""
    runner = processor.Runner(
        processor.DaskExecutor(client=client, status=False), schema=BaseSchema, chunksize=options.chunksize)
    with MetricsCollector(
        client, output_dir=options.output_dir, measurement_name=f"workers-{workers}", config={"workers": workers},
    ) as mc:
        runner(fileset, ReadBranches(options.branches))
    return mc


def main(arguments: list[str] | None = None) -> list[MetricsCollector]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scheduler", help="address of a cluster; default: a cluster on this machine")
    parser.add_argument("--files", help="fileset as JSON; default: small files that are made")
    parser.add_argument("--folder", default="build/throughput", help="for these files; default: %(default)s")
    parser.add_argument("--branches", nargs="+", default=BRANCHES)
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--chunksize", type=int, default=5_000)
    parser.add_argument("--output-dir", default="measurements/throughput", help="default: %(default)s")
    options = parser.parse_args(arguments)
    fileset = json.loads(Path(options.files).read_text()) if options.files else ttbar_data.make(options.folder)

    runs = []
    for workers in options.workers:
        if options.scheduler:
            with Client(options.scheduler) as client:
                client.wait_for_workers(workers)
                runs.append(measure(client, fileset, options, workers))
        else:
            with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster, \
                    Client(cluster) as client:
                runs.append(measure(client, fileset, options, workers))

    print("workers   Gbps  useful Gbps     kHz  core efficiency")
    for workers, mc in zip(options.workers, runs):
        print(f"{workers:>7}{shown(mc, 'data_rate_gbps', 7)}{shown(mc, 'useful_rate_gbps', 13)}"
              f"{shown(mc, 'event_rate_wall_khz', 8)}{shown(mc, 'core_efficiency', 17)}")
    print()
    if len(set(options.workers)) > 1:
        print(roastcoffea.scaling(runs).headline)
    rich.print(format_challenge_table(runs[-1].get_metrics()))
    return runs


def shown(mc: MetricsCollector, key: str, width: int) -> str:
    """A number of the run; a dash if it was not measured."""
    value = mc.get_metrics()[key]
    return f"{'-' if value is None else f'{value:.3g}':>{width}}"


if __name__ == "__main__":
    main()
