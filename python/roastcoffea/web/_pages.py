"""The pages of the board. A finished run, a comparison: the pages of the report, with a way back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from roastcoffea._core import __version__, format_value
from roastcoffea.binning import numbers, throughput
from roastcoffea.report._budget import budget
from roastcoffea.report._comparison import comparison_page, table_section
from roastcoffea.report._data import Results, Source
from roastcoffea.report._document import document
from roastcoffea.report._findings import findings
from roastcoffea.report._markup import name, text
from roastcoffea.report._overview import headline, quality, tiles
from roastcoffea.report._page import page
from roastcoffea.report._tables import TABLES

if TYPE_CHECKING:
    from roastcoffea.comparison import Comparison
    from roastcoffea.scaling_runs import Scaling

__all__ = ["Pages", "live_parts"]

BINS = 120  # of a chart of a live run


class Pages:
    """`base` is the path of the board, with a slash at both ends."""

    def __init__(self, base: str) -> None:
        self.base = base

    def address(self, kind: str, run: str = "", **query: str | Sequence[str]) -> str:
        asked = f"?{urlencode(query, doseq=True)}" if query else ""
        return f"{self.base}{kind}{'/' if run else ''}{quote(run)}{asked}"

    def _home(self, run: str = "") -> list[tuple[str, str]]:
        return [("← Runs", self.base), *([("Ask", self.address("ask", run))] if run else [])]

    def _frame(self, title: str, kind: str, main: str, run: str = "", home: bool = True) -> str:
        links = "".join(f'<a class="home" href="{text(to)}">{text(label)}</a>' for label, to in self._home(run)) if home else ""
        static = f"{self.base}static"
        return (
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
            f"<title>{text(title)}</title>"
            f'<link rel="stylesheet" href="{static}/report.css"><link rel="stylesheet" href="{static}/board.css">'
            f'<script src="{static}/board.js" defer></script></head>'
            f'<body data-page="{kind}" data-base="{text(self.base)}" data-run="{text(run)}">'
            f'<header><div class="bar-inner">{links or "<strong>roastcoffea</strong>"}<nav></nav>'
            '<button type="button" id="theme" aria-label="switch between light and dark">'
            '<span aria-hidden="true">◐</span></button></div></header>'
            f"<main>{main}</main><footer>roastcoffea {text(__version__)}</footer></body></html>\n"
        )

    def runs(self) -> str:
        main = (
            '<section id="top"><h1>Runs</h1><p class="about" id="count" role="status">reading the folder …</p></section>'
            '<section id="runs"><form id="choose" role="search">'
            '<label>Search <input id="search" type="search" placeholder="name, or wall>60" autocomplete="off"></label>'
            '<label>Outcome <select id="outcome"><option value="">all</option><option>done</option><option>failed</option>'
            "<option>interrupted</option><option>live</option></select></label>"
            '<span class="actions"><button type="button" id="compare" disabled>Compare</button>'
            '<button type="button" id="scaling" disabled>Scaling</button></span></form>'
            '<div id="list" role="table" aria-label="runs"><div id="heads" role="row"></div>'
            '<div id="window" role="rowgroup" tabindex="0"><div id="rows"></div></div></div></section>'
        )
        return self._frame("Runs · roastcoffea", "runs", main, home=False)

    def live(self, run: str) -> str:
        main = (
            f'<section id="top"><h1>{name(run)}</h1><p class="outcome" id="state" role="status">reading …</p></section>'
            '<div id="parts"></div>'
        )
        return self._frame(f"{run} · roastcoffea", "live", main, run)

    def ask(self, run: str) -> str:
        main = (
            f'<section id="top"><h1>Ask</h1><p class="about">{name(run)} · <a href="{text(self.address("run", run))}">the '
            "run</a></p></section>"
            '<section id="asked"><form id="query"><label for="sql">One SELECT in SQLite’s dialect; nothing can be changed.'
            '</label><textarea id="sql" rows="4" spellcheck="false"></textarea>'
            '<button type="submit">Ask</button> <a id="csv" hidden download="answer.csv">as CSV</a></form>'
            '<p id="told" role="status"></p><div class="scroll whole" tabindex="0"><table id="answer"></table></div></section>'
            '<section id="columns"><h2>Tables</h2><div id="tables"></div></section>'
        )
        return self._frame(f"Ask {run} · roastcoffea", "ask", main, run)

    def message(self, title: str, told: str) -> str:
        main = f'<section id="top"><h1>{text(title)}</h1><p>{name(told)}</p></section>'
        return self._frame(f"{title} · roastcoffea", "message", main)

    def token(self, wrong: bool) -> str:
        told = "That is not the token of this board." if wrong else "This board shows its runs to who has its token."
        main = (
            f'<section id="top"><h1>Token</h1><p>{text(told)} It is in the address that <code>roast board</code> '
            'printed.</p><form method="get"><label>Token <input name="token" type="password" autocomplete="off" '
            'autofocus></label> <button type="submit">Open</button></form></section>'
        )
        return self._frame("Token · roastcoffea", "message", main, home=False)

    # ---- pages of the report ----

    def report(self, run: str, results: Results) -> str:
        return page(results, self._home(run))

    def comparison(self, found: Comparison) -> str:
        return comparison_page(found.headline, found.names, found.tables, self._home())

    def scaling(self, found: Scaling) -> str:
        names = "".join(f'<p class="about">{name(one["name"])}</p>' for one in found.runs)
        top = f'<section id="top"><h1>Scaling</h1><p class="outcome">{name(found.headline)}</p>{names}</section>'
        sections = [table_section(table) for table in found.tables]
        return document("Scaling · roastcoffea", top, sections, home=self._home())


# ---- a run that goes on ----


def live_parts(results: Results) -> dict[str, str]:
    """The parts of the page, by name; those without anything in them are left out."""
    source = Source(results)
    made = {
        "headline": headline(source) + _progress(source) + tiles(source),
        "findings": _section("Findings", findings(source) or ""),
        "budget": _section("Core-second budget so far", budget(source)),
        "time": _section("Over time", _throughput(source)),
        "tables": _section("Tables", _tables(source)),
        "quality": _section("Data quality", quality(source)),
    }
    return {key: body for key, body in made.items() if body}


def _progress(source: Source) -> str:
    """How much is done, and how long the rest takes at the pace since the first chunk."""
    ending, end = source.run.ending or {}, source.run.t_end
    pieces, done = ending.get("pieces"), ending.get("pieces_done")
    if not pieces or done is None:
        return ""
    starts = numbers(source.chunks.column("t_start"))
    starts = starts[starts == starts]  # those that are known
    since = end - float(starts.min()) if end is not None and len(starts) else None
    left = f"about {format_value(since * (pieces - done) / done, 's')} left" if done and since else "the first chunk is awaited"
    return f'<progress max="{pieces}" value="{done}" aria-label="chunks done"></progress><p class="note">{text(left)}</p>'


def _section(title: str, body: str) -> str:
    return f"<section><h2>{text(title)}</h2>{body}</section>" if body else ""


def _tables(source: Source) -> str:
    made = [(title, make(source)) for title, make in TABLES]
    return "".join(f"<h3>{text(title)}</h3>{body}" for title, body in made if body)


def _throughput(source: Source) -> str:
    """Events per second so far, as a line."""
    columns = [source.chunks.column(key) for key in ("t_start", "t_end", "num_events")]
    data = throughput(columns[0], columns[1], columns[2], BINS)
    if data is None or len(data.rates) == 0:
        return ""
    most = float(data.rates.max()) or 1.0
    step = 100 / len(data.rates)
    points = " ".join(f"{step * (i + 0.5):.2f},{40 - 38 * rate / most:.2f}" for i, rate in enumerate(data.rates))
    lasted = float(data.edges[-1] - data.edges[0])
    told = f"Events per second inside process(), over {format_value(lasted, 's')}; at most {format_value(most / 1e3, 'kHz')}."
    return (
        f'<svg class="spark" viewBox="0 0 100 40" preserveAspectRatio="none" role="img" aria-label="{text(told)}">'
        f'<polyline points="{points}" vector-effect="non-scaling-stroke"></polyline></svg><p class="note">{text(told)}</p>'
    )
