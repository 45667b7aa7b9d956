# SPDX-License-Identifier: Apache-2.0
"""Offsets between the clocks of a board's cores in a run, as the cores measured them by asking
(consort/bare/clocks.hpp), for the record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from consort.board.placement import Side

# Two lines for each core of the plan: a question's and an answer's.
EXCHANGE_BYTES = 128
TITLE = "Clocks of the cores"


@dataclass(frozen=True)
class ClockError:
    """A core's clock against the reference's [ns]."""

    core: str
    reference: str
    set_within: int
    """How far the instant from which the core counts may lie from the reference's."""
    gained: int
    """By how much its clock ran ahead of the reference's from the run's beginning to its end, as measured."""
    known_within: int
    """How far that may lie from what it gained."""

    @property
    def apart(self) -> int:
        """The largest difference between both clocks' readings of one instant, from the first release to the
        end."""
        return self.set_within + abs(self.gained) + self.known_within


def read_clocks(cores: Mapping[str, Side], results: Mapping[str, Sequence[int]]) -> list[ClockError]:
    """Errors of all cores' clocks but the first's, by which they are set; from their control blocks'
    results."""
    reference, *others = cores
    # A reading says in which tick of the reference's clock it was taken.
    tick = 10**9 // cores[reference].hertz
    found = []
    for name in others:
        within, gained, known = results[name][5:8]
        signed = gained - (1 << 32) if gained >> 31 else gained
        found.append(ClockError(name, reference, within + tick, signed, known + 2 * tick))
    return found


def section(found: Sequence[ClockError]) -> dict[str, Any]:
    """A table for the report."""
    names = ("set within", "gained by the end", "known within", "apart at most")
    return {
        "title": TITLE,
        "columns": [
            {"name": "core"},
            {"name": "reference"},
            *({"name": name, "unit": "ns", "provenance": "counted"} for name in names),
        ],
        "rows": [[c.core, c.reference, c.set_within, c.gained, c.known_within, c.apart] for c in found],
        "source": "the quickest of several questions and answers before the first release, and after the last"
        " job; a time from one core to another is known to the last column",
    }
