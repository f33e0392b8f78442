"""A run as a notebook shows it below a cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roastcoffea.report._data import Results, Source
from roastcoffea.report._document import part
from roastcoffea.report._markup import name, text, text_table
from roastcoffea.report._overview import headline, tiles

if TYPE_CHECKING:
    from roastcoffea._core import _SummaryTable

_OPEN = ("findings", "budget", "conditions", "causes")


def summary_html(results: Results) -> str:
    """How the run ended, its findings and its budget; the other tables can be folded out."""
    if results.run is None or results.metrics is None:
        return f"<pre>{text(object.__repr__(results))}: nothing was collected yet</pre>"
    source = Source(results)
    tables = "".join(_table(table) for table in source.tables.values())
    notes = "".join(f"<p>note: {name(note)}</p>" for note in source.notes)
    return f'<style>{part("notebook.css")}</style><div class="roastcoffea">{headline(source)}{tiles(source)}{tables}{notes}</div>'


def _table(table: _SummaryTable) -> str:
    opened = " open" if table["id"] in _OPEN else ""
    caption = f"<p>{text(table['caption'])}</p>" if table["caption"] else ""
    headings = [] if table["columns"] == ["Metric", "Value"] else table["columns"]
    return (
        f"<details{opened}><summary>{text(table['title'])}</summary>"
        f"{text_table(table['id'], headings, _rows(table))}{caption}</details>"
    )


def _rows(table: _SummaryTable) -> list[list[str]]:
    """Parts of the budget without a value are left out."""
    if table["id"] != "budget":
        return table["rows"]
    return [row for row in table["rows"] if any(cell not in ("-", "") for cell in row[1:])]


def comparison_html(headline: str, tables: list[_SummaryTable]) -> str:
    """A comparison: the answer, what contributed, and the other tables to be folded out."""
    shown = "".join(_table(table) for table in tables if table["rows"])
    return f'<style>{part("notebook.css")}</style><div class="roastcoffea"><p>{name(headline)}</p>{shown}</div>'
