"""How values are distributed."""

from __future__ import annotations

from roastcoffea._core import format_value
from roastcoffea.visualization.binning import Histogram
from roastcoffea.visualization.drawing import Scale
from roastcoffea.visualization._axes import count_axis, from_zero, legend
from roastcoffea.visualization._figure import Colors, Drawn, Output, Size, finish, new_figure


# Beyond this one single value cannot be seen next to the highest bar.
LINEAR_RANGE = 500


def draw_histogram(
    data: Histogram,
    scale: Scale,
    unit: str,
    label: str,
    what: str,
    output_path: Output,
    figsize: Size,
    title: str,
) -> Drawn:
    """Bars, mean and median. `unit` is that of the values, `what` is counted."""
    figure, axes = new_figure(figsize, output_path)
    edges, counts = scale(data.edges), data.counts
    axes.bar(
        edges[:-1],
        counts,
        width=edges[1:] - edges[:-1],
        align="edge",
        color=Colors.blue,
        alpha=0.75,
        edgecolor="white",
        linewidth=0.4,
    )
    for value, name, color, style in (
        (data.mean, "Mean", Colors.vermilion, "-"),
        (data.median, "Median", Colors.ink, "--"),
    ):
        axes.axvline(
            value / scale.divisor,
            color=color,
            linewidth=1.4,
            linestyle=style,
            label=f"{name}: {format_value(value, unit)}",
        )
    axes.set_xlabel(label)
    axes.set_ylabel(f"Number of {what}")
    if counts.max() > LINEAR_RANGE * counts[counts > 0].min():
        axes.set_yscale("log")
        axes.set_ylim(0.5, float(counts.max()) * 2)
    else:
        count_axis(axes.yaxis)
        from_zero(axes, float(counts.max()))
    legend(axes, title=f"{data.n:,} {what}\nlargest: {format_value(data.max, unit)}")
    return finish(figure, axes, title, output_path)
