"""The pages of the board. A finished run, a comparison: the pages of the report, with a way back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from roastcoffea._core import __version__
from roastcoffea.report._comparison import comparison_page, table_section
from roastcoffea.report._data import Results
from roastcoffea.report._document import Section, document
from roastcoffea.report._markup import name, text
from roastcoffea.report._page import page

if TYPE_CHECKING:
    from roastcoffea.comparison import Comparison
    from roastcoffea.scaling_runs import Scaling

__all__ = ["Pages"]


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
            f'<script src="{static}/tables.js" defer></script><script src="{static}/board.js" defer></script></head>'
            f'<body data-page="{kind}" data-base="{text(self.base)}" data-run="{text(run)}">'
            f'<header><div class="bar-inner">{links or "<strong>roastcoffea</strong>"}<nav></nav>'
            '<button type="button" id="theme" aria-label="switch between light and dark">'
            '<span aria-hidden="true">◐</span></button></div></header>'
            f"<main>{main}</main><footer>roastcoffea {text(__version__)}</footer></body></html>\n"
        )

    def runs(self) -> str:
        main = (
            '<section id="top"><h1>Runs</h1><p class="about" id="count" role="status">reading the folder …</p>'
            '<p class="outcome warning" id="notice" role="status" hidden></p></section>'
            '<section id="runs"><form id="choose" role="search">'
            '<label>Search <input id="search" type="search" placeholder="name, or wall>60" autocomplete="off"></label>'
            '<label>Outcome <select id="outcome"><option value="">all</option><option>done</option><option>failed</option>'
            "<option>interrupted</option><option>live</option><option>unfinished</option><option>unreadable</option></select></label>"
            '<label class="narrow">Sort <select id="sort"></select></label>'
            '<span class="actions"><button type="button" id="untick" hidden>Untick all</button>'
            '<button type="button" id="compare" disabled>Compare</button>'
            '<button type="button" id="scaling" disabled>Scaling</button></span></form>'
            '<div id="list" role="table" aria-label="runs"><div id="heads" role="row"></div>'
            '<div id="window" role="rowgroup" tabindex="0" aria-label="runs: arrow keys go from row to row"><div id="rows"></div></div></div></section>'
        )
        return self._frame("Runs · roastcoffea", "runs", main, home=False)

    def live(self, run: str) -> str:
        main = (
            f'<section id="top"><h1>{name(run)}</h1><p class="outcome" id="state" role="status">reading …</p></section>'
            '<p class="unseen" id="news" role="status"></p><div id="parts"></div>'
        )
        return self._frame(f"{run} · roastcoffea", "live", main, run)

    def ask(self, run: str) -> str:
        main = (
            f'<section id="top"><h1>Ask</h1><p class="about">{name(run)} · <a href="{text(self.address("run", run))}">the '
            "run</a></p></section>"
            '<section id="asked"><form id="query"><label for="sql">One SELECT in SQLite’s dialect; nothing can be changed.'
            '</label><textarea id="sql" rows="4" spellcheck="false"></textarea>'
            '<button type="submit">Ask</button> <a id="csv" hidden download="answer.csv">as CSV</a></form>'
            '<details id="columns"><summary>Tables and their columns</summary><div id="tables"></div></details>'
            '<div><p id="told" role="status"></p><div class="scroll whole" tabindex="0"><table id="answer"></table></div></div>'
            "</section>"
        )
        return self._frame(f"Ask {run} · roastcoffea", "ask", main, run)

    def message(self, title: str, told: str) -> str:
        main = f'<section id="top"><h1>{text(title)}</h1><p>{name(told)}</p></section>'
        return self._frame(f"{title} · roastcoffea", "message", main)

    def token(self, wrong: bool, asked: Sequence[tuple[str, str]] = ()) -> str:
        """`asked` is the rest of the address, which is opened with the token."""
        kept = "".join(f'<input type="hidden" name="{text(key)}" value="{text(value)}">' for key, value in asked)
        told = "That is not the token of this board." if wrong else "Enter the token of this board to see its runs."
        main = (
            f'<section id="top"><h1>Token</h1><p>{text(told)} It is in the address that <code>roast board</code> '
            f'printed.</p><form method="get">{kept}<label>Token <input name="token" type="password" autocomplete="off" '
            'autofocus></label> <button type="submit">Open</button></form></section>'
        )
        return self._frame("Token · roastcoffea", "message", main, home=False)

    # ---- pages of the report ----

    def report(self, run: str, results: Results) -> str:
        return page(results, self._home(run), run)

    def comparison(self, found: Sequence[Comparison]) -> str:
        """Each is compared with the same run A."""
        if len(found) == 1:
            return comparison_page(found[0].headline, found[0].names, found[0].tables, self._home())
        lines = [("A", found[0].names[0], ""), *((f"B{i}", one.names[1], one.headline) for i, one in enumerate(found, 1))]
        about = "".join(f'<p class="about">{letter}: {", ".join(name(one) for one in names)}</p>'
                        + (f'<p class="outcome">{name(told)}</p>' if told else "") for letter, names, told in lines)
        sections = [Section(f"{part.identity}-{i}", f"A and B{i}: {part.title}", part.body)
                    for i, one in enumerate(found, 1) for part in map(table_section, one.tables) if part.body]
        return document("Comparison · roastcoffea", f'<section id="top"><h1>Comparison</h1>{about}</section>', sections,
                        home=self._home())

    def scaling(self, found: Scaling) -> str:
        names = "".join(f'<p class="about">{name(one["name"])}</p>' for one in found.runs)
        top = f'<section id="top"><h1>Scaling</h1><p class="outcome">{name(found.headline)}</p>{names}</section>'
        sections = [table_section(table) for table in found.tables]
        return document("Scaling · roastcoffea", top, sections, home=self._home())
