# SPDX-License-Identifier: Apache-2.0
"""Rows by a number that each of them has."""

from __future__ import annotations

import numpy as np
from consort.record.summary import counts_by, maxima_by, rows_by
from hypothesis import given
from hypothesis import strategies as st


@given(st.lists(st.integers(0, 7), max_size=60), st.integers(0, 9))
def test_each_number_has_its_rows_in_order(numbers: list[int], count: int) -> None:
    column = np.array(numbers, dtype=np.uint16)
    found = rows_by(column, count)
    assert [rows.tolist() for rows in found] == [np.flatnonzero(column == n).tolist() for n in range(count)]


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 9)), max_size=60))
def test_rows_counts_and_maxima_are_those_of_each_number(rows: list[tuple[int, int]]) -> None:
    column = np.array([number for number, _ in rows], dtype=np.uint16)
    values = np.array([value for _, value in rows], dtype=np.uint32)
    of_each = [[at for at, (number, _) in enumerate(rows) if number == n] for n in range(8)]
    ordered = [sorted(mine, key=lambda at: rows[at][1]) for mine in of_each]
    assert [found.tolist() for found in rows_by(column, 8, values)] == ordered
    even = [[at for at in mine if rows[at][1] % 2 == 0] for mine in of_each]
    assert counts_by(column, values % 2 == 0, 8) == [len(mine) for mine in even]
    largest = [max((float(rows[at][1]) for at in mine), default=-np.inf) for mine in of_each]
    assert maxima_by(column, values.astype(np.float64), 8) == largest
