"""Addresses on the HTTP server of a Dask scheduler: /roast, the runs that are open there; /roast/parts, what changes of
that page; and /roast/metrics.

Who may look is the server's business: these pages show nothing that needs more than its own do, and no files.
"""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import tornado.routing
import tornado.web

from roastcoffea._core import format_value
from roastcoffea.backends.dask.exposed import EXTENSION, LiveRun, metrics_text, runs_of
from roastcoffea.common.guard import hook
from roastcoffea.collector.progress import seen_in_words
from roastcoffea.report._document import document, own_scripts
from roastcoffea.report._markup import Column, Row, name, table, text
from roastcoffea.web._access import HEADERS, policy_of

__all__ = ["SchedulerPage"]

REFRESH_SECONDS = 2  # the parts of the page are made at most this often
WORKERS = 100  # that are shown
# The type of an exception as TaskWatch tells it: "ValueError: no", or the name of the type alone. Any other text may be one
# of the user's.
KIND = re.compile(r"[\w.]+(?=: )|[\w.]*(?:Error|Exception|Interrupt|Exit|Warning|KilledWorker)$|its worker left$")
SCRIPT = (Path(__file__).parent / "dask.js").read_text(encoding="utf-8")
COLUMNS = (
    Column("Dataset"), Column("Chunks", "1"), Column("Failed", "1"), Column("Events", "1"), Column("Bytes Read", "bytes"),
    Column("Time in process()", "s"),
)
WORKER_COLUMNS = (
    Column("Worker"), Column("Threads", "1"), Column("Tasks", "1"), Column("Memory", "bytes"), Column("Memory limit", "bytes"),
)


class SchedulerPage:
    """The two addresses on one scheduler. `shows_all`: every collector, not only those that ask for it."""

    def __init__(self, scheduler: Any, shows_all: bool) -> None:
        self.scheduler, self.shows_all = scheduler, shows_all
        self._made: tuple[float, Any, dict[str, str] | None] = (-1e9, None, None)
        prefix = _prefix(scheduler.http_application)
        rules = scheduler.http_application.default_router.rules
        before = list(rules)
        scheduler.http_application.add_handlers(r".*", [
            (f"{prefix}/roast/?", _Runs, {"page": self}), (f"{prefix}/roast/metrics", _Metrics, {"page": self}),
            (f"{prefix}/roast/parts", _Parts, {"page": self}),
        ])
        self._rules = [rule for rule in rules if rule not in before]
        scheduler.extensions[EXTENSION] = self

    @classmethod
    def put_on(cls, scheduler: Any, shows_all: bool) -> SchedulerPage:
        """One that is there already stays."""
        page: SchedulerPage | None = scheduler.extensions.get(EXTENSION)
        if page is None:
            return cls(scheduler, shows_all)
        page.shows_all |= shows_all
        return page

    def parts(self) -> dict[str, str] | None:
        """The contents of the sections, whoever asks how often; None: they could not be made."""
        runs, now = runs_of(self.scheduler), time.monotonic()
        which = [(run, run.is_open) for run in runs]
        if which != self._made[1] or self._made[2] is None or now - self._made[0] >= REFRESH_SECONDS:
            self._made = now, which, runs_parts(runs)
        return self._made[2]

    def take_off(self) -> None:
        rules = self.scheduler.http_application.default_router.rules
        rules[:] = [rule for rule in rules if rule not in self._rules]
        if self.scheduler.extensions.get(EXTENSION) is self:
            del self.scheduler.extensions[EXTENSION]


def _prefix(application: Any) -> str:
    """Dask's own addresses may stand below a path (--dashboard-prefix); ours go where /metrics is."""
    for rule in application.wildcard_router.rules:
        matcher = rule.matcher
        if isinstance(matcher, tornado.routing.PathMatches) and matcher.regex.pattern.endswith("/metrics$"):
            return matcher.regex.pattern.removesuffix("/metrics$")
    return ""


# ---- the page ----


