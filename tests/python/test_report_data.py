"""Progress against plain arithmetic; it keeps no memory."""

from __future__ import annotations

import pytest
from leaks import assert_nothing_is_kept
from report_samples import chunk, series

from roastcoffea._core import ChunkLog, Progress


@pytest.mark.parametrize("call", [
    lambda: Progress("x"),
    lambda: Progress(0.0).add_series(3),
    lambda: Progress(0.0).add_chunks([3], 1.0),
])
def test_wrong_arguments(call):
    with pytest.raises((ValueError, TypeError)):
        call()


def test_progress():
    progress = Progress(100.0)
    assert progress.look(101.0) == {"chunks": 0, "failed": 0, "byte_rate": None, "event_rate": None, "workers": None,
                                    "memory": None, "memory_limit": None, "seconds_left": None}
    chunks = [chunk(i) for i in range(97)]
    progress.add_chunks(ChunkLog(chunks), 104.0)
    progress.add_series(series(3, 5))
    seen = progress.look(105.0, total=196)
    events = sum(one["num_events"] for one in chunks[:96])
    assert (seen["chunks"], seen["failed"], seen["workers"]) == (96, 1, 3.0)
    assert seen["event_rate"] == pytest.approx(events / 5)
    assert seen["byte_rate"] == pytest.approx(events * 100 / 5)
    assert seen["memory"] == 3e9 + 3e8 + 3 * 4e7 and seen["memory_limit"] == 12e9
    begin = 104.0 - chunks[0]["duration"]
    assert seen["seconds_left"] == pytest.approx((105.0 - begin) / 96 * 100)


def use_progress():
    progress = Progress(0.0)
    progress.add_chunks([{"duration": 1.0}], 1.0)
    progress.add_series(SERIES)
    progress.look(2.0, total=5)


SERIES = series(2, 2)


def test_no_leak():
    assert_nothing_is_kept(use_progress, 200)
