"""The chunks of runs as columns; names are numbers that all runs of a question share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from roastcoffea._core import Run
from roastcoffea.runs.statistics import Array, moments

__all__ = ["COSTS", "Chunks", "Names", "chunks_of"]

#: The costs of a chunk, in seconds: before() and in process() together, and the parts of it.
COSTS = {
    "all": "Core Time", "before": "Before process()", "process": "In process()", "cpu": "In process(), CPU",
    "read": "Reading Columns",
}
_COLUMNS = ("dataset", "file", "entry_start", "entry_stop", "num_events", "duration", "before_process_s", "cpu_user_s",
            "cpu_system_s", "worker", "host", "error", "t_start")


class Names:
    """Texts as numbers."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._texts: list[Any] = []

    def numbers(self, texts: Iterable[Any]) -> Array:
        found = [self._numbers.setdefault(text, len(self._numbers)) for text in texts]
        self._texts.extend(islice(self._numbers, len(self._texts), None))
        return np.array(found, int)

    def get(self, text: Any) -> int:
        return self._numbers.get(text, -1)

    def __getitem__(self, number: int) -> Any:
        return self._texts[number]

    def __len__(self) -> int:
        return len(self._numbers)


@dataclass
class Chunks:
    """The chunks of one run that were done. Numbers below 0: not known."""

    dataset: Array
    file: Array  # with its dataset
    worker: Array
    host: Array
    start: Array  # the first entry
    stop: Array
    events: Array  # NaN: not known
    time: Array  # the moment of the run
    costs: dict[str, Array]  # seconds; NaN: not known
    sections: dict[int, Array]  # by the number of the name, without the sections inside
    branches: dict[int, float]  # seconds of reading

    def __len__(self) -> int:
        return len(self.file)


@dataclass
class Shared:
    """The names of all runs."""

    dataset: Names
    file: Names
    worker: Names
    host: Names
    section: Names
    branch: Names

    @classmethod
    def new(cls) -> Shared:
        return cls(*(Names() for _ in range(6)))


def _codes(table: Any, column: str, names: Names) -> Array:
    codes = np.asarray(table.column(f"{column}.code"))
    numbers = np.append(names.numbers(table.categories(column)), -1)
    return np.asarray(numbers[codes])  # the last one is that of -1


def chunks_of(run: Run, shared: Shared) -> Chunks:
    table = run.chunk_columns(_COLUMNS)
    real = {name: np.asarray(table.column(name), float) for name in _COLUMNS[2:8] + _COLUMNS[8:9] + ("t_start",)}
    done = np.isfinite(real["duration"]) & (np.asarray(table.column("error.code")) < 0)
    dataset = _codes(table, "dataset", shared.dataset)[done]
    file = np.asarray(table.column("file.code"))[done]
    paths = table.categories("file") + [None]
    keys, place = np.unique(dataset * len(paths) + file + 1, return_inverse=True)
    files = shared.file.numbers((int(key) // len(paths), paths[int(key) % len(paths) - 1]) for key in keys)[place]
    start, stop = (np.nan_to_num(real[name][done], nan=-1) for name in ("entry_start", "entry_stop"))
    process, before = real["duration"][done], real["before_process_s"][done]
    chunk, sections = _sections(run, len(done), shared.section)
    reads, branches = _reads(run, len(done), shared.branch)
    return Chunks(
        dataset, files, _codes(table, "worker", shared.worker)[done], _codes(table, "host", shared.host)[done],
        start, stop, real["num_events"][done], moments(real["t_start"][done]),
        {"all": process + np.nan_to_num(before), "before": before, "process": process,
         "cpu": real["cpu_user_s"][done] + real["cpu_system_s"][done], "read": reads[done]},
        {number: seconds[done] for number, seconds in sections.items()} if chunk else {}, branches,
    )


def _sections(run: Run, chunks: int, names: Names) -> tuple[bool, dict[int, Array]]:
    """Seconds by section and chunk."""
    table = run.sections
    timed = np.flatnonzero(np.isfinite(np.asarray(table.column("time_delta"), float)))
    if len(timed) == 0:
        return False, {}
    seconds = np.nan_to_num(np.asarray(table.column("time_delta"), float))
    parent = np.nan_to_num(np.asarray(table.column("parent"), float), nan=-1).astype(int)
    own = seconds.copy()
    np.subtract.at(own, parent[timed][parent[timed] >= 0], seconds[timed][parent[timed] >= 0])
    chunk = np.nan_to_num(np.asarray(table.column("chunk"), float), nan=-1).astype(int)
    code = _codes(table, "name", names)
    timed = timed[chunk[timed] >= 0]
    return True, {
        int(number): np.bincount(chunk[rows], own[rows], chunks)
        for number in np.unique(code[timed]) for rows in (timed[code[timed] == number],)
    }


def _reads(run: Run, chunks: int, names: Names) -> tuple[Array, dict[int, float]]:
    """Seconds of reading by chunk (NaN: no reads were watched), and by branch."""
    table = run.reads
    seconds = np.asarray(table.column("seconds"), float)
    chunk = np.nan_to_num(np.asarray(table.column("chunk"), float), nan=-1).astype(int)
    rows = np.flatnonzero(np.isfinite(seconds) & (chunk >= 0))
    by_chunk = np.full(chunks, np.nan)
    by_chunk[chunk[chunk >= 0]] = 0
    np.add.at(by_chunk, chunk[rows], seconds[rows])
    code = _codes(table, "branch", names)[rows]
    sums = np.bincount(code[code >= 0], seconds[rows][code >= 0]) if len(code) else np.zeros(0)
    return by_chunk, {int(i): float(sums[i]) for i in np.flatnonzero(sums)}
