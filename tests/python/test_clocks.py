"""The clock of a process, the clocks of workers, and which run a record was made for."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from roastcoffea import _core, track_metrics
from roastcoffea.worker import channel
from roastcoffea._core import ChunkLog, shift_clocks, split_replayed
from roastcoffea.coffea.identity import RunIdentity

SET_CLOCK = Path(__file__).parents[1] / "burn" / "set_clock.c"


class Analysis:
    _roastcoffea_collect_metrics = True

    @track_metrics
    def process(self, events):
        return {}


def made_for(topic, count=2):
    """Records of a run."""
    analysis = Analysis()
    if topic is not None:
        analysis._roastcoffea_topic = topic
    for _ in range(count):
        analysis.process([1, 2, 3])
    return analysis._chunk_metrics


def merged(*logs):
    whole = ChunkLog()
    for log in logs:
        whole += log
    return whole


# ---- which run ----


def test_chunks_of_other_runs_are_replayed():
    log = merged(made_for("run:a"), made_for("run:b"), made_for(None), made_for("run:a"))
    fresh, replayed = split_replayed(log, ["run:a"])
    assert (len(fresh), len(replayed)) == (6, 2)
    assert split_replayed(log, {"run:a", "run:b"})[0] is log
    assert [len(part) for part in split_replayed(log, [])] == [2, 6]
    again = ChunkLog.from_bytes(log.to_bytes())
    assert [len(part) for part in split_replayed(again, ("run:b",))] == [4, 4]


@pytest.mark.parametrize("record", [{"num_events": 3}, {"t_start": 5.0, "t_end": 6.0, "pid": 3}])
def test_a_record_by_hand_belongs_to_no_run(record):
    fresh, replayed = split_replayed(ChunkLog([record]), ["run:a"])
    assert (len(fresh), len(replayed)) == (1, 0)


def test_a_record_that_was_changed_by_hand_is_still_of_its_run():
    log = made_for("run:a")
    for record in log:
        record["mine"] = 3
    assert [len(part) for part in split_replayed(log, ["run:b"])] == [0, 2]


def test_a_topic_that_is_odd():
    before = _core.faults()["count"]
    for topic in ("run:\udcff", 7):
        assert [len(part) for part in split_replayed(made_for(topic), ["run:a"])] == [2, 0]
    assert _core.faults()["count"] == before + 2  # a text that has no encoding is told, with each of two chunks


def test_a_topic_that_leads_nowhere_sends_nothing():
    before = _core.faults()["count"]
    made_for("run:somewhere", 300)
    channel.flush("run:somewhere")
    assert _core.faults()["count"] == before


def test_wrong_topics():
    with pytest.raises(TypeError):
        split_replayed(ChunkLog(), [3])
    with pytest.raises(TypeError):
        split_replayed(ChunkLog(), 5.0)
    with pytest.raises(TypeError):
        split_replayed([], [])
    with pytest.raises(UnicodeEncodeError):
        split_replayed(ChunkLog(), ["\udcff"])


def split(run, records):
    return [len(part) for part in split_replayed(records, run.topics)]


def test_runs_that_are_measured_at_the_same_time():
    """They may share a processor, which has one topic."""
    outer, inner, other = RunIdentity(None), RunIdentity(None), RunIdentity("run:other")
    outer.open()
    inner.open()
    records = merged(made_for(outer.topic), made_for(inner.topic))
    assert split(outer, records) == split(inner, records) == [4, 0]
    inner.close()
    outer.close()
    other.open()
    other.close()
    assert split(outer, made_for(other.topic)) == split(other, made_for(outer.topic)) == [0, 2]


# ---- the clocks of workers ----


def test_shifted_clocks():
    log = ChunkLog([
        {"t_start": 100.0, "duration": 2.0, "worker": worker} for worker in ("a", "b", None)
    ])
    shifted = shift_clocks(log, {"a": 30.0, "b": -0.5, "c": 7})
    assert [record["t_start"] for record in shifted] == [130.0, 99.5, 100.0]
    assert [record["t_end"] for record in shifted] == [132.0, 101.5, 102.0]
    assert [record["t_start"] for record in log] == [100.0, 100.0, 100.0]
    again = ChunkLog.from_bytes(shifted.to_bytes())
    assert [record["t_start"] for record in again] == [130.0, 99.5, 100.0]


@pytest.mark.parametrize("offsets, error", [
    ({"a": float("inf")}, ValueError), ({"a": 1e300}, ValueError), ({"a": "soon"}, TypeError),
    ({3: 1.0}, TypeError), ([("a", 1.0)], TypeError), ({"\udcff": 1.0}, UnicodeEncodeError),
])
def test_clocks_that_cannot_be_shifted(offsets, error):
    with pytest.raises(error):
        shift_clocks(ChunkLog(), offsets)


# ---- the clock of this process ----

SETS_ITS_CLOCK = """
import os, time
from pathlib import Path
from roastcoffea import _core

def set_clock(seconds):
    Path(os.environ["SET_CLOCK"]).write_text(f"{seconds}")

def wrong_by():
    return round(_core.now() - time.time())

assert wrong_by() == 0
set_clock(3600)
assert wrong_by() == -3600  # it goes on as before
_core.hold_clock()
assert wrong_by() == 0  # nothing was measured: so it is set
set_clock(-500)
_core.hold_clock()
_core.release_clock()
assert wrong_by() == 4100  # somebody else still measures
_core.release_clock()
_core.release_clock()
_core.hold_clock()
assert wrong_by() == 0
if os.fork() == 0:
    set_clock(7)
    os._exit(wrong_by() != -507)  # a child goes on with the clock of its parent
assert os.wait()[1] == 0
"""


def test_a_clock_that_is_set(tmp_path):
    library, clock = tmp_path / "set_clock.so", tmp_path / "clock"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, SET_CLOCK], check=True)
    clock.write_text("0")
    subprocess.run(
        [sys.executable, "-c", SETS_ITS_CLOCK], check=True,
        env={"LD_PRELOAD": str(library), "SET_CLOCK": str(clock)},
    )


def test_now_is_now():
    _core.hold_clock()
    try:
        assert abs(_core.now() - time.time()) < 1
    finally:
        _core.release_clock()
