"""The tables of datasets, files, branches, sections and workers, summed up for the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from roastcoffea.aggregation.on_demand import MadeOnDemand
from roastcoffea.visualization.binning import Top, numbers, top
from roastcoffea.report._data import CHUNK_FIGURES, Source
from roastcoffea.report._markup import Column, Row, table

LIMIT = 200

# A heading, and the figure below it: a sum, a maximum, or one sum over another.
_Columns = Sequence[tuple[Column, str | tuple[str, str]]]

_CHUNKS: _Columns = (
    (Column("Time", "s", "inside process(), summed over chunks without an error"), "duration"),
    (Column("Events", "1"), "num_events"),
    (Column("Event rate", "Hz", "events over the time inside process()"), ("num_events", "duration")),
    (Column("Read", "bytes", "requested from the files"), "bytes_read"),
    (Column("Data rate", "bytes/s", "bytes over the time inside process()"), ("bytes_read", "duration")),
    (Column("Before", "s", "opening the file and building the events, before process()"), "before_process_s"),
    (Column("CPU, user", "s", "inside process()"), "cpu_user_s"),
    (Column("CPU, kernel", "s", "inside process()"), "cpu_system_s"),
    (Column("Longest chunk", "s"), "longest"),
    (Column("Peak memory", "MB", "inside process()"), "peak"),
    (Column("Chunks", "1"), "rows"),
    (Column("Failed", "1"), "failed"),
)
_SUMS = tuple(name for name in CHUNK_FIGURES if name != "mem_peak_mb")

_BRANCHES: _Columns = (
    (Column("Read", "bytes", "compressed; by chunks without an error"), "bytes"),
    (Column("Unpacked", "bytes"), "uncompressed_bytes"),
    (Column("Time", "s", "to fetch, decompress and interpret"), "seconds"),
    (Column("Reads", "1"), "count"),
    (Column("Data rate", "bytes/s", "compressed bytes over time"), ("bytes", "seconds")),
    (Column("Chunks", "1"), "rows"),
)

_SECTIONS: _Columns = (
    (Column("Time", "s", "sections inside it included"), "total_duration"),
    (Column("Of its own", "s", "without the sections inside it"), "self_duration"),
    (Column("Uses", "1"), "count"),
    (Column("Read", "bytes"), "total_bytes"),
    (Column("Largest memory change", "MB"), "max_mem_delta_mb"),
    (Column("Time a use", "s"), ("total_duration", "count")),
)

_FILES = (
    (Column("In the file", "bytes", "compressed size of the tree"), "total_tree_bytes"),
    (Column("Bytes used", "%", "of the tree: the branches that were accessed"), "bytes_read_percent"),
    (Column("Branches used", "%"), "branches_read_percent"),
)

_WORKERS = (
    (Column("Threads", "1"), "threads"),
    (Column("Worker memory", "bytes", "highest sample"), "peak_memory_bytes"),
    (Column("Of its limit", "%"), "peak_memory_percent"),
    (Column("Spilled", "bytes", "highest sample"), "peak_spilled_bytes"),
    (Column("CPU, sampled", "%", "of its threads, mean over samples"), "mean_cpu_percent"),
)


def _table(
    what: str,
    names: Sequence[str],
    found: Top,
    columns: _Columns,
    more: Sequence[tuple[Column, str]] = (),
    known: Mapping[str, Any] | None = None,
) -> str:
    """The groups by their names, the rest below; `more` columns are found by name in `known`."""
    figures = [found.figure(key) for _, key in columns]
    rows = []
    labels = [names[code] if code >= 0 else f"{found.rest:,} more" for code in found.codes]
    entries = known.some(labels) if isinstance(known, MadeOnDemand) else known or {}
    for place, (code, label) in enumerate(zip(found.codes, labels)):
        details = entries.get(label, {}) if code >= 0 else {}
        cells = [figure[place].item() for figure in figures]
        rows.append(Row([label, *cells, *(details.get(key) for _, key in more)]))
    rest = rows.pop() if found.rest else None
    headings = [Column(what), *(heading for heading, _ in (*columns, *more))]
    return table(f"table-{what.lower()}", headings, rows, rest)


def _chunk_table(
    source: Source,
    by: str,
    more: Sequence[tuple[Column, str]] = (),
    known: Mapping[str, Any] | None = None,
) -> str:
    """The chunks by dataset, file or worker, those that took longest first."""
    chunks = source.chunks
    names = chunks.categories(by) if len(chunks) else []
    if not names:
        return ""
    error, figures = chunks.column("error.code"), source.figures
    found = top(
        chunks.column(f"{by}.code"),
        len(names),
        # Nothing is shown where none failed.
        {**{name: figures[name] for name in _SUMS}, "failed": np.where(error >= 0, 1.0, np.nan)},
        {"longest": figures["duration"], "peak": figures["mem_peak_mb"]},
        limit=LIMIT,
    )
    return _table(by.capitalize(), names, found, _CHUNKS, more, known)


def datasets(source: Source) -> str:
    return _chunk_table(source, "dataset")


def files(source: Source) -> str:
    return _chunk_table(source, "file", _FILES, source.metrics.get("file_read_metrics"))


def workers(source: Source) -> str:
    return _chunk_table(source, "worker", _WORKERS, source.metrics.get("worker_health"))


def branches(source: Source) -> str:
    known: Mapping[str, Mapping[str, Any]] | None = source.metrics.get("branch_read_metrics")
    if known is not None:
        return _known_branches(known)
    reads = source.run.reads  # of a measurement of 0.1.x
    names = reads.categories("branch") if len(reads) else []
    if not names:
        return ""
    sums = {
        key: numbers(reads.column(key))
        for key in ("bytes", "uncompressed_bytes", "seconds", "count")
    }
    order = "bytes" if np.isfinite(sums["bytes"]).any() else "seconds"
    found = top(reads.column("branch.code"), len(names), sums, order=order, limit=LIMIT)
    return _table("Branch", names, found, _BRANCHES)


def _known_branches(known: Mapping[str, Mapping[str, Any]]) -> str:
    if not known:
        return ""
    found = _of_entries(known, ("bytes", "uncompressed_bytes", "seconds", "count", "num_chunks"))
    order = "bytes" if np.isfinite(found["bytes"]).any() else "seconds"
    chosen = top(np.arange(len(known)), len(known), found, order=order, limit=LIMIT)
    chosen.columns["rows"] = chosen.columns.pop("num_chunks")
    return _table("Branch", list(known), chosen, _BRANCHES)


def _of_entries(entries: Mapping[str, Mapping[str, Any]], keys: Sequence[str]) -> dict[str, Any]:
    return {key: numbers([entry.get(key) for entry in entries.values()]) for key in keys}


def sections(source: Source) -> str:
    entries: Mapping[str, Mapping[str, Any]] = source.metrics.get("sections") or {}
    if not entries:
        return ""

    found = top(
        np.arange(len(entries)),
        len(entries),
        _of_entries(entries, ("total_duration", "self_duration", "count", "total_bytes")),
        _of_entries(entries, ("max_mem_delta_mb",)),
        limit=LIMIT,
    )
    return _table("Section", list(entries), found, _SECTIONS)


_TASK_UNITS = ("1", "s", "s", "s", "1", "bytes")
_TASK_HINTS = ("tries that the scheduler saw", "computing, all threads together", "", "by Dask's own count",
               "raised, or lost with a worker", "size of the results in memory")


_STORAGE_UNITS = ("1", "bytes", "1", "bytes/s", "s", "%")
_STORAGE_HINTS = ("", "opening included", "as uproot asks for them", "what one thread gets inside reads",
                  "in reads, while nobody of the process computed", "the waiting, of the time in process()")


def tasks(source: Source) -> str:
    """The tasks of Dask by the beginning of their keys, as in the summary."""
    return _as_in_summary(source, "tasks", "table-task", _TASK_UNITS, _TASK_HINTS, first=2)


def storages(source: Source) -> str:
    """The reads by the protocol and host of the files, as in the summary."""
    return _as_in_summary(source, "storages", "table-storage", _STORAGE_UNITS, _STORAGE_HINTS, first=5)


def _as_in_summary(
    source: Source, which: str, place: str, units: tuple[str, ...], hints: tuple[str, ...], first: int
) -> str:
    found = source.tables.get(which)
    if found is None:
        return ""
    what, *headings = found["columns"]
    columns = [Column(what), *(Column(*one) for one in zip(headings, units, hints, strict=True))]
    rows = [Row([cells[0], *figures[1:]]) for cells, figures in zip(found["rows"], found["numbers"], strict=True)]
    return table(place, columns, rows, first=first)


TABLES = (
    ("Tasks", tasks),
    ("Datasets", datasets),
    ("Files", files),
    ("Storage", storages),
    ("Branches", branches),
    ("Sections", sections),
    ("Workers", workers),
)
