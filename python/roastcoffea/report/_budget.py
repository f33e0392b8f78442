"""Where every core-second went, as a bar of its parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roastcoffea._core import format_value
from roastcoffea.visualization.drawing import BUDGET_PARTS
from roastcoffea.report._data import Source
from roastcoffea.report._markup import text

PARTS = (
    *BUDGET_PARTS[:-1],
    # The colour follows the theme of the page.
    (*BUDGET_PARTS[-1][:2], "var(--unaccounted)"),
)
# Below this a part would be shown as 0.0 %.
LEAST_SHARE = 0.0005


def budget(source: Source) -> str:
    """The bar and its legend; empty where there is no budget."""
    found = source.ask("_budget_total") or source.ask("budget") or source.metrics.get("budget")
    if not isinstance(found, Mapping) or not isinstance(found.get("parts"), Mapping):
        return ""
    available, given = found.get("available_core_seconds"), found["parts"]
    if not available or not any(given.values()):
        return ""
    known = {key for key, _, _ in PARTS}
    others = [
        (key, key.replace("_", " ").capitalize(), "#8c8c8c") for key in given if key not in known
    ]
    parts = [
        (label, color, given[key])
        for key, label, color in (*PARTS, *others)
        if abs(given.get(key) or 0) >= LEAST_SHARE * available
    ]
    bar = "".join(
        _segment(label, color, value, available) for label, color, value in parts if value > 0
    )
    keys = "".join(_key(label, color, value, available) for label, color, value in parts)
    return (
        f'<p>{text(format_value(available, "s"))} of core time was available; the parts add up to it.</p>'
        f'<div class="bar" role="img" aria-label="core-second budget">{bar}</div>'
        f'<ul class="keys budget">{keys}</ul>'
    )


def _share(value: float, available: float) -> str:
    return format_value(100 * value / available, "%")


def _segment(label: str, color: str, value: float, available: float) -> str:
    title = f"{label}: {format_value(value, 's')}, {_share(value, available)}"
    style = f"flex-grow:{value / available:.6f};background:{color}"
    return f'<span style="{style}" title="{text(title)}"></span>'


def _key(label: str, color: str, value: Any, available: float) -> str:
    return (
        f'<li><i class="box" style="color:{color}"></i>{text(label)} '
        f"<b>{text(_share(value, available))}</b> <small>{text(format_value(value, 's'))}</small></li>"
    )
