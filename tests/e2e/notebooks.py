"""Runs the cells of a notebook in a real kernel."""

from __future__ import annotations

import nbformat
from nbclient import NotebookClient


class Recorded(NotebookClient):
    """Keeps the messages of the kernel, by cell: a saved notebook has only the last state of an output."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.messages = {}

    def process_message(self, msg, cell, cell_index):
        self.messages.setdefault(cell_index, []).append(msg)
        return super().process_message(msg, cell, cell_index)


def run_cells(*sources, folder):
    """``(outputs, messages)`` of each cell."""
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    client = Recorded(nbformat.v4.new_notebook(cells=cells), timeout=120, kernel_name="python3",
                      resources={"metadata": {"path": str(folder)}})
    client.execute()
    return [(cell.outputs, client.messages.get(number, [])) for number, cell in enumerate(cells)]


def pictures(outputs):
    return [output for output in outputs if "image/png" in output.get("data", {})]
