"""Files that Coffea leaves out are named, with the reason, and can be run again."""

from __future__ import annotations

import shutil

import pytest
from coffea import processor
from coffea.nanoevents import NanoAODSchema
from test_endings import KINDS, Plain, Tracked, executor_of

from roastcoffea import MetricsCollector, open_run


class Pieces(Plain):
    """Says which pieces it has processed; reads a column."""

    def process(self, events):
        metadata = events.metadata
        total = float(events.event.to_numpy().sum())
        return {"pieces": {(metadata["filename"], metadata["entrystart"])}, "sum": total}


def runner_of(executor, **options):
    return processor.Runner(executor=executor, schema=NanoAODSchema, chunksize=600, **options)


@pytest.fixture
def with_a_bad_one(fileset, tmp_path):
    """A fileset of five files, one of which is no ROOT file; its path; and a good file to put in its place."""
    first, second = (list(fileset[name]["files"]) for name in ("ttbar", "wjets"))
    bad = str(tmp_path / "bad.root")
    (tmp_path / "bad.root").write_bytes(b"this is no ROOT file" * 100)
    made = {
        "ttbar": {"files": dict.fromkeys([*first, bad], "Events"), "metadata": {"xsec": 3.0}},
        "wjets": {"files": dict.fromkeys(second, "Events")},
    }
    return made, bad, list(fileset["data"]["files"])[0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_preprocessing_skips(kind, with_a_bad_one, request, tmp_path):
    fileset, bad, good = with_a_bad_one
    executor = executor_of(kind, request)
    with MetricsCollector(executor, output_dir=tmp_path, measurement_name="skipped") as mc:
        out = runner_of(executor, skipbadfiles=(OSError, ValueError))(fileset, processor_instance=Pieces())
    assert set(out) == {"pieces", "sum"} and len(out["pieces"]) == 8
    assert mc.outcome == "done"
    (skipped,) = mc.metrics["skipped_files"]
    assert (skipped["dataset"], skipped["file"]) == ("ttbar", bad)
    assert "Error" in skipped["reason"] and ": " in skipped["reason"]
    (finding,) = [one for one in mc.diagnose() if one["kind"] == "skipped_files"]
    assert finding["severity"] in ("warning", "critical") and "bad.root" in finding["evidence"]
    assert open_run(tmp_path / "skipped").metrics["skipped_files"] == [skipped]
    failed = mc.failed_fileset()
    assert failed == {"ttbar": {"files": {bad: "Events"}, "metadata": {"xsec": 3.0}}}
    shutil.copy(good, bad)
    again = runner_of(processor.IterativeExecutor(status=False))(failed, processor_instance=Pieces())
    assert {file for file, _ in again["pieces"]} == {bad}


@pytest.mark.parametrize("analysis", [Pieces, Tracked])
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_processing_skips(kind, analysis, with_a_bad_one, request):
    """It was there in preprocessing."""
    fileset, bad, good = with_a_bad_one
    shutil.copy(good, bad)
    items = list(runner_of(processor.IterativeExecutor(status=False)).preprocess(fileset))
    (gone := open(bad, "wb")).close()  # noqa: SIM115
    executor = executor_of(kind, request)
    with MetricsCollector(executor) as mc:
        out = runner_of(executor, skipbadfiles=(Exception,))(list(items), processor_instance=analysis())
    assert set(out) == ({"pieces", "sum"} if analysis is Pieces else {"events"})
    (skipped,) = mc.metrics["skipped_files"]
    assert (skipped["dataset"], skipped["file"]) == ("ttbar", bad)
    assert skipped["reason"].startswith("OSError: ") and "WorkItem" not in skipped["reason"]  # not Coffea's wrapping of it
    failed = mc.failed_fileset()
    assert [item for item in items if item.filename == bad] == failed and failed
    assert mc.run.ending["pieces"] == len(items) and mc.run.ending["pieces_done"] == len(items) - len(failed)
    kinds = {one["kind"] for one in mc.diagnose()}
    assert "skipped_files" in kinds and "lost_work" not in kinds
    shutil.copy(good, bad)
    again = runner_of(processor.IterativeExecutor(status=False))(failed, processor_instance=Pieces())
    assert again["pieces"] == {(item.filename, item.entrystart) for item in failed}


@pytest.mark.parametrize("kind", KINDS)
def test_all_that_is_skipped(kind, fileset, request, tmp_path):
    """Coffea's own message, and not an error of ours."""
    bad = str(shutil.copy(list(fileset["data"]["files"])[0], tmp_path / "bad.root"))
    items = list(runner_of(processor.IterativeExecutor(status=False)).preprocess({"data": {"files": {bad: "Events"}}}))
    open(bad, "wb").close()
    executor = executor_of(kind, request)
    with pytest.raises(ValueError, match="No chunks returned results"), MetricsCollector(executor) as mc:
        runner_of(executor, skipbadfiles=(Exception,))(list(items), processor_instance=Pieces())
    assert mc.outcome == "failed" and [one["file"] for one in mc.metrics["skipped_files"]] == [bad]
    assert mc.failed_fileset() == items


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_does_not_exist(kind, fileset, request, tmp_path):
    """Without skipbadfiles the run raises, and the file is named on every executor."""
    missing = str(tmp_path / "missing.root")
    files = {"wjets": {"files": {**fileset["wjets"]["files"], missing: "Events"}}}
    executor = executor_of(kind, request)
    with pytest.raises(FileNotFoundError), MetricsCollector(executor) as mc:
        runner_of(executor)(files, processor_instance=Pieces())
    error = mc.get_metrics()["error"]
    assert mc.outcome == "failed" and error["type"] == "FileNotFoundError"
    assert (error["dataset"], error["file"]) == ("wjets", missing)
    (skipped,) = mc.metrics["skipped_files"]
    assert (skipped["dataset"], skipped["file"]) == ("wjets", missing)
    assert skipped["reason"].startswith("FileNotFoundError: ")
    assert mc.failed_fileset() == {"wjets": {"files": {missing: "Events"}}}
    (finding,) = [one for one in mc.diagnose() if one["kind"] == "lost_work"]
    assert finding["title"] == "The run failed: FileNotFoundError" and "Check the file" in finding["advice"]
    assert "missing.root" in finding["evidence"]


def test_a_file_that_a_later_call_has_processed(with_a_bad_one):
    fileset, bad, good = with_a_bad_one
    executor = processor.IterativeExecutor(status=False)
    run = runner_of(executor, skipbadfiles=(OSError, ValueError))
    with MetricsCollector(executor) as mc:
        run(fileset, processor_instance=Pieces())
        shutil.copy(good, bad)
        run({"ttbar": {"files": {bad: "Events"}}}, processor_instance=Pieces())
    assert mc.metrics["skipped_files"] == [] and mc.failed_fileset() == []
    assert not [one for one in mc.diagnose() if one["kind"] in ("skipped_files", "lost_work")]


def test_files_and_pieces_that_are_skipped(with_a_bad_one, fileset, tmp_path):
    """One in preprocessing, another one later."""
    files, bad, good = with_a_bad_one
    vanishing = str(shutil.copy(good, tmp_path / "vanishing.root"))
    executor = processor.IterativeExecutor(status=False)
    run = runner_of(executor, skipbadfiles=(Exception,))
    with MetricsCollector(executor) as mc:
        items = list(run.preprocess({**files, "data": {"files": {vanishing: "Events"}}}))
        open(vanishing, "wb").close()
        run(items, processor_instance=Pieces())
    assert [one["file"] for one in mc.metrics["skipped_files"]] == [bad, vanishing]
    for path in (bad, vanishing):
        shutil.copy(good, path)
    again = runner_of(executor)(mc.failed_fileset(), processor_instance=Pieces())
    assert {file for file, _ in again["pieces"]} == {bad, vanishing}
    whole = runner_of(executor)({"data": {"files": {good: "Events"}}}, processor_instance=Pieces())
    assert again["sum"] == 2 * whole["sum"]
