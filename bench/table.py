"""The table that people read."""

from __future__ import annotations

from typing import Any

from bench.harness import Row, Verdict
from bench.targets import Against

HEAD = ("what", "measured", "median", "floor", "against the limit", "spread", "")


def amount(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    if unit == "bytes":
        return f"{value:,.1f} B"
    if unit == "share":
        return f"{100 * value:.3f} %"
    for factor, name in ((1e9, "ns"), (1e6, "µs"), (1e3, "ms")):
        scaled = value * factor
        if abs(scaled) < 1000:
            return f"{scaled:.3g} {name}" if abs(scaled) < 100 else f"{scaled:.0f} {name}"
    return f"{value:.3g} s"


def _against(row: Row, verdict: Verdict) -> str:
    if verdict.limit is None:
        return f"{verdict.value:.2f} x" if verdict.value is not None else "-"
    if verdict.against is Against.FLOOR_TIMES:
        return f"{verdict.value:.2f} x, at most {verdict.limit:g} x"
    over = " more" if verdict.against is Against.FLOOR_PLUS else ""
    return f"{amount(verdict.value, row.unit)}{over}, at most {amount(verdict.limit, row.unit)}"


def line(row: Row, verdict: Verdict) -> tuple[str, ...]:
    spread = "-" if verdict.spread is None else f"{100 * verdict.spread:.0f} %"
    return (
        row.key,
        amount(row.measured.best, row.unit),
        amount(row.measured.median, row.unit),
        amount(row.floor.best, row.unit) if row.floor else "-",
        _against(row, verdict),
        spread,
        {True: "ok", False: "OVER", None: ""}[verdict.ok],
    )


def text(lines: list[tuple[str, ...]]) -> str:
    everything = [HEAD, *lines]
    widths = [max(len(cells[i]) for cells in everything) for i in range(len(HEAD))]

    def laid_out(cells: tuple[str, ...]) -> str:
        first, *rest = cells
        middle = (cell.rjust(width) for cell, width in zip(rest[:-1], widths[1:-1], strict=True))
        return "  ".join([first.ljust(widths[0]), *middle, rest[-1]]).rstrip()

    return "\n".join([laid_out(HEAD), "-" * (sum(widths) + 2 * len(widths)), *map(laid_out, lines)])


def floors(rows: list[Row]) -> str:
    """What each floor was, in words."""
    return "\n".join(f"  {row.key}: {row.floor_is}" for row in rows if row.floor_is)


def machine(state: dict[str, Any]) -> str:
    load = " ".join(f"{one:.2f}" for one in state["load_average"])
    versions = ", ".join(f"{name} {number or '(not there)'}" for name, number in state["versions"].items())
    compiler = state["compiler"] or "an unknown compiler"
    return (f"{state['cpu']}, {state['cores']} cores, load {load}, Linux {state['kernel']}\n"
            f"Python {state['python']} ({state['python_compiler']}), C programs by {compiler}\n"
            f"{versions}")
