"""Scaling of made runs, whose law is known."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest

import roastcoffea
from roastcoffea import _core
from roastcoffea._core import Run

BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)
SERIAL = 0.08


def run_of(cores, wall, events=1_000_000):
    """A run on workers with one core each, sampled at its beginning and end."""
    moments = [BEGIN, BEGIN + timedelta(seconds=wall)]
    tracking = {
        "worker_counts": {moment: cores for moment in moments},
        "worker_cores": {f"w{i}": [(moment, 1) for moment in moments] for i in range(cores)},
    }
    start = BEGIN.timestamp()
    return Run(report={"entries": events, "processtime": 1.0, "chunks": 1, "bytesread": 1}, t_start=start,
               t_end=start + wall, series=tracking)


def study(sizes=(1, 2, 4, 8, 16), repeats=1):
    """The wall times of Amdahl's law."""
    return [
        run_of(cores, 100 * (SERIAL + (1 - SERIAL) / cores) * (1 + 0.01 * (-1) ** repeat))
        for cores in sizes for repeat in range(repeats)
    ]


def test_serial_part():
    found = roastcoffea.scaling(study(repeats=2))
    assert found.kind == "strong"
    assert [point["runs"] for point in found.points] == [2] * 5
    assert found.laws["amdahl"]["serial"]["at"] == pytest.approx(SERIAL, rel=0.1)
    serial = found.laws["amdahl"]["serial"]
    assert serial["low"] < SERIAL < serial["high"]
    predicted = found.predict(64, law="amdahl")
    truth = 1_000_000 / (100 * (SERIAL + (1 - SERIAL) / 64))
    assert predicted["low"] < truth < predicted["high"]
    assert "peak_cores" not in found.laws["amdahl"]
    last = found.points[-1]
    assert last["efficiency"] == pytest.approx(1 / (16 * SERIAL + 1 - SERIAL), rel=1e-3)
    assert last["speedup"] == pytest.approx(16 * last["efficiency"], rel=1e-9)


def test_nothing_is_predicted_from_two_sizes():
    found = roastcoffea.scaling(study(sizes=(1, 4), repeats=3))
    assert found.laws == {}
    with pytest.raises(ValueError, match="that takes three sizes"):
        found.predict(8)
    assert "takes three sizes" in str(found)


def test_what_is_asked_for():
    found = roastcoffea.scaling(study(), cores=[100])
    tables = {table["id"]: table for table in found.tables}
    assert [row[0] for row in tables["predictions"]["rows"]] == ["100"]
    assert len(tables["points"]["rows"]) == 5
    with pytest.raises(ValueError, match="law 'linear' is not known: amdahl, usl"):
        found.predict(8, law="linear")
    with pytest.raises(ValueError, match="runs: there is no run"):
        roastcoffea.scaling([])
    with pytest.raises(ValueError, match="cores were not measured"):
        roastcoffea.scaling([Run(report={"entries": 1}, t_start=0.0, t_end=1.0)])


def test_saved_runs_and_the_program(tmp_path):
    paths = []
    for number, run in enumerate(study()):
        path = tmp_path / f"run{number}"
        _core.save_measurement(run, str(path))
        paths.append(path)
    found = roastcoffea.scaling(paths)
    program = Path(sys.executable).with_name("roast")
    printed = subprocess.run([program, "scaling", *paths], capture_output=True, text=True, check=True,
                             env={"COLUMNS": "80"})
    assert printed.stdout == str(found)
    assert repr(found) == f"<Scaling: {found.headline}>"
    assert found.headline.startswith("Strong scaling: efficiency 45 % at 16 cores, compared with 1")


