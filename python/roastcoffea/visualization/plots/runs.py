"""Several runs in one plot."""

from __future__ import annotations

from typing import Any

import numpy as np

from roastcoffea.visualization.drawing import scale_of
from roastcoffea.visualization._figure import Colors, Drawn, Output, Size, finish, new_figure

__all__ = ["plot_scaling"]

_LAWS = (("amdahl", "Amdahl's law", Colors.orange), ("usl", "Universal scalability law", Colors.green))


def plot_scaling(
    scaling: Any,
    output_path: Output = None,
    figsize: Size = (10, 6),
    title: str = "Event Rate Against Cores",
) -> Drawn:
    """The event rate of several runs against their cores, with perfect scaling, the two laws, and the interval of the
    second one. `scaling` is what ``roastcoffea.scaling()`` gives."""
    if len(getattr(scaling, "points", ())) < 2:
        raise ValueError(
            "No scaling to plot: roastcoffea.scaling() of runs with at least two different numbers of cores is needed"
        )
    points = scaling.points
    divisor, unit = scale_of(max(point["event_rate_hz"] for point in points), "Hz")
    factor = 1 / divisor
    figure, axes = new_figure(figsize, output_path)
    for run in scaling.runs:
        axes.plot(run["cores"], run["event_rate_hz"] * factor, ".", color=Colors.rest, zorder=2)
    axes.plot([point["cores"] for point in points], [point["event_rate_hz"] * factor for point in points], "o",
              color=Colors.blue, label="Measured", zorder=4)
    sizes = np.geomspace(points[0]["cores"], 2 * points[-1]["cores"], 60)
    single = points[0]["event_rate_hz"] / points[0]["cores"] * factor
    axes.plot(sizes, sizes * single, "--", color=Colors.spine, label="Perfect", zorder=1)
    for law, label, color in _LAWS:
        if law in scaling.laws:
            found = [scaling.predict(float(size), law) for size in sizes]
            axes.plot(sizes, [one["at"] * factor for one in found], color=color, label=label, zorder=3)
            if law == "usl" and all("low" in one and "high" in one for one in found):
                axes.fill_between(sizes, [one["low"] * factor for one in found],
                                  [one["high"] * factor for one in found], color=color, alpha=0.15, linewidth=0)
    axes.set_xlabel("Cores, on average over time")
    axes.set_ylabel(f"Event rate ({unit})")
    axes.set_xlim(left=0)
    # Perfect scaling may leave the picture: it would press the measured points together.
    highest = max(point["event_rate_hz"] for point in points) * factor
    axes.set_ylim(0, min(1.15 * float(sizes[-1]) * single, 2 * highest))
    axes.legend(loc="upper left", frameon=False)
    return finish(figure, axes, title, output_path)
