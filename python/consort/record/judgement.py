# SPDX-License-Identifier: Apache-2.0
"""A judge's result for one configuration, in the form in which a run keeps it (made by consort.judge)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.base.errors import Held

__all__ = ["Held", "Judgement"]


@dataclass(frozen=True)
class Judgement:
    """A verdict: whether the system held, why not, and what is to be marked in its tables.

    `data` goes into run.json as it is. `status` holds bits to add to the status word of each row of `jobs`,
    `disturbed` marks the rows whose job the machine disturbed. `expected` has the expected outputs of a task
    (by its number), one row for each row of its table of outputs. `reasons`: why it did not hold, and what is
    not known.
    """

    ok: Held
    reasons: tuple[str, ...]
    data: dict[str, Any]
    status: NDArray[np.uint32] | None = None
    disturbed: NDArray[np.bool_] | None = None
    expected: dict[int, NDArray[np.void]] = field(default_factory=dict)
