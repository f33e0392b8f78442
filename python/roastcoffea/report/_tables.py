"""The tables of datasets, files, branches, sections and workers; the engine sums them up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from roastcoffea import _core
from roastcoffea.report._data import Source
from roastcoffea.report._markup import Column, Row, table

__all__ = ["TABLES", "branches", "datasets", "files", "sections", "workers"]

LIMIT = 200


class _Sum(NamedTuple):
    """A column of the chunks, summed up or the largest taken."""

    heading: Column
    source: str


_SUMS = (
    _Sum(Column("Time", "s", "inside process(), summed over chunks without an error"), "duration"),
    _Sum(Column("Events", "1"), "num_events"),
    _Sum(Column("Read", "bytes", "requested from the files"), "bytes_read"),
    _Sum(
        Column("Before", "s", "opening the file and building the events, before process()"),
        "before_process_s",
    ),
    _Sum(Column("CPU, user", "s", "inside process()"), "cpu_user_s"),
    _Sum(Column("CPU, kernel", "s", "inside process()"), "cpu_system_s"),
)
_PEAKS = (
    _Sum(Column("Longest chunk", "s"), "duration"),
    _Sum(Column("Peak memory", "MB", "inside process()"), "mem_peak_mb"),
)
# Of the sums above, by their places.
_RATIOS = (
    (Column("Event rate", "Hz", "events over the time inside process()"), (1, 0)),
    (Column("Data rate", "bytes/s", "bytes over the time inside process()"), (2, 0)),
)
# Time, events and their rate, bytes and their rate, then the others.
_ORDER = (0, 1, 8, 2, 9, 3, 4, 5, 6, 7)


def _chunk_table(
    source: Source,
    by: str,
    what: str,
    more: Sequence[tuple[Column, str]] = (),
    known: Mapping[str, Any] | None = None,
) -> str:
    """The chunks by dataset, file or worker, those that took longest first; `more` columns come
    from what is known of each by name."""
    chunks = source.chunks
    names = chunks.categories(by) if len(chunks) else []
    if not names:
        return ""
    top = _core.report_top(
        chunks.column(f"{by}.code"),
        len(names),
        [chunks.column(one.source) for one in _SUMS],
        [chunks.column(one.source) for one in _PEAKS],
        [pair for _, pair in _RATIOS],
        chunks.column("error.code"),
        0,
        LIMIT,
    )
    headings = [*(one.heading for one in (*_SUMS, *_PEAKS)), *(heading for heading, _ in _RATIOS)]
    columns = [
        Column(what),
        *(headings[place] for place in _ORDER),
        Column("Chunks", "1"),
        Column("Failed", "1"),
        *(heading for heading, _ in more),
    ]
    rows = []
    for place, label in enumerate(_labels(top, names)):
        found = (known or {}).get(label, {}) if top["code"][place] >= 0 else {}
        rows.append(
            [
                label,
                *(top["columns"][column][place] for column in _ORDER),
                top["rows"][place],
                top["skipped"][place] or None,
                *(found.get(key) for _, key in more),
            ]
        )
    return _show(what, columns, rows, top["rest"])


def _labels(top: _core._Top, names: Sequence[str]) -> list[str]:
    labels = [names[code] for code in top["code"] if code >= 0]
    return [*labels, f"{top['rest']:,} more"] if top["rest"] else labels


def _show(what: str, columns: Sequence[Column], rows: Sequence[Sequence[Any]], rest: int) -> str:
    listed = [Row(row) for row in rows]
    last = listed.pop() if rest else None
    return table(f"table-{what.lower()}", columns, listed, last)


def datasets(source: Source) -> str:
    return _chunk_table(source, "dataset", "Dataset")


def files(source: Source) -> str:
    more = (
        (Column("In the file", "bytes", "compressed size of the tree"), "total_tree_bytes"),
        (
            Column("Bytes used", "%", "of the tree: the branches that were accessed"),
            "bytes_read_percent",
        ),
        (Column("Branches used", "%"), "branches_read_percent"),
    )
    return _chunk_table(source, "file", "File", more, source.metrics.get("file_read_metrics"))


def workers(source: Source) -> str:
    more = (
        (Column("Threads", "1"), "threads"),
        (Column("Worker memory", "bytes", "highest sample"), "peak_memory_bytes"),
        (Column("Of its limit", "%"), "peak_memory_percent"),
        (Column("Spilled", "bytes", "highest sample"), "peak_spilled_bytes"),
        (Column("CPU", "%", "of its threads, mean over samples"), "mean_cpu_percent"),
    )
    return _chunk_table(source, "worker", "Worker", more, source.metrics.get("worker_health"))


def branches(source: Source) -> str:
    reads = source.run.reads
    names = reads.categories("branch") if len(reads) else []
    if not names:
        return ""
    sums = [reads.column(key) for key in ("bytes", "uncompressed_bytes", "seconds", "count")]
    known = bool(np.isfinite(np.asarray(sums[0], dtype=float)).any())
    top = _core.report_top(
        reads.column("branch.code"),
        len(names),
        sums,
        ratios=[(0, 2)],
        order=0 if known else 2,
        limit=LIMIT,
    )
    columns = [
        Column("Branch"),
        Column("Read", "bytes", "compressed"),
        Column("Unpacked", "bytes"),
        Column("Time", "s", "to fetch, decompress and interpret"),
        Column("Reads", "1"),
        Column("Data rate", "bytes/s", "compressed bytes over time"),
        Column("Chunks", "1"),
    ]
    rows = [
        [label, *(values[place] for values in top["columns"]), top["rows"][place]]
        for place, label in enumerate(_labels(top, names))
    ]
    return _show("Branch", columns, rows, top["rest"])


def sections(source: Source) -> str:
    found: Mapping[str, Mapping[str, Any]] = source.metrics.get("sections") or {}
    names, entries = list(found), list(found.values())
    if not names:
        return ""

    def figure(key: str) -> list[float | None]:
        return [entry.get(key) for entry in entries]

    top = _core.report_top(
        range(len(names)),
        len(names),
        [figure(key) for key in ("total_duration", "self_duration", "count", "total_bytes")],
        [figure("max_mem_delta_mb")],
        ratios=[(0, 2)],
        limit=LIMIT,
    )
    columns = [
        Column("Section"),
        Column("Time", "s", "sections inside it included"),
        Column("Of its own", "s", "without the sections inside it"),
        Column("Uses", "1"),
        Column("Read", "bytes"),
        Column("Largest memory change", "MB"),
        Column("Time a use", "s"),
    ]
    rows = [
        [label, *(values[place] for values in top["columns"])]
        for place, label in enumerate(_labels(top, names))
    ]
    return _show("Section", columns, rows, top["rest"])


TABLES = (
    ("Datasets", datasets),
    ("Files", files),
    ("Branches", branches),
    ("Sections", sections),
    ("Workers", workers),
)
