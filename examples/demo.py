"""A real Coffea analysis on a real Dask cluster, with three faults built in; and what roastcoffea says of it.

`make demo` runs it. What each fault costs, and so whether it is found, depends on the machine: the text says which were. A
second run without the slow file and with larger chunks is then compared with the first one.
"""

from __future__ import annotations

import logging
import os
import signal
import textwrap
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from coffea import processor
from coffea.nanoevents import NanoAODSchema
from distributed import Client, LocalCluster

import demo_data
from demo_analysis import DimuonAnalysis
from roastcoffea import MetricsCollector

HERE = Path("build/demo")
WORKERS = min(4, max(2, os.cpu_count() or 2))
CHUNK_SIZE = 5_000
# By the kind of their findings.
FAULTS = {
    "straggler_file": "A file that is slow to read",
    "straggler_worker": "A worker that gets a quarter of its core, as one with a small CPU quota does",
    "slow_section": "A section that reads branches which nobody needs",
}
RUNS, RESTS = 0.02, 0.06  # s, of the worker with the small quota


@contextmanager
def small_quota(client: Client) -> Iterator[None]:
    """One worker is stopped again and again."""
    pid = next(iter(client.run(os.getpid).values()))
    end = threading.Event()

    def pace() -> None:
        with suppress(ProcessLookupError):
            while not end.wait(RUNS):
                os.kill(pid, signal.SIGSTOP)
                end.wait(RESTS)
                os.kill(pid, signal.SIGCONT)

    thread = threading.Thread(target=pace, daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def run(client: Client, fileset: dict[str, Any], chunk_size: int) -> MetricsCollector:
    """The analysis, measured."""
    executor = processor.DaskExecutor(client=client, status=False)
    runner = processor.Runner(executor=executor, schema=NanoAODSchema, chunksize=chunk_size, savemetrics=True)
    with MetricsCollector(client, output_dir=HERE / "measurements", worker_tracking_interval=0.2, live=True) as mc:
        output, _report = runner(fileset, processor_instance=DimuonAnalysis())
    selected = sum(one["selected"] for one in output.values())
    print(f"   {selected:,} events selected in {mc.t_end - mc.t_start:.1f} s\n", flush=True)
    return mc


def main() -> None:
    # Coffea misses some of what a real NanoAOD has, here and on the workers.
    warnings.simplefilter("ignore")
    os.environ["PYTHONWARNINGS"] = "ignore"
    print("1. Three datasets, 300,000 events, 300 branches", flush=True)
    fileset = demo_data.make(HERE / "data")

    print(f"2. A cluster of {WORKERS} workers, the analysis, the measurement", flush=True)
    cluster = LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0",
                           silence_logs=logging.ERROR)
    with cluster, Client(cluster) as client, small_quota(client):
        client.upload_file(str(Path(__file__).with_name("demo_analysis.py")))
        mc = run(client, fileset, CHUNK_SIZE)
        mc.print_summary()
        plots = mc.plot_all(HERE / "plots")
        report = mc.save_report(HERE / "report.html")
        show_what_to_look_at(mc, report, len(plots))

        print("\n3. The slow file written again, chunks of a whole file: is it better now?", flush=True)
        mended = run(client, demo_data.make(HERE / "data", mended=True), demo_data.EVENTS)
    comparison = mended.compare(mc)
    comparison.print_summary()
    print(f"\n  roast compare {mc.measurement_path} {mended.measurement_path}")


def say(text: str) -> None:
    """As an entry of a list."""
    print(textwrap.fill(text, 80, initial_indent="  - ", subsequent_indent="    ", break_on_hyphens=False))


def show_what_to_look_at(mc: MetricsCollector, report: Path, plots: int) -> None:
    found = mc.diagnose()
    titles = {finding["kind"]: finding["title"] for finding in reversed(found)}  # the worst of each kind
    print("\nThree faults were built in:")
    for kind, fault in FAULTS.items():
        say(f"{fault}: {titles.get(kind, 'not found in this run')}")
    print("What else was found, worst first:")
    for finding in found:
        if finding["kind"] not in FAULTS:
            say(finding["title"])
    print()
    print(f"  {report}   the whole run in a browser: budget, timelines, every chunk")
    print(f"  {HERE / 'plots'}   {plots} plots")
    print(f"  roast show {mc.measurement_path}")
    print(f"  roast diagnose {mc.measurement_path}")
    print(f"  roast sql {mc.measurement_path} \"SELECT file, avg(duration) FROM chunks GROUP BY file\"")


if __name__ == "__main__":
    main()
