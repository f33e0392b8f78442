"""HTML from texts and numbers; whatever comes in is text."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from roastcoffea._core import format_column

# Characters that a browser would not show, or that would turn the direction of what follows.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def text(value: object) -> str:
    """Any text as it is shown; characters that cannot be seen as their numbers."""
    seen = _UNSEEN.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", str(value))
    return html.escape(seen, quote=True)


def name(value: object) -> str:
    """A name that came from outside: its direction of writing does not change the text around it."""
    return f"<bdi>{text(value)}</bdi>"


def json_script(identity: str, value: Any) -> str:
    """Data for a script; nothing in it can end the element it stands in."""
    data = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for unsafe in "<>&":
        data = data.replace(unsafe, f"\\u{ord(unsafe):04x}")
    return f'<script type="application/json" id="{text(identity)}">{data}</script>'


def split_value(shown: str) -> tuple[str, str, str]:
    """ "1.52 Gbps over wall time" as its number, its unit and the words behind it; "done, 4 of 4" has no unit."""
    found = re.fullmatch(r"((?:[<>] )?[-+0-9.,]+)(?: ?([^\s\d]\S*))?(.*)", shown)
    if found is None:
        first, _, words = shown.partition(", ")
        return first, "", words
    return found[1], found[2] or "", found[3].strip()


# ---- tables ----

# Up to so many letters a name stays on one line.
SHORT_NAME = 32


class Column(NamedTuple):
    """A heading, and the unit of the numbers below it; no unit: names."""

    heading: str
    unit: str | None = None
    hint: str = ""


class Row(NamedTuple):
    """Names as str, numbers as float or int, None for what was not measured."""

    cells: Sequence[Any]


def _name_cell(value: Any) -> str:
    kind = "name" if value is not None and len(str(value)) > SHORT_NAME else "name short"
    return f'<td class="{kind}">{name(value) if value is not None else "-"}</td>'


def _number_cell(value: Any, shown: str) -> str:
    key = "" if shown == "-" else f' data-v="{float(value)!r}"'
    return f"<td{key}>{text(shown)}</td>"


def _cells(column: Column, values: Sequence[Any], apart: int = 0) -> list[str]:
    """Those of one column, in one unit; none if no row has something. The last `apart` of them have a unit of their own:
    next to the sum of a thousand files the largest one would show as 0."""
    if column.unit is None:
        return [_name_cell(value) for value in values]
    alike = len(values) - apart
    shown = [*format_column(values[:alike], column.unit), *format_column(values[alike:], column.unit)]
    return [_number_cell(*one) for one in zip(values, shown)] if any(one != "-" for one in shown) else []


def table(
    identity: str,
    columns: Sequence[Column],
    rows: Sequence[Row],
    rest: Row | None = None,
    first: int = 1,
) -> str:
    """A table that is sorted by a click on a heading; `rest` stays below. `first`: the column by
    which the rows come sorted already."""
    shown = rows if rest is None else [*rows, rest]
    apart = int(rest is not None)
    cells = [_cells(column, [row.cells[place] for row in shown], apart) for place, column in enumerate(columns)]
    head = "".join(_heading(column, place == first) for place, column in enumerate(columns) if cells[place])
    lines = [f"<tr>{''.join(line)}</tr>" for line in zip(*filter(None, cells))]
    foot = "" if rest is None else f"<tfoot>{lines.pop()}</tfoot>"
    body = "".join(lines)
    return (
        f'<div class="scroll" tabindex="0"><table class="sortable" id="{text(identity)}">'
        f"<thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody>{foot}</table></div>"
    )


_NUMBER = re.compile(r"[<>~×]? ?[-+]?\d.*|[-~]")


def text_table(kind: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of texts as they are; without headings where there are none. Columns of numbers have the class "n"."""
    kinds = [' class="n"' if all(map(_NUMBER.fullmatch, column)) else "" for column in zip(*rows)]
    head = "".join(f"<th{kind}>{text(heading)}</th>" for kind, heading in zip(kinds, headings))
    body = "".join(
        f"<tr>{''.join(f'<td{kind}>{name(cell)}</td>' for kind, cell in zip(kinds, row))}</tr>" for row in rows
    )
    top = f"<thead><tr>{head}</tr></thead>" if headings else ""
    return f'<table class="{text(kind)}">{top}<tbody>{body}</tbody></table>'


def _heading(column: Column, sorted_by: bool) -> str:
    kind = ' class="name"' if column.unit is None else ""
    hint = f' title="{text(column.hint)}"' if column.hint else ""
    order = ' aria-sort="descending"' if sorted_by else ""
    button = f'<button type="button">{text(column.heading)}</button>'
    return f'<th scope="col"{kind}{hint}{order}>{button}</th>'


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Labels and what belongs to them."""
    body = "".join(f"<dt>{text(label)}</dt><dd>{name(value)}</dd>" for label, value in rows)
    return f"<dl>{body}</dl>"
