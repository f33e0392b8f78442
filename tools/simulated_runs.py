"""Runs whose truth is known: the answers about several runs are calibrated with them.

A run is a list of chunks on workers, each of which takes the next chunk when it has finished one. The cost of a chunk is
that of its file per event, times factors that stand for what makes real runs differ: the noise of each chunk, the speed of
each worker, a drift of the machine over time, and the run as a whole.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from roastcoffea._core import Run


@dataclass(frozen=True)
class Effects:
    """Standard deviations of the logarithms of the factors, and the time in which the drift forgets itself."""

    chunk: float = 0.0
    worker: float = 0.0
    drift: float = 0.0
    drift_seconds: tuple[float, float] = (20.0, 60.0)
    run: float = 0.0


NOISE = Effects(chunk=0.08)
REALISTIC = Effects(chunk=0.08, worker=0.05, drift=0.03, run=0.03)


@dataclass(frozen=True)
class Work:
    """The input: files, each with its cost per event, which stays the same in all runs on them."""

    names: tuple[str, ...]
    datasets: tuple[str, ...]
    seconds: np.ndarray[Any, Any]  # of a chunk of each file
    chunks: int  # of each file
    events: int = 50_000  # of a chunk

    @classmethod
    def draw(cls, rng: np.random.Generator, files: int, chunks: int, prefix: str = "", seconds: float = 2.5) -> Work:
        datasets = tuple(("ttbar", "wjets", "data")[i % 3] for i in range(files))
        scale = {"ttbar": 1.5, "wjets": 0.8, "data": 0.7}
        cost = np.array([scale[one] for one in datasets]) * seconds * np.exp(rng.normal(0, 0.3, files))
        return cls(tuple(f"{prefix}{i}.root" for i in range(files)), datasets, cost, chunks)


PARTS = {"before": 0.15, "selection": 0.45, "jets": 0.25, "rest": 0.15}
PART_NOISE = 0.03  # of each part, besides that of the chunk
START = 1_790_000_000.0


class _Drift:
    """The logarithm of the speed of the machine, second by second: it returns to its mean."""

    def __init__(self, rng: np.random.Generator, effects: Effects, seconds: int = 4096) -> None:
        tau = rng.uniform(*effects.drift_seconds)
        keep = np.exp(-1 / tau)
        steps = rng.normal(0, effects.drift * np.sqrt(1 - keep * keep), seconds)
        values = [rng.normal(0, effects.drift)]
        for step in steps:
            values.append(values[-1] * keep + step)
        self.values = values

    def at(self, when: float) -> float:
        return self.values[int(when) % len(self.values)]


def simulate(
    rng: np.random.Generator, work: Work, effects: Effects, workers: int = 8,
    slower: Callable[[int, str], float] = lambda file, part: 1.0, cores_cost: Callable[[float], float] = lambda n: 1.0,
    meta: dict[str, str] | None = None,
) -> Run:
    """One run. `slower` is the true factor of a part of the chunks of a file; `cores_cost` that of all work on so many
    workers."""
    drift = _Drift(rng, effects)
    whole = float(np.exp(rng.normal(0, effects.run))) * cores_cost(workers)
    speeds = np.exp(rng.normal(0, effects.worker, workers))
    free = [(0.0, worker) for worker in range(workers)]
    chunks: list[dict[str, Any]] = []
    for file, name in enumerate(work.names):
        for index in range(work.chunks):
            start, worker = heapq.heappop(free)
            factor = whole * speeds[worker] * float(np.exp(drift.at(start) + rng.normal(0, effects.chunk)))
            parts = {
                part: work.seconds[file] * share * slower(file, part) * factor * float(np.exp(rng.normal(0, PART_NOISE)))
                for part, share in PARTS.items()
            }
            process = parts["selection"] + parts["jets"] + parts["rest"]
            begin = START + start + parts["before"]
            heapq.heappush(free, (start + parts["before"] + process, worker))
            chunks.append({
                "t_start": begin, "t_end": begin + process, "duration": process, "before_process_s": parts["before"],
                "num_events": work.events, "dataset": work.datasets[file], "file": name,
                "entry_start": index * work.events, "entry_stop": (index + 1) * work.events,
                "worker": f"worker-{worker}", "host": "node", "cpu_user_s": process * 0.9, "cpu_system_s": process * 0.05,
                "sections": [{"section_name": part, "time_delta": parts[part], "depth": 0, "count": 1}
                             for part in ("selection", "jets")],
            })
    end = max(when for when, _ in free)
    return Run(
        chunks=chunks, t_start=START, t_end=START + end,
        report={"entries": len(chunks) * work.events, "chunks": len(chunks),
                "processtime": sum(one["duration"] for one in chunks)},
        meta={"processor": "Analysis", "executor": "DaskExecutor", "chunksize": str(work.events), **(meta or {})},
    )


def with_(effects: Effects, **changed: float) -> Effects:
    return replace(effects, **changed)
