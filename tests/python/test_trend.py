"""Trend of made runs, whose changes are known."""

from __future__ import annotations

import io
import json
import math
import os
import random
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest
from leaks import assert_nothing_is_kept

import roastcoffea
from roastcoffea import _core
from roastcoffea._core import Run
from roastcoffea.runs.levels import find_steps

BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)
WORKERS = 4
EVENTS = 1_000_000


def save(folder, number, wall, outcome="done", events=EVENTS, workers=WORKERS, **texts):
    """A measurement of a run on workers with one core each."""
    start = BEGIN + timedelta(hours=number)
    moments = [start, start + timedelta(seconds=wall)]
    tracking = {
        "worker_counts": {moment: workers for moment in moments},
        "worker_cores": {f"w{i}": [(moment, 1) for moment in moments] for i in range(workers)},
    }
    meta = {"processor": "Dimuon", "executor": "DaskExecutor", "chunksize": "100000", "git_revision": "a" * 40,
            "coffea_version": "2026.9.0"} | texts
    run = Run(report={"entries": events, "processtime": 1.0, "chunks": 1, "bytesread": 1}, t_start=start.timestamp(),
              t_end=start.timestamp() + wall, series=tracking, meta=meta, ending={"outcome": outcome})
    path = Path(folder) / f"run{number:03}"
    _core.save_measurement(run, str(path))
    return path


@pytest.fixture(scope="module")
def nightly(tmp_path_factory):
    """Forty runs: slower from the twelfth on, with other chunks; then a new coffea is faster."""
    folder = tmp_path_factory.mktemp("nightly")
    noise = random.Random(2)
    for number in range(40):
        slow = 12 <= number < 26
        save(folder, number, (125 if slow else 100) * noise.uniform(0.98, 1.02),
             chunksize="20000" if slow else "100000", coffea_version="2026.9.0" if number < 26 else "2026.10.0",
             git_revision=f"{number // 4:040x}")
    save(folder, 100, 3.0, outcome="failed")
    save(folder, 101, 5.0, outcome="interrupted")
    (folder / "broken").mkdir()
    (folder / "broken" / "run.sqlite").write_bytes((folder / "run000" / "run.sqlite").read_bytes()[:5000])
    return folder


def test_changes(nightly):
    found = roastcoffea.trend(nightly)
    assert found.metric == "event_rate_core_khz"
    assert found.error_rate == 0.01
    (group,) = found.groups
    assert (group["processor"], group["least_events"], len(group["runs"])) == ("Dimuon", EVENTS, 40)
    first, second = found.changes
    assert (first["name"], second["name"]) == ("run012", "run026")
    assert first["when"] == "2026-01-01T12:00:00+00:00"
    assert first["before"] == pytest.approx(EVENTS / 100 / WORKERS / 1000, rel=0.02)
    assert first["change"] == pytest.approx(-0.2, abs=0.02)
    assert second["change"] == pytest.approx(0.25, abs=0.03)
    assert first["p"] <= 0.01
    changed = {cause["what"]: (cause["before"], cause["after"]) for cause in first["changed"] if not cause["runs_away"]}
    assert changed == {"chunksize": ("100000", "20000"), "git_revision": (f"{2:040x}", f"{3:040x}")}
    assert {"chunksize", "coffea_version"} <= {cause["what"] for cause in second["changed"]}
    assert found.left_out == {"failed": 1, "interrupted": 1, "unfinished": 0, "no_value": 0, "no_time": 0, "unreadable": 1}


