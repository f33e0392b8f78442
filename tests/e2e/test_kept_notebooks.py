"""The notebooks of the tutorials are those of their pages, run, and have what they print."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import make_notebooks
import nbformat
import pytest

PROGRAM = Path(os.environ.get("ROAST_PROGRAM") or Path(sys.executable).with_name("roast"))
MACHINE = re.compile(r"/(?:home|root|tmp|work)/")


def read(page):
    return nbformat.read(make_notebooks.FOLDER / f"{page}.ipynb", as_version=4)


def sources(notebook):
    return [(cell.cell_type, cell.source) for cell in notebook.cells]


def with_outputs(notebook):
    return [cell.id for cell in notebook.cells if cell.get("outputs")]


@pytest.mark.parametrize("page", make_notebooks.PAGES)
def test_it_is_that_of_its_page(page):
    kept = read(page)
    assert sources(kept) == sources(make_notebooks.make(page)), "tools/make_notebooks.py makes them again"
    assert with_outputs(kept) != []
    assert [output for cell in kept.cells for output in cell.get("outputs", ()) if output.output_type == "error"] == []
    assert [cell.id for cell in kept.cells if MACHINE.search(str(cell.get("outputs", "")))] == []


@pytest.mark.parametrize("page", make_notebooks.PAGES)
def test_it_runs(page, tmp_path, monkeypatch):
    """In a kernel; each cell that printed something prints something again."""
    monkeypatch.setenv("PATH", os.pathsep.join([str(PROGRAM.parent), os.environ["PATH"]]))
    made = make_notebooks.make(page)
    make_notebooks.execute(made, tmp_path)
    assert with_outputs(made) == with_outputs(read(page))


def test_blocks_are_cells():
    text = "# Page\n\nA [link](budget.md#x).\n\n```python\na = 1\n```\n\n```text\n1\n```\n\n```sh\nroast ls .\n```\n\nEnd\n"
    assert make_notebooks.cells_of(text) == [
        ("markdown", "# Page\n\nA [link](../../docs/budget.md#x)."), ("code", "a = 1"), ("code", "%%sh\nroast ls ."),
        ("markdown", "End"),
    ]
