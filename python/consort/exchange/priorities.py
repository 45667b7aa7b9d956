# SPDX-License-Identifier: Apache-2.0
"""Priorities of other tools made what Consort needs: on each core all tasks have one, or none has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal

from consort.exchange.report import Report

ANEW = "missing or of several classes in the model; counted anew in the same order"
EQUAL = (
    "equal, as in the model: a bound counts all others of its priority as more urgent; 'simulate' and 'run'"
    " serve them in the order of their releases"
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


def take_priorities(
    report: Report, core: str, tasks: dict[str, dict[str, Any]], ranks: Mapping[str, tuple[int, int]]
) -> None:
    """Gives the tasks of a core priorities by rank: (class, priority in it), the larger the more urgent."""
    order = sorted(set(ranks.values()))
    classes = {level for level, _ in order}
    for name, rank in ranks.items():
        tasks[name]["priority"] = rank[1] if len(classes) == 1 else 1 + order.index(rank)
        if len(classes) > 1:
            report.change("priority", f"{name} on {core}", ANEW)
    counts = Counter(ranks.values())
    for name, rank in ranks.items():
        if counts[rank] > 1:
            report.change("equal priorities", f"{name} on {core}", EQUAL)
