"""`roast show` on a saved run, and `print_summary()` of the same one: letter by letter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import awkward as ak
import pytest
from coffea import processor
from coffea.nanoevents import NanoAODSchema
from files import nano_columns, write_ttree

import roastcoffea
from roastcoffea import MetricsCollector, track_bytes, track_memory, track_metrics, track_time

# The program that was installed with the package.
PROGRAM = os.environ.get("ROAST_PROGRAM") or str(Path(sys.executable).with_name("roast"))
WIDTHS = (60, 80, 100, 120, 200)


class Analysis(processor.ProcessorABC):
    @track_metrics
    def process(self, events):
        with track_time(self, "selection"):
            with track_time(self, "Größe → 漢字"):
                jets = events.Jet[events.Jet.pt > 30]
            with track_time(self, "[red]\x1b[31mnot red[/red]"):
                muons = events.Muon[events.Muon.pt > 20]
        with track_memory(self, "selection"), track_bytes(self, events, "flags"):
            found = ak.sum(ak.num(jets)) + ak.sum(ak.num(muons)) + ak.sum(events.Flag["7"])
        return {events.metadata["dataset"]: int(found)}

    def postprocess(self, accumulator):
        return accumulator


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    folder = tmp_path_factory.mktemp("show")
    path = write_ttree(folder / "a_rather_long_name_of_a_file_with_events.root", nano_columns(2000, 1), step=500)
    other = write_ttree(folder / "b.root", nano_columns(1000, 2), step=500)
    fileset = {"ttbar": {"files": {path: "Events"}}, "zjets": {"files": {other: "Events"}}}
    executor = processor.IterativeExecutor(status=False)
    runner = processor.Runner(executor=executor, schema=NanoAODSchema, chunksize=500, savemetrics=True)
    with MetricsCollector(executor, worker_tracking_interval=0.05) as mc:
        runner(fileset, processor_instance=Analysis())
    return mc, mc.save_measurement(folder, "it")


def show(path, *options):
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")}
    return subprocess.run([PROGRAM, "show", str(path), *options], capture_output=True, text=True, check=True,
                          env=environment).stdout


@pytest.mark.parametrize("width", WIDTHS)
def test_letter_by_letter(measured, width, monkeypatch, capsys):
    mc, path = measured
    monkeypatch.setenv("COLUMNS", str(width))
    for full in (False, True):
        mc.print_summary(full=full)
        collected = capsys.readouterr().out
        roastcoffea.open_run(path).print_summary(full=full)
        loaded = capsys.readouterr().out
        shown = show(path, "--width", str(width), *["--full"] * full)
        assert shown == loaded
        assert shown == collected
    for title in ("Timing Breakdown", "Datasets", "Sections: Memory", "Branches by Bytes"):
        assert f"{title}\n" in shown
    assert "\\x1b[31mnot red" in shown or width == 60
    assert "200 Gbps" not in shown  # the run is too far from that
    assert "Factor to 200 Gbps" in show(path, "--table", "challenge")


def test_one_screen(measured, monkeypatch, capsys):
    mc, _ = measured
    monkeypatch.setenv("COLUMNS", "80")
    mc.print_summary()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 80
    assert lines[0] == "Done: 6 of 6 chunks"
    for label in ("Wall Time", "Events", "Event Rate", "Data Rate", "Core Efficiency", "Peak Memory", "Budget"):
        assert any(line.startswith(label) for line in lines), label
    assert lines[-1] == "More: print_summary(full=True), roast show --full, roast diagnose"
    for number in ("e-0", "e+0", "+ -"):
        mc.print_summary(full=True)
        assert number not in capsys.readouterr().out


def test_json(measured):
    mc, path = measured
    told = json.loads(show(path, "--json"))
    assert told["metrics"]["total_events"] == {"value": 3000, "unit": "1"}
    for key, entry in told["metrics"].items():
        assert entry["value"] == pytest.approx(mc.metrics[key]), key
