"""A measurement of each format that was released is read, and says what it said then.

``python tests/python/test_golden.py FOLDER`` makes one, when a new format is released; it never replaces an older one.
Beside each lies what its tables must say. Columns that came later are not compared.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
import roastcoffea

DATA = Path(__file__).resolve().parent.parent / "data"
TABLES = ("chunks", "sections", "samples", "reads")
GOLDEN = sorted(DATA.glob("measurement_v*"))


def content(path):
    """Every table of a measurement, column by column, in a form that JSON keeps."""
    run = roastcoffea.open_run(path).run
    tables = {}
    for name in TABLES:
        table = getattr(run, name)
        rows = json.loads(json.dumps(table.rows(0, len(table)), default=str))
        tables[name] = {column: [row[i] for row in rows] for i, column in enumerate(table.columns)}
    return tables


def test_there_is_one():
    assert [path.name for path in GOLDEN] == ["measurement_v2", "measurement_v2.json"]


@pytest.mark.parametrize("path", [path for path in GOLDEN if path.is_dir()], ids=lambda path: path.name)
def test_it_says_what_it_said(path, tmp_path):
    copy = tmp_path / path.name
    shutil.copytree(path, copy)
    now = content(copy)
    for table, columns in json.loads(path.with_suffix(".json").read_text()).items():
        for column, values in columns.items():
            assert now[table][column] == values, f"{table}.{column}"
    metrics, start, end = roastcoffea.load_measurement(copy)
    assert (start, end, metrics["num_chunks"], metrics["total_events"]) == (100.0, 110.5, 8, 4000)


def make(path):
    from roastcoffea._core import save_measurement
    from run_samples import full_run

    save_measurement(full_run(8), path)
    path.with_suffix(".json").write_text(json.dumps(content(path), indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
