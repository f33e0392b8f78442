"""The examples, run small; templates with a cluster of this machine in the place of the facility's."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import types
from pathlib import Path

import distributed
import pytest
import yaml

import roastcoffea

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "examples"
PROGRAM = Path(os.environ.get("ROAST_PROGRAM") or Path(sys.executable).with_name("roast"))
EVENTS = 400


def names_of_examples():
    return [path.stem for path in EXAMPLES.glob("*.py")]


@pytest.fixture
def example(tmp_path, monkeypatch):
    """Imports an example as a program in the folder of the test would."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(EXAMPLES))
    yield importlib.import_module
    for name in names_of_examples():
        sys.modules.pop(name, None)


@pytest.fixture
def local_cluster():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as cluster:
        yield cluster


def ttbar_run(example, name, *more):
    return example("ttbar").main(["--events", str(EVENTS), "--chunksize", "200", "--name", name, *more])


def test_ttbar(example, capsys):
    mc = ttbar_run(example, "one")
    assert mc.outcome == "done"
    assert mc.get_metrics()["total_events"] == 6 * EVENTS
    sections = mc.get_metrics()["sections"]
    assert {"leptons", "nominal", "jes_up", "jes_down", "three jets"} <= set(sections)
    assert "events selected" in capsys.readouterr().out
    assert roastcoffea.open_run("measurements/one").metrics["num_chunks"] == 12


def test_ttbar_selects_what_it_should(example):
    """More of the events with top quarks than of those without."""
    from coffea.nanoevents import NanoAODSchema
    from coffea.processor import IterativeExecutor, Runner

    fileset = example("ttbar_data").make("data", files=1, events=2_000)
    output = Runner(IterativeExecutor(), schema=NanoAODSchema)(fileset, example("ttbar").TopAnalysis())
    share = {dataset: found["selected"] / found["events"] for dataset, found in output.items()}
    assert share["ttbar"] > share["single_top"] > share["wjets"] > 0
    regions = output["ttbar"]["observable"].axes["region"]
    assert set(regions) == {"4j1b", "4j2b"}


def test_throughput(example, local_cluster, capsys):
    example("ttbar_data").make("data", files=1, events=EVENTS)
    main = example("throughput").main
    (run,) = main(["--scheduler", local_cluster.scheduler_address, "--folder", "data", "--workers", "2"])
    assert run.outcome == "done" and run.measurement_path.name == "workers-2"
    assert set(run.get_metrics()["sections"]) == set(example("throughput").BRANCHES)
    assert "useful Gbps" in capsys.readouterr().out


def test_coffea_casa(example, local_cluster):
    casa = example("coffea_casa")
    fileset = example("ttbar_data").make("data", files=1, events=EVENTS)
    with casa.connect(local_cluster.scheduler_address, install=False) as client:
        mc = casa.run(client, fileset, example("ttbar").TopAnalysis())
    assert (mc.outcome, len(mc.chunk_metrics)) == ("done", 3)
    assert roastcoffea.open_run(mc.measurement_path).meta["site"] == "coffea-casa"


def test_htcondor(example, local_cluster, monkeypatch):
    """All but the jobs themselves."""
    asked = {}

    def cluster(**options):
        asked.update(options)
        return local_cluster

    monkeypatch.setitem(sys.modules, "dask_jobqueue", types.SimpleNamespace(HTCondorCluster=cluster))
    template = example("htcondor_cluster")
    monkeypatch.setattr(template, "WORKERS", 2)
    example("ttbar_data").make("SHARED-FOLDER/data", files=1, events=EVENTS)
    mc = template.main()
    assert asked["cores"] == 1 and Path(asked["log_directory"]).parts[-1] == "logs"
    assert mc.outcome == "done" and Path("SHARED-FOLDER/report.html").is_file()


def gate(folder, *arguments):
    path = os.pathsep.join([str(PROGRAM.parent), os.environ["PATH"]])
    return subprocess.run(["sh", EXAMPLES / "ci_gate.sh", *arguments], cwd=folder, capture_output=True, text=True,
                          check=False, timeout=120, env={**os.environ, "PATH": path})


def test_the_gate(example, tmp_path):
    """The same run passes. One that did not end well has a critical finding."""
    ttbar_run(example, "one")
    passed = gate(tmp_path, "measurements/one", "measurements/one")
    assert passed.returncode == 0, passed.stderr + passed.stdout
    assert "the gate is passed" in passed.stdout
    with pytest.raises(RuntimeError), roastcoffea.MetricsCollector(output_dir="measurements", measurement_name="bad"):
        raise RuntimeError("it broke")
    assert gate(tmp_path, "measurements/one", "measurements/bad").returncode == 1
    assert gate(tmp_path, "measurements/one", "nowhere").returncode not in (0, 1)


def test_the_workflow():
    """It is YAML, and what it runs is there."""
    found = yaml.safe_load((EXAMPLES / "ci_gate.yml").read_text())
    steps = [step["run"] for step in found["jobs"]["gate"]["steps"] if "run" in step]
    assert [word for step in steps for word in step.split() if word.startswith("examples/")
            and not (ROOT / word).is_file()] == []
    assert any("ci_gate.sh" in step for step in steps)


def test_every_example_is_on_the_page():
    page = (ROOT / "docs" / "examples.md").read_text()
    parts = {"demo_analysis", "demo_data", "ttbar_data"}  # of the others
    assert [name for name in names_of_examples() if name not in parts and f"`{name}.py`" not in page] == []
