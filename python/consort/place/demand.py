# SPDX-License-Identifier: Apache-2.0
"""The execution demand of a core's tasks before the last of them is done: placement.md, lemma 8."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# The most stretches of time that are distinguished for one set of tasks, and the most such sets of a core.
STRETCHES = 64
SETS = 32


@dataclass(frozen=True)
class Asked:
    """A task's demand on a core [ps]; the execution with two context switches."""

    name: str
    execution: int
    period: int
    deadline: int

    def jobs(self, begin: int) -> int:
        """The jobs that come at least in a window longer than `begin`."""
        # The first job of a task whose deadline is later than its period may be the one that is looked at.
        return 1 if self.deadline > self.period else begin // self.period + 1


@dataclass(frozen=True)
class Stretch:
    """A stretch of times: if the tasks are done after its begin and by `end`, each has had so many jobs."""

    end: int
    jobs: tuple[int, ...]


def stretches(tasks: Sequence[Asked], within: int) -> Iterator[Stretch]:
    """Stretches of the times up to `within`: in each the numbers of jobs are the same, or the least there."""
    begins = sorted({k * one.period for one in tasks for k in range(min(-(-within // one.period), 1000))})
    if len(begins) > STRETCHES:
        begins = [begins[at * len(begins) // STRETCHES] for at in range(STRETCHES)]
    for begin, end in zip(begins, [*begins[1:], within], strict=True):
        yield Stretch(end, tuple(one.jobs(begin) for one in tasks))


def levels(deadlines: Sequence[int]) -> list[int]:
    """The deadlines to examine, for each the tasks that are due by then."""
    every = sorted({*deadlines})
    if len(every) <= SETS:
        return every
    return [every[(at + 1) * len(every) // SETS - 1] for at in range(SETS)]
