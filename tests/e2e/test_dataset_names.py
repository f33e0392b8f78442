"""Datasets and files whose names are no text: Coffea takes them, and they are shown as text everywhere."""

from __future__ import annotations

import enum
import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from coffea import processor
from files import nano_columns, write_ttree
from test_endings import KINDS, executor_of, runner_of

from roastcoffea import MetricsCollector, load_measurement, open_run, track_metrics


class Era(enum.Enum):
    B = 1


# From what Coffea takes to its text.
NAMES = {2016: "2016", (2017, "A"): "(2017, 'A')", 2.5: "2.5", Era.B: "Era.B", np.str_("text"): "text"}


class Counts(processor.ProcessorABC):
    def __init__(self, fails=()):
        self.fails = fails

    @track_metrics
    def process(self, events):
        dataset = events.metadata["dataset"]
        if dataset in self.fails:
            raise OSError("no disk")
        return {"events": len(events), "datasets": {dataset}}

    def postprocess(self, accumulator):
        return accumulator


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    """A file of a pathlib.Path for each dataset."""
    folder = tmp_path_factory.mktemp("names")
    paths = {name: folder / f"{number}.root" for number, name in enumerate(NAMES)}
    for number, path in enumerate(paths.values()):
        write_ttree(path, nano_columns(500, seed=number, flat=2))
    return {name: {"files": {path: "Events"}} for name, path in paths.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_texts(kind, named, request, tmp_path):
    executor = executor_of(kind, request)
    with MetricsCollector(executor, output_dir=tmp_path, measurement_name="m") as mc:
        output = runner_of(executor)(named, processor_instance=Counts())
    assert output == {"events": 2500, "datasets": set(NAMES)}
    assert mc.outcome == "done" and not [note for note in mc.notes if not note.startswith("span ")]
    texts = set(NAMES.values())
    files = {str(path) for entry in named.values() for path in entry["files"]}
    for run in (mc, open_run(tmp_path / "m")):
        assert {chunk["dataset"] for chunk in run.chunk_metrics} == set(run.metrics["per_dataset"]) == texts
        assert {chunk["file"] for chunk in run.chunk_metrics} == files
        assert {row["total_events"] for row in run.metrics["per_dataset"].values()} == {500}
        assert set(run.budget("dataset")) - {None} == texts
    assert load_measurement(tmp_path / "m")[0]["total_events"] == 2500
    assert set(json.loads((tmp_path / "m" / "metrics.json").read_text())["per_dataset"]) == texts


@pytest.mark.parametrize("kind", KINDS)
def test_work_that_failed(kind, named, request, tmp_path):
    executor = executor_of(kind, request)
    failing = (2016, Era.B)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with MetricsCollector(executor, output_dir=tmp_path, measurement_name="m") as mc:
            runner_of(executor, skipbadfiles=True)(named, processor_instance=Counts(failing))
    texts = {NAMES[name] for name in failing}
    for run in (mc.run, open_run(tmp_path / "m").run):
        assert {piece[0] for piece in run.failed_pieces()} == texts
        assert {skipped["dataset"] for skipped in run.ending["skipped_files"]} == texts
        assert {skipped["reason"] for skipped in run.ending["skipped_files"]} <= {"OSError: no disk"}
        assert {Path(skipped["file"]).name for skipped in run.ending["skipped_files"]} == {"0.root", "3.root"}
        assert (run.ending["pieces"], run.ending["pieces_done"]) == (5, 3)
    # What is handed back to Coffea has the names that Coffea had.
    again = mc.failed_fileset()
    assert {item.dataset for item in again} == set(failing)
    assert runner_of(executor)(again, processor_instance=Counts())["datasets"] == set(failing)


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_names_its_piece(kind, named, request):
    executor = executor_of(kind, request)
    with pytest.raises(Exception, match="no disk"):
        with MetricsCollector(executor) as mc:
            runner_of(executor)({2016: named[2016]}, processor_instance=Counts([2016]))
    error = mc.metrics["error"]
    assert (error["type"], error["dataset"], Path(error["file"]).name) == ("OSError", "2016", "0.root")
    assert mc.run.failed_pieces()[0][0] == "2016"


@pytest.mark.filterwarnings("ignore:Skipping bad file")
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_is_missing(kind, named, request, tmp_path):
    executor = executor_of(kind, request)
    bad = tmp_path / "missing.root"
    with MetricsCollector(executor) as mc:
        runner_of(executor, skipbadfiles=True)({2016: {"files": {bad: "Events"}}, 2.5: named[2.5]}, processor_instance=Counts())
    (skipped,) = mc.metrics["skipped_files"]
    assert (skipped["dataset"], skipped["file"]) == ("2016", str(bad))
    assert mc.failed_fileset() == {2016: {"files": {bad: "Events"}}}
