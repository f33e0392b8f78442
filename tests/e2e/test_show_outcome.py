"""The outcome is the first line wherever a run is shown."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from coffea import processor
from test_endings import Plain, runner_of

from roastcoffea import MetricsCollector, open_run
from roastcoffea.report import report_html


@pytest.fixture(scope="module")
def folder(fileset, tmp_path_factory):
    """Three measurements: done with a skipped file, failed, interrupted."""
    folder = tmp_path_factory.mktemp("ended")
    bad = folder / "no.root"
    bad.write_bytes(b"no ROOT file" * 100)
    executor = processor.IterativeExecutor(status=False)
    files = {**fileset, "data": {"files": {**fileset["data"]["files"], str(bad): "Events"}}}
    with MetricsCollector(executor, output_dir=folder, measurement_name="skipped"):
        runner_of(executor, skipbadfiles=(Exception,))(files, processor_instance=Plain())
    for name, error in (("failed", ValueError), ("interrupted", KeyboardInterrupt)):
        with pytest.raises(BaseException, match="by design"):
            with MetricsCollector(executor, output_dir=folder, measurement_name=name):
                runner_of(executor)(fileset, processor_instance=Plain("data", error))
    return folder


def roast(*arguments):
    program = Path(sys.executable).with_name("roast")
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=True).stdout


FIRST = {
    "skipped": "Done: 12 of 12 chunks",
    "failed": "Failed: 9 of 12 chunks done; ValueError: by design: 'quoted' (data, data_0.root, entries 500 to 1000)",
    "interrupted": "Interrupted: 9 of 12 chunks done; KeyboardInterrupt: by design: 'quoted' (data, data_0.root,",
}


@pytest.mark.parametrize("name", FIRST)
def test_the_first_line(name, folder, capsys, monkeypatch):
    run = open_run(folder / name)
    monkeypatch.setenv("COLUMNS", "140")
    run.print_summary()
    for shown in (capsys.readouterr().out, roast("show", folder / name), roast("diagnose", folder / name)):
        lines = " ".join(shown.split("\n\n")[0].split())
        assert lines.startswith(FIRST[name])
        assert ("Warning: events of 1 file are missing in the result: no.root (" in lines) == (name == "skipped")
    assert json.loads(roast("show", folder / name, "--json"))["headline"].startswith(FIRST[name])
    outcome = "done" if name == "skipped" else name
    assert json.loads(roast("diagnose", folder / name, "--json"))["outcome"] == outcome
    for page in (report_html(run), run._repr_html_()):
        assert f'<p class="outcome {outcome}">' in page
        assert ('<p class="outcome warning"><bdi>Warning: events of 1 file' in page) == (name == "skipped")
        top = page[page.index('<p class="outcome'):]
        assert top.index("chunks") < (top + "tile").index("tile")


def test_the_list_of_measurements(folder):
    listed = {one["name"]: one["outcome"] for one in json.loads(roast("ls", "--json", folder))}
    assert listed == {"skipped": "done", "failed": "failed", "interrupted": "interrupted"}
    only = json.loads(roast("ls", "--json", "-f", "outcome=failed", folder))
    assert [one["name"] for one in only] == ["failed"]
    table = roast("ls", folder)
    assert "Outcome" in table and " interrupted " in table
    assert max(map(len, table.splitlines())) <= 80
    for name in FIRST:
        assert re.search(rf"^{name} +\d\d-\d\d \d\d:\d\d ", table, re.M), name  # whole, with the time of day
    table = roast("ls", "-c", "executor,chunksize,config", folder)
    assert re.search(r"^skipped +IterativeExecutor +600  -$", table, re.M)
