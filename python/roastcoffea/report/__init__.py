"""A run or a comparison as one HTML file, and as a compact view in a notebook.

The file needs nothing but a browser: scripts, styles and data are inside, and it loads nothing from
anywhere. Names of datasets, files, branches, sections and workers are data, shown as they are.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from roastcoffea.report._data import Results
from roastcoffea.report._notebook import comparison_html, summary_html

if TYPE_CHECKING:
    from roastcoffea._core import _SummaryTable

__all__ = ["comparison_html", "report_html", "save_comparison", "save_report", "summary_html"]


def report_html(results: Results) -> str:
    """The report of a run as the text of an HTML file."""
    # On demand: Bokeh takes longer to import than all of this package.
    from roastcoffea.report._page import page

    return page(results)


def save_report(results: Results, path: str | os.PathLike[str]) -> Path:
    """Writes the report to `path`, all of it or not at all; a missing folder is made."""
    return _write(report_html(results), Path(path))


def save_comparison(
    headline: str, sides: Sequence[Sequence[str]], tables: Sequence[_SummaryTable], path: str | os.PathLike[str]
) -> Path:
    """The same for a comparison."""
    from roastcoffea.report._comparison import comparison_page

    return _write(comparison_page(headline, sides, tables), Path(path))


def _write(text: str, target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(
        dir=target.parent, prefix=f".{target.name[:100]}.", suffix=".part"
    )
    try:
        with open(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return target


def _umask() -> int:
    """What a file that was opened in the usual way would not be allowed."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
