"""How a run ended, in texts, and between Python and the engine."""

from __future__ import annotations

import pytest

from roastcoffea import load_measurement
from roastcoffea._core import Run, Summary
from roastcoffea.common.endings import describe_error, is_interrupt
from roastcoffea.export.measurements import save_measurement
from roastcoffea.coffea.preprocess_watch import InTurn

ENDING = {
    "outcome": "failed",
    "error": {"type": "OSError", "message": "größer", "traceback": "Traceback ...", "dataset": "d", "file": "f.root",
              "entry_start": 0, "entry_stop": 10},
    "pieces": 40, "pieces_done": 19, "pieces_failed": 1,
    "skipped_files": [{"dataset": "d", "file": "g.root", "reason": None}],
}


def raised(error, cause=None):
    try:
        raise error from cause
    except BaseException as caught:
        return caught


ITEM = "WorkItem(dataset='d', filename='f.root', treename='Events', entrystart=0, entrystop=10, fileuuid=b'1')"


@pytest.mark.parametrize(("cause", "kind", "message"), [
    (ValueError("a 'b'"), "ValueError", "a 'b'"), (KeyError("x"), "KeyError", "x"),
    (OSError(2, "gone"), "FileNotFoundError", "(2, 'gone')"), (ValueError(), "ValueError", ""),
])
def test_the_exception_of_the_users_code(cause, kind, message):
    """Coffea has put it into one of its own; from another process only the text arrives."""
    text = f"Failed processing file: {ITEM}. The error was: {cause!r}."
    for error in (raised(Exception(text)), raised(Exception(text), cause)):
        known = describe_error(error)
        assert known["type"] == kind
        assert known["message"] == (message if error.__cause__ is None else str(cause))
        assert (known["dataset"], known["file"], known["entry_start"], known["entry_stop"]) == ("d", "f.root", 0, 10)
        assert known["traceback"].endswith(f"Exception: {text}\n")


class Silent(Exception):
    def __str__(self):
        raise RuntimeError("no text")


def test_any_other_exception():
    assert describe_error(raised(Silent()))["type"] == "Silent"
    assert describe_error(raised(Silent()))["message"] == ""
    assert describe_error(raised(ZeroDivisionError("x"))).keys() == {"type", "message", "traceback"}
    assert is_interrupt(KeyboardInterrupt()) and is_interrupt(SystemExit(0)) and not is_interrupt(ValueError())


def test_a_long_traceback_says_what_is_left_out():
    text = describe_error(raised(ValueError("x" * 100_000)))["traceback"]
    assert len(text) < 65_000 and text.startswith("(") and "characters are left out" in text[:60]


def test_items_in_turn():
    items = InTurn(["a", "b", "c"])
    assert items == ["a", "b", "c"] and len(items) == 3
    seen = []
    for item in items:
        seen.append((item, items.at, items.in_work))
    assert seen == [("a", 0, "a"), ("b", 1, "b"), ("c", 2, "c")]
    assert items.at == 3 and items.in_work is None


def test_the_engine_keeps_it(tmp_path):
    run = Run(ending=ENDING, t_start=1.0, t_end=2.0)
    assert run.ending == ENDING
    assert Run().ending is None
    assert Run(ending={"outcome": "done"}).ending == {"outcome": "done", "skipped_files": []}
    assert Run(ending={"outcome": "done", "pieces": -3, "error": None}).ending == {"outcome": "done", "skipped_files": []}
    outcome, warning = Summary(run).headline
    assert outcome == "Failed: 19 of 40 chunks done; OSError: größer (d, f.root, entries 0 to 10)"
    assert warning == "Warning: 1 file could not be read: g.root"
    assert Summary(run).draw(200).startswith(f"{outcome}\n{warning}\n\n")
    assert Summary({}).headline == ("", "")


@pytest.mark.parametrize("ending", [
    3, {"outcome": "odd"}, {"outcome": 3}, {"error": 3}, {"error": {"type": 3}}, {"skipped_files": 3},
    {"skipped_files": [3]}, {"skipped_files": [{"dataset": "d"}]}, {"pieces": "many"}, {"pieces": 1 << 80},
])
def test_what_is_wrong_is_said(ending):
    with pytest.raises((TypeError, ValueError, OverflowError)):
        Run(ending=ending)


def test_metrics_of_another_origin(tmp_path):
    """Metrics without a run have their outcome saved; those that only use the name are kept as they are."""
    known = {key: ENDING[key] for key in ("outcome", "error", "skipped_files")}
    path = save_measurement({"wall_time": 1.0, **known}, 0.0, 1.0, tmp_path, "known")
    assert load_measurement(path)[0]["outcome"] == "failed" and load_measurement(path)[0]["error"] == ENDING["error"]
    path = save_measurement({"wall_time": 1.0, "outcome": ["mine"]}, 0.0, 1.0, tmp_path, "own")
    assert load_measurement(path)[0]["outcome"] == ["mine"]
