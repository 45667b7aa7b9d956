# SPDX-License-Identifier: Apache-2.0
"""Lines of text for a terminal of 80 columns, and the five lines on a system.

`run`, `analyze` and `simulate` print them, and the rest only with `-v`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf

from consort.base.units import THIN_SPACE, microseconds
from consort.plan.types import PlannedTask

WIDTH = 80
LABEL, CELL = 17, 12


def wrapped(text: str, indent: str = "  ", first: str = "") -> list[str]:
    """Text in lines of at most 80 columns; a name is never broken."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=indent + first,
        break_long_words=False,
        break_on_hyphens=False,
    )


def placed(task: PlannedTask) -> str:
    """The core that releases a task, and the one that computes it, where that is another."""
    return f"on {task.core}" + (f", computed on {task.worker}" if task.worker else "")


def heads_line(heads: Sequence[str]) -> str:
    """The headings of up to five columns of figures."""
    return " " * LABEL + "".join(f"{head:>{CELL}}" for head in heads)


@dataclass(frozen=True)
class Timed:
    """A time of a task or a chain, and its limits, in ns; None: there is none, inf: a job was not served."""

    name: str
    quantity: str
    ns: float | None
    # ("deadline", 50000.0), ("bound", 23704.0): only those that there are.
    limits: tuple[tuple[str, float], ...]
    fails: bool
    # Instead of a time, where there is none.
    why: str = ""
    unit: str = "µs"
    # A bound, and no time that was seen.
    at_most: bool = False

    @property
    def share(self) -> float:
        """The part that it takes of the first limit: of what is required, where anything is."""
        if self.ns is None or not self.limits:
            return 0.0
        limit = self.limits[0][1]
        return self.ns / limit if limit else inf

    @property
    def required(self) -> bool:
        """True if anything but a bound limits it."""
        return any(name != "bound" for name, _ in self.limits)

    def text(self) -> str:
        if self.ns is None:
            return f"{self.name}: {self.quantity} {self.why or 'never seen'}"
        # "µs at one nanosecond an instruction": the rate once, not behind each time.
        unit, at, rate = self.unit.partition(" at ")
        name = f"{self.name},{at}{rate}" if at else self.name
        time = f"{'at most ' if self.at_most else ''}{microseconds(self.ns)} {unit}"
        if self.ns == inf:
            time = "of a job that was never served"
        share = f" ({100 * self.share:.0f} %)" if self.share < inf else ""
        limits = [f"{limit} {microseconds(ns)} {unit}" for limit, ns in self.limits]
        limits[:1] = [f"{first}{share}" for first in limits[:1]]
        return f"{name}: {', '.join([f'{self.quantity} {time}', *limits])}"


def worst(times: Iterable[Timed]) -> Timed | None:
    """The time that fails, or else that is nearest to what is required, or to its bound where nothing is."""
    return max(times, key=lambda one: (one.fails, one.ns is None, one.required, one.share), default=None)


def largest_part(name: str, ps: int | None, parts: Sequence[tuple[str, int]]) -> str:
    """The largest part of a time [ps], in words; empty where nothing says of what it is made."""
    if ps is None or not parts:
        return ""
    label, length = max(parts, key=lambda part: part[1])
    whole, share = microseconds(ps / 1000), microseconds(length / 1000)
    if length == ps:
        return f"the {whole} µs of {name} are all {label}"
    return f"the largest part of the {whole} µs of {name} is {share} µs, {label}"


@dataclass(frozen=True)
class Brief:
    """All that the five lines need."""

    verdict: str
    tasks: Sequence[Timed]
    chains: Sequence[Timed]
    cause: str
    next: str

    def lines(self) -> list[str]:
        """Exactly five lines, however long: a terminal wraps them, and nothing is cut."""
        task, chain = worst(self.tasks), worst(self.chains)
        rows = (
            ("verdict", self.verdict),
            ("worst task", "no time of a task" if task is None else task.text()),
            ("worst chain", "none is described" if chain is None else chain.text()),
            ("cause", self.cause),
            ("next", self.next),
        )
        return [f"{label + ':':<13}{' '.join(text.replace(THIN_SPACE, ',').split())}" for label, text in rows]


def listed(names: Iterable[str], most: int = 4) -> str:
    """Names, each once; of many the first, and how many more there are."""
    each = list(dict.fromkeys(names))
    more = f" and {len(each) - most} more" if len(each) > most else ""
    return ", ".join(each[:most]) + more