def test_what_the_program_does_not_take(tmp_path):
    program = Path(sys.executable).with_name("roast")

    def ask(*words):
        return subprocess.run([program, "scaling", *words], capture_output=True, text=True, check=False)

    _core.save_measurement(Run(report={"entries": 1}, t_start=0.0, t_end=1.0), str(tmp_path / "run"))
    for words, code, said in (((), 2, "no measurement was named"), (("--cores", "x"), 2, "--cores takes a number of cores"),
                              ((tmp_path / "none",), 3, "not found: "), ((tmp_path / "run",), 4, "its cores were not measured")):
        answer = ask(*words)
        assert answer.returncode == code and said in answer.stderr and not answer.stdout, answer
    _core.save_measurement(run_of(4, 10), str(tmp_path / "sized"))
    known = json.loads(ask(tmp_path / "sized", "--json", "-c", "16", "--cores=32").stdout)
    assert known["kind"] == "unknown" and known["laws"] == {} and known["points"][0]["cores"] == 4


def test_plot(tmp_path):
    found = roastcoffea.scaling(study(repeats=2))
    figure, axes = roastcoffea.plot_scaling(found, tmp_path / "scaling.png")
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["Measured", "Perfect", "Amdahl's law", "Universal scalability law"]
    measured = next(line for line in axes.lines if line.get_label() == "Measured")
    assert list(measured.get_xdata()) == [point["cores"] for point in found.points]
    assert axes.get_ylabel() == "Event rate (kHz)"
    assert list(measured.get_ydata()) == pytest.approx([point["event_rate_hz"] / 1000 for point in found.points])
    assert (tmp_path / "scaling.png").stat().st_size > 10_000
    with pytest.raises(ValueError, match="No scaling to plot"):
        roastcoffea.plot_scaling(roastcoffea.scaling([run_of(1, 10)]))


# ---- the laws ----


def made(rng, sizes, serial, crosstalk, spread, repeats=2):
    """Walls of runs that differ by so much, by a law."""
    def time(cores):
        return (1 + serial * (cores - 1) + crosstalk * cores * (cores - 1)) / cores

    return [run_of(cores, 100 * time(cores) * float(np.exp(rng.normal(0, spread)))) for cores in sizes
            for _ in range(repeats)], lambda cores: 1_000_000 / (100 * time(cores))


@pytest.mark.parametrize(("serial", "crosstalk"), [(0.02, 0.0), (0.01, 0.0008)])
def test_predictions_hold_whatever_the_law_is(serial, crosstalk):
    """At four times the largest size; of 40 at 85 %, fewer than 29 hold in 1 % of cases."""
    rng = np.random.default_rng(21)
    held = 0
    for _ in range(40):
        runs, truth = made(rng, (1, 2, 4, 8, 16), serial, crosstalk, 0.03)
        at = roastcoffea.scaling(runs).predict(64)
        held += at["low"] <= truth(64) <= at.get("high", math.inf)
    assert held >= 34


def test_the_runs_choose_the_law():
    rng = np.random.default_rng(22)
    assert roastcoffea.scaling(made(rng, (1, 4, 16, 64), 0.05, 0, 0.01)[0]).law == "amdahl"
    assert roastcoffea.scaling(made(rng, (1, 4, 16, 64), 0.01, 0.002, 0.01)[0]).law == "usl"
    runs = [run_of(cores, wall) for cores, wall in ((1, 100), (2, 80), (4, 20), (8, 30), (16, 2)) for _ in range(3)]
    found = roastcoffea.scaling(runs)
    assert found.law is None and "no law fits" in found.tables[2]["caption"]
    assert "not predicted" in str(roastcoffea.scaling(made(rng, (1, 2, 3), 0.01, 0, 0.05)[0], [100]))


def test_runs_of_other_work_are_left_out():
    runs = study()
    runs.append(Run(report={"entries": 1000, "processtime": 1.0, "chunks": 1}, t_start=0.0, t_end=9.0, series=runs[3].series,
                    meta={"processor": "Other"}))
    found = roastcoffea.scaling(runs)
    assert len(found.runs) == 5 and [one["reason"] for one in found.left_out] == ["another processor"]
    assert "Not Compared" in str(found)
