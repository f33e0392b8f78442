"""Duration against events of the chunks, with the outliers."""

from __future__ import annotations

import numpy as np

from roastcoffea._core import format_value
from roastcoffea.visualization.binning import Array, Outliers, Pairs, numbers, outliers, pairs
from roastcoffea.visualization.drawing import short_names
from roastcoffea.report._bokeh import Plot, models, value
from roastcoffea.report._data import Source
from roastcoffea.report._gantt import CHUNK_ROWS, chunk_texts
from roastcoffea.report._look import BLUE, FONT, GREY, VERMILION, Chart, chart, hover, shades
from roastcoffea.report._markup import Column, Row, table, text

MOST_POINTS = 5000
MOST_OUTLIERS = 20
MOST_LABELS = 5


def scatter(source: Source) -> tuple[Chart, str] | None:
    """The chart, and the HTML below it; None where no chunk has both figures."""
    chunks = source.chunks
    if len(chunks) == 0:
        return None
    failed = chunks.column("error.code")
    x, y = numbers(chunks.column("num_events")), numbers(chunks.column("duration"))
    data = pairs(x, y, failed, limit=MOST_POINTS, bins=(160, 100))
    if data is None:
        return None
    plot = chart(380, "events in the chunk", "time inside process(), s")
    if data.counts is None:
        _points(plot, source, data)
    else:
        _density(plot, data)
    below = f"<p>{data.n:,} chunks without an error."
    if data.slope is not None and data.intercept is not None:
        ends = data.x_edges[[0, -1]]
        line = data.intercept + data.slope * ends
        plot.line(ends, line, line_color=GREY, line_dash="dashed", line_width=1.5)
        below += " " + text(_in_words(data))
        found = outliers(x, y, data.intercept, data.slope, failed, MOST_OUTLIERS)
        below += "</p>" + _outliers(plot, source, found, x, y)
    else:
        below += "</p>"
    plot.y_range.start = 0
    return Chart("scatter", plot), below


def _in_words(data: Pairs) -> str:
    fixed, slope = format_value(data.intercept, "s"), format_value(data.slope, "s")
    words = f"The line: {fixed} per chunk and {slope} per event"
    return f"{words} (r = {data.r:.2f})." if data.r is not None else f"{words}."


def _points(plot: Plot, source: Source, data: Pairs) -> None:
    values = models.ColumnDataSource(
        {"x": data.x, "y": data.y, **chunk_texts(source, data.points)}
    )
    dots = plot.scatter(
        "x", "y", source=values, size=6, fill_color=BLUE, fill_alpha=0.45, line_color=None
    )
    hover(plot, [dots], CHUNK_ROWS)


def _density(plot: Plot, data: Pairs) -> None:
    x_edges, y_edges = data.x_edges, data.y_edges
    counts = np.asarray(data.counts, dtype=np.float32)
    mapper = models.LogColorMapper(
        palette=shades(BLUE), low=1, high=max(float(counts.max()), 2), low_color="#00000000"
    )
    image = plot.image(
        [counts],
        x=x_edges[0],
        y=y_edges[0],
        dw=x_edges[-1] - x_edges[0],
        dh=y_edges[-1] - y_edges[0],
        color_mapper=mapper,
    )
    hover(
        plot,
        [image],
        [("chunks here", "@image{0,0}"), ("events", "$x{0,0}"), ("time", "$y{0.000} s")],
    )


def _outliers(plot: Plot, source: Source, found: Outliers, x: Array, y: Array) -> str:
    """Named in the chart, the farthest of them, and in a table."""
    index = found.points
    if len(index) == 0:
        return "<p>No chunk took much longer than expected from its events.</p>"
    texts = chunk_texts(source, index, longest=None)
    values = models.ColumnDataSource({"x": x[index], "y": y[index], **chunk_texts(source, index)})
    marks = plot.scatter(
        "x", "y", source=values, marker="diamond", size=9, fill_color=VERMILION, line_color=None
    )
    hover(plot, [marks], CHUNK_ROWS)
    _labels(plot, x, y, index, short_names([name.rpartition("/")[2] for name in texts["file"]], 32))
    columns = [
        Column("File"),
        Column("Dataset"),
        Column("Entries"),
        Column("Worker"),
        Column("Events", "1"),
        Column("Took", "s"),
        Column("The line says", "s"),
    ]
    rows = [
        Row(
            [
                texts["file"][i],
                texts["dataset"][i],
                texts["entries"][i],
                texts["worker"][i],
                float(x[chunk]),
                float(y[chunk]),
                float(found.expected[i]),
            ]
        )
        for i, chunk in enumerate(index)
    ]
    more = f", the {len(rows)} farthest of them" if found.n > len(rows) else ""
    return (
        f"<h3>Chunks that took much longer than expected from their events <small>{found.n:,}{more}</small></h3>"
        + table("table-outliers", columns, rows, first=5)
    )


def _labels(plot: Plot, x: Array, y: Array, index: Array, names: list[str]) -> None:
    """Names of those that are farthest, as far as they do not overlap."""
    left = float(np.nanmin(x))
    width, height = float(np.nanmax(x)) - left or 1.0, float(np.nanmax(y)) or 1.0
    placed: list[tuple[float, float]] = []
    for chunk, name in zip(index, names):
        here = (float(x[chunk]) - left) / width, float(y[chunk]) / height
        if len(placed) == MOST_LABELS or any(
            abs(here[0] - at[0]) < 0.3 and abs(here[1] - at[1]) < 0.05 for at in placed
        ):
            continue
        placed.append(here)
        to_the_right = here[0] <= 0.6
        # A set of one: unlike a single label it takes no name for a formula.
        plot.add_layout(
            models.LabelSet(
                x="x",
                y="y",
                text="label",
                source=models.ColumnDataSource({"x": [x[chunk]], "y": [y[chunk]], "label": [name]}),
                text_font_size="11px",
                text_align="left" if to_the_right else "right",
                text_baseline="middle",
                x_offset=8 if to_the_right else -8,
                text_font=value(FONT),
            )
        )
