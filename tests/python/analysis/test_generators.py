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
    within,
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


@given(
    st.integers(1, 12), st.floats(0, 0.3), st.floats(0.05, 0.7), st.floats(0.15, 0.85), st.integers(0, 2**32)
)
def test_limited_utilisations_sum_up_and_keep_their_limits(n, low, width, place, seed):
    high, total = low + width, n * (low + place * width)
    drawn = within(3, n, total, (low, high), np.random.default_rng(seed))
    assert drawn.shape == (3, n) and drawn.sum(axis=1) == pytest.approx([total] * 3)
    assert drawn.min() >= low - 1e-12 and drawn.max() <= high + 1e-12
    assert (drawn == within(3, n, total, (low, high), np.random.default_rng(seed))).all()


@pytest.mark.parametrize("total", [0.9, 1.1])
def test_limited_utilisations_are_uniform_over_those_that_keep_the_limits(total):
    drawn = within(20_000, 3, total, (0.1, 0.6), np.random.default_rng(8))
    # Normed exponentials are uniform on the simplex, too.
    free = np.random.default_rng(9).exponential(size=(100_000, 3))
    free *= total / free.sum(axis=1, keepdims=True)
    kept = free[((free >= 0.1) & (free <= 0.6)).all(axis=1)]
    for mine, other in zip(drawn.T, kept.T, strict=True):
        assert stats.ks_2samp(mine, other).pvalue > 1e-4


def test_limits_that_nothing_keeps_are_refused():
    rng = np.random.default_rng(1)
    for n, total, limits in ((3, 2.0, (0.1, 0.5)), (3, 0.2, (0.1, 0.5)), (3, 0.6, (0.5, 0.1))):
        with pytest.raises(ValueError, match="cannot sum to"):
            within(1, n, total, limits, rng)
    with pytest.raises(ValueError, match="widen the limits"):
        within(1, 200, 50.0, (0.0, 0.5), rng)


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
