"""The page of a run: its sections and charts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from roastcoffea.report._bokeh import Document, Resources
from roastcoffea.report._budget import budget
from roastcoffea.report._data import Results, Source
from roastcoffea.report._document import Links, Section, document
from roastcoffea.report._findings import findings
from roastcoffea.report._markup import json_script, name, text
from roastcoffea.report._overview import cards, headline, provenance, quality, tiles
from roastcoffea.report._scatter import scatter
from roastcoffea.report._tables import TABLES
from roastcoffea.report._look import Chart, Key
from roastcoffea.report._timelines import timelines, worker_lines

def page(results: Results, home: Links = (), called: str = "") -> str:
    """All of it; `home` leads out of the page. `called`: the name of the measurement, where there are several."""
    source = Source(results)
    # Chunks and tasks are made meanwhile: what needs neither of them comes first, what needs the tasks last.
    source.begin()
    workers = worker_lines(source)
    pairs, tables = scatter(source), _tables(source)
    charts = timelines(source, workers)
    sections = [
        Section("findings", "Findings", findings(source) or ""),
        Section("budget", "Core-second budget", budget(source)),
        Section("time", "Over time", _over_time(charts)),
        Section("chunks", "Runtime and events", _place(pairs[0]) + pairs[1] if pairs else ""),
        Section("tables", "Tables", tables),
        Section("summary", "Summary", cards(source)),
        Section("quality", "Data quality", quality(source)),
        Section("provenance", "Provenance", provenance(source)),
    ]
    drawn = [*charts, *([pairs[0]] if pairs else [])]
    hint = "click on a heading to sort a table"
    return document(_title(source, called), _top(source, called), sections, _scripts(drawn), hint, home)


# ---- sections ----


def _analysis(source: Source) -> str | None:
    return source.run.meta.get("processor") or source.run.processor_name


def _title(source: Source, called: str) -> str:
    return " · ".join(part for part in (called, _analysis(source), source.when, "roastcoffea") if part)


def _top(source: Source, called: str) -> str:
    title, *rest = [part for part in (called, _analysis(source)) if part] or ["Run"]
    about = [*rest, source.when, source.run.meta.get("executor", ""), source.run.meta.get("host", "")]
    line = " · ".join(name(part) for part in about if part)
    return (
        f'<section id="top"><h1>{name(title)}</h1>{headline(source)}<p class="about">{line}</p>{tiles(source)}</section>'
    )


def _place(chart: Chart) -> str:
    """Where a chart is drawn, with title and legend above it and its note below."""
    title = f"<h3>{text(chart.title)}</h3>" if chart.title else ""
    keys = f'<ul class="keys">{"".join(_key(key) for key in chart.keys)}</ul>' if chart.keys else ""
    head = f'<div class="chart-head">{title}{keys}</div>' if title or keys else ""
    note = f'<p class="note">{text(chart.note)}</p>' if chart.note else ""
    return f'{head}<div class="chart" id="chart-{chart.identity}"></div>{note}'


def _key(key: Key) -> str:
    mark = f'<i class="{key.mark}" style="color:{key.color}"></i>'
    count = f" <small>{key.bars:,}</small>" if key.bars is not None else ""
    return f"<li>{mark}{name(key.label)}{count}</li>"


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


# ---- scripts ----


def _scripts(charts: Sequence[Chart]) -> str:
    if not charts:
        return ""
    plots = Document(title="")
    with plots.models.freeze():  # or else each root makes it look at all models again
        for chart in charts:
            chart.plot.name = chart.identity
            plots.add_root(chart.plot)
    roots = {chart.plot.id: f"chart-{chart.identity}" for chart in charts}
    data = {"document": plots.to_json(deferred=False), "roots": roots}
    return f"{json_script('charts', data)}<script>{library()}</script>"


@cache
def library() -> str:
    """What draws the charts."""
    raw = "\n".join(Resources(mode="inline", components=["bokeh"], minified=True, log_level="warn").js_raw)
    # Inside a string of the script it means the same, and it does not end the element.
    return raw.replace("</script", "<\\/script").replace("<!--", "<\\!--")
