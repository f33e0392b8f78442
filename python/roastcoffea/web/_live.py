"""A run that goes on: what each look adds to what is known of it, and the parts of its page.

Most parts are kept up to date from the news alone: a look costs as much after a million chunks as after a hundred. Findings,
budget and figures need the whole run. They are computed again after a pause that is PAUSE times as long as they took.
"""

from __future__ import annotations

import os
import time
from collections import deque
from datetime import UTC, datetime
from typing import Any

import numpy as np

from roastcoffea import _core
from roastcoffea._core import format_value
from roastcoffea.visualization.binning import Array, numbers, spread, top, worker_counts
from roastcoffea.collector.live_writer import read_failures
from roastcoffea.report._budget import budget
from roastcoffea.report._data import Source
from roastcoffea.report._findings import findings
from roastcoffea.report._markup import Column, Row, name, table, text
from roastcoffea.report._overview import quality, tiles
from roastcoffea.report._tables import TABLES
from roastcoffea.collector.results import open_run

__all__ = ["LiveRun", "in_order", "look_at_all"]

BINS = 120  # of the chart
FAILURES, WORKERS = 10, 100  # that are shown
PAUSE = 100
OLD = 10.0  # seconds between two looks at all chunks, from which on the page says so
# A moment so long before the start or after the end is of a clock that is wrong.
FAR = 60.0

_NEWS = ("t_start", "t_end", "duration", "num_events", "worker", "host", "error", "dataset", "file", "entry_start", "entry_stop")
_WORKERS = (
    (Column("Chunks", "1"), "chunks"),
    (Column("Failed", "1"), "failed"),
    (Column("Events", "1"), "events"),
    (Column("Event rate", "Hz", "events over the time inside process()"), ("events", "seconds")),
    (Column("Time", "s", "inside process(), summed over chunks without an error"), "seconds"),
    (Column("Memory now", "bytes", "at the last sample"), "memory"),
)


