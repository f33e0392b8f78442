"""Where every core-second went."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roastcoffea._core import format_value
from roastcoffea.visualization.drawing import BUDGET_PARTS, time_scale
from roastcoffea.visualization._axes import legend, note, row_bars, row_names
from roastcoffea.visualization._data import Metrics, metrics_of
from roastcoffea.visualization._figure import (
    Axes, Colors, Drawn, Output, Size, finish, new_figure, style_axes,
)

__all__ = ["plot_core_second_budget"]

MOST_BARS = 25
# The number of a smaller share would not fit into its part.
LEAST_SHARE = 0.0005  # below this a part would be 0.0%
LEAST_TEXT = 0.045


def plot_core_second_budget(
    budget: Metrics,
    output_path: Output = None,
    figsize: Size = (12, 4),
    title: str = "Core-Second Budget",
) -> Drawn:
    """The parts of the available core-seconds, as one stacked bar.

    Of a budget by dataset, worker, host or file: one bar each.

    `budget` is ``mc.budget()``, ``mc.budget(by=...)``, metrics that have one, or a run.
    """
    bars = _bars_of(budget)
    shown = bars[:MOST_BARS]
    figure, axes = new_figure((figsize[0], max(figsize[1], 1.6 + 0.34 * len(shown))), output_path)
    style_axes(axes, grid="x")
    largest = max(sum(value for value in parts.values() if value > 0) for _, parts in shown)
    scale = time_scale(largest)
    used = [part for part in BUDGET_PARTS if any(parts.get(part[0], 0) > 0 for _, parts in shown)]
    left = [0.0] * len(shown)
    for key, label, color in used:
        widths = [max(parts.get(key, 0.0), 0.0) / scale.divisor for _, parts in shown]
        known = key != "unaccounted"
        row_bars(
            axes,
            widths,
            color,
            left=left,
            edgecolor="white" if known else "#a6a6a6",
            linewidth=0.5,
            hatch="" if known else "////",
            label=_label(label, key, shown),
        )
        for place, width in enumerate(widths):
            share = width * scale.divisor / sum(v for v in shown[place][1].values() if v > 0)
            if share >= LEAST_TEXT and width * scale.divisor >= LEAST_TEXT * largest:
                axes.text(
                    left[place] + width / 2,
                    place,
                    f"{share:.0%}",
                    ha="center",
                    va="center",
                    fontsize=9,
                    color=_ink_on(color),
                )
        left = [begin + width for begin, width in zip(left, widths)]
    _finish_axes(axes, shown, scale.unit, largest / scale.divisor)
    if len(bars) > len(shown):
        note(axes, f"… and {len(bars) - len(shown):,} more")
    legend(axes)
    return finish(figure, axes, title, output_path)


def _finish_axes(
    axes: Axes, shown: list[tuple[str, dict[str, float]]], unit: str, largest: float
) -> None:
    axes.set_xlabel(
        {"s": "Core-seconds", "min": "Core-minutes", "h": "Core-hours"}.get(
            unit, f"Core-time ({unit})"
        )
    )
    row_names(axes, [name for name, _ in shown], largest, 1.01)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)


def _label(label: str, key: str, shown: list[tuple[str, dict[str, float]]]) -> str:
    if len(shown) > 1:
        return label
    parts = shown[0][1]
    share = parts[key] / sum(value for value in parts.values() if value > 0)
    if share < LEAST_SHARE:
        return f"_{label}"
    return f"{label}: {format_value(parts[key], 's')} ({share:.1%})"


def _ink_on(color: str) -> str:
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 140 else Colors.ink


def _bars_of(budget: Any) -> list[tuple[str, dict[str, float]]]:
    make = getattr(budget, "budget", None)
    found = make() if callable(make) else metrics_of(budget)
    inner = found.get("budget", found) if isinstance(found, Mapping) else None
    if not isinstance(inner, Mapping) or not inner:
        raise ValueError(_MISSING)
    if "parts" in inner:
        inner = {"All cores": inner}
    bars = [
        (str(name), _parts_of(one))
        for name, one in inner.items()
        if isinstance(one, Mapping) and isinstance(one.get("parts"), Mapping)
    ]
    bars = [(name, parts) for name, parts in bars if any(value > 0 for value in parts.values())]
    if not bars:
        raise ValueError(_MISSING)
    return sorted(bars, key=lambda bar: -sum(bar[1].values())) if len(bars) > 1 else bars


def _parts_of(budget: Mapping[str, Any]) -> dict[str, float]:
    known = {key for key, _, _ in BUDGET_PARTS}
    parts = {key: float(value) for key, value in budget["parts"].items() if value is not None}
    unknown = sum(value for key, value in parts.items() if key not in known)
    if unknown:
        parts["unaccounted"] = parts.get("unaccounted", 0.0) + unknown
    return {key: value for key, value in parts.items() if key in known}


_MISSING = (
    "No budget available: it needs the workers' lives and the tasks of a run that was collected "
    "with MetricsCollector(client, track_workers=True) and @track_metrics"
)
