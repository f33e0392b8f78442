"""What the bench says of pairs of runs, held against scipy's own test and against figures made up for it."""

from __future__ import annotations

import numpy as np
import pytest
from bench.overhead import LONGER, Pairs, interval, order_matters
from scipy import stats


@pytest.fixture
def differences():
    return list(np.random.default_rng(4).normal(0.005, 0.03, 60))


def test_the_interval_ends_where_the_test_begins_to_refute(differences):
    middle, low, high = interval(differences)
    assert low < middle < high

    def p_value(shift):
        return stats.wilcoxon(np.subtract(differences, shift), method="approx").pvalue

    for inside, outside in ((low + 0.0005, low - 0.0005), (high - 0.0005, high + 0.0005)):
        assert p_value(inside) > 0.05 > p_value(outside)


def test_a_spoilt_pair_does_not_move_it(differences):
    before = interval(differences)
    assert interval([*differences, 5.0]) == pytest.approx(before, abs=0.002)
    assert abs(np.mean([*differences, 5.0]) - np.mean(differences)) > 0.05


def test_one_pair_says_nothing():
    assert interval([0.1]) == (pytest.approx(0.1), -np.inf, np.inf)
    assert not order_matters([0.1, 0.2])


def test_the_order_is_found_out(differences):
    assert not order_matters(differences)
    assert order_matters([one + 0.08 * (i % 2) for i, one in enumerate(differences)])


def test_entering_and_leaving_counts_once():
    pairs = Pairs()
    pairs.runs[False].append({"seconds": 2.0, "seconds around": 0.01})
    pairs.runs[True].append({"seconds": 2.02, "seconds around": 0.05})
    whole = LONGER * 2.02 + 0.04
    assert pairs.differences("seconds") == [pytest.approx(whole / (LONGER * 2.0) - 1)]
