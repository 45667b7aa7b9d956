# SPDX-License-Identifier: Apache-2.0
"""Priorities of other tools made what Consort needs: on each core all different, or none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from consort.exchange.report import Report
from consort.model.quantities import Duration

ANEW = (
    "equal, missing or of several classes in the model; counted anew in the same order, of equal ones the"
    " shorter deadline first. Bounds are of that order: among equal ones each may wait longer, for all others"
)

# Which of two priorities is the more urgent: that of the higher number, or that of the lower one.
Order = Literal["higher", "lower"]


def say_order(report: Report, order: Order, why: str) -> None:
    """States how the model's priorities were read."""
    report.notes.append(f"priorities: the {order} number is the more urgent ({why})")


def upside_down(ranks: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """The ranks where the lower number is the more urgent: in the same range, the other way round."""
    numbers = [number for _, number in ranks.values()]
    ends = min(numbers) + max(numbers)
    return {name: (level, ends - number) for name, (level, number) in ranks.items()}


def distinct_priorities(
    report: Report, core: str, tasks: dict[str, dict[str, Any]], ranks: Mapping[str, tuple[int, int]]
) -> None:
    """Gives the tasks of a core priorities by rank: (class, priority in it), the larger the more urgent."""
    if len({level for level, _ in ranks.values()}) == 1 and len(set(ranks.values())) == len(ranks):
        for name, (_, priority) in ranks.items():
            tasks[name]["priority"] = priority
        return
    # The most urgent first; of equal ones with equal deadlines the one that stands first in the file.
    order = sorted(ranks, key=lambda name: (-ranks[name][0], -ranks[name][1], deadline_of(tasks[name])))
    for place, name in enumerate(order):
        tasks[name]["priority"] = len(order) - place
        report.change("priority", f"{name} on {core}", ANEW)


def deadline_of(task: Mapping[str, Any]) -> int:
    text = task.get("deadline") or task.get("period") or task["min_interarrival"]
    return Duration.parse(text).value
