# SPDX-License-Identifier: Apache-2.0
"""Ratios to the floor: only blocks whose floors agree count."""

from __future__ import annotations

import numpy as np
import pytest
from consort_bench.floor import block_bounds, ratio_to_floor, typical


def test_the_slowest_tenth_is_left_out() -> None:
    assert typical(np.array([10] * 18 + [1_000_000] * 2)) == 10
    assert typical(np.array([7])) == 7


def test_blocks_are_divided_as_the_program_divides_them() -> None:
    bounds = block_bounds(205, 100)
    assert bounds[0] == 0
    assert bounds[-1] == 205
    assert set(np.diff(bounds)) == {2, 3}


def test_a_block_between_unlike_floors_does_not_count() -> None:
    # Two sizes, three rounds: seven floor blocks. The machine becomes four times as slow in the second round.
    floor = np.repeat([100, 100, 100, 400, 400, 400, 400], 5)
    first = np.repeat([150, 9_999, 600], 10)
    second = np.repeat([200, 800, 800], 10)
    a = ratio_to_floor(first, 3, 0, 2, floor, 5)
    assert (a.value, a.blocks, a.blocks_used) == (1.5, 3, 2)
    b = ratio_to_floor(second, 3, 1, 2, floor, 5)
    assert (b.value, b.blocks, b.blocks_used) == (2.0, 3, 3)


def test_without_a_quiet_block_there_is_no_ratio() -> None:
    floor = np.repeat([100, 400], 5)
    ratio = ratio_to_floor(np.full(10, 100), 1, 0, 1, floor, 5)
    assert ratio.value is None
    assert ratio.blocks_used == 0
    assert ratio.floor_ns == pytest.approx(250)
