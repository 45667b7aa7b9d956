# SPDX-License-Identifier: Apache-2.0
"""Rows by a number that each of them has."""

from __future__ import annotations

import numpy as np
from consort.record.grouped import rows_by
from hypothesis import given
from hypothesis import strategies as st


@given(st.lists(st.integers(0, 7), max_size=60), st.integers(0, 9))
def test_each_number_has_its_rows_in_order(numbers: list[int], count: int) -> None:
    column = np.array(numbers, dtype=np.uint16)
    found = rows_by(column, count)
    assert [rows.tolist() for rows in found] == [np.flatnonzero(column == n).tolist() for n in range(count)]
