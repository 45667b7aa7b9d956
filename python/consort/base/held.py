# SPDX-License-Identifier: Apache-2.0
"""The answer whether a system holds, and the exit status that says it."""

from __future__ import annotations

from collections.abc import Sized
from enum import StrEnum

from consort.base.errors import SystemFails, Undecided


class Held(StrEnum):
    """The answer whether a system held: the one that bounds, a verdict, a run and a simulation give.

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
        return {Held.HELD: 0, Held.NOT_HELD: SystemFails.exit_status, Held.UNDECIDED: Undecided.exit_status}[
            self
        ]
