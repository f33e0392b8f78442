"""Makes the pictures of the documentation from a measurement: `make.py RUN`.

report.png is the top of its report as Chromium shows it, summary.svg some tables of its summary. Any real run will
do; the ones that are here come from the measurement that `make demo` leaves in build/demo/measurements.
"""

from __future__ import annotations

import io
import re
import sys
import tempfile
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tests" / "browser"))

from chromium import Chromium  # noqa: E402

from roastcoffea import open_run  # noqa: E402
from roastcoffea._core import Summary  # noqa: E402

WIDTH, HEIGHT = 1180, 1528
# Without the fonts that rich would have a browser fetch from the network.
SVG = re.sub(r"@font-face {{.*?}}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
TABLES = ("findings", "budget", "timing", "time_sections")


def main(path: str) -> None:
    run = open_run(path)
    with tempfile.TemporaryDirectory() as folder, Chromium(WIDTH, HEIGHT) as browser:
        browser.open(run.save_report(Path(folder, "report.html")))
        browser.pause(2.0)
        browser.screenshot(HERE / "report.png", whole=False)
    console = Console(record=True, width=80, file=io.StringIO())
    summary = Summary(run.metrics, run.run)
    for name in TABLES:
        console.print(Text.from_ansi(summary.draw(80, color=True, table=name)))
    console.save_svg(str(HERE / "summary.svg"), title="mc.print_summary()", code_format=SVG)


if __name__ == "__main__":
    main(sys.argv[1])
