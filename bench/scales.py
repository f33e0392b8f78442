"""`python -m bench.scales [RUN]`: writes docs/what-if-scales.md and its picture: a recorded run, taken to 1,000, 5,000 and
20,000 cores. Without RUN, one is recorded on a cluster of this machine. No figure on that page is typed by hand."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from roastcoffea import WhatIf, _core, open_run
from roastcoffea.collector.results import SavedRun

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "what-if-scales.md"
PICTURE = ROOT / "docs" / "images" / "what-if-scales.svg"
WORKERS, CHUNK_SIZE = 2, 50_000  # of the recorded run
TIMES = 10_000  # the files
CORES = (1_000, 5_000, 20_000)
ALL_CORES = (250, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
SIZES = (5_000, 20_000, 200_000)
RATES = ("1GB/s", "5GB/s", "25GB/s")
STOPS = 0.7  # of the speed-up that twice the cores would give

LIMITS = {
    "outside": "client and preprocessing", "workers": "work on all threads", "longest_chunk": "longest chunk",
    "reading": "storage", "reduction": "merging", "scheduler": "scheduler",
}


def recorded(folder: Path) -> Path:
    size = f"{WORKERS}x{CHUNK_SIZE}"
    command = [sys.executable, "-W", "ignore", "-m", "bench.work.truth", str(folder), "ladder", size]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder / size


def time(seconds: float | None) -> str:
    return _core.format_value(seconds, "s")


def markdown(head: tuple[str, ...], lines: list[tuple[str, ...]]) -> str:
    rows = [head, tuple("---" for _ in head), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def efficiency(found: WhatIf) -> float:
    """The share of the core time that tasks take."""
    parts = ("before_process", "read", "compute_cpu", "compute_offcpu", "after_process", "reduction")
    return sum(found.budget.get(part, 0) for part in parts) / found.budget["available"]


def idle(found: WhatIf) -> str:
    """The largest part of the budget that is not work."""
    parts = {"client": "waits for the client", "preprocessing": "waits for preprocessing", "idle_tail": "tail",
             "idle_starved": "waits for the scheduler", "worker_overhead": "between tasks", "idle_ramp_up": "ramp-up"}
    worst = max(parts, key=lambda part: found.budget.get(part, 0))
    return f"{parts[worst]}, {100 * found.budget.get(worst, 0) / found.budget['available']:.0f} %"


def line(found: WhatIf, cores: int, *first: str) -> tuple[str, ...]:
    return (*first, f"{cores:,}", f"{found.chunks:,}", time(found.wall_time),
            f"{time(found.low)} to {time(found.high)}", f"{100 * efficiency(found):.0f} %",
            LIMITS[found.limiting], idle(found))


def stop(curve: dict[int, WhatIf]) -> str:
    """Where more cores stop to help, in words."""
    cores = sorted(curve)
    for fewer, more in zip(cores, cores[1:], strict=False):
        gain = curve[fewer].wall_time / curve[more].wall_time
        if gain < 1 + STOPS * (more / fewer - 1):
            return (f"from {fewer:,} to {more:,} cores it is {gain:.2f} times as fast, not {more / fewer:g} times "
                    f"({LIMITS[curve[more].limiting]}; {idle(curve[more])} of the core time)")
    return f"it scales up to {cores[-1]:,} cores"


def draw(curves: dict[int, dict[int, WhatIf]]) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "what-if"
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4))
    for size, curve in curves.items():
        cores = sorted(curve)
        axes.plot(cores, [curve[n].wall_time for n in cores], marker="o", label=f"{size:,} events per chunk")
        axes.fill_between(cores, [curve[n].low or 0 for n in cores], [curve[n].high or 0 for n in cores], alpha=0.2)
    cores = sorted(curves[SIZES[-1]])
    first = curves[SIZES[-1]][cores[0]].wall_time
    axes.plot(cores, [first * cores[0] / n for n in cores], color="grey", linestyle=":", label="perfect")
    axes.set(xscale="log", yscale="log", xlabel="Cores", ylabel="Predicted wall time (s)")
    axes.legend()
    figure.tight_layout()
    figure.savefig(PICTURE, metadata={"Date": None})


def page(run: SavedRun) -> str:
    curves = {size: {cores: run.what_if(workers=cores, chunksize=size, times=TIMES) for cores in ALL_CORES}
              for size in SIZES}
    draw(curves)
    once = run.what_if()
    rate = next(limit["rate"] for limit in once.limits if limit["limit"] == "reading")
    events = sum(chunk["num_events"] for chunk in run.chunk_metrics)
    gigabytes = sum(chunk["bytes_read"] for chunk in run.chunk_metrics) / 1e9
    head = ("events per chunk", "cores", "chunks", "wall time", "90 % interval", "in tasks", "limit",
            "largest loss")
    lines = [line(curves[size][cores], cores, f"{size:,}") for size in SIZES for cores in CORES]
    limited = [line(run.what_if(workers=CORES[-1], chunksize=SIZES[-1], times=TIMES, at_rate=rate), CORES[-1], rate)
               for rate in RATES]
    notes = dict.fromkeys(note for note in curves[SIZES[0]][CORES[-1]].notes)
    return f"""\
# To 20,000 cores

`python -m bench.scales` makes this page; no figure on it is typed by hand. It takes a recorded run to numbers of cores that
nobody here has, and shows where it stops scaling and why.

The recorded run: {once.recorded_wall_time:.0f} s on {once.workers:.0f} workers with one thread each,
{once.chunks} chunks of as many files, {events:,} events in all, {gigabytes:.2f} GB read. Played again as it was, it takes
{time(once.replayed_wall_time)}. The analysis here has {TIMES:,} times these files:
{TIMES * events / 1e9:.1f} billion events.

## More cores

{markdown(head, lines)}
```{{image}} images/what-if-scales.svg
:alt: Predicted wall time against cores for three chunk sizes
```

*In tasks* is the share of the core time that tasks take, waiting for data included. Where it stops:

{chr(10).join(f"- {size:,} events per chunk: {stop(curves[size])}." for size in SIZES)}

## A storage with a limit

The recorded run needed {rate / 1e6:.0f} MB per second, and says nothing about what the storage can
give. With {CORES[-1]:,} cores and {SIZES[-1]:,} events per chunk:

{markdown(("storage", *head[1:]), limited)}
## What it cannot know

What it says of itself for {CORES[-1]:,} cores and {SIZES[0]:,} events per chunk:

{chr(10).join(f"- {note}" for note in notes)}

The workers are all there when the run begins, as they were in the recorded run. A batch system that starts them over an hour
is a ramp-up that this run has not seen.
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(sys.argv[1]) if len(sys.argv) > 1 else recorded(Path(folder))
        PAGE.write_text(page(open_run(path)))
    print(f"{PAGE} and {PICTURE}")


if __name__ == "__main__":
    main()
