"""Runs to make reports of, and how a report is read."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from html.parser import HTMLParser

from roastcoffea._core import ChunkLog, Run, WorkerSeries

T0 = 1_790_000_000.0
# A name that would be markup, a script, a formula or the end of one anywhere it is not taken as a text.
HOSTILE = ('"\'><script>alert(1)</script><img src=x onerror=alert(2)>&lt;b&gt; $$\\frac{1}{2}$$ {safe} @x ${y} '
           '--> <!-- \u2028\u202e\x07 ]]> </ScRiPt><svg/onload=alert(3)>')


def chunk(i, workers=4, hostile=""):
    """Twelve files of three datasets; every 50th chunk takes ten times as long, every 97th fails."""
    events = 10_000 + 137 * (i * 7919 % 500)
    seconds = 0.2 + events * 1e-5 + 0.01 * (i % 5)
    if i % 50 == 20:
        seconds *= 10
    dataset = f"dataset {i % 3}{hostile}"
    name = f"root://host//store/{dataset}/{i % 12:03d}{hostile}.root"
    made = {
        "t_start": T0 + 1 + i // workers * 1.5, "duration": seconds, "num_events": events, "dataset": dataset,
        "file": name, "entry_start": 100_000 * i, "entry_stop": 100_000 * i + events, "bytes_read": events * 100,
        "cpu_user_s": seconds * 0.7, "cpu_system_s": seconds * 0.05, "before_process_s": 0.1,
        "mem_peak_mb": 500.0 + i % 7, "worker": f"tcp://10.0.0.{i % workers}:40000{hostile}", "host": "node",
        "sections": [
            {"section_name": f"select{hostile}", "time_delta": seconds / 2, "start": 0.0, "depth": 0, "count": 1},
            {"section_name": f"jets{hostile}", "time_delta": seconds / 4, "start": 0.0, "depth": 1, "count": 2},
        ],
        "reads": {f"Jet_{key}{hostile}": {"seconds": seconds / 50, "bytes": events * size,
                                          "uncompressed_bytes": events * size * 3, "count": 1}
                  for key, size in (("pt", 4), ("eta", 3), ("phi", 2))},
        "file_metadata": {"filename": name, "compression_ratio": 0.25, "total_branches": 100,
                          "total_tree_bytes": 90_000_000, "branch_bytes": {"Jet_pt": 10}},
    }
    if i % 97 == 96:
        made["error"] = f"ValueError: no jets{hostile}"
    return made


def series(workers=4, seconds=30, hostile=""):
    made = WorkerSeries()
    for tick in range(seconds):
        made.tick_values(datetime.fromtimestamp(T0 + tick, UTC), {
            f"tcp://10.0.0.{worker}:40000{hostile}": {
                "memory": int(1e9 + 1e8 * worker + 1e7 * tick), "memory_limit": 4_000_000_000, "active_tasks": 2,
                "cores": 1, "cpu": 50 + 30 * math.sin(tick / 5 + worker), "executing": 1, "spilled_bytes": 0,
            } for worker in range(min(workers, tick + 1) if workers < 10 else workers)
        })
    return made


def run_of(chunks, tracked=None, hostile="", **options):
    chunks = chunks if isinstance(chunks, ChunkLog) else ChunkLog(chunks)
    given = {
        "report": {"entries": 5_000_000, "bytesread": 500_000_000, "processtime": 90.0, "chunks": len(chunks)},
        "t_start": T0, "t_end": T0 + 60, "processor_name": f"Analysis{hostile}",
        "meta": {"executor": f"DaskExecutor{hostile}", "calls": '[{"chunksize": 100000}]', f"key{hostile}": "x"},
        "notes": [f"something was not measured{hostile}"],
    }
    return Run(chunks=chunks, series=tracked, **{**given, **options})


class Held:
    """As much of a collector as a report needs."""

    def __init__(self, run, **methods):
        self.run = run
        self.metrics = None if run is None else run.metrics()
        for name, result in methods.items():
            setattr(self, name, lambda result=result: result)


def usual(n=200, workers=4, hostile="", **methods):
    """A run of which everything is known."""
    run = run_of([chunk(i, workers, hostile) for i in range(n)], series(workers, hostile=hostile), hostile)
    return Held(run, **methods)


def large(rows=2_000, doubled=4, workers=300):
    """Too many chunks and workers to draw each of them; 250 files and more."""
    log = ChunkLog([{**chunk(i, workers), "file": f"file {i % 260}"} for i in range(rows)])
    for _ in range(doubled):
        log += log.copy()
    return Held(run_of(log, series(workers, 5)))


class Page(HTMLParser):
    """What a browser would see: elements, texts, scripts."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.texts, self.scripts = [], [], []
        self._open = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._open.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if self._open and self._open[-1][0] == tag:
            self._open.pop()

    def handle_data(self, data):
        if self._open and self._open[-1][0] == "script":
            self.scripts.append((self._open[-1][1], data))
        elif not self._open:
            self.texts.append(data)

    @property
    def text(self):
        return "\n".join(self.texts)

    def tags(self):
        return {tag for tag, _ in self.elements}

    def ids(self):
        return {attrs["id"] for _, attrs in self.elements if "id" in attrs}

    def script(self, identity):
        return "".join(data for attrs, data in self.scripts if attrs.get("id") == identity)


class Tables(HTMLParser):
    """{id: (headings, rows, rest)}; a cell is its text and, of a number, the number."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.found = {}
        self._table = self._row = self._part = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "table" and attrs.get("class") == "sortable":
            self._table = self.found[attrs["id"]] = ([], [], [])
        if self._table is None:
            return
        if tag in ("thead", "tbody", "tfoot"):
            self._part = ("thead", "tbody", "tfoot").index(tag)
        elif tag == "tr":
            self._row = []
        elif tag in ("th", "td"):
            self._row.append(["", float(attrs["data-v"]) if "data-v" in attrs else None])

    def handle_endtag(self, tag):
        if self._table is None:
            return
        if tag == "tr":
            self._table[self._part].append(self._row)
            self._row = None
        elif tag == "table":
            self._table = None

    def handle_data(self, data):
        if self._table is not None and self._row:
            self._row[-1][0] += data

    def column(self, table, heading):
        """{name: value} of the rows, and the value of the rest (None without one)."""
        (head,), rows, rest = self.found[table]
        place = [cell[0] for cell in head].index(heading)
        values = {row[0][0]: row[place][1] for row in rows}
        return values, rest[0][place][1] if rest else None
