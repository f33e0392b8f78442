"""The settings of a collector, its measurement in `output_dir`, and its file for node_exporter."""

from __future__ import annotations

import os
import shutil
from types import SimpleNamespace

import pytest
from report_samples import chunk

from roastcoffea import MetricsCollector, open_run
from roastcoffea._core import ChunkLog, Run, now
from roastcoffea.common.guard import Notes
from roastcoffea.collector.live_writer import LiveWriter
from roastcoffea.collector.on_disk import OnDisk
from roastcoffea.coffea.pieces import Pieces
from roastcoffea.collector.settings import Settings
from roastcoffea.collector.textfile import TextFile

USUAL = {"output_dir": None, "measurement_name": None, "overwrite": True, "config": None, "live": False,
         "provenance": None, "dashboard": False, "textfile": None}


def settings(**wanted):
    return Settings(**(USUAL | wanted))


def begun(folder, **wanted):
    disk = OnDisk(settings(output_dir=folder, **wanted), Notes())
    disk.begin(lambda path, replace: LiveWriter(path, replace, dict, Pieces(), now))
    return disk


def measured(chunks=2, lacks=None):
    made = [chunk(i) for i in range(chunks)]
    run = Run(t_start=100.0, t_end=110.0, chunks=made)
    found = SimpleNamespace(t_start=100.0, t_end=110.0, run=run, metrics={"raw_chunk_metrics": made})
    found._ready_metrics = lambda: found.metrics
    found._lacks = lambda: lacks
    return found


@pytest.mark.parametrize(("wrong", "words"), [
    ({"dashboard": "worker"}, "dashboard: True, False"), ({"textfile": "run.txt"}, "end with .prom"),
    ({"output_dir": "x", "measurement_name": "a/b"}, "no name of a directory"),
    ({"provenance": {"site": 7}}, "provenance: a text"),
])
def test_wrong_settings_are_told_at_once(wrong, words):
    with pytest.raises((ValueError, TypeError), match=words):
        settings(**wrong)
    with pytest.raises((ValueError, TypeError), match=words):
        MetricsCollector(**wrong)


def test_without_a_folder_nothing_happens():
    disk = OnDisk(settings(), Notes())
    disk.begin(lambda path, replace: pytest.fail("there is no folder"))
    disk.end(measured())
    assert disk.path is None and not disk.note_addition()
    disk.save_again(measured())
    disk.abandon()


def test_a_whole_run_takes_the_place_of_what_was_written(tmp_path):
    disk = begun(tmp_path, measurement_name="run", config={"chunk size": 7})
    assert disk.path == tmp_path / "run" and (disk.path / "live").exists()
    disk.end(measured())
    assert disk.writer is None and not (disk.path / "live").exists()
    assert len(open_run(disk.path).run.chunks) == 2 and open_run(disk.path).config == {"chunk size": 7}


def test_a_run_that_did_not_begin_leaves_nothing(tmp_path):
    disk = begun(tmp_path)
    disk.abandon()
    assert os.listdir(tmp_path) == []


def written(folder, chunks=3):
    """A measurement to which the run has written something."""
    disk = begun(folder, measurement_name="run")
    disk.writer.take([ChunkLog([chunk(i) for i in range(chunks)]).to_bytes()], None)
    return disk


NOTHING = SimpleNamespace(t_start=100.0, t_end=110.0, run=None, metrics=None, _lacks=lambda: "MemoryError: ")


@pytest.mark.parametrize("found", [NOTHING, measured(1, "ValueError: odd"), measured(3)], ids=["none", "less", "full disk"])
def test_what_was_written_is_never_replaced_by_less(tmp_path, monkeypatch, found):
    disk = written(tmp_path)
    if found._lacks() is None:
        monkeypatch.setattr(disk.writer, "finish", lambda *_: (_ for _ in ()).throw(OSError("no space left")))
    with pytest.warns(UserWarning, match="could not be saved"):
        disk.end(found)
    saved = open_run(disk.path)
    assert saved.state == "unfinished" and len(saved.run.chunks) == 3
    reason = found._lacks() or "OSError: no space left"
    assert [note for note in saved.run.notes if note.startswith("unfinished: ")] == [f"unfinished: {reason}"]
    # Nor later, when data is added; the whole run may take its place.
    assert disk.note_addition()
    if found._lacks() is not None:
        with pytest.warns(UserWarning, match="could not be saved"):
            disk.save_again(measured(2, found._lacks()))
        assert len(open_run(disk.path).run.chunks) == 3
    disk.note_addition()
    disk.save_again(measured(4))
    assert open_run(disk.path).state == "finished" and len(open_run(disk.path).run.chunks) == 4


