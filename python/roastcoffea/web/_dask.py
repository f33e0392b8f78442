"""Addresses on the HTTP server of a Dask scheduler: /roast, the runs that are open there, and /roast/metrics.

Who may look is the server's business: these pages show nothing that needs more than its own do, and no files.
"""

from __future__ import annotations

import time
from typing import Any

import tornado.routing
import tornado.web

from roastcoffea._core import format_value
from roastcoffea.backends._exposed import EXTENSION, LiveRun, metrics_text, runs_of
from roastcoffea.guard import hook
from roastcoffea.progress import seen_in_words
from roastcoffea.report._document import Section, document
from roastcoffea.report._markup import Column, Row, name, table, text
from roastcoffea.web._access import HEADERS, policy_of

__all__ = ["SchedulerPage"]

REFRESH_SECONDS = 2
COLUMNS = (
    Column("Dataset"), Column("Chunks", "1"), Column("Failed", "1"), Column("Events", "1"), Column("Bytes Read", "bytes"),
    Column("Time in process()", "s"),
)


class SchedulerPage:
    """The two addresses on one scheduler. `shows_all`: every collector, not only those that ask for it."""

    def __init__(self, scheduler: Any, shows_all: bool) -> None:
        self.scheduler, self.shows_all = scheduler, shows_all
        prefix = _prefix(scheduler.http_application)
        rules = scheduler.http_application.default_router.rules
        before = list(rules)
        scheduler.http_application.add_handlers(r".*", [
            (f"{prefix}/roast/?", _Runs, {"page": self}), (f"{prefix}/roast/metrics", _Metrics, {"page": self}),
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
def runs_page(runs: list[LiveRun]) -> str | None:
    told = "No run is measured on this scheduler now." if not runs else "Runs that are measured on this scheduler."
    top = f'<section id="top"><h1>roastcoffea</h1><p class="about">{text(told)}</p></section>'
    sections = [Section(f"run{place}", run.label, _run(place, run)) for place, run in enumerate(runs)]
    return document("Runs · roastcoffea", top, sections, hint="for Prometheus: /roast/metrics")


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
    return f'<p class="outcome">{name(line)}</p>{table(f"datasets{place}", COLUMNS, rows) if rows else ""}'


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
        runs = runs_of(self.page.scheduler)
        body = runs_page(runs)
        if body is not None:
            self.set_header("Content-Security-Policy", policy_of(body))
            self.set_header("Refresh", str(REFRESH_SECONDS if any(run.is_open for run in runs) else 5 * REFRESH_SECONDS))
        self.answer(body)


class _Metrics(_Handler):
    def get(self) -> None:
        self.set_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.answer(metrics_text(runs_of(self.page.scheduler)))
