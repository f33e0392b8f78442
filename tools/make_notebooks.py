"""`make_notebooks.py [PAGE ...]`: makes examples/notebooks from the pages of the tutorials, runs them and keeps what they print.

The pages are the source: a block of Python is a cell, the text between blocks another one. tests/e2e/test_kept_notebooks.py
fails if a notebook is not that of its page.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "examples" / "notebooks"
PAGES = ("quickstart", "tutorial-workflow", "tutorial-chunks", "tutorial-sections")
FILES = "quickstart"  # the page whose first block writes the files that all pages read
BLOCK = re.compile(r"^```([^\n`]*)\n(.*?)^```[ ]*\n?", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?=[\w-]+\.md)")


def read(page: str) -> str:
    return (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")


def cells_of(text: str) -> list[tuple[str, str]]:
    """``(kind, source)``: "markdown" or "code". What a block prints, and pictures, are left out."""
    found: list[tuple[str, str]] = []
    parts = BLOCK.split(text)
    for words, kind, body in zip(parts[::3], [*parts[1::3], ""], [*parts[2::3], ""]):
        found.append(("markdown", LINK.sub("](../../docs/", words).strip()))
        if kind == "python":
            found.append(("code", body.strip()))
        elif kind == "sh":
            found.append(("code", f"%%sh\n{body.strip()}"))
        elif kind == "{note}":
            found.append(("markdown", LINK.sub("](../../docs/", body).strip()))
    return [(kind, source) for kind, source in found if source]


def make(page: str) -> Any:
    """The notebook of a page, before it has run."""
    cells = cells_of(read(page))
    if page != FILES:
        files = next(source for kind, source in cells_of(read(FILES)) if kind == "code")
        cells.insert(1, ("code", f"# The files of the quickstart.\n{files}"))
    new = {"markdown": nbformat.v4.new_markdown_cell, "code": nbformat.v4.new_code_cell}
    made = nbformat.v4.new_notebook(cells=[new[kind](source) for kind, source in cells])
    for number, cell in enumerate(made.cells):
        cell["id"] = f"{page}-{number}"  # the same each time
    made.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return made


def execute(notebook: Any, folder: str | Path) -> None:
    """Runs it in a folder; raises if a cell raises."""
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    tidy(notebook)


def tidy(notebook: Any) -> None:
    """Keeps what was printed: without bars of progress, and in one piece."""
    for cell in notebook.cells:
        cell.metadata.clear()
        if cell.cell_type == "code":
            cell.outputs = joined(output for output in cell.outputs if is_kept(output))
    notebook.metadata.pop("language_info", None)
    notebook.metadata.pop("widgets", None)


def is_kept(output: Any) -> bool:
    data = output.get("data", {})
    empty = output.output_type == "display_data" and not data.get("text/plain", "").strip()
    return output.get("name") != "stderr" and "application/vnd.jupyter.widget-view+json" not in data and not empty


def joined(outputs: Iterable[Any]) -> list[Any]:
    """One output for texts that a cell printed one after the other."""
    found: list[Any] = []
    for output in outputs:
        if found and output.output_type == found[-1].output_type == "stream":
            found[-1].text += output.text
        else:
            found.append(output)
    return found


def main(pages: list[str]) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for page in pages or PAGES:
        made = make(page)
        with tempfile.TemporaryDirectory() as folder:
            execute(made, folder)
        nbformat.write(made, FOLDER / f"{page}.ipynb")
        print(FOLDER / f"{page}.ipynb")


if __name__ == "__main__":
    main(sys.argv[1:])
