"""A run as a notebook shows it below a cell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from roastcoffea.report._data import Results, Source
from roastcoffea.report._markup import name, text
from roastcoffea.report._overview import headline, tiles

if TYPE_CHECKING:
    from roastcoffea._core import _SummaryTable

_OPEN = ("throughput", "timing")


def summary_html(results: Results) -> str:
    """The tables of the summary, each to be folded out."""
    if results.run is None or results.metrics is None:
        return f"<pre>{text(object.__repr__(results))}: nothing was collected yet</pre>"
    source = Source(results)
    style = (Path(__file__).parent / "notebook.css").read_text(encoding="utf-8")
    tables = "".join(_table(table) for key, table in source.tables.items() if key != "challenge")
    notes = "".join(f"<p>note: {name(note)}</p>" for note in source.notes)
    return f'<style>{style}</style><div class="roastcoffea">{headline(source)}{tiles(source)}{tables}{notes}</div>'


def _table(table: _SummaryTable) -> str:
    opened = " open" if table["id"] in _OPEN else ""
    head = ""
    if table["columns"] != ["Metric", "Value"]:
        headings = "".join(f"<th>{text(heading)}</th>" for heading in table["columns"])
        head = f"<thead><tr>{headings}</tr></thead>"
    body = "".join(
        f"<tr>{''.join(f'<td>{name(cell)}</td>' for cell in row)}</tr>" for row in table["rows"]
    )
    caption = f"<p>{text(table['caption'])}</p>" if table["caption"] else ""
    return (
        f"<details{opened}><summary>{text(table['title'])}</summary>"
        f"<table>{head}<tbody>{body}</tbody></table>"
        f"{caption}</details>"
    )