@hook("the page of Dask's server", default=None)
def runs_parts(runs: list[LiveRun]) -> dict[str, str] | None:
    """{id of a section: its contents}"""
    told = "No run is measured on this scheduler now." if not runs else "Runs that are measured on this scheduler."
    more = "Findings and budget need all records; the scheduler does not compute them. They are on the board and in the report."
    top = f'<h1>roastcoffea</h1><p class="about">{text(told)}</p><p class="note">{text(more)}</p>'
    return {"top": top, **{f"run{place}": f"<h2>{text(run.label)}</h2>{_run(place, run)}" for place, run in enumerate(runs)}}


@hook("the page of Dask's server", default=None)
def runs_page(parts: dict[str, str] | None) -> str | None:
    if parts is None:
        return None
    body = "".join(f'<section id="{key}">{html}</section>' for key, html in parts.items())
    script = f'<p id="told" class="note" role="status"></p><script>{SCRIPT}</script>'
    return document("Runs · roastcoffea", body, [], script, "for Prometheus: /roast/metrics", asks_server=True)


def _run(place: int, run: LiveRun) -> str:
    look = run.progress.look(time.monotonic())
    seen = {**look, **{key: run.cluster().get(key) for key in ("workers", "memory", "memory_limit")}}
    if not run.is_open:
        seen.update(event_rate=None, byte_rate=None)
    state = "measured for" if run.is_open else "has ended; began"
    since = f"{state} {format_value(max(0.0, time.time() - run.started), 's')}{'' if run.is_open else ' ago'}"
    rows = [
        Row([row["dataset"] or None, row["done"], row["failed"], row["events"], row["bytes"], row["seconds"]])
        for row in sorted(run.tally.rows(), key=lambda row: -row["done"])
    ]
    line = " · ".join([*seen_in_words(seen), since])
    datasets = table(f"datasets{place}", COLUMNS, rows) if rows else ""
    return f'<p class="outcome">{name(line)}</p>{_failed(run)}{datasets}{_workers(place, run)}'


def _failed(run: LiveRun) -> str:
    """Tries that failed. Of an exception only the type: its text may hold what others are not to see."""
    count, last = run.failures() if run.failures is not None else (0, [])
    found = (KIND.match(told) for told, _ in reversed(last))
    kinds = dict.fromkeys(one[0] for one in found if one)
    if not count:
        return ""
    told = "1 try of a task has failed" if count == 1 else f"{count:,} tries of tasks have failed"
    if kinds:
        told += f", the last with: {', '.join(kinds)}"
    return f'<p class="outcome warning">{text(told)}</p>'


def _workers(place: int, run: LiveRun) -> str:
    """One by one, if the collector has asked for it."""
    rows = [Row([row[key] for key in ("worker", "threads", "tasks", "memory", "memory_limit")]) for row in run.workers()[:WORKERS]]
    return f'<h3>Workers</h3>{table(f"workers{place}", WORKER_COLUMNS, rows)}' if rows else ""


# ---- requests ----


class _Handler(tornado.web.RequestHandler):
    def initialize(self, page: SchedulerPage) -> None:
        self.page = page

    def set_default_headers(self) -> None:
        self.clear_header("Server")
        for key, value in HEADERS.items():
            self.set_header(key, value)
        self.set_header("Content-Security-Policy", policy_of())

    def answer(self, body: str | None) -> None:
        if body is None:
            self.set_status(503)
            self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish("roastcoffea could not make this page\n" if body is None else body)


class _Runs(_Handler):
    def get(self) -> None:
        body = runs_page(self.page.parts())
        if body is not None:
            self.set_header("Content-Security-Policy", policy_of([SCRIPT, *own_scripts()]))
        self.answer(body)


class _Parts(_Handler):
    def get(self) -> None:
        parts = self.page.parts()
        self.set_header("Content-Type", "application/json; charset=utf-8")
        self.answer(None if parts is None else json.dumps(parts))


class _Metrics(_Handler):
    def get(self) -> None:
        self.set_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.answer(metrics_text(runs_of(self.page.scheduler)))
