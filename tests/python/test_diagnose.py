"""Findings in Python: their keys, their order, and that nothing is kept."""

from __future__ import annotations


import pytest

from leaks import assert_nothing_is_kept
from roastcoffea._core import Run, Summary, WorkerSeries
from roastcoffea.export import reporter

KEYS = ["kind", "severity", "title", "evidence", "advice", "saving_core_seconds", "confidence", "why"]
T0 = 1_700_000_000.0


def make_chunks(count=60):
    """Two workers; the second one is three times as slow."""
    chunks, free = [], [T0, T0]
    for number in range(count):
        worker = 0 if free[0] <= free[1] else 1
        duration = 3.0 if worker else 1.0
        chunks.append({
            "t_start": free[worker], "duration": duration, "num_events": 1000, "dataset": "ttbar",
            "file": f"f{number // 15}.root", "worker": f"tcp://w{worker}", "cpu_user_s": duration,
            "cpu_system_s": 0.0, "before_process_s": 0.0,
        })
        free[worker] += duration
    return chunks, max(free)


def make_run():
    chunks, end = make_chunks()
    series = WorkerSeries.from_tracking_data({
        "worker_counts": {T0: 2, end: 2},
        "worker_cores": {f"tcp://w{i}": [(T0, 1), (end, 1)] for i in range(2)},
    })
    return Run(t_start=T0, t_end=end, chunks=chunks, series=series)


def test_findings():
    found = make_run().diagnose()
    assert [list(finding) for finding in found] == [KEYS] * len(found)
    assert found[0]["kind"] == "straggler_worker"
    assert found[0]["severity"] == "critical"
    assert "tcp://w1" in found[0]["title"]
    assert found[0]["saving_core_seconds"] == pytest.approx(2 / 3 * 45, rel=0.1)
    assert 0 < found[0]["confidence"] <= 1
    severities = ["critical", "warning", "note"]
    order = [severities.index(finding["severity"]) for finding in found]
    assert order == sorted(order)


def test_nothing_to_find():
    assert Run().diagnose() == []


def test_in_the_summary():
    tables = {table["id"]: table for table in Summary(make_run()).tables}
    assert list(tables)[:2] == ["findings", "budget"]
    found = make_run().diagnose()
    assert [row[1] for row in tables["findings"]["rows"]] == [finding["title"] for finding in found]
    assert tables["budget"]["rows"][0][0] == "Available"
    assert not any(table["has_content"] for table in Summary({}).tables if table["id"] in ("findings", "budget"))


def test_as_tables_of_rich():
    tables = {table["id"]: table for table in Summary(make_run()).tables}
    for format_table, name in ((reporter.format_findings_table, "findings"),
                               (reporter.format_budget_table, "budget")):
        made = format_table(make_run())
        assert made.title == tables[name]["title"]
        assert [column.header for column in made.columns] == tables[name]["columns"]
        assert made.row_count == len(tables[name]["rows"]) > 0
        assert format_table(Run()) is None


def test_no_leak():
    run = make_run()
    assert_nothing_is_kept(run.diagnose, 50)
