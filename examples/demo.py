"""A decorated processor over events made on the spot, and what the engine says of it.

`make demo` runs it. Three datasets, in each of them one slow file; sixty chunks on two threads
that share one processor.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from roastcoffea import track_memory, track_metrics, track_time
from roastcoffea._core import catalogue, faults
from roastcoffea._core import format_value as show
from roastcoffea.aggregation.core import MetricsAggregator

DATASETS = {"ttbar": 10_000, "wjets": 20_000, "data": 30_000}
CHUNKS = 20  # of each dataset
THREADS = 2


class Events:
    """Jets of some events, with the metadata that Coffea would give them."""

    def __init__(self, dataset: str, number: int) -> None:
        size = DATASETS[dataset]
        rng = np.random.default_rng(number)
        self.counts = rng.poisson(5, size)
        self.pt = rng.exponential(40, self.counts.sum())
        self.metadata = {
            "dataset": dataset,
            "filename": f"{dataset}_{number // 5}.root",
            "treename": "Events",
            "entrystart": number % 5 * size,
            "entrystop": (number % 5 + 1) * size,
        }

    def __len__(self) -> int:
        return len(self.counts)


class Analysis:
    """Selects jets, sums them up, fills a histogram."""

    @track_metrics
    def process(self, events: Events) -> dict[str, Any]:
        with track_time(self, "selection"):
            with track_time(self, "cut"):
                good = events.pt > 30
            with track_time(self, "sum per event"):
                first = np.cumsum(events.counts) - events.counts
                ht = np.add.reduceat(np.where(good, events.pt, 0), np.minimum(first, len(good) - 1))
        if events.metadata["filename"].endswith("_3.root"):
            with track_time(self, "slow lookup"):
                time.sleep(0.02)
        with track_memory(self, "histogram"):
            histogram = np.histogram(ht, bins=100, range=(0, 1000))[0]
        return {"events": len(events), "ht": histogram}


def run(analysis: Analysis) -> dict[str, Any]:
    """What a Coffea run does: process every chunk somewhere, add the outputs up."""
    work = [(dataset, number) for dataset in DATASETS for number in range(CHUNKS)]
    total: dict[str, Any] = {}
    with ThreadPoolExecutor(THREADS) as pool:
        for output in pool.map(lambda item: analysis.process(Events(*item)), work):
            for key, value in output.items():
                total[key] = total[key] + value if key in total else value
    return total


def main() -> None:
    analysis = Analysis()
    analysis._roastcoffea_collect_metrics = True
    print(f"{len(DATASETS) * CHUNKS} chunks of made-up events on {THREADS} threads ...", flush=True)
    start = time.time()
    output = run(analysis)
    end = time.time()
    chunks = output.pop("__roastcoffea_metrics__")
    report = {"entries": output["events"], "chunks": len(chunks)}
    metrics = MetricsAggregator("local").aggregate(
        report, None, start, end, chunk_metrics=chunks
    )

    rows = [
        (row["group"], row["label"], show(metrics[row["key"]], row["unit"]))
        for row in catalogue()
        if row["scope"] == "metrics" and isinstance(metrics.get(row["key"]), (int, float))
    ]
    group = None
    for name, label, value in rows:
        if name != group:
            print(f"\n{name}")
            group = name
        print(f"  {label:<40} {value:>14}")

    print(f"\n{'section':<20} {'uses':>6} {'total':>10} {'itself':>10} {'mean':>10}")
    sections = metrics["sections"]
    for name in sorted(sections, key=lambda key: -(sections[key]["total_duration"] or 0)):
        section = sections[name]
        if section["type"] == "time":
            print(f"{name:<20} {section['count']:>6} {show(section['total_duration'], 's'):>10} "
                  f"{show(section['self_duration'], 's'):>10} {show(section['mean_duration'], 's'):>10}")

    print(f"\n{'dataset':<20} {'chunks':>6} {'events':>10} {'mean time':>10}")
    for name, row in metrics["per_dataset"].items():
        print(f"{name:<20} {row['num_chunks']:>6} {row['total_events']:>10,} "
              f"{show(row['mean_duration'], 's'):>10}")

    slowest = max(chunks, key=lambda chunk: chunk["duration"])
    print(f"\nslowest chunk: {slowest['dataset']}, {slowest['file']} "
          f"[{slowest['entry_start']}, {slowest['entry_stop']}): {show(slowest['duration'], 's')}, of it "
          f"{show(slowest['cpu_user_s'] + slowest['cpu_system_s'], 's')} CPU, peak "
          f"{slowest['mem_peak_mb']:.0f} MB")
    print(f"faults of our own: {faults()['count']}")
    print('\n".venv/bin/roast explain" lists every metric; with a name, such as chunk_duration_p95, it tells how '
          "that one is made.")


if __name__ == "__main__":
    main()
