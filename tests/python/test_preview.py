"""Tables of a run at a prompt and in a notebook: the first and last rows, however long they are."""

from __future__ import annotations

import html
import re
import tracemalloc

import pytest
from run_samples import full_run

from roastcoffea._core import Attempts, ChunkLog, Run

TABLES = ("chunks", "sections", "samples", "reads")


def cells_of(page):
    return [[html.unescape(cell) for cell in re.findall(r"<t[hd]>(.*?)</t[hd]>", row)]
            for row in re.findall(r"<tr>(.*?)</tr>", page)]


@pytest.mark.parametrize("name", TABLES)
def test_rows_and_columns(name):
    table = getattr(full_run(40), name)
    head, *rows = cells_of(table._repr_html_())
    assert head == ["", *table.columns]
    numbers = [str(number) for number in range(len(table))]
    assert [row[0] for row in rows] == (numbers if len(numbers) <= 10 else [*numbers[:5], "…", *numbers[-5:]])
    assert all(len(row) == len(head) for row in rows)
    lines = repr(table).splitlines()
    assert lines[0] == f"<Table {name}: {len(table):,} rows, {len(table.columns)} columns>"
    assert max(map(len, lines)) <= 80 and len(lines) < 25
    assert [line.split()[0] for line in lines[2:2 + len(rows)]] == [row[0] for row in rows]
    words = re.sub(r"[\s,:]+", " ", " ".join([lines[1], *lines[2 + len(rows):]])).split()
    assert sorted(word for word in words if word in table.columns) == sorted(table.columns)


def test_values():
    run = Run(chunks=[{"dataset": "a<b>", "num_events": 7, "duration": 0.25, "file": "/store/" + "x" * 40 + "/end.root",
                       "task_key": "process-" + "0" * 40},
                      {"num_events": 12}])
    table = run.chunks
    assert table.rows(0, 9) == table.rows(-2, 2) and len(table.rows(0, 9)) == 2 and table.rows(1, 1) == []
    row = dict(zip(table.columns, table.rows(0, 1)[0]))
    assert row["num_events"] == 7 and row["duration"] == 0.25 and row["dataset"] == "a<b>" and row["t_start"] is None
    head, first, second = cells_of(table._repr_html_())
    shown = dict(zip(head, first))
    assert shown["dataset"] == "a<b>" and shown["duration"] == "0.25" and shown["t_start"] == "-"
    assert shown["file"] == "end.root" and shown["task_key"] == "process-" + "0" * 15 + "…"
    assert dict(zip(head, second))["dataset"] == "-" and "a<b>" not in table._repr_html_()


def test_a_table_without_rows():
    table = Run().chunks
    assert repr(table).startswith(f"<Table chunks: 0 rows, {len(table.columns)} columns>\ncolumns: ")
    assert cells_of(table._repr_html_()) == [["", *table.columns]]
    assert repr(Run(chunks=[{"duration": 1.0}]).chunks).startswith("<Table chunks: 1 row, ")


def test_a_long_table_makes_few_objects():
    log = ChunkLog([{"dataset": f"dataset {i}", "num_events": i} for i in range(20_000)])
    table = Run(chunks=log).chunks
    tracemalloc.start()
    shown = repr(table), table._repr_html_()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert all("dataset 19999" in text for text in shown)
    assert most < 500_000  # 20,000 texts would take more


def test_attempts():
    attempts = Attempts()
    assert cells_of(attempts._repr_html_()) == [[""]]
    for i in range(30):
        attempts.add(f"task-{i}", kind="foreign" if i % 2 else "other", worker="a", start=100.0 + i, stop=101.0 + i)
    records = attempts.records(foreign=True)
    assert attempts.records(foreign=True, start=27) == records[27:] and attempts.records(start=2, stop=4) == records[4:8:2]
    assert attempts.records(start=40) == attempts.records(stop=0) == []
    head, *rows = cells_of(attempts._repr_html_())
    assert head == ["", *records[0]] and len(rows) == 11
    assert [row[head.index("key")] for row in rows[4:8]] == ["task-4", "…", "-", "task-26"]  # of others no key is kept
    assert repr(attempts).startswith("<Attempts: 30 of tasks on 1 workers")
