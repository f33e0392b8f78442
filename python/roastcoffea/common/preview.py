"""A table of a run, as a prompt or a notebook shows it: its size, the first and last rows, the names of the columns."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from html import escape
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from roastcoffea._core import Attempts, Table

__all__ = ["attempts_html", "table_html", "table_text"]

Rows: TypeAlias = Callable[[int, int], Sequence[tuple[Any, ...]]]  # the values from one row to another

_ENDS = 5  # rows at each end of a longer table
_WIDTH = 80
_LONGEST = 24  # characters of a text
# Those that tell rows apart; moments and what follows from others come later.
_FIRST = ("dataset", "file", "entry_start", "num_events", "duration", "worker", "chunk", "name", "kind", "branch")
_STYLE = (
    ".roastcoffea-table{overflow-x:auto}"
    ".roastcoffea-table td,.roastcoffea-table th{white-space:nowrap;text-align:right!important;padding:2px 8px}"
)


def table_text(table: Table, name: str) -> str:
    """As many columns as fit, and the names of the others."""
    numbers, rows = _first_and_last(table.columns, len(table), table.rows)
    columns = {column: cells for column, *cells in zip(table.columns, *rows)}
    shown = [_aligned("", numbers)] if rows else []
    others = list(columns)
    for column in sorted(columns, key=lambda one: _FIRST.index(one) if one in _FIRST else len(_FIRST)):
        cells = _aligned(column, columns[column])
        if not rows or sum(len(other[0]) + 2 for other in shown) + len(cells[0]) > _WIDTH:
            break
        shown.append(cells)
        others.remove(column)
    lines = [f"<Table {_size(table, name)}>", *("  ".join(cells) for cells in zip(*shown))]
    if others:
        more = f"{len(others)} more columns" if rows else "columns"
        lines += textwrap.wrap(f"{more}: {', '.join(others)}", _WIDTH, subsequent_indent="  ")
    return "\n".join(lines)


def table_html(table: Table, name: str) -> str:
    """All columns; the notebook can scroll through them."""
    return _html(_size(table, name), table.columns, len(table), table.rows)


def attempts_html(attempts: Attempts) -> str:
    def rows(start: int, stop: int) -> list[tuple[Any, ...]]:
        return [tuple(one.values()) for one in attempts.records(foreign=True, start=start, stop=stop)]

    first = attempts.records(foreign=True, stop=1)
    return _html(repr(attempts)[1:-1], tuple(first[0]) if first else (), len(attempts), rows)


def _html(title: str, columns: tuple[str, ...], count: int, rows_at: Rows) -> str:
    numbers, rows = _first_and_last(columns, count, rows_at)
    head = "".join(f"<th>{escape(column)}</th>" for column in ("", *columns))
    body = "".join(
        f"<tr><th>{number}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
        for number, row in zip(numbers, rows)
    )
    return (
        f'<style>{_STYLE}</style><div class="roastcoffea-table"><p>{escape(title)}</p>'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _size(table: Table, name: str) -> str:
    rows, columns = len(table), len(table.columns)
    return f"{name}: {rows:,} row{'' if rows == 1 else 's'}, {columns} columns"


def _first_and_last(names: tuple[str, ...], count: int, rows_at: Rows) -> tuple[list[str], list[list[str]]]:
    """The numbers of the rows and their cells; a row of dots stands for those between."""
    if count <= 2 * _ENDS:
        parts = [(0, count)]
    else:
        parts = [(0, _ENDS), (count - _ENDS, count)]
    numbers: list[str] = []
    rows: list[list[str]] = []
    for start, stop in parts:
        if rows:
            numbers.append("…")
            rows.append(["…"] * len(names))
        numbers += map(str, range(start, stop))
        rows += [[_cell(*pair) for pair in zip(names, row)] for row in rows_at(start, stop)]
    return numbers, rows


def _cell(column: str, value: Any) -> str:
    """A value in a few characters."""
    if value is None:
        return "-"
    if column == "timestamp":
        seconds = value / 1e9 if isinstance(value, int) else value
        return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    if isinstance(value, float):
        return f"{value:.3f}" if 1e5 <= abs(value) < 1e15 else f"{value:.6g}"
    text = str(value).rpartition("/")[2] if column in ("file", "filename") else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST - 1]}…"


def _aligned(name: str, cells: Any) -> list[str]:
    width = max(map(len, (name, *cells)))
    return [cell.rjust(width) for cell in (name, *cells)]
