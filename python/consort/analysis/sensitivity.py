# SPDX-License-Identifier: Apache-2.0
"""Factors by which execution times may grow, and clocks, bandwidths and scratchpads shrink, until a bound
fails.

Not every analysis is sustainable: a system may be schedulable with a figure and not with an easier one.
What is found is therefore what was tried: with it everything holds, and with every easier one tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from consort.analysis.lacking import lacking_figures, named
from consort.analysis.scaling import Scale, names_of, scaled
from consort.analysis.system import analyze_system
from consort.base.waiting import Progress, silent
from consort.model import BadDescription, System
from consort.plan import plan_of

# How much harder, and how much easier, than the description it is tried: powers of two.
HARDEST, EASIEST = 10, -6
# Halvings between the last that holds and the first that does not: to a five-hundredth.
HALVINGS = 9
# Easier factors are tried at these parts of the result.
EASIER = tuple(Fraction(k, 8) for k in range(1, 8))
SEARCHED = {
    "wcet": "largest factor of execution times",
    "clock": "smallest factor of the clock",
    "bandwidth": "smallest factor of the bandwidth",
    "scratchpad": "smallest factor of the scratchpad",
}


@dataclass(frozen=True)
class Sensitivity:
    """The hardest factor with which everything holds, as it does with all easier ones that were tried."""

    scale: Scale
    factor: float | None
    """None: none that was tried holds."""
    tried: int
    note: str = ""

    @property
    def kind(self) -> str:
        return SEARCHED[self.scale.what]

    @property
    def of(self) -> str | None:
        return self.scale.of

    def line(self) -> str:
        """The result, in words."""
        of = f" of {self.of}" if self.of else ""
        found = "none" if self.factor is None else f"{self.factor:.4g}"
        note = f" ({self.note})" if self.note else ""
        return f"{self.kind}{of}: {found}{note}"

    def to_json(self) -> dict[str, Any]:
        return {
            "what": self.scale.what,
            "of": self.of,
            "kind": self.kind,
            "factor": self.factor,
            "tried": self.tried,
            "note": self.note,
            "provenance": "bound",
        }


def sensitivity(
    system: System,
    kinds: Sequence[str] = tuple(SEARCHED),
    *,
    progress: Progress = silent,
) -> list[Sensitivity]:
    """The factors of execution times, of all and of each task; and of each clock, bandwidth and scratchpad:
    of those `kinds`.

    Each takes some twenty analyses of the whole system.
    """
    scales = list(_scales(system, kinds))
    found = []
    for index, scale in enumerate(scales):
        progress(str(scale), index / len(scales))
        found.append(_search(system, scale))
    return found


def _scales(system: System, kinds: Sequence[str]) -> Iterator[Scale]:
    for what in kinds:
        names = names_of(system, what)
        if names and (what == "wcet" or len(names) > 1):
            yield Scale(what)
        for name in names:
            yield Scale(what, name)


def _search(system: System, scale: Scale) -> Sensitivity:
    lacking: dict[str, None] = {}

    def holds(hardness: Fraction) -> bool:
        factor = hardness if scale.what == "wcet" else 1 / hardness
        try:
            harder = scaled(system, scale, factor)
            bounds = analyze_system(harder)
        except BadDescription:
            return False
        lacking.update(dict.fromkeys(lacking_figures(plan_of(harder), bounds)))
        return all(bound.schedulable for bound in bounds)

    hardest, tried, failed_easier = hardest_that_holds(holds)
    if hardest is None:
        note = "with none that was tried everything holds"
        if lacking:
            note = f"not known: {named(list(lacking))}"
        return Sensitivity(scale, None, tried, note)
    factor = float(hardest if scale.what == "wcet" else 1 / hardest)
    note = ""
    if hardest == Fraction(2) ** HARDEST:
        note = "not limiting: no harder one was tried"
    elif failed_easier:
        note = "some harder ones hold too, but not all that are easier than those: no bound of it is monotone"
    return Sensitivity(scale, factor, tried, note)


def hardest_that_holds(holds: Callable[[Fraction], bool]) -> tuple[Fraction | None, int, bool]:
    """The hardest value that holds and of which every easier one that was tried holds, too; how many were
    tried; and whether an easier one than some that holds does not."""
    seen: dict[Fraction, bool] = {}

    def look(value: Fraction) -> bool:
        if value not in seen:
            seen[value] = holds(value)
        return seen[value]

    good = next(
        (Fraction(2) ** power for power in range(0, EASIEST - 1, -1) if look(Fraction(2) ** power)), None
    )
    if good is None:
        return None, len(seen), False
    while good < Fraction(2) ** HARDEST and look(good * 2):
        good *= 2
    if good < Fraction(2) ** HARDEST:
        good = _between(look, good, good * 2)
    # Where an easier one fails, what is below it counts, and is looked at likewise.
    while (bad := next((good * part for part in EASIER if not look(good * part)), None)) is not None:
        below = [value for value, held in seen.items() if held and value < bad]
        if not below:
            return None, len(seen), True
        good = _between(look, max(below), bad)
    broken = min((value for value, held in seen.items() if not held), default=None)
    failed_easier = broken is not None and any(held and value > broken for value, held in seen.items())
    return good, len(seen), failed_easier


def _between(look: Callable[[Fraction], bool], good: Fraction, bad: Fraction) -> Fraction:
    for _ in range(HALVINGS):
        middle = (good + bad) / 2
        if look(middle):
            good = middle
        else:
            bad = middle
    return good
