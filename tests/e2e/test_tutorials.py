"""The pages of the documentation that are programs, run as they stand there.

A `python` block is run, all blocks of a page one after the other as in a notebook; so is each line of an `sh`
block. A `text` block below one of them is what it prints: its lines have to come in that order. Figures with a
unit are measured and differ each time; words, counts, and the dash for what was not measured do not.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
BLOCK = re.compile(r"^```(python|sh|text)\n(.*?)^```$", re.M | re.S)
MEASURED = re.compile(
    r"(?:[<>] )?-?\d[\d.,]* ?(?:[kMGT]?(?:B|Hz|bps)(?:/s|/core)?|bytes|[mµn]?s|min|h|%|×)(?![\w%])"
)
# The program that was installed with the package.
PROGRAM = Path(os.environ.get("ROAST_PROGRAM") or Path(sys.executable).with_name("roast"))


def blocks(name):
    """``(kind, text)`` of each block, from top to bottom."""
    return BLOCK.findall((ROOT / name).read_text(encoding="utf-8"))


def files_to_read():
    """The block of the quickstart that writes the files which all pages use."""
    kind, code = blocks("docs/quickstart.md")[0]
    assert kind == "python" and "fileset" in code
    return code


def shape(line):
    """A line without what differs from run to run: figures with a unit, and the width of columns."""
    return re.sub(r"\s+", " ", re.sub("─+", "─", MEASURED.sub("#", line))).strip()


def check_printed(expected, printed):
    """Every line that the page promises is there, in the order of the page."""
    lines = iter([shape(line) for line in printed.splitlines()])
    for line in filter(None, map(shape, expected.splitlines())):
        if line != "...":
            assert any(line == found for found in lines), f"{line!r} is not in\n{printed}"


class Session:
    """What a reader has open: a Python, and a shell in the same folder."""

    def __init__(self, folder):
        self.folder = folder
        # As in a notebook: what is defined here travels to the workers by value.
        self.names = {"__name__": "__main__"}

    def python(self, code, where="page"):
        out, progress = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(progress):
            exec(compile(code, where, "exec"), self.names)
        return out.getvalue()

    def sh(self, script):
        folders = [str(PROGRAM.parent), str(Path(sys.executable).parent), os.environ["PATH"]]
        result = subprocess.run(
            ["bash", "-euc", script], cwd=self.folder, capture_output=True, text=True, check=False,
            env={**os.environ, "PATH": os.pathsep.join(folders), "COLUMNS": "80"}, timeout=120,
        )
        assert result.returncode == 0, f"{script}\n{result.stdout}\n{result.stderr}"
        return result.stdout


@pytest.fixture
def session(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("MPLBACKEND", "agg")
    return Session(tmp_path)


def run_page(session, name):
    printed = None
    for number, (kind, body) in enumerate(blocks(name)):
        if kind == "text":
            assert printed is not None, f"{name}: block {number} is the output of nothing"
            check_printed(body, printed)
        else:
            printed = session.sh(body) if kind == "sh" else session.python(body, f"{name}, block {number}")


def test_quickstart(session):
    run_page(session, "docs/quickstart.md")
    assert (session.folder / "first.html").stat().st_size > 100_000


@pytest.mark.parametrize("page", ["tutorial-workflow", "tutorial-chunks", "tutorial-sections", "measurements", "advice", "plots"])
def test_page(session, page):
    session.python(files_to_read())
    run_page(session, f"docs/{page}.md")


def test_readme(session):
    """Its example, pasted into an empty session."""
    (example,) = [body for kind, body in blocks("README.md") if kind == "python"]
    assert "Event Rate" in session.python(example, "README.md")
    mc = session.names["mc"]
    assert (mc.outcome, mc.get_metrics()["total_events"], len(mc.chunk_metrics)) == ("done", 1_000_000, 10)
    assert (session.folder / "report.html").stat().st_size > 100_000
    assert mc.measurement_path.is_dir()


@pytest.mark.parametrize(("expected", "printed"), [
    ("Wall Time   2.03 s", "Wall Time 2.03 min or so"),
    ("Chunks   12 done", "Chunks   11 done"),
    ("Serialization   -", "Serialization   1.2 ms"),
    ("one\ntwo", "two\none"),
])
def test_a_page_that_is_wrong(expected, printed):
    with pytest.raises(AssertionError, match="is not in"):
        check_printed(expected, printed)


@pytest.mark.parametrize(("expected", "printed"), [
    ("Wall Time   2.03 s", "Wall Time    1.4 min"),
    ("Data Rate 273 Mbps over wall time, 34.1 MB/s", "Data Rate 1.2 Gbps over wall time, 15 kB/s"),
    ("one\n...\nthree", "one\ntwo\nthree"),
])
def test_a_page_that_is_right(expected, printed):
    check_printed(expected, printed)
