"""The page: its sections, and all that it needs inside."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from roastcoffea._core import __version__
from roastcoffea.report._bokeh import Document, Resources
from roastcoffea.report._budget import budget
from roastcoffea.report._data import Results, Source
from roastcoffea.report._findings import findings
from roastcoffea.report._markup import json_script, name, text
from roastcoffea.report._overview import cards, headline, provenance, quality, tiles
from roastcoffea.report._scatter import scatter
from roastcoffea.report._tables import TABLES
from roastcoffea.report._look import Chart, Key
from roastcoffea.report._timelines import timelines

# Nothing is loaded from anywhere, whatever a name or a script may say.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
    "font-src data:; base-uri 'none'; form-action 'none'"
)
# An empty icon: without one of its own a browser would ask for one.
_ICON = "data:,"


class _Section:
    """A part of the page; left out where there is nothing in it."""

    def __init__(self, identity: str, title: str, body: str) -> None:
        self.identity, self.title, self.body = identity, title, body

    @property
    def html(self) -> str:
        return f'<section id="{self.identity}"><h2>{text(self.title)}</h2>{self.body}</section>'


def page(results: Results) -> str:
    """All of it."""
    source = Source(results)
    charts = timelines(source)
    pairs = scatter(source)
    sections = [
        _Section("findings", "Findings", findings(source) or ""),
        _Section("budget", "Core-second budget", budget(source)),
        _Section("time", "Over time", _over_time(charts)),
        _Section("chunks", "Runtime and events", _place(pairs[0]) + pairs[1] if pairs else ""),
        _Section("tables", "Tables", _tables(source)),
        _Section("summary", "Summary", cards(source)),
        _Section("quality", "Data quality", quality(source)),
        _Section("provenance", "Provenance", provenance(source)),
    ]
    shown = [section for section in sections if section.body]
    links = "".join(f'<a href="#{section.identity}">{text(section.title)}</a>' for section in shown)
    body = "".join(section.html for section in shown)
    drawn = [*charts, *([pairs[0]] if pairs else [])]
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{text(_POLICY)}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark">'
        f'<meta name="generator" content="roastcoffea {text(__version__)}">'
        f'<link rel="icon" href="{_ICON}"><title>{text(_title(source))}</title>'
        f"<style>{_part('report.css')}</style></head>"
        f"<body>{_header(source, links)}<main>{_top(source)}{body}</main>{_footer()}"
        f"{_scripts(drawn)}</body></html>\n"
    )


# ---- sections ----


def _title(source: Source) -> str:
    return " · ".join(
        part for part in (source.run.processor_name, source.when, "roastcoffea") if part
    )


def _header(source: Source, links: str) -> str:
    return (
        f'<header><div class="bar-inner"><strong>roastcoffea</strong><nav>{links}</nav>'
        '<button type="button" id="theme" aria-label="switch between light and dark">'
        '<span aria-hidden="true">◐</span></button></div></header>'
    )


def _top(source: Source) -> str:
    run = source.run
    about = [source.when, source.run.meta.get("executor", ""), source.run.meta.get("host", "")]
    line = " · ".join(name(part) for part in about if part)
    title = name(run.processor_name) if run.processor_name else "Run"
    return (
        f'<section id="top"><h1>{title}</h1>{headline(source)}<p class="about">{line}</p>{tiles(source)}</section>'
    )


def _place(chart: Chart) -> str:
    """Where a chart is drawn, with the legend that holds names above it and its note below."""
    keys = f'<ul class="keys">{"".join(_key(key) for key in chart.keys)}</ul>' if chart.keys else ""
    note = f'<p class="note">{text(chart.note)}</p>' if chart.note else ""
    return f'{keys}<div class="chart" id="chart-{chart.identity}"></div>{note}'


def _key(key: Key) -> str:
    mark = f'<i style="background:{key.color}"></i>'
    return f"<li>{mark}{name(key.label)} <small>{key.chunks:,}</small></li>"


def _over_time(charts: Sequence[Chart]) -> str:
    if not charts:
        return ""
    hint = (
        '<p class="note">Drag over a chart to zoom in, or turn the wheel with Ctrl: all charts over time move '
        'together. <button type="button" id="reset">Reset zoom</button></p>'
    )
    return hint + "".join(_place(chart) for chart in charts)


def _tables(source: Source) -> str:
    made = [(title, make(source)) for title, make in TABLES]
    return "".join(f"<h3>{text(title)}</h3>{body}" for title, body in made if body)


def _footer() -> str:
    return f"<footer>roastcoffea {text(__version__)} · click on a heading to sort a table</footer>"


# ---- scripts and styles ----


def _part(file: str) -> str:
    return (Path(__file__).parent / file).read_text(encoding="utf-8")


def _scripts(charts: Sequence[Chart]) -> str:
    own = f"<script>{_part('report.js')}</script>"
    if not charts:
        return own
    document = Document(title="")
    for chart in charts:
        document.add_root(chart.plot)
    roots = {chart.plot.id: f"chart-{chart.identity}" for chart in charts}
    data = {"document": document.to_json(deferred=False), "roots": roots}
    library = "\n".join(
        Resources(mode="inline", components=["bokeh"], minified=True, log_level="warn").js_raw
    )
    # Inside a string of the script it means the same, and it does not end the element.
    library = library.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    return f"{json_script('charts', data)}<script>{library}</script>{own}"
