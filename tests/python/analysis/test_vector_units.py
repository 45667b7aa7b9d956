# SPDX-License-Identifier: Apache-2.0
"""Task sets side by side in a vector unit: the verdicts are those of one set after another."""

from __future__ import annotations

import numpy as np
import pytest
from consort import _engine
from numpy.typing import NDArray

# A multiple of the lanes, and some that are left over.
SETS = 64 * 8 + 5
LARGEST = 2**49 - 1
UNITS = _engine.vector_units()
Times = NDArray[np.int64]


def verdicts(c: Times, t: Times, d: Times) -> list[NDArray[np.bool_]]:
    """By each unit, the default one and none."""
    return [_engine.fp_schedulable(c=c, t=t, d=d, unit=unit) for unit in (*UNITS, None, "none")]


def assert_equal_verdicts(c: Times, t: Times, d: Times) -> int:
    """Returns how many sets meet their deadlines."""
    *others, expected = verdicts(c, t, d)
    responses = _engine.fp_responses(c=c, t=t, d=d)
    assert (expected == (responses >= 0).all(axis=1)).all()
    for found in others:
        assert (found == expected).all()
    return int(expected.sum())


@pytest.mark.parametrize("tasks", [1, 2, 5, 10, 40])
@pytest.mark.parametrize(("shortest", "longest"), [(40, 240), (100, 1000), (10**9, 10**12), (2**45, 2**48)])
def test_verdicts_are_equal(tasks: int, shortest: int, longest: int) -> None:
    """Small times meet exact multiples of periods; large ones come near the end of what doubles hold."""
    rng = np.random.default_rng(tasks)
    held = 0
    for load in (0.3, 0.6, 0.9, 1.0, 1.3):
        t = np.sort(rng.integers(shortest, longest, (SETS, tasks), dtype=np.int64), axis=1)
        share = rng.dirichlet(np.ones(tasks), SETS) * load
        c = np.maximum((t * share).astype(np.int64), 1)
        d = t if load < 0.9 else np.maximum((t * rng.uniform(0.5, 1.0, t.shape)).astype(np.int64), 1)
        held += assert_equal_verdicts(c, t, d)
    assert 0 < held < 5 * SETS


def test_windows_that_end_where_a_job_comes() -> None:
    """Harmonic periods and full load: each window ends at a multiple of all periods above."""
    for scale in (1, 3, 10**9 + 7, 2**40 + 1):
        periods = scale * np.array([4, 8, 16, 32], dtype=np.int64)
        executions = scale * np.array([2, 2, 2, 4], dtype=np.int64)
        t, c = np.tile(periods, (SETS, 1)), np.tile(executions, (SETS, 1))
        c[1::2, 3] += 1
        assert assert_equal_verdicts(c, t, t) == (SETS + 1) // 2


def test_values_too_large_for_doubles_are_analysed_all_the_same() -> None:
    rng = np.random.default_rng(1)
    t = np.sort(rng.integers(1, LARGEST * 8, (SETS, 6), dtype=np.int64), axis=1)
    c = np.maximum(t // rng.integers(2, 12, t.shape), 1)
    assert 0 < assert_equal_verdicts(c, t, t) < SETS
    # One period of 1: a window may hold 2^48 of its jobs.
    t[:, 0] = c[:, 0] = 1
    c[::3, 0] = 2
    assert_equal_verdicts(c, t, t)


def test_deadlines_beyond_periods_and_executions_beyond_deadlines() -> None:
    rng = np.random.default_rng(2)
    t = np.sort(rng.integers(10, 1000, (SETS, 5), dtype=np.int64), axis=1)
    c = np.maximum(t // rng.integers(3, 9, t.shape), 1)
    assert_equal_verdicts(c, t, t + rng.integers(0, 50, t.shape))
    c[::2, 3] = t[::2, 3] * 5
    assert_equal_verdicts(c, t, t)


def test_bad_values_are_refused_by_every_way() -> None:
    c = np.full((SETS, 3), 2, dtype=np.int64)
    t = np.full((SETS, 3), 20, dtype=np.int64)
    c[70, 1] = 0
    for unit in (*UNITS, None, "none"):
        with pytest.raises(ValueError, match="set 70, task 1: c is 0"):
            _engine.fp_schedulable(c=c, t=t, d=t, unit=unit)
    with pytest.raises(ValueError, match="no vector unit 'mmx'"):
        _engine.fp_schedulable(c=t, t=t, d=t, unit="mmx")
