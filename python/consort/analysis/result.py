# SPDX-License-Identifier: Apache-2.0
"""What an analysis returns: a bound, where it comes from, what it rests on, and how it came about."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

StepKind = Literal[
    "blocking", "interference", "own", "suspension", "jitter", "slot", "load", "unload", "communication"
]


@dataclass(frozen=True)
class Step:
    """A part of a bound's worst case.

    `start` and `length` are in ps from the release of the job (or from the beginning of its busy period,
    where a note says so); `count` is how many jobs or operations it stands for.
    """

    kind: StepKind
    label: str
    start: int
    length: int
    count: int = 1
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "label": self.label,
            "start_ps": self.start,
            "length_ps": self.length,
            "count": self.count,
            "note": self.note,
        }


@dataclass(frozen=True)
class Bound:
    """An upper bound of a task's response time, from release to the end of its last part [ps].

    `response` is None where the analysis found no bound (the iteration left its limit); `schedulable` is then
    False. `deadline` is relative to the release [ps].
    """

    task: str
    response: int | None
    deadline: int
    source: str
    assumptions: tuple[str, ...] = ()
    explanation: tuple[Step, ...] = ()
    core: str = ""
    # What is to be known of the bound: that it is for comparison only, that lower tasks were left out.
    notes: tuple[str, ...] = field(default=())

    @property
    def schedulable(self) -> bool:
        return self.response is not None and self.response <= self.deadline

    @property
    def slack(self) -> int | None:
        """Deadline minus bound [ps]; negative when the bound is above the deadline."""
        return None if self.response is None else self.deadline - self.response

    def to_json(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "core": self.core,
            "response_ps": self.response,
            "deadline_ps": self.deadline,
            "schedulable": self.schedulable,
            "source": self.source,
            "assumptions": list(self.assumptions),
            "notes": list(self.notes),
            "explanation": [step.to_json() for step in self.explanation],
            "provenance": "bound",
        }
