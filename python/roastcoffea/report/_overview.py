"""The parts of the summary: tiles of the main facts, tables of facts, origin of the run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from roastcoffea.report._data import Source
from roastcoffea.report._markup import facts, name, split_value, text

if TYPE_CHECKING:
    from roastcoffea._core import _SummaryTable

_FACTS = ["Metric", "Value"]


def headline(source: Source) -> str:
    """How the run ended, and the files that are missing."""
    outcome, warning = source.summary.headline
    ended = (source.run.ending or {}).get("outcome", "")
    lines = (f"outcome {ended}", outcome), ("outcome warning", warning)
    return "".join(f'<p class="{kind}">{name(line)}</p>' for kind, line in lines if line)


def tiles(source: Source) -> str:
    """The main facts: one tile for each."""
    made = "".join(_tile(label, value) for label, value in source.summary.cards)
    return f'<div class="tiles">{made}</div>'


def _tile(label: str, value: str) -> str:
    number, unit, words = split_value(value)
    small = f" <small>{text(unit)}</small>" if unit else ""
    behind = f'<span class="words">{text(words)}</span>' if words else ""
    return (
        f'<div class="tile"><span class="label">{text(label)}</span>'
        f'<span class="value">{text(number)}{small}</span>{behind}</div>'
    )


def _is_facts(table: _SummaryTable) -> bool:
    return table["columns"] == _FACTS and table["id"] != "quality"


def cards(source: Source) -> str:
    """The tables of facts, side by side."""
    made = "".join(_card(table) for table in source.tables.values() if _is_facts(table))
    return f'<div class="cards">{made}</div>' if made else ""


def _card(table: _SummaryTable) -> str:
    caption = f"<p>{text(table['caption'])}</p>" if table["caption"] else ""
    return (
        f'<section class="card"><h3>{text(table["title"])}</h3>'
        f"{facts((row[0], row[1]) for row in table['rows'])}{caption}</section>"
    )


def quality(source: Source) -> str:
    """What could not be measured, and why."""
    table = source.tables.get("quality")
    told = facts((row[0], " ".join(row[1:])) for row in table["rows"]) if table is not None else ""
    notes = "".join(f"<li>{name(note)}</li>" for note in source.notes)
    return told + (f'<ul class="notes">{notes}</ul>' if notes else "")


def provenance(source: Source) -> str:
    """The texts that a run keeps about itself; calls of the Runner have their own lines."""
    rows, calls = [], ""
    for key, value in sorted(source.run.meta.items()):
        if key == "calls":
            told = f"<pre>{text(_pretty(value))}</pre>"
            calls = f"<details><summary>Calls of the Runner</summary>{told}</details>"
        else:
            rows.append((key.replace("_", " "), value))
    return (facts(rows) if rows else "") + calls


def _pretty(value: str) -> str:
    try:
        return json.dumps(json.loads(value), indent=2, ensure_ascii=False)
    except ValueError:
        return value
