"""The table that people read."""

from __future__ import annotations

from typing import Any

from bench.harness import Comparison, Row, Verdict
from bench.targets import Against

HEAD = ("what", "ours", "median", "floor", "against the limit", "spread", "", "0.1.2", "times", "quartiles",
        "at least", "")


def amount(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    if unit == "share":
        return f"{100 * value:.3g} %"
    if unit == "times":
        return f"{value:.2f} x"
    if unit == "bytes":
        for factor, name in ((1e9, "GB"), (1e6, "MB"), (1e4, "kB")):
            if abs(value) >= factor:
                return f"{value / (1e3 if name == 'kB' else factor):,.1f} {name}"
        return f"{value:,.1f} B"
    for factor, name in ((1e9, "ns"), (1e6, "µs"), (1e3, "ms")):
        scaled = value * factor
        if abs(scaled) < 1000:
            return f"{scaled:.3g} {name}" if abs(scaled) < 100 else f"{scaled:.0f} {name}"
    return f"{value:.3g} s"


def times(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.1f} x" if value < 100 else f"{value:,.0f} x"


def _against(row: Row, verdict: Verdict) -> str:
    if verdict.limit is None:
        return f"{verdict.value:.2f} x" if verdict.value is not None else "-"
    if verdict.against is Against.FLOOR_TIMES:
        return f"{verdict.value:.2f} x, at most {verdict.limit:g} x"
    over = " more" if verdict.against is Against.FLOOR_PLUS else ""
    return f"{amount(verdict.value, row.unit)}{over}, at most {amount(verdict.limit, row.unit)}"


def _compared(row: Row, found: Comparison | None) -> tuple[str, ...]:
    if found is None or row.theirs is None:
        return "-", "-", "-", "-", ""
    between = "-" if found.spread is None else f"{times(found.spread[0])} to {times(found.spread[1])}"
    least = "-" if found.least is None else f"{found.least:g} x"
    return (amount(row.theirs.best, row.unit), times(found.times), between, least,
            {True: "ok", False: "SHORT", None: ""}[found.ok])


def line(row: Row, verdict: Verdict, comparison: Comparison | None) -> tuple[str, ...]:
    spread = "-" if verdict.spread is None else f"{100 * verdict.spread:.0f} %"
    return (
        row.key,
        amount(row.measured.best, row.unit),
        amount(row.measured.median, row.unit),
        amount(row.floor.best, row.unit) if row.floor else "-",
        _against(row, verdict),
        spread,
        {True: "ok", False: "OVER", None: ""}[verdict.ok],
        *_compared(row, comparison),
    )


def text(lines: list[tuple[str, ...]]) -> str:
    everything = [HEAD, *lines]
    widths = [max(len(cells[i]) for cells in everything) for i in range(len(HEAD))]

    def laid_out(cells: tuple[str, ...]) -> str:
        first, *rest = cells
        return "  ".join([first.ljust(widths[0]), *(cell.rjust(width) for cell, width in
                                                    zip(rest, widths[1:], strict=True))]).rstrip()

    return "\n".join([laid_out(HEAD), "-" * (sum(widths) + 2 * len(widths)), *map(laid_out, lines)])


def floors(rows: list[Row]) -> str:
    """What each floor was, in words."""
    return "\n".join(f"  {row.key}: {row.floor_is}" for row in rows if row.floor_is)


def theirs(rows: list[Row]) -> str:
    """What 0.1.2 did, where it is not quite the same."""
    return "\n".join(f"  {row.key}: {row.theirs_is}" for row in rows if row.theirs_is)


def growth(points: list[dict[str, Any]]) -> str:
    """Costs by size: a line a subject, a column a size."""
    lines = []
    for subject in dict.fromkeys(point["subject"] for point in points):
        mine = [point for point in points if point["subject"] == subject]
        costs = ", ".join(f"{point['n']:,}: {amount(point['seconds'], 's')}"
                          + (f" and {amount(point['bytes'], 'bytes')}" if point.get("bytes") else "")
                          for point in mine)
        lines.append(f"  {subject}, a {mine[0]['of']}: {costs}")
    return "\n".join(lines)


def machine(state: dict[str, Any]) -> str:
    load = " ".join(f"{one:.2f}" for one in state["load_average"])
    versions = ", ".join(f"{name} {number or '(not there)'}" for name, number in state["versions"].items())
    compiler = state["compiler"] or "an unknown compiler"
    return (f"{state['cpu']}, {state['cores']} cores, load {load}, Linux {state['kernel']}\n"
            f"Python {state['python']} ({state['python_compiler']}), C programs by {compiler}\n"
            f"{versions}")
