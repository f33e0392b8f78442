"""Looks at a collector and its records, each in a run of a given size: seconds of one look."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from roastcoffea import MetricsCollector, _core
from roastcoffea._core import ChunkLog
from roastcoffea.backends.local import LocalSource
from roastcoffea.backends.source import Ran

BRANCHES = 200
TIMES = 500


def _chunk(number: int, files: int) -> dict[str, Any]:
    """The first chunk of a file tells what is known of it."""
    name = f"root://eospublic.cern.ch//eos/opendata/cms/nanoaod/{number % files:08X}.root"
    chunk: dict[str, Any] = {
        "t_start": 1.8e9 + number, "t_end": 1.8e9 + number + 1, "duration": 1.0, "num_events": 100_000,
        "dataset": "TTbar", "file": name, "accessed_bytes": 1000, "accessed_branches": ["branch_1", "branch_2"],
    }
    if number < files:
        sizes = {f"branch_{i}": 1000 + i + number for i in range(BRANCHES)}
        chunk["file_metadata"] = {"filename": name, "total_branches": BRANCHES, "branch_bytes": sizes,
                                  "total_tree_bytes": sum(sizes.values())}
    return chunk


def _log(chunks: int, files: int) -> ChunkLog:
    log = ChunkLog()
    for first in range(0, chunks, 1000):
        log.extend(ChunkLog(_chunk(i, files) for i in range(first, min(first + 1000, chunks))))
    return log


def _each(look: Callable[[int], Any], n: int) -> dict[str, float]:
    """The least of five rounds of looks here and there."""
    look(0)
    places = [i * n // TIMES for i in range(TIMES)]
    rounds = []
    for _ in range(5):
        start = perf_counter()
        for place in places:
            look(place)
        rounds.append((perf_counter() - start) / TIMES)
    return {"seconds": min(rounds)}


@contextmanager
def _ended(chunks: int, output_dir: str | None = None) -> Iterator[MetricsCollector]:
    """A collector after a run of so many chunks."""
    with MetricsCollector(output_dir=output_dir, track_workers=False) as collector:
        collector.set_chunk_metrics(_log(chunks, 100))
    yield collector


def chunk_dict(n: int) -> dict[str, float]:
    """dict(chunk) in a log of as many files."""
    log = _log(n, n)
    return _each(lambda i: dict(log[i]), n)


def chunk_pickle(n: int) -> dict[str, float]:
    log = _log(n, n)
    return _each(lambda i: pickle.dumps(log[i], pickle.HIGHEST_PROTOCOL), n)


def chunk_metrics(n: int) -> dict[str, float]:
    with _ended(n) as collector:
        return _each(lambda i: collector.chunk_metrics[i], n)


def record_late(n: int) -> dict[str, float]:
    """record_chunk_metrics after the end of a run that is saved, and a look at what was recorded."""
    chunk = _chunk(1, 1)

    def record(_: int) -> None:
        collector.record_chunk_metrics(chunk)
        collector.chunk_metrics[-1]

    with tempfile.TemporaryDirectory() as folder, _ended(n, folder) as collector:
        told = _each(record, n)
        if len(collector.run.chunks) < n + TIMES:
            raise AssertionError("the run has fewer chunks than were recorded")
        return told


def live_look(n: int) -> dict[str, float]:
    """What is new in a live measurement after so many seconds: one more is appended and read."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/run"
        live = _core.LiveMeasurement(path)
        meta = {f"text_{i}": "x" * 50 for i in range(20)}

        def append(second: int) -> None:
            live.append(_core.Run(t_start=1.8e9, t_end=1.8e9 + second, chunks=_log(1, 1), series=_core.WorkerSeries(),
                                  meta=meta, report={"chunks": second}))

        for second in range(n):
            append(second)
        _, _, after = _core.load_news(path, 0)
        rounds = []
        for second in range(n, n + TIMES):
            start = perf_counter()
            append(second)
            _, _, after = _core.load_news(path, after)
            rounds.append(perf_counter() - start)
        live.abandon()
    return {"seconds": sorted(rounds)[TIMES // 4]}


def local_news(n: int) -> dict[str, float]:
    """The news of a run on this machine after so many looks at its processes; one is new each time."""
    source = LocalSource()
    source.begin(3600)
    sampler = source._sampler
    assert sampler is not None
    for _ in range(n):
        sampler.tree.sample()
    source.news()
    rounds = []
    for _ in range(TIMES):
        sampler.tree.sample()
        start = perf_counter()
        source.news()
        rounds.append(perf_counter() - start)
    source.end(Ran())
    return {"seconds": sorted(rounds)[TIMES // 4]}
