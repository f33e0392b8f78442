"""Runs of one analysis over files of different lengths, with other workers and chunk sizes: what a prediction must
find."""

from __future__ import annotations

import io
import logging
import os
import sys
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import awkward as ak
import uproot
from coffea.nanoevents import NanoAODSchema
from coffea.processor import DaskExecutor, Runner
from distributed import Client, LocalCluster

from bench.work.nano import FOLDER, Analysis, _columns
from roastcoffea import MetricsCollector

# Events of the files: as unlike as real ones; and so many lengths that a chunk of each tells what is a fixed cost.
LENGTHS = (10_000, 18_000, 30_000, 50_000, 75_000, 38_000)
LADDER = tuple(4_000 + 2_000 * i for i in range(24))
FIRST_SEED = 100


def _written(progress: Callable[[str], None], number: int, events: int) -> Path:
    """A file without the flags, so that opening it does not take most of the time; written once, and kept."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER.resolve() / f"truth-{events}-{number}.root"
    if not path.is_file():
        progress(f"writing {path.name} ...")
        columns = {name: values for name, values in _columns(events, FIRST_SEED + number).items()
                   if not name.startswith("HLT")}
        types = {name: values.type.content if isinstance(values, ak.Array) else values.dtype
                 for name, values in columns.items()}
        unfinished = path.with_suffix(f".{os.getpid()}")
        with uproot.recreate(unfinished, compression=uproot.LZ4(1)) as file:
            file.mktree("Events", types).extend(columns)
        unfinished.replace(path)
    return path


def fileset(progress: Callable[[str], None], lengths: tuple[int, ...] = LENGTHS) -> dict[str, Any]:
    paths = [_written(progress, number, events) for number, events in enumerate(lengths)]
    return {"bench": {"files": {str(path): "Events" for path in paths}}}


def record(files: dict[str, Any], workers: int, chunk_size: int, folder: Path) -> Path:
    """One run on a cluster of its own, saved; nothing is warm but the files."""
    warnings.simplefilter("ignore")
    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0",
                           silence_logs=logging.ERROR)
    with cluster, Client(cluster) as client, redirect_stdout(io.StringIO()):
        client.wait_for_workers(workers)
        runner = Runner(executor=DaskExecutor(client=client, status=False), schema=NanoAODSchema,
                        chunksize=chunk_size, savemetrics=True, metadata_cache={})
        with MetricsCollector(client) as collector:
            runner(files, processor_instance=Analysis())
    return collector.save_measurement(folder, f"{workers}x{chunk_size}")


def main(folder: str, lengths: str, wanted: str) -> None:
    """`python -m bench.work.truth FOLDER lengths 2x10000`: a run of so many workers and events a chunk, over files of
    LENGTHS or of the LADDER. The first run of a process pays for its imports, as a user's run does: one run a
    process."""
    files = fileset(lambda text: print(text, file=sys.stderr), LADDER if lengths == "ladder" else LENGTHS)
    workers, chunk_size = map(int, wanted.split("x"))
    record(files, workers, chunk_size, Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
