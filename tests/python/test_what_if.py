"""Predictions from a made run, whose costs are known."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from leaks import assert_nothing_is_kept

import roastcoffea
from roastcoffea import _core
from roastcoffea._core import Run, WorkerSeries

T0 = 1_700_000_000.0
OPEN, FIXED, PER_EVENT = 0.5, 0.5, 1e-4  # s before process(), and in it
HEAD, TAIL = 3.0, 2.0  # s of the client
BYTES = 2_000  # an event
LENGTHS = [1_000 * (3 + 7 * i % 29) for i in range(120)]  # events of the files


def chunks_of(size, lengths=LENGTHS):
    """As Coffea makes them: file, first event, events."""
    for number, events in enumerate(lengths):
        count = max(round(events / size), 1)
        step = -(-events // count)
        yield from ((number, start, min(step, events - start)) for start in range(0, events, step))


def simulated(workers, size, lengths=LENGTHS):
    """The wall time, and the chunks as they would be recorded."""
    free, records = [HEAD] * workers, []
    for file, start, events in chunks_of(size, lengths):
        worker = free.index(min(free))
        duration = FIXED + PER_EVENT * events
        records.append({
            "t_start": T0 + free[worker] + OPEN, "duration": duration, "before_process_s": OPEN,
            "num_events": events, "entry_start": start, "entry_stop": start + events,
            "dataset": "ttbar", "file": f"root://host//store/f{file}.root", "worker": f"w{worker}",
            "cpu_user_s": duration, "cpu_system_s": 0.0, "bytes_read": BYTES * events, "metadata_bytes": 0,
        })
        free[worker] += OPEN + duration
    return max(free) + TAIL, records


def run_of(workers=4, size=20_000):
    wall, records = simulated(workers, size)
    series = WorkerSeries()
    for number in range(workers):
        series.join(f"w{number}", T0 - 10, 1, "node")
    return Run(t_start=T0, t_end=T0 + wall, chunks=records, series=series,
               phases=[("execution", T0 + HEAD, T0 + wall - TAIL)])


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("what_if") / "run"
    _core.save_measurement(run_of(), str(path))
    return path


def what_if(run, **options):
    return roastcoffea.WhatIf(run, **options)


@pytest.mark.parametrize(("workers", "size"), [(4, None), (1, None), (16, None), (4, 5_000), (4, 60_000), (9, 10_000)])
def test_the_truth_is_found(workers, size):
    found = what_if(run_of(), workers=workers, chunksize=size)
    truth, records = simulated(workers, size or 20_000)
    assert found.wall_time == pytest.approx(truth, rel=0.02)
    assert found.low <= truth * 1.005
    assert found.high >= truth * 0.995
    assert found.chunks == len(records)
    assert found.replayed_wall_time == pytest.approx(found.recorded_wall_time, rel=0.01)
    parts = sum(value for name, value in found.budget.items() if name != "available")
    assert parts == pytest.approx(found.budget["available"])


def test_without_a_file():
    longest = max(range(len(LENGTHS)), key=LENGTHS.__getitem__)
    rest = LENGTHS[:longest] + LENGTHS[longest + 1:]
    found = what_if(run_of(), without_files=[f"f{longest}.root"])
    assert found.wall_time == pytest.approx(simulated(4, 20_000, rest)[0], rel=0.02)
    with pytest.raises(ValueError, match="no chunk of the run is of file nowhere.root"):
        what_if(run_of(), without_files=["nowhere.root"])


def test_more_of_the_same():
    found = what_if(run_of(), times=5, workers=12)
    truth, records = simulated(12, 20_000, 5 * LENGTHS)
    assert found.wall_time == pytest.approx(truth, rel=0.02)
    assert found.chunks == len(records)
    with pytest.raises(ValueError, match="more than"):
        what_if(run_of(), times=1_000_000)


def test_rate_of_reading():
    total = BYTES * sum(LENGTHS)
    found = what_if(run_of(), workers=100, at_rate=total / 200)
    assert found.wall_time == pytest.approx(200 + HEAD + TAIL, rel=0.01)
    assert found.limiting == "reading"
    assert what_if(run_of(), at_rate="8Gbps").wall_time == what_if(run_of(), at_rate=1e9).wall_time
    notes = " ".join(what_if(run_of(), workers=100).notes)
    assert "storage would have to give" in notes


def test_limits():
    found = what_if(run_of(), workers=5_000)
    assert found.limiting == "longest_chunk"
    longest = max(events for _, _, events in chunks_of(20_000))
    by_name = {limit["limit"]: limit for limit in found.limits}
    assert by_name["longest_chunk"]["seconds"] == pytest.approx(HEAD + TAIL + OPEN + FIXED + PER_EVENT * longest)
    assert by_name["outside"]["seconds"] == pytest.approx(HEAD + TAIL)
    assert not by_name["reading"]["certain"]


def test_results_of_a_run(saved):
    run = roastcoffea.open_run(saved)
    found = run.what_if(workers=8, threads=2, preload=True)
    assert found.threads == 16
    assert repr(found) == f"<WhatIf: {found.headline}>"
    assert [table["id"] for table in found.tables] == ["figures", "limits", "budget"]


def test_the_program_says_the_same(saved, capsys):
    found = roastcoffea.open_run(saved).what_if(workers=500, chunksize=10_000, at_rate="2Gbps")
    program = Path(sys.executable).with_name("roast")
    command = [program, "what-if", saved, "--workers", "500", "--chunksize", "10000", "--at-rate", "2Gbps"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, env={"COLUMNS": "80"}).stdout
    assert printed == str(found)
    assert max(map(len, printed.splitlines())) <= 80
    as_json = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout
    assert json.loads(as_json)["wall_time"] == found.wall_time
    found.print_summary()
    assert found.headline[:20] in capsys.readouterr().out
    refused = subprocess.run([program, "what-if", saved, "--without-file", "other.root"], capture_output=True, text=True)
    assert refused.returncode == 2
    assert "no chunk of the run is of file other.root" in refused.stderr


def test_the_same_every_time():
    assert str(what_if(run_of(), workers=7)) == str(what_if(run_of(), workers=7))


def test_nothing_to_play():
    with pytest.raises(ValueError, match="no records of chunks"):
        what_if(Run(t_start=0.0, t_end=1.0))


@pytest.mark.parametrize(("options", "error"), [
    ({"workers": 0}, ValueError), ({"workers": -3}, ValueError), ({"workers": 2.5}, TypeError),
    ({"workers": 10**30}, ValueError), ({"threads": 5000}, ValueError), ({"chunksize": 0}, ValueError),
    ({"chunksize": "many"}, TypeError), ({"at_rate": 0}, ValueError), ({"at_rate": float("nan")}, ValueError),
    ({"at_rate": "fast"}, ValueError), ({"at_rate": []}, TypeError), ({"without_files": "f0.root"}, TypeError),
    ({"without_files": [3]}, TypeError), ({"without_files": 3}, TypeError),
    ({"times": 0}, ValueError),
])
def test_options_that_cannot_be(options, error):
    with pytest.raises(error):
        what_if(run_of(), **options)


@pytest.mark.parametrize("run", [None, 3, "path"])
def test_a_run_is_a_run(run):
    with pytest.raises(TypeError):
        _core.WhatIf(run)


RUN = run_of()


def use():
    engine = _core.WhatIf(RUN, workers=3, threads=2, chunksize=30_000, without_files=["f0.root", "f1.root"],
                          times=2, preload=True, at_rate="1GB/s")
    with pytest.raises(ValueError):
        _core.WhatIf(RUN, without_files=["none"])
    return engine.draw(100, True), engine.json(), engine.tables()


def test_nothing_leaks():
    assert_nothing_is_kept(use, 50)
