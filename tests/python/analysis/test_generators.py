# SPDX-License-Identifier: Apache-2.0
"""Random task sets: sums, laws, and that a seed repeats."""

from __future__ import annotations

import numpy as np
import pytest
from consort.analysis.generate import (
    AUTOMOTIVE_PERIODS,
    periods,
    task_sets,
    uunifast,
)
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats


@given(st.integers(1, 30), st.floats(0.01, 4), st.integers(0, 2**32))
def test_uunifast_sums_up(n, total, seed):
    drawn = uunifast(n, total, np.random.default_rng(seed))
    assert drawn.shape == (n,) and (drawn >= 0).all() and drawn.sum() == pytest.approx(total)


def test_uunifast_is_uniform_on_the_simplex():
    """Each of n parts of 1 follows Beta(1, n - 1)."""
    rng = np.random.default_rng(8)
    drawn = np.array([uunifast(4, 1.0, rng) for _ in range(4000)])
    for part in drawn.T:
        assert stats.kstest(part, stats.beta(1, 3).cdf).pvalue > 1e-4


def test_laws_of_periods():
    rng = np.random.default_rng(3)
    logged = periods(20_000, "log-uniform", rng)
    assert logged.min() >= 10_000_000 and logged.max() <= 100_000_000
    assert stats.kstest(np.log(logged), stats.uniform(np.log(10e6), np.log(10)).cdf).pvalue > 1e-4
    automotive = periods(20_000, "automotive", rng) // 1_000_000
    counts = {p: int((automotive == p).sum()) for p in AUTOMOTIVE_PERIODS}
    whole = sum(AUTOMOTIVE_PERIODS.values())
    expected = [20_000 * share / whole for share in AUTOMOTIVE_PERIODS.values()]
    assert stats.chisquare(list(counts.values()), expected).pvalue > 1e-4
    with pytest.raises(ValueError, match="low_ms"):
        periods(1, "uniform", rng, 5, 1)


def test_task_sets_repeat_and_have_their_utilisation():
    c, t = task_sets(60, 8, (0.5, 0.9), "automotive", np.random.default_rng(5))
    again = task_sets(60, 8, (0.5, 0.9), "automotive", np.random.default_rng(5))
    assert (c == again[0]).all() and (t == again[1]).all()
    assert (np.diff(t, axis=1) >= 0).all()
    sums = (c / t).sum(axis=1)
    assert sums[::2] == pytest.approx(0.5, abs=1e-4) and sums[1::2] == pytest.approx(0.9, abs=1e-4)
