"""``python -m roastcoffea``: commands that need Python."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from roastcoffea._core import __version__
from roastcoffea.report import save_report
from roastcoffea.results import open_run

__all__ = ["main"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m roastcoffea", description="Shows measurements."
    )
    parser.add_argument("--version", action="version", version=__version__)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    report = verbs.add_parser(
        "report",
        help="one HTML file with everything about a run",
        description="Writes one HTML file with everything about a run; any browser opens it.",
    )
    report.add_argument(
        "run", metavar="RUN", help="a measurement: the folder written by save_measurement()"
    )
    report.add_argument(
        "-o", "--output", metavar="FILE", help="output file (default: RUN.html next to RUN)"
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; the exit code is 0, or 1 for a wrong argument."""
    options = _parser().parse_args(arguments)
    run = Path(options.run)
    output = Path(options.output) if options.output else run.with_name(f"{run.resolve().name}.html")
    try:
        print(save_report(open_run(run), output))
    except (OSError, ValueError, ImportError) as error:
        print(f"python -m roastcoffea report: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
