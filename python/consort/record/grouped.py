# SPDX-License-Identifier: Apache-2.0
"""The rows of a table by a number that each of them has, found in one pass over the table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray


def rows_by(column: NDArray[Any], count: int) -> Sequence[NDArray[np.int64]]:
    """The positions of each number below `count` in a column, in ascending order."""
    order = np.argsort(column, kind="stable")
    ends = np.searchsorted(column[order], np.arange(count + 1))
    return [order[begin:end] for begin, end in pairwise(ends)]
