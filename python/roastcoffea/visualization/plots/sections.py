"""The cost of the marked sections of the analysis."""

from __future__ import annotations

from typing import Any

from roastcoffea._core import format_value
from roastcoffea.visualization.drawing import time_scale
from roastcoffea.visualization._axes import legend, note, row_bars, row_names
from roastcoffea.visualization._data import Metrics, metrics_of
from roastcoffea.visualization._figure import (
    Colors, Drawn, Output, Size, finish, new_figure, style_axes,
)

__all__ = ["plot_section_breakdown"]


def plot_section_breakdown(
    metrics: Metrics,
    output_path: Output = None,
    figsize: Size = (12, 6),
    title: str = "Time per Section",
    top: int = 20,
) -> Drawn:
    """Time in each section over all chunks: its own, and that of the sections inside it."""
    sections = metrics_of(metrics).get("sections") or {}
    timed = {name: row for name, row in sections.items() if row.get("total_duration") is not None}
    if not timed:
        raise ValueError(
            'No sections with times available: put `with track_time(self, "name"):` around parts '
            "of process(), which @track_metrics must decorate"
        )
    names = sorted(timed, key=lambda name: -float(timed[name]["total_duration"]))
    shown = names[: max(1, top)]
    totals = [float(timed[name]["total_duration"]) for name in shown]
    own = [_own(timed[name]) for name in shown]
    figure, axes = new_figure(figsize, output_path)
    style_axes(axes, grid="x")
    scale = time_scale(totals[0])
    texts = [_text(timed[name], total) for name, total in zip(shown, totals)]
    nested = any(part < total for part, total in zip(own, totals))
    row_bars(axes, scale(totals), Colors.blue, texts=texts, alpha=0.3, label="In sections inside it" if nested else "_all")
    row_bars(axes, scale(own), Colors.blue, label="Its own")
    row_names(axes, shown, totals[0] / scale.divisor, 1.25)
    axes.set_xlabel(f"Time over all chunks ({scale.unit})")
    if len(names) > len(shown):
        note(axes, f"… and {len(names) - len(shown):,} more sections")
    if nested:
        legend(axes)
    return finish(figure, axes, title, output_path)


def _own(row: Any) -> float:
    """All of it if the sections inside are not known."""
    own = row.get("self_duration")
    return float(row["total_duration"] if own is None else own)


def _text(row: Any, total: float) -> str:
    uses = f", {row['count']:,}×" if row.get("count") else ""
    return f"{format_value(total, 's')}{uses}"
