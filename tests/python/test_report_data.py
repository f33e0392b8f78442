"""report_top, report_outliers and Progress against plain arithmetic; none of them keeps memory."""

from __future__ import annotations

import math

import numpy as np
import pytest
from leaks import assert_nothing_is_kept
from report_samples import chunk, series

from roastcoffea._core import ChunkLog, Progress, report_outliers, report_top


def test_top_is_what_numpy_says():
    random = np.random.default_rng(3)
    codes = random.integers(-1, 30, 5000).astype(np.int32)
    a, b = random.random(5000), random.random(5000)
    a[random.random(5000) < 0.3] = math.nan
    skip = np.where(random.random(5000) < 0.1, 5, -1).astype(np.int32)
    top = report_top(codes, 30, [a, b], [b], [(0, 1)], skip, 0, 12)
    good = skip < 0
    sums = [np.nansum(a[good & (codes == code)]) for code in range(30)]
    order = np.argsort(-np.array(sums), kind="stable")
    assert list(top["code"]) == [*order[:12], -1] and top["rest"] == 18
    rest = np.isin(codes, order[12:])
    for place, mask in enumerate([*(codes == code for code in order[:12]), rest]):
        assert top["rows"][place] == mask.sum()
        assert top["skipped"][place] == (mask & ~good).sum()
        total, other = np.nansum(a[mask & good]), b[mask & good].sum()
        assert [values[place] for values in top["columns"]] == pytest.approx(
            [total, other, b[mask & good].max(), total / other])


def test_top_of_nothing():
    assert report_top([], 0, [[]])["rest"] == 0
    top = report_top([0, 1], 2, [[None, 3.0]])
    assert list(top["code"]) == [1, 0] and math.isnan(top["columns"][0][1])


@pytest.mark.parametrize("call", [
    lambda: report_top([0], 1, [[1.0, 2.0]]),
    lambda: report_top([0], 1, [[1.0]], order=2),
    lambda: report_top([0], 1, [[1.0]], skip=[1, 2]),
    lambda: report_top([0], 1, [[1.0]] * 64),
    lambda: report_top([0], 2**31, [[1.0]]),
    lambda: report_top([0], 1, [[1.0]], ratios=[3]),
    lambda: report_top([0], 1, [[1.0]], ratios=[(1,)]),
    lambda: report_top([0], 1, ["x"]),
    lambda: report_outliers([1.0], [1.0, 2.0], 0.0, 1.0),
    lambda: report_outliers([1.0], [1.0], 0.0, 1.0, limit=1001),
    lambda: Progress("x"),
    lambda: Progress(0.0).add_series(3),
    lambda: Progress(0.0).add_chunks([3], 1.0),
])
def test_wrong_arguments(call):
    with pytest.raises((ValueError, TypeError)):
        call()


def test_outliers_are_what_numpy_says():
    random = np.random.default_rng(4)
    x = random.uniform(10, 100, 3000)
    y = 2 + 0.5 * x + random.normal(0, 1, 3000)
    far = random.choice(3000, 30, replace=False)
    y[far] += random.uniform(50, 90, 30)
    skip = np.full(3000, -1, dtype=np.int32)
    skip[far[:3]] = 1
    found = report_outliers(x, y, 2.0, 0.5, skip, 10)
    distance = y - (2 + 0.5 * x)
    left = far[3:]
    assert found["n"] == 27
    assert list(found["index"]) == list(left[np.argsort(-distance[left])][:10])
    assert list(found["expected"]) == pytest.approx([2 + 0.5 * x[i] for i in found["index"]])


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


def use_report_data():
    report_top([0, 1, 1], 2, [[1.0, None, 3.0]], [[1.0, 2.0, 3.0]], [(0, 1)], [-1, -1, 1])
    report_outliers([1.0, 2.0, 3.0] * 9, [1.0, 2.0, 9.0] * 9, 0.0, 1.0)
    progress = Progress(0.0)
    progress.add_chunks([{"duration": 1.0}], 1.0)
    progress.add_series(SERIES)
    progress.look(2.0, total=5)
    for call in (lambda: report_top([0], 1, [[1.0, 2.0]]), lambda: report_outliers([1.0], [1.0, 2.0], 0.0, 1.0)):
        with pytest.raises(ValueError):
            call()


SERIES = series(2, 2)


def test_no_leak():
    assert_nothing_is_kept(use_report_data, 200)
