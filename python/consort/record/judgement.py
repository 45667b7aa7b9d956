# SPDX-License-Identifier: Apache-2.0
"""A judge's result for one configuration, in the form in which a run keeps it (made by consort.judge)."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.base.errors import SystemFails


class Held(StrEnum):
    """The answer whether a system held: the one that a verdict, a run and a simulation give.

    True where it held, so that `if verdict.ok` reads as it did; run.json has the word alone.
    """

    HELD = "held"
    NOT_HELD = "not held"
    UNDECIDED = "undecided"

    def __bool__(self) -> bool:
        return self is Held.HELD

    @staticmethod
    def of(failures: Sized, open_ones: Sized = ()) -> Held:
        """The answer, from why it did not hold and from what is not known of it."""
        if len(failures):
            return Held.NOT_HELD
        return Held.UNDECIDED if len(open_ones) else Held.HELD

    @property
    def headline(self) -> str:
        """The headline for a system."""
        return {
            Held.HELD: "The system held",
            Held.NOT_HELD: "The system did not hold",
            Held.UNDECIDED: "Undecided: it is not known whether the system holds",
        }[self]

    @property
    def exit_status(self) -> int:
        """The exit status of a command that gives this answer."""
        return {Held.HELD: 0, Held.NOT_HELD: SystemFails.exit_status, Held.UNDECIDED: 4}[self]


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
