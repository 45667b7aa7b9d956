# SPDX-License-Identifier: Apache-2.0
"""The rows of a table by a number that each of them has, found in one pass over the table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray


def rows_by(
    column: NDArray[Any], count: int, then: NDArray[Any] | None = None
) -> Sequence[NDArray[np.int64]]:
    """The positions of each number below `count` in a column: in the order of `then`, or ascending."""
    order = np.argsort(column, kind="stable")
    numbers = column[order]
    if then is not None:
        # Nearly always they lie so, and need no second order.
        following = then[order]
        if ((following[1:] < following[:-1]) & (numbers[1:] == numbers[:-1])).any():
            order = np.lexsort((then, column))
    ends = np.searchsorted(numbers, np.arange(count + 1))
    return [order[begin:end] for begin, end in pairwise(ends.tolist())]


def counts_by(column: NDArray[Any], mask: NDArray[np.bool_], count: int) -> list[int]:
    """How many of the marked rows have each number below `count`."""
    found: list[int] = np.bincount(column[mask], minlength=count).tolist()
    return found


def maxima_by(column: NDArray[Any], values: NDArray[np.float64], count: int) -> list[float]:
    """The largest of the values of the rows that have each number below `count`; -inf where there is none."""
    largest = np.full(count, -np.inf)
    np.maximum.at(largest, column, values)
    found: list[float] = largest.tolist()
    return found