def test_a_part_that_was_never_written_keeps_nothing_back(tmp_path):
    disk = written(tmp_path)
    disk.end(measured(3, "ValueError: an odd report"))
    assert open_run(disk.path).state == "finished"
    assert disk.note_addition()
    disk.save_again(measured(5, "ValueError: an odd report"))
    assert len(open_run(disk.path).run.chunks) == 5


def test_another_working_directory(tmp_path, monkeypatch):
    """The user may change it in the block."""
    monkeypatch.chdir(tmp_path)
    first, second = begun("kept", measurement_name="run"), begun("given up", measurement_name="run")
    monkeypatch.chdir("/")
    first.end(measured())
    assert first.note_addition()
    first.save_late(measured(6))
    second.abandon()
    assert len(open_run(tmp_path / "kept" / "run").run.chunks) == 6
    assert os.listdir(tmp_path / "given up") == []


def test_a_run_that_did_not_begin_removes_only_its_own(tmp_path):
    """Another process may have taken the name meanwhile."""
    disk = begun(tmp_path, measurement_name="run")
    shutil.rmtree(disk.path)
    other = written(tmp_path)
    disk.abandon()
    assert len(open_run(other.path).run.chunks) == 3
    file = TextFile(tmp_path / "run.prom", "run", 1.0)
    file.begin()
    (tmp_path / "other.prom").write_text("of another process")
    os.replace(tmp_path / "other.prom", file.path)
    file.abandon()
    assert file.path.read_text() == "of another process"


def test_what_goes_before_anybody_has_it_leaves_nothing(tmp_path):
    """As when an interrupt comes while it is made."""
    LiveWriter(tmp_path / "run", False, dict, Pieces(), now)
    assert os.listdir(tmp_path) == []


def test_data_that_is_added_later(tmp_path):
    disk = begun(tmp_path, measurement_name="run")
    disk.end(measured())
    disk.save_again(measured(5))
    assert len(open_run(disk.path).run.chunks) == 2  # nothing was added
    assert disk.note_addition()
    disk.save_again(measured(5))
    assert len(open_run(disk.path).run.chunks) == 5
    assert disk.note_addition()
    disk.save_late(measured(6))
    assert len(open_run(disk.path).run.chunks) == 6
    assert disk.note_addition()
    shutil.rmtree(disk.path)
    disk.save_late(measured(7))
    assert not disk.path.exists()


def test_another_process_leaves_it_to_its_parent(tmp_path, monkeypatch):
    disk = begun(tmp_path, measurement_name="run")
    disk.end(measured())
    assert disk.note_addition()
    monkeypatch.setattr(os, "getpid", lambda: 1)
    disk.save_late(measured(6))
    assert len(open_run(disk.path).run.chunks) == 2


def test_what_cannot_be_saved_is_a_warning(tmp_path):
    disk = begun(tmp_path, measurement_name="run")
    notes = disk._notes
    shutil.rmtree(disk.path)
    (tmp_path / "run").write_text("a file of the user's")
    with pytest.warns(UserWarning, match="could not be saved"):
        disk.end(measured())
    assert any("could not be saved" in note for note in notes)
    assert (tmp_path / "run").read_text() == "a file of the user's"


def test_a_reader_of_the_textfile_sees_the_old_one_or_the_new_one(tmp_path):
    written = TextFile(tmp_path / "run.prom", "run", 0.0)
    written.begin()
    with open(written.path, encoding="utf-8") as reader:
        written.take([], None)
        written.end(measured().run, ChunkLog([chunk(0), chunk(1)]))
        assert 'roast_run_open{run="run"} 1' in reader.read()
    assert 'roast_run_open{run="run"} 0' in written.path.read_text()
    # The news of these chunks were never taken.
    counted = [line for line in written.path.read_text().splitlines() if line.startswith("roast_chunks_total{")]
    assert sum(float(line.split()[-1]) for line in counted) == 2
    assert os.listdir(tmp_path) == ["run.prom"] and written.path.stat().st_mode & 0o777 == 0o644
