"""`python -m bench`: measures, prints the table, writes JSON, and ends with 1 where a limit is missed."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from bench import machine, table
from bench.harness import Harness, NotMeasured, Row, judge
from bench.targets import TARGETS

# A module of bench/ each, in the order of the table.
SUBJECTS = ("sections", "decorator", "reduction", "tick", "metrics", "readings", "overhead")
ROUNDS, QUICK_ROUNDS = 20, 4


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--rows", default=",".join(SUBJECTS), metavar="NAME,...",
                        help=f"subjects to measure, of {', '.join(SUBJECTS)} (all)")
    parser.add_argument("--rounds", type=int, metavar="N",
                        help=f"rounds of a measurement; short ones take a multiple ({ROUNDS})")
    parser.add_argument("--quick", action="store_true", help="few rounds: to see that it runs")
    parser.add_argument("--json", type=Path, default=Path("build/bench.json"), metavar="FILE",
                        help="where the figures go (%(default)s)")
    parser.add_argument("--programs", type=Path, default=Path("build/bench/bench"), metavar="FOLDER",
                        help="where the C programs are (%(default)s)")
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
    rows, missing = [], {}
    for subject in SUBJECTS:
        if subject not in subjects:
            continue
        try:
            rows += importlib.import_module(f"bench.{subject}").rows(harness)
        except NotMeasured as reason:
            missing[subject] = str(reason)
    return rows, missing


def as_json(row: Row) -> dict[str, Any]:
    verdict = judge(row)
    floor = None if row.floor is None else {
        "what": row.floor_is, "min": row.floor.best, "median": row.floor.median, "rounds": row.floor.rounds}
    return {
        "row": row.key, "unit": row.unit, "min": row.measured.best, "median": row.measured.median,
        "rounds": row.measured.rounds, "floor": floor, "value": verdict.value, "spread": verdict.spread,
        "limit": verdict.limit, "against": verdict.against.value if verdict.against else None,
        "ok": verdict.ok,
    }


def main() -> int:
    chosen = arguments()
    started = time.monotonic()
    harness = Harness(chosen.rounds, chosen.quick, chosen.programs)
    state = machine.state(chosen.programs)
    rows, missing = measure(harness, chosen.rows)
    state["load_average_at_end"] = list(os.getloadavg())
    verdicts = [judge(row) for row in rows]
    measured = {row.key for row in rows}
    left_out = [key for key in TARGETS if key.partition("/")[0] in chosen.rows and key not in measured]
    over = [row.key for row, verdict in zip(rows, verdicts, strict=True) if verdict.ok is False]

    print(table.machine(state), end="\n\n")
    print(table.text([table.line(row, verdict) for row, verdict in zip(rows, verdicts, strict=True)]))
    print(f"\nFloors:\n{table.floors(rows)}")
    for subject, reason in missing.items():
        print(f"\n{subject} could not be measured to its end: {reason}")
    chosen.json.parent.mkdir(parents=True, exist_ok=True)
    chosen.json.write_text(json.dumps({
        "machine": state, "rounds": chosen.rounds, "quick": chosen.quick,
        "rows": [as_json(row) for row in rows], "not_measured": left_out, "reasons": missing}, indent=1) + "\n")
    print(f"\n{len(rows)} rows in {time.monotonic() - started:.0f} s, also in {chosen.json}. "
          f"Over their limit: {', '.join(over) or 'none'}. "
          f"Not measured: {', '.join(left_out) or 'none'}.")
    return 1 if over or left_out else 0


if __name__ == "__main__":
    sys.exit(main())