class Grid:
    """Amounts over time in at most BINS bins, which become wider as time goes on."""

    def __init__(self) -> None:
        self.width, self.first = 0.125, 0  # seconds; the number of the first bin, counted from the start of the run
        self.sums: Array = np.zeros(0)

    def add(self, starts: Array, ends: Array, amounts: Array) -> None:
        if len(starts) == 0:
            return
        low, high = float(starts.min()), float(max(ends.max(), starts.max()))
        while True:
            first, last = int(low // self.width), int(high // self.width)
            if len(self.sums):
                first, last = min(first, self.first), max(last, self.first + len(self.sums) - 1)
            if last - first < BINS:
                break
            self._widen()
        sums = np.zeros(last - first + 1)
        sums[self.first - first : self.first - first + len(self.sums)] = self.sums if len(self.sums) else 0
        edges = (first + np.arange(len(sums) + 1)) * self.width
        self.first, self.sums = first, sums + spread(starts, ends, amounts, edges)[0] * self.width

    def _widen(self) -> None:
        if len(self.sums):
            bins = (self.first + np.arange(len(self.sums))) // 2
            self.first = int(bins[0])
            self.sums = np.bincount(bins - self.first, self.sums)
        self.width *= 2


class Workers:
    """Sums by the name of a worker."""

    KEYS = ("chunks", "failed", "events", "seconds", "memory")

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._sums = {key: np.zeros(0) for key in self.KEYS}

    def _at(self, names: list[str]) -> Array:
        """The places of these workers, new ones at the end."""
        places = np.array([self._places.setdefault(one, len(self._places)) for one in names], dtype=int)
        more = len(self._places) - len(self._sums["chunks"])
        for key, values in self._sums.items():
            self._sums[key] = np.append(values, np.full(more, np.nan if key == "memory" else 0.0))
        return places

    def add(self, chunks: _core.Table) -> None:
        owner = "worker" if chunks.categories("worker") else "host"
        names, codes = chunks.categories(owner), np.asarray(chunks.column(f"{owner}.code"))
        failed = np.asarray(chunks.column("error.code")) >= 0
        places, known = self._at(names), codes >= 0
        figures = {"chunks": ~failed, "failed": failed, "events": np.where(failed, 0, numbers(chunks.column("num_events"))),
                   "seconds": np.where(failed, 0, numbers(chunks.column("duration")))}
        for key, values in figures.items():
            sums = np.bincount(codes[known], np.nan_to_num(values[known].astype(float)), minlength=len(names))
            self._sums[key][places] += sums

    def add_samples(self, samples: _core.Table) -> None:
        memory, codes = numbers(samples.column("memory")), np.asarray(samples.column("worker.code"))
        there = np.isfinite(memory) & (codes >= 0)
        # The samples of a worker are in order of time: the last one stays.
        places = self._at(samples.categories("worker"))
        self._sums["memory"][places[codes[there]]] = memory[there]

    def html(self) -> str:
        if not self._places:
            return ""
        count = len(self._places)
        found = top(np.arange(count), count, {key: self._sums[key] for key in self.KEYS}, order="chunks", limit=WORKERS)
        names, figures = list(self._places), [found.figure(key) for _, key in _WORKERS]
        rows = [Row([names[code] if code >= 0 else f"{found.rest:,} more", *(figure[place].item() for figure in figures)])
                for place, code in enumerate(found.codes)]
        rest = rows.pop() if found.rest else None
        return table("table-live-workers", [Column("Worker"), *(column for column, _ in _WORKERS)], rows, rest)


class LiveRun:
    """What is known of a run that is being written; one thread at a time."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._which: Any = None  # the file, and the start of the run in it
        self._begin()

    def _begin(self) -> None:
        self._after = 0
        self._first = float("nan")  # when the first chunk began
        self._events, self._workers = Grid(), Workers()
        self._known = 0  # chunks
        self._present: int | None = None  # workers at the last sample
        self._failures: deque[str] = deque(maxlen=FAILURES)
        self._failed = 0

    # ---- the news ----

    def look(self) -> dict[str, str]:
        """Reads what is new; the parts of the page that it changes."""
        info = os.stat(os.path.join(self.path, "run.sqlite"), follow_symlinks=False)
        run, _, after = _core.load_news(self.path, self._after)
        which = info.st_dev, info.st_ino, run.t_start
        if which != self._which and self._after:  # another run under the same name, and maybe in the place of the same file
            self._begin()
            run, _, after = _core.load_news(self.path, 0)
        self._which, self._after = which, after
        self._take(run)
        return self._parts(run)

    def _take(self, run: _core.Run) -> None:
        chunks = run.chunk_columns(_NEWS)
        if len(chunks):
            self._known += len(chunks)
            self._workers.add(chunks)
            self._take_times(run, chunks)
            self._take_failures(chunks)
        if run.series is not None:
            self._workers.add_samples(run.samples)
            counts = worker_counts(run)
            if counts is not None:
                self._present = int(counts.workers[-1])

    def _take_times(self, run: _core.Run, chunks: _core.Table) -> None:
        starts, ends, events = (numbers(chunks.column(key)) for key in ("t_start", "t_end", "num_events"))
        self._first = float(np.fmin(self._first, np.fmin.reduce(starts)))
        begin, end = run.t_start, run.t_end
        if begin is None or end is None:
            return
        there = np.isfinite(events) & (starts >= begin - FAR) & (ends <= end + FAR)
        self._events.add(starts[there] - begin, ends[there] - begin, events[there])

    def _take_failures(self, chunks: _core.Table) -> None:
        failed = np.flatnonzero(np.asarray(chunks.column("error.code")) >= 0)
        self._failed += len(failed)
        texts = {key: chunks.column(key) for key in ("error", "dataset", "file")} if len(failed) else {}
        for row in failed[-FAILURES:]:
            start, stop = (numbers(chunks.column(key))[row] for key in ("entry_start", "entry_stop"))
            entries = f", entries {start:.0f} to {stop:.0f}" if np.isfinite(start) and np.isfinite(stop) else ""
            where = ", ".join(str(texts[key][row]) for key in ("dataset", "file") if texts[key][row])
            self._failures.appendleft(f"<li>{name(texts['error'][row])}<br><small>{name(where)}{entries}</small></li>")

    # ---- the parts of the page ----

    def _parts(self, run: _core.Run) -> dict[str, str]:
        more = f" <small>{self._failed:,}, the last {len(self._failures)}</small>" if self._failed > len(self._failures) else ""
        failures = f"<h2>Failures{more}</h2><ul class=\"failures\">{''.join(self._failures)}</ul>" if self._failures else ""
        now = f", {self._present:,} now" if self._present is not None else ""
        return {
            "progress": self._progress(run),
            "failures": section_of(failures + _failed_tries(run)),
            "time": section("Throughput", self._throughput()),
            "workers": section(f"Workers{now}", self._workers.html()),
        }

    def _progress(self, run: _core.Run) -> str:
        """How much is done, and how long the rest takes at the pace since the first chunk."""
        outcome, warning = _core.Summary(run).headline
        lines = "".join(f'<p class="{kind}">{name(line)}</p>'
                        for kind, line in (("outcome", outcome), ("outcome warning", warning)) if line)
        ending = run.ending or {}
        pieces, done = ending.get("pieces"), ending.get("pieces_done")
        if not pieces or done is None:
            return lines or '<p class="note">The number of chunks is not known yet.</p>'
        left = _core.time_left(run, self._first)
        told = f"about {format_value(left, 's')} left" if left is not None else "" if done else "The first chunk is awaited."
        return (f'{lines}<progress max="{pieces}" value="{done}" aria-label="chunks done"></progress>'
                f'<p class="note">{text(told)}</p>')

    def _throughput(self) -> str:
        """Events per second so far, as a line."""
        grid = self._events
        if len(grid.sums) == 0:
            return ""
        rates = grid.sums / grid.width
        if len(rates) == 1:
            rates = np.repeat(rates, 2)  # a line has two ends
        most, step = float(rates.max()) or 1.0, 100 / len(rates)
        points = " ".join(f"{step * (i + 0.5):.2f},{40 - 38 * rate / most:.2f}" for i, rate in enumerate(rates))
        lasted = format_value(len(grid.sums) * grid.width, "s")
        told = (f"Events per second inside process(), over {lasted}; at most {format_value(most / 1e3, 'kHz')}. "
                "A chunk counts when it is done: the end of the line rises later.")
        return (
            f'<svg class="spark" viewBox="0 0 100 40" preserveAspectRatio="none" role="img" aria-label="{text(told)}">'
            f'<polyline points="{points}" vector-effect="non-scaling-stroke"></polyline></svg><p class="note">{text(told)}</p>'
        )


def look_at_all(path: str) -> tuple[dict[str, str], float]:
    """The parts that need all of a run, and the seconds until the next look at it."""
    began = time.process_time()  # other threads take part in the work
    when = datetime.now(UTC)
    made = whole_parts(Source(open_run(path)))
    pause = PAUSE * (time.process_time() - began)
    if pause > OLD:
        made["age"] = (f'<p class="note">Findings, budget, figures and tables are as of {when:%H:%M:%S} UTC. All chunks of a '
                       f"run this large are looked at every {text(format_value(pause, 's'))}.</p>")
    return made, pause


def in_order(parts: dict[str, str]) -> dict[str, str]:
    """Those without anything in them are left out."""
    order = ("progress", "tiles", "age", "failures", "findings", "budget", "time", "workers", "tables", "quality")
    return {key: parts[key] for key in order if parts.get(key)}


def _failed_tries(run: _core.Run) -> str:
    """The tries of tasks that failed, as the scheduler saw them; those outside of process() leave no record."""
    count, last = read_failures(run.meta)
    rows = [f"<li>{name(told)}<br><small>{name(where)}</small></li>" for told, where in last[-FAILURES:]]
    if not rows:
        return ""
    more = f", the last {len(rows)}" if count > len(rows) else ""
    return (f'<h2>Failed tries of tasks <small>{count:,}{more}</small></h2><ul class="failures">{"".join(reversed(rows))}</ul>'
            '<p class="note">As the scheduler saw them; exceptions inside process() are among them. A try that failed may '
            "have been repeated.</p>")


def section_of(body: str) -> str:
    return body and f"<section>{body}</section>"


def section(title: str, body: str) -> str:
    return f"<section><h2>{text(title)}</h2>{body}</section>" if body else ""


def whole_parts(source: Source) -> dict[str, str]:
    """The parts that need all of a run. Before the first chunk there is nothing to find, and nothing is missing yet."""
    made = [(title, make(source)) for title, make in TABLES if title != "Workers"]
    tables = "".join(f"<h3>{text(title)}</h3>{body}" for title, body in made if body)
    return {
        "tiles": tiles(source),
        "findings": section("Findings so far", (findings(source) or "") if len(source.chunks) else ""),
        "budget": section("Core-second budget so far", budget(source)),
        "tables": section("Tables", tables),
        "quality": section("Data quality", quality(source)) if len(source.chunks) else "",
    }
