"""Scaling of made runs, whose law is known."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from leaks import assert_nothing_is_kept

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
    assert [row[0] for row in tables["predictions"]["rows"]] == ["100", "100"]
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


@pytest.mark.parametrize("runs", [None, 3, [3], [("a", 3)]])
def test_runs_are_runs(runs):
    with pytest.raises(TypeError):
        _core.Scaling(runs)


def test_cores_are_numbers():
    engine = _core.Scaling([("a", run_of(1, 10))])
    with pytest.raises(TypeError):
        engine.draw(["many"])
    with pytest.raises(ValueError, match="at most"):
        engine.json(range(5000))


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


def use():
    engine = _core.Scaling([(str(number), run) for number, run in enumerate(study())])
    return engine.draw([32], 100, True), engine.json([32]), engine.tables([32])


def test_nothing_leaks():
    assert_nothing_is_kept(use, 50)
