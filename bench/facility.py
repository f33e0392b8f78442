"""A run where a facility looks: what it costs the scheduler of Dask to count a record and to answer, and a file to be
written."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

from bench.harness import Figure, Harness, Row, figure

RECORDS, DATASETS = 1_000, 20
WORKERS = (10, 100, 1_000)


def _messages() -> list[bytes]:
    """Each as a worker sends it."""
    from roastcoffea._core import ChunkLog

    return [
        ChunkLog([{
            "t_start": 1.79e9 + i, "duration": 1.0, "num_events": 100_000, "dataset": f"dataset {i % DATASETS}",
            "file": f"root://door//store/{i}.root", "bytes_read": 10_000_000, "worker": f"tcp://10.0.0.1:{i % 100}",
            "mem_before_mb": 900.0, "mem_after_mb": 910.0,
        }]).to_bytes()
        for i in range(RECORDS)
    ]


class _Scheduler:
    """As much of one as is looked at."""

    def __init__(self, workers: int) -> None:
        from roastcoffea.backends.dask.exposed import EXTENSION

        state = SimpleNamespace(nthreads=4, processing=dict.fromkeys(range(10)), metrics={"memory": 10**9},
                                memory_limit=4 * 10**9)
        self.workers = dict.fromkeys(range(workers), state)
        self.extensions = {EXTENSION: SimpleNamespace(shows_all=True)}


def _timed(harness: Harness, body: Callable[[], object], times: int = 1) -> Figure:
    taken = []
    for _ in range(1 + harness.rounds):
        start = time.perf_counter()
        body()
        taken.append((time.perf_counter() - start) / times)
    return figure(taken[1:])


def rows(harness: Harness) -> Iterator[Row]:
    from roastcoffea.backends.dask import exposed as _exposed
    from roastcoffea.collector.textfile import TextFile
    from roastcoffea.backends.dask import page as _dask

    messages = _messages()
    for workers in WORKERS:
        scheduler = _Scheduler(workers)
        run = _exposed.open_run(scheduler, "bench", True)
        if run is None:
            raise AssertionError("the run is not shown")
        if workers == WORKERS[0]:
            yield Row("facility/a record", "s", _timed(harness, lambda: [run.take(data) for data in messages], RECORDS))
        for data in messages[:DATASETS]:
            run.take(data)
        answers: dict[str, Callable[[], object]] = {
            "/metrics": _exposed._collector.collect, "/roast/metrics": lambda: _exposed.metrics_text([run]),
            "/roast": lambda: _dask.runs_page(_dask.runs_parts([run])),
        }
        for path, answer in answers.items():
            # A collector that fails answers with nothing, and fast.
            if not answer():
                raise AssertionError(f"{path} is empty")
            yield Row(f"facility/{path}, {workers:,} workers", "s", _timed(harness, answer))
        _exposed._drop(run)
    with tempfile.TemporaryDirectory() as folder:
        file = TextFile(Path(folder) / "run.prom", "bench", 0.0)
        file.take(messages, None)
        yield Row("facility/textfile", "s", _timed(harness, lambda: file.take([], None)))