def test_levels_are_medians(nightly):
    (group,) = roastcoffea.trend(nightly, metric="wall_time").groups
    values = [run["value"] for run in group["runs"]]
    for level in group["levels"]:
        part = sorted(values[level["first"]:level["first"] + level["runs"]])
        assert level["median"] == pytest.approx((part[(len(part) - 1) // 2] + part[len(part) // 2]) / 2)
    assert sum(level["runs"] for level in group["levels"]) == 40


def test_where(nightly):
    found = roastcoffea.trend(nightly, where="when>=2026-01-01T12")
    assert [change["name"] for change in found.changes] == ["run026"]
    found = roastcoffea.trend(nightly, where=["chunksize=100000", "outcome=done"])
    assert found.changes == []
    assert found.left_out["failed"] == 0
    with pytest.raises(ValueError, match=r'where: no column has the name "wal"; did you mean "wall"\?'):
        roastcoffea.trend(nightly, where="wal>3")
    with pytest.raises(ValueError, match="at most 32"):
        roastcoffea.trend(nightly, where=["wall>1"] * 40)
    with pytest.raises(TypeError, match="a test is a str"):
        roastcoffea.trend(nightly, where=[b"wall>1"])


def test_what_is_no_trend(nightly):
    with pytest.raises(ValueError, match='no metric has the name "speed"'):
        roastcoffea.trend(nightly, metric="speed")
    with pytest.raises(ValueError, match="an error rate"):
        roastcoffea.trend(nightly, error_rate=0.9)
    with pytest.raises(FileNotFoundError, match="nothing"):
        roastcoffea.trend(nightly / "nothing")


def test_comparable_runs(tmp_path):
    for number in range(3):
        save(tmp_path, number, 10.0)
    save(tmp_path, 3, 10.0, events=EVENTS * 105 // 100)
    save(tmp_path, 4, 10.0, events=EVENTS * 2)
    save(tmp_path, 5, 10.0, processor="Other")
    save(tmp_path, 6, 10.0, workers=8)
    groups = roastcoffea.trend(tmp_path, metric="wall_time").groups
    assert [len(group["runs"]) for group in groups] == [5, 1, 1]
    assert groups[0]["most_events"] == EVENTS * 105 // 100


def test_a_measurement_without_small_figures(nightly, tmp_path):
    """One that an older version saved, or whose metadata.json was changed, is read by the slower road."""
    for number in range(2):
        save(tmp_path, number, 10.0 + number)
    quick = roastcoffea.trend(tmp_path, metric="wall_time").groups
    metadata = tmp_path / "run001" / "metadata.json"
    known = json.loads(metadata.read_text())
    assert known["metrics"]["wall_time"] == 11.0
    for name in ("metrics", "datasets", "checksum", "t_start"):
        known.pop(name, None)
    metadata.write_text(json.dumps(known))
    assert roastcoffea.trend(tmp_path, metric="wall_time").groups == quick
    metadata.write_text(json.dumps(known | {"metrics": {"wall_time": 1e9}, "checksum": "00000000"}))
    assert roastcoffea.trend(tmp_path, metric="wall_time").groups == quick


def test_the_program(nightly):
    found = roastcoffea.trend(nightly)
    program = Path(sys.executable).with_name("roast")
    environment = {"COLUMNS": "80", "LC_ALL": "C.UTF-8"}
    printed = subprocess.run([program, "trend", nightly], capture_output=True, text=True, check=True, env=environment)
    assert printed.stdout == str(found)
    assert "▁" in printed.stdout
    assert repr(found) == f"<Trend: {found.headline}>"
    assert found.headline == "event_rate_core_khz: 2 changes of level in 40 runs (1 group of comparable ones)."
    plain = subprocess.run([program, "trend", nightly], capture_output=True, text=True, check=True,
                           env=environment | {"LC_ALL": "C"}).stdout
    line = next(line for line in plain.splitlines() if line.startswith("  ") and "#" in line)
    assert set(line.strip()) <= set("_.,-=+*#")
    assert all(len(line) <= 80 for line in printed.stdout.splitlines())
    exported = subprocess.run([program, "trend", "--json", nightly], capture_output=True, text=True, check=True)
    assert json.loads(exported.stdout)["groups"] == found.groups


def test_what_the_program_does_not_find(nightly, tmp_path):
    program = Path(sys.executable).with_name("roast")

    def ask(*words):
        return subprocess.run([program, "trend", *words], capture_output=True, text=True, check=False)

    nothing = ask(tmp_path)
    assert (nothing.returncode, nothing.stdout) == (0, "event_rate_core_khz: there is no run with a value.\n")
    assert nothing.stderr == "roast: no measurement was found\n"
    missing = ask(tmp_path / "none\x1b[31m")
    assert missing.returncode == 3 and missing.stderr.startswith("roast: not found: ") and "\x1b" not in missing.stderr
    assert "\x1b" not in ask("-m", "wall_time", nightly, "--where", "wall>1").stdout


def test_printing(nightly, monkeypatch):
    found = roastcoffea.trend(nightly)
    assert [len(table["rows"]) for table in found.tables] == [2]
    assert found.tables[0]["title"] == "Dimuon: 40 runs of 1,000,000 events"
    monkeypatch.setattr(os, "environ", {"COLUMNS": "80"})
    for encoding, block in (("utf-8", "█"), ("latin-1", "#")):
        printed = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace")
        monkeypatch.setattr(sys, "stdout", printed)
        found.print_summary()
        printed.flush()
        assert block in printed.buffer.getvalue().decode(encoding)


@pytest.mark.parametrize("arguments", [
    ("x", "wall_time", (), 3), ((b"x", 3), "wall_time", (), 3), ((b"x",), 3, (), 3), ((b"x",), "wall_time", (), "y")])
def test_arguments(arguments):
    with pytest.raises(TypeError):
        _core.find_runs(*arguments)


def test_nothing_leaks(nightly):
    assert_nothing_is_kept(lambda: _core.find_runs((os.fsencode(nightly),), "wall_time", ("wall>1",), 16), 20)


def test_every_failing_allocation(nightly):
    folders, failures = (os.fsencode(nightly),), 0
    for after in range(0, 100_000, 7):
        _core._fail_allocations(after)
        try:
            assert _core.find_runs(folders, "wall_time", ("wall>1",), 16)[0] == 43
            break
        except MemoryError:
            failures += 1
        finally:
            _core._fail_allocations(None)
    assert failures > 10


# ---- the test for a change ----


def neighbours(rng, count, alike):
    """Values of which each is like the one before."""
    values = rng.normal(size=count)
    for i in range(1, count):
        values[i] = alike * values[i - 1] + math.sqrt(1 - alike**2) * values[i]
    return values


@pytest.mark.parametrize("alike", [0.0, 0.3, 0.6])
def test_series_without_a_change(alike):
    """At a rate of 1 %, more than 7 of 200 are found in 0.1 % of cases."""
    rng = np.random.default_rng(int(10 * alike))
    assert sum(len(find_steps(100 + 3 * neighbours(rng, 40, alike), 0.01)) > 0 for _ in range(200)) <= 7


def test_a_step_is_found_where_it_is():
    """10 % in 40 runs with 3 % noise, within two runs."""
    rng = np.random.default_rng(7)
    found = 0
    for _ in range(40):
        at = int(rng.integers(12, 29))
        values = 100 + 3 * rng.normal(size=40)
        values[at:] *= 1.1
        found += any(abs(step.at - at) <= 2 for step in find_steps(values, 0.01))
    assert found >= 36


def test_outliers_are_no_level():
    rng = np.random.default_rng(8)
    values = 100 + rng.normal(size=50)
    values[[10, 30]] = 200, 3
    assert find_steps(values, 0.01) == []
    assert find_steps(np.full(40, 3.0), 0.01) == []
    assert find_steps(np.arange(9.0), 0.01) == []


def test_thousands_of_runs():
    rng = np.random.default_rng(9)
    values = 100 + 3 * rng.normal(size=5000)
    values[2000:] *= 1.02
    (step,) = find_steps(values, 0.01)
    assert abs(step.at - 2000) < 100
