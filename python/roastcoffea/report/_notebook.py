"""A run as a notebook shows it below a cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roastcoffea.report._data import Results, Source
from roastcoffea.report._markup import name, text
from roastcoffea.report._overview import tiles

if TYPE_CHECKING:
    from roastcoffea._core import _SummaryTable

__all__ = ["summary_html"]

# Colours are those of the notebook, whatever its theme is: none of ours but half-transparent grey.
_STYLE = """
.roastcoffea{font:13px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;color:inherit;max-width:70em}
.roastcoffea .tiles{display:flex;flex-wrap:wrap;gap:8px;margin:8px 0 12px}
.roastcoffea .tile{border:1px solid #8884;border-radius:8px;padding:8px 12px;display:flex;flex-direction:column;min-width:8em}
.roastcoffea .label,.roastcoffea .words,.roastcoffea p{font-size:11px;opacity:.7;margin:0}
.roastcoffea .value{font-size:19px;font-weight:600;font-variant-numeric:tabular-nums}
.roastcoffea .value small{font-size:12px;font-weight:400}
.roastcoffea summary{cursor:pointer;font-weight:600;padding:4px 0}
.roastcoffea table{border-collapse:collapse;margin:0 0 8px;color:inherit;background:none}
.roastcoffea th,.roastcoffea td{text-align:left!important;padding:2px 16px 2px 0;border:0;border-bottom:1px solid #8883;
 background:none;font-variant-numeric:tabular-nums;overflow-wrap:anywhere;white-space:normal}
.roastcoffea th{font-weight:600;font-size:11px;opacity:.7}
"""
_OPEN = ("throughput", "timing")


def summary_html(results: Results) -> str:
    """The tables of the summary, each to be folded out."""
    if results.run is None or results.metrics is None:
        return f"<pre>{text(object.__repr__(results))}: nothing was collected yet</pre>"
    source = Source(results)
    tables = "".join(_table(table) for key, table in source.tables.items() if key != "challenge")
    notes = "".join(f"<p>note: {name(note)}</p>" for note in source.notes)
    return f'<style>{_STYLE}</style><div class="roastcoffea">{tiles(source)}{tables}{notes}</div>'


def _table(table: _SummaryTable) -> str:
    opened = " open" if table["id"] in _OPEN else ""
    head = ""
    if table["columns"] != ["Metric", "Value"]:
        head = f"<thead><tr>{''.join(f'<th>{text(heading)}</th>' for heading in table['columns'])}</tr></thead>"
    body = "".join(f"<tr>{''.join(f'<td>{name(cell)}</td>' for cell in row)}</tr>" for row in table["rows"])
    caption = f"<p>{text(table['caption'])}</p>" if table["caption"] else ""
    return (f"<details{opened}><summary>{text(table['title'])}</summary><table>{head}<tbody>{body}</tbody></table>"
            f"{caption}</details>")
