"""Comparisons of made runs, and of simulated ones whose truth is known."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from simulated_runs import NOISE, REALISTIC, Effects, Work, simulate

import roastcoffea
from roastcoffea import _core
from roastcoffea._core import Run
from roastcoffea.export.measurements import additions_to
from roastcoffea.runs.statistics import estimate, quantile

NEAR = 1e-9


def run_of(durations, events=1000, sections=None, **more):
    """One chunk each, of one file."""
    chunks = [
        {
            "t_start": float(i), "t_end": i + duration, "duration": duration, "num_events": events, "dataset": "ttbar",
            "file": "a.root", "entry_start": i * events, "entry_stop": (i + 1) * events,
            "sections": [{"section_name": "selection", "time_delta": sections[i]}] if sections is not None else [],
        }
        for i, duration in enumerate(durations)
    ]
    return Run(chunks=chunks, t_start=0.0, t_end=100.0, **more)


def save(run, folder, name):
    folder.mkdir(exist_ok=True)
    _core.save_measurement(run, folder / name, **additions_to(run.metrics(), run, run.t_start, run.t_end, None))
    return folder / name


def figure(comparison, name):
    return next(one for one in comparison.figures if one["name"] == name)


def differ(comparison):
    return comparison.cost["verdict"] in ("more", "less")


# ---- the arithmetic ----


@pytest.mark.parametrize("freedom", [1, 2, 4, 8, 30, 1e6])
def test_quantiles_are_those_of_scipy(freedom):
    for probability in (0.5, 0.8, 0.975, 1 - 0.05 / 320):
        assert quantile(probability, freedom) == pytest.approx(scipy.stats.t.ppf(probability, freedom), rel=2e-3, abs=1e-9)


def test_the_spread_inside_of_a_run_is_found():
    """Means over many runs: each is an unbiased estimate but for those that would be negative."""
    rng = np.random.default_rng(4)
    found = []
    for _ in range(60):
        workers = [rng.integers(0, 8, 240) for _ in range(2)]
        values = rng.normal(0, 0.08 * math.sqrt(2), 240)
        values += sum(rng.normal(0, 0.05, 8)[one] for one in workers)
        one = estimate(values, workers, [np.arange(240) // 5, 48 + np.arange(240) // 5], np.arange(240), np.zeros(240))
        found.append((one.noise, one.worker))
    noise, worker = np.sqrt(np.mean(found, axis=0))
    assert noise == pytest.approx(0.08, rel=0.05) and worker == pytest.approx(0.05, rel=0.15)


def test_several_runs_agree_with_students_test():
    """Three runs of each side: nothing is assumed."""
    walls = [10.0, 11.0, 10.5], [12.0, 12.5, 13.5]
    sides = [[Run(t_start=0.0, t_end=wall) for wall in side] for side in walls]
    found = figure(roastcoffea.compare(*sides), "wall_time")
    expected = scipy.stats.ttest_ind(np.log(walls[1]), np.log(walls[0])).confidence_interval()
    assert found["low"] == pytest.approx(math.exp(expected.low), rel=1e-5)
    assert found["high"] == pytest.approx(math.exp(expected.high), rel=1e-5)
    assert found["verdict"] == "more"


# ---- simulated runs ----


def pairs(rng, count, effects, runs=1, slower=lambda file, part: 1.0, files=40, chunks=3):
    for _ in range(count):
        work = Work.draw(rng, files, chunks)
        yield [simulate(rng, work, effects) for _ in range(runs)], [simulate(rng, work, effects, slower=slower)
                                                                  for _ in range(runs)]


@pytest.mark.parametrize("runs", [1, 3])
def test_runs_without_a_difference(runs):
    """95 % of such pairs show none, and gates pass. Of 40, with 5 % each, more than 5 are wrong in 1.4 % of cases."""
    rng = np.random.default_rng(11)
    found = [roastcoffea.compare(a, b) for a, b in pairs(rng, 40, REALISTIC, runs)]
    assert sum(map(differ, found)) <= 5
    assert sum(one.gate("process>5%")[0] for one in found) <= 3
    assert sum(len(one.causes) > 0 for one in found) <= 6


def test_a_tenth_of_the_files_ten_times_as_slow():
    """The cost is the headline; the typical chunk did not move."""
    rng = np.random.default_rng(12)
    work = Work.draw(rng, 20, 10)
    a = simulate(rng, work, REALISTIC)
    b = simulate(rng, work, REALISTIC, slower=lambda file, part: 10 if file < 2 else 1)
    truth = 1 + 9 * work.seconds[:2].sum() / work.seconds.sum()
    found = roastcoffea.compare(a, b)
    assert found.cost["low"] < truth < found.cost["high"] and found.cost["verdict"] == "more"
    assert "2 of 20 files take" in found.headline and "the other 18" in found.headline
    assert found.changed_files["names"] == ["0.root", "1.root"]
    assert figure(found, "typical")["verdict"] == "chance"
    assert found.gate("process>5%")[0] and found.gate("wall_time>5%")[0]


def test_what_is_found():
    rng = np.random.default_rng(13)
    found = [roastcoffea.compare(a, b) for a, b in pairs(rng, 10, REALISTIC, 5, lambda file, part: 1.15)]
    assert sum(one.cost["verdict"] == "more" for one in found) >= 8
    small = [roastcoffea.compare(a, b, runs_differ=0.01)
             for a, b in pairs(rng, 10, NOISE, 1, lambda file, part: 1.05, files=80, chunks=5)]
    assert sum(one.cost["verdict"] == "more" for one in small) >= 8


def test_a_section_of_one_dataset():
    rng = np.random.default_rng(14)
    work = Work.draw(rng, 30, 4)
    slower = lambda file, part: 2.0 if part == "jets" and work.datasets[file] == "ttbar" else 1.0
    found = roastcoffea.compare(simulate(rng, work, REALISTIC), simulate(rng, work, REALISTIC, slower=slower))
    first = found.causes[0]
    assert (first["kind"], first["name"], first["dataset"]) == ("section", "jets", "ttbar")
    assert first["low"] < 2 < first["high"]
    assert found.gate("section:jets>10%")[0] and not found.gate("section:selection>10%")[0]


def test_other_files_and_other_chunks():
    rng = np.random.default_rng(15)
    work, other = Work.draw(rng, 60, 3), Work.draw(rng, 60, 3, "other-")
    found = roastcoffea.compare(simulate(rng, work, REALISTIC), simulate(rng, other, REALISTIC))
    assert not found.paired and found.as_dict()["compared"] == "events"
    assert found.cost["low"] < 1 < found.cost["high"]
    larger = Work(work.names, work.datasets, work.seconds * 3, 1, work.events * 3)
    found = roastcoffea.compare(simulate(rng, work, REALISTIC), simulate(rng, larger, REALISTIC))
    assert not found.paired and found.as_dict()["compared"] == "files"
    assert found.cost["low"] < 1 < found.cost["high"] < 1.6
    assert "Chunk Size" in [one["what"] for one in found.conditions]


# ---- what the interval rests on ----


def test_what_runs_differ_by_is_said(tmp_path):
    rng = np.random.default_rng(16)
    work = Work.draw(rng, 20, 3)
    effects = Effects(chunk=0.08)
    paths = []
    for i in range(7):
        run = simulate(rng, work, effects)
        paths.append(save(run, tmp_path, f"run{i}"))
    alone = roastcoffea.compare(simulate(rng, work, effects), simulate(rng, work, effects))
    assert "assuming that runs differ by 3 %; measure three of each to know" in alone.headline
    given = roastcoffea.compare(*paths[:2], runs_differ=0.1)
    assert "given that runs differ by 10 %" in given.headline
    known = roastcoffea.compare(*paths[:2])  # five others lie in the folder
    assert "known from 5 others like them" in known.headline
    assert known.cost["high"] / known.cost["low"] < alone.cost["high"] / alone.cost["low"]
    assert figure(known, "wall_time")["high"] != figure(alone, "wall_time")["high"]
    several = roastcoffea.compare(paths[:3], paths[3:6])
    assert several.rests_on == "3 runs against 3 runs"
    other = simulate(rng, Work.draw(rng, 21, 3), effects)
    save(other, tmp_path / "other", "a")
    save(other, tmp_path / "other", "b")
    assert "assuming" in roastcoffea.compare(tmp_path / "other" / "a", tmp_path / "other" / "b").headline


def test_a_slow_worker_makes_the_interval_wide():
    """Four workers, of which the slowest takes four times as long as the first: which chunks it had is chance."""
    def run(factor, order):
        chunks = [{"t_start": float(i), "duration": factor * (1.0 + order[i]) * (1 + 0.01 * (i % 7)), "num_events": 1000,
                   "dataset": "ttbar", "file": "a.root", "entry_start": i * 1000, "entry_stop": (i + 1) * 1000,
                   "worker": f"tcp://w{order[i]}"} for i in range(60)]
        return Run(chunks=chunks, t_start=0.0, t_end=100.0)

    order = np.random.default_rng(3).integers(0, 4, (2, 60))
    found = roastcoffea.compare(run(1.0, order[0]), run(0.9, order[1]))
    assert found.cost["verdict"] == "chance"
    factor = float(re.search(r"workers of one run typically differ by a factor of ([\d.]+)", found.headline)[1])
    assert 1.3 < factor < 4


def test_too_few_chunks():
    comparison = roastcoffea.compare(run_of([1.0, 1.1, 1.2]), run_of([1.5, 1.5, 1.5]))
    assert comparison.cost["verdict"] == "unknown" and "low" not in comparison.cost
    assert "too few chunks" in comparison.headline
    assert not comparison.gate("process>5%")[0]
    assert comparison.gate("process>5%", strict=True)[0]


def test_chunks_without_events():
    """Empty chunks cost time, too; where events are not known, chunks are counted."""
    def run(events):
        return Run(t_start=0.0, t_end=50.0, chunks=[
            {"t_start": float(i), "t_end": i + 1.0, "duration": 1.0 + i % 3 / 50, "num_events": count, "dataset": "a", "file": "a.root",
             "entry_start": 10 * i, "entry_stop": 10 * i + 10} for i, count in enumerate(events)])

    found = roastcoffea.compare(run([10] * 19 + [0]), run([10] * 19 + [0]))
    assert found.cost["ratio"] == pytest.approx(1) and "core time per event" in found.headline
    found = roastcoffea.compare(run([10] * 20), run([None] * 20))
    assert found.cost["ratio"] == pytest.approx(1) and "core time per chunk" in found.headline


def test_without_chunks():
    comparison = roastcoffea.compare(Run(t_start=0.0, t_end=3.0), Run(t_start=0.0, t_end=4.0))
    assert comparison.headline == "No chunk of B can be compared with one of A."
    assert figure(comparison, "wall_time")["ratio"] == pytest.approx(4 / 3)
    assert "Wall Time" in str(comparison)


def test_what_can_be_compared(tmp_path):
    durations = [1.0 + i / 100 for i in range(20)]
    run = run_of(durations)
    path = save(run, tmp_path, "saved")
    saved = roastcoffea.open_run(path)
    for other in (run, path, str(path), saved, [path, saved]):
        assert "core time per event" in roastcoffea.compare(run, other).headline
    assert isinstance(saved.compare(path), roastcoffea.Comparison)
    assert len(roastcoffea.compare(run, path, saved)) == 2
    with pytest.raises(TypeError, match="B: a measurement"):
        roastcoffea.compare(run, 3)
    with pytest.raises(ValueError, match="A: there is no run"):
        roastcoffea.compare([], run)
    with pytest.raises(FileNotFoundError):
        roastcoffea.compare(run, tmp_path / "nothing")


def test_gate():
    rng = np.random.default_rng(5)
    a = rng.lognormal(0, 0.05, 60)
    report = {"entries": 60_000, "chunks": 60}
    comparison = roastcoffea.compare(run_of(a, sections=a / 2, report=report),
                                     run_of(a * 1.3, sections=a / 2 * 1.3, report=report))
    failed, why = comparison.gate("section:selection>10%")
    assert failed and why.startswith("section:selection changed by +30.0% (+") and why.endswith("the limit is +10.0%")
    assert not comparison.gate("section:selection>40%")[0]
    assert comparison.gate("all>10%")[0] and not comparison.gate("all<-10%")[0]
    failed, why = comparison.gate("total_events>-1%")
    assert not failed and "no interval: too few chunks or runs" in why
    assert comparison.gate("total_events>-1%", strict=True)[0]
    same = roastcoffea.compare(run_of(a), run_of(a))
    failed, why = same.gate("process>5%")
    assert not failed and "in 8 of 10 cases takes" in why
    assert not comparison.gate("finding:spilling")[0]
    for wrong, said in (("wall_time", "is no condition"), ("wall_time>5", "is no condition"), ("wall_time>x%", "is no condition"),
                        ("finding:nothing", "there is no finding"), ("section:nothing>5%", "no run has a section"),
                        ("core_efficiency>5%", "not measured on both sides|is not compared"), ("nothing>5%", "is not compared")):
        with pytest.raises(ValueError, match=said):
            comparison.gate(wrong)


def test_text_is_that_of_the_program(tmp_path):
    durations = [1.0 + i / 100 for i in range(20)]
    paths = [
        save(run_of(durations[:n]), tmp_path, f"run{n}") for n in (10, 20)
    ]
    comparison = roastcoffea.compare(*paths)
    program = Path(sys.executable).with_name("roast")
    printed = subprocess.run([program, "compare", *paths], capture_output=True, text=True, check=True,
                             env={"COLUMNS": "80"})
    assert str(comparison) == printed.stdout
    tables = [line for line in printed.stdout.splitlines() if line.startswith("─")]
    assert max(map(len, printed.stdout.splitlines())) <= 80 and tables
    told = subprocess.run([program, "compare", "--json", *paths], capture_output=True, text=True, check=True)
    assert json.loads(told.stdout)["headline"] == comparison.headline
    assert repr(comparison) == f"<Comparison: {comparison.headline}>"
    assert [table["id"] for table in comparison.tables] == ["conditions", "causes", "figures", "budget", "findings"]


def test_page_and_notebook(tmp_path):
    durations = [1.0 + i / 100 for i in range(20)]
    path = save(run_of(durations), tmp_path, "<b>odd")
    comparison = roastcoffea.compare(path, run_of(durations[:15]))
    page = comparison.save_report(tmp_path / "folder" / "page.html").read_text(encoding="utf-8")
    for text in (page, comparison._repr_html_()):
        assert comparison.headline.split(":")[0] in text and "Wall Time" in text
        assert "<b>odd" not in text
    assert "&lt;b&gt;odd" in page and "Content-Security-Policy" in page
    assert "http" not in page.replace("http-equiv", "")


def roast(*words):
    program = Path(sys.executable).with_name("roast")
    return subprocess.run([program, "compare", *map(str, words)], capture_output=True, text=True, check=False)


def test_the_program(tmp_path):
    durations = [1.0 + i / 100 for i in range(20)]
    a, b, c = (save(run_of([one * factor for one in durations]), tmp_path / name, "run")
               for name, factor in (("a", 1), ("b", 2), ("c", 1)))
    assert roast(a, b).returncode == 0
    answer = roast("--fail-on", "process>5%", a, b)
    assert answer.returncode == 1 and "Figures" in answer.stdout
    assert answer.stderr.startswith("roast: process>5%: process changed by +100.0% (")
    answer = roast(a, c, "--fail-on=process>5%", "-f", "finding:spilling")
    assert answer.returncode == 0 and answer.stderr.startswith("roast: passed: process>5%: ") and "in 8 of 10" in answer.stderr
    assert roast(a, "--strict", c, "-fprocess>-1%").returncode == 1
    assert roast(a, c, "--", b, b).stdout.startswith(f"A: {a}\n   {c}\nB: {b}\n   {b}\n")
    assert roast(a, b, c).stdout.count("Figures") == 2
    assert "given that runs differ by 4 %" in " ".join(roast(a, b, "--runs-differ", "4%").stdout.split())
    for words, code, said in (
        ([a], 2, "there is nothing to compare with"), (["--", a], 2, "there is nothing to compare with"),
        ([a, tmp_path / "nothing"], 3, "not found: "), ([a, b, "--fail-on", "wall_time>5"], 2, "is no condition"),
        ([a, b, "--nothing"], 2, 'has no option "--nothing"'), ([a, b, "--runs-differ", "x"], 2, "runs-differ"),
        ([a, f"{tmp_path}/\x1b[31m"], 3, "\\x1b[31m"),
    ):
        answer = roast(*words)
        assert answer.returncode == code and said in answer.stderr and not answer.stdout, (words, answer)
