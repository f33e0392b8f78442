"""`python -m bench`: measures, prints the table, writes JSON, and ends with 1 where a target is missed."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from bench import machine, table
from bench.harness import Figure, Harness, NotMeasured, Row, compare, judge
from bench.sides import SideFailed
from bench.targets import BETTER, TARGETS

# A module of bench/ each, in the order of the table.
SUBJECTS = {
    "sections": "sections", "decorator": "decorator", "nanoevents": "nanoevents", "wire": "wire",
    "reduction": "reduction", "tick": "tick", "metrics": "metrics", "readings": "readings", "run": "big_run",
    "show": "show", "diagnose": "diagnose", "compare": "compare", "what_if": "what_if", "taskvine": "taskvine",
    "runs": "runs", "facility": "facility", "board": "board",
    "exit": "exits", "import": "imports", "overhead": "overhead", "growth": "growth",
}
ROUNDS, QUICK_ROUNDS = 20, 4


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--rows", default=",".join(SUBJECTS), metavar="NAME,...",
                        help=f"subjects to measure, of {', '.join(SUBJECTS)} (all)")
    parser.add_argument("--rounds", type=int, metavar="N",
                        help=f"rounds of a measurement; short ones take a multiple, long ones a part ({ROUNDS})")
    parser.add_argument("--quick", action="store_true", help="few rounds: to see that it runs")
    parser.add_argument("--json", type=Path, default=Path("build/bench.json"), metavar="FILE",
                        help="where the figures go (%(default)s)")
    parser.add_argument("--programs", type=Path, default=Path("build/bench"), metavar="FOLDER",
                        help="where Meson built the C programs (%(default)s)")
    parser.add_argument("--theirs", type=Path, metavar="FOLDER", help="where roastcoffea 0.1.2 is")
    parser.add_argument("--no-theirs", default="--theirs was not given", metavar="REASON",
                        help="why it is not there")
    chosen = parser.parse_args()
    chosen.rows = chosen.rows.split(",")
    unknown = set(chosen.rows) - set(SUBJECTS)
    if unknown:
        parser.error(f"--rows: unknown {', '.join(sorted(unknown))}; known are {', '.join(SUBJECTS)}")
    chosen.rounds = chosen.rounds or (QUICK_ROUNDS if chosen.quick else ROUNDS)
    if chosen.rounds < 1:
        parser.error("--rounds: at least 1")
    return chosen


def measure(harness: Harness, subjects: list[str]) -> tuple[list[Row], dict[str, str]]:
    """The rows, and for a subject that could not be measured to its end the reason."""
    rows: list[Row] = []
    missing = {}
    for subject, module in SUBJECTS.items():
        if subject not in subjects:
            continue
        try:
            for row in importlib.import_module(f"bench.{module}").rows(harness):
                rows.append(row)
        except (NotMeasured, SideFailed) as reason:
            missing[subject] = str(reason)
        except Exception as error:  # the figures of the other subjects are not lost
            traceback.print_exc()
            missing[subject] = f"{type(error).__name__}: {error}"
    return rows, missing


def _figure_json(figure: Figure | None) -> dict[str, Any] | None:
    if figure is None:
        return None
    return {"min": figure.best, "median": figure.median, "spread": figure.spread, "rounds": figure.rounds}


def as_json(row: Row) -> dict[str, Any]:
    verdict, found = judge(row), compare(row)
    return {
        "row": row.key, "unit": row.unit, "ours": _figure_json(row.measured),
        "floor": _figure_json(row.floor), "floor_is": row.floor_is,
        "value": verdict.value, "spread": verdict.spread, "limit": verdict.limit,
        "against": verdict.against.value if verdict.against else None, "ok": verdict.ok,
        "theirs": _figure_json(row.theirs), "theirs_is": row.theirs_is,
        "times": found and found.times, "times_quartiles": found and found.spread,
        "times_at_least": found and found.least, "times_ok": found and found.ok,
    }


def print_all(state: dict[str, Any], rows: list[Row], harness: Harness, missing: dict[str, str]) -> None:
    print(table.machine(state), end="\n\n")
    print(table.text([table.line(row, judge(row), compare(row)) for row in rows]))
    print(f"\nFloors:\n{table.floors(rows)}")
    if any(row.theirs_is for row in rows):
        print(f"\nWith 0.1.2:\n{table.theirs(rows)}")
    if harness.growth:
        print(f"\nGrowth:\n{table.growth(harness.growth)}")
    for subject, reason in missing.items():
        print(f"\n{subject} could not be measured to its end: {reason}")
    if harness.theirs_packages is None:
        print(f"\nNothing was compared with 0.1.2: {harness.no_theirs}")


def main() -> int:
    chosen = arguments()
    started = time.monotonic()
    harness = Harness(chosen.rounds, chosen.quick, chosen.programs, chosen.theirs, chosen.no_theirs)
    state = machine.state(chosen.programs, chosen.theirs)
    rows, missing = measure(harness, chosen.rows)
    state["load_average_at_end"] = list(os.getloadavg())
    measured = {row.key for row in rows}
    compared = {row.key for row in rows if row.theirs is not None}
    wanted = [key for key in TARGETS if key not in measured]
    if chosen.theirs is not None:
        wanted += [key for key in BETTER if key not in compared and key not in wanted]
    left_out = [key for key in wanted if key.partition("/")[0] in chosen.rows]
    over = [row.key for row in rows if judge(row).ok is False]
    short = [row.key for row in rows if (found := compare(row)) is not None and found.ok is False]

    print_all(state, rows, harness, missing)
    chosen.json.parent.mkdir(parents=True, exist_ok=True)
    chosen.json.write_text(json.dumps({
        "machine": state, "rounds": chosen.rounds, "quick": chosen.quick,
        "rows": [as_json(row) for row in rows], "growth": harness.growth,
        "not_measured": left_out, "reasons": missing,
        "compared": chosen.theirs is not None, "not_compared_because": harness.no_theirs,
    }, indent=1) + "\n")
    print(f"\n{len(rows)} rows in {time.monotonic() - started:.0f} s, also in {chosen.json}. "
          f"Over their limit: {', '.join(over) or 'none'}. "
          f"Short of their ratio to 0.1.2: {', '.join(short) or 'none'}. "
          f"Not measured: {', '.join(left_out) or 'none'}.")
    return 1 if over or short or left_out or missing else 0


if __name__ == "__main__":
    sys.exit(main())
