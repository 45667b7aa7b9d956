# SPDX-License-Identifier: Apache-2.0
"""What a hypervisor gives a core, as the uniprocessor analyses take it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from consort.analysis.result import Bound, Step, in_words

SOURCE = "docs/explanation/analyses.md, theorem 18 (Shin & Lee 2003), with "


@dataclass(frozen=True)
class Supply:
    """A budget in each period [ps], at the same place of all (`fixed`) or anywhere in each."""

    budget: int
    period: int
    fixed: bool

    @property
    def gap(self) -> int:
        """The longest time without any, seen from the worst moment on [ps]."""
        return (self.period - self.budget) * (1 if self.fixed else 2)

    @property
    def times(self) -> tuple[int, int, int]:
        return self.period, self.budget, self.gap

    def ticks(self, tick: int) -> tuple[int, int, int]:
        """As the engine takes it."""
        return self.period // tick, self.budget // tick, self.gap // tick


def times_of(supply: Supply | None) -> tuple[int, ...]:
    return () if supply is None else supply.times


def ticks_of_supply(supply: Supply | None, tick: int) -> tuple[int, int, int] | None:
    return None if supply is None else supply.ticks(tick)


def under(bound: Bound, supply: Supply | None) -> Bound:
    """A bound that was found under a supply, with what it rests on."""
    if supply is None:
        return bound
    where = "at one place of each" if supply.fixed else "anywhere in each"
    text = (
        f"the core has {in_words(supply.budget)} in each {in_words(supply.period)}, {where}; a hypervisor's"
    )
    text += " own switches take nothing of that"
    notes = bound.notes
    if bound.response is None and any("of the core" in note for note in notes):
        share = supply.budget / supply.period
        notes = (*notes, f"the supply is {share:.6g} of it, of which less than all may be asked for")
    return replace(
        bound,
        source=SOURCE + bound.source.partition("analyses.md, ")[2],
        assumptions=(*bound.assumptions, text),
        explanation=_with_gaps(bound),
        notes=notes,
    )


def _with_gaps(bound: Bound) -> tuple[Step, ...]:
    """The steps are what executes: what is left of the bound is the time without supply."""
    steps = bound.explanation
    if not steps or bound.response is None:
        return steps
    executed = steps[-1].start + steps[-1].length
    # It lies in front of what executes: after the jitter, which passes anyway.
    first = 1 if steps[0].kind == "jitter" else 0
    at = steps[first].start
    length = bound.response - executed
    if not length:
        return steps
    gap = Step("supply", "the core is not supplied", at, length, note="all of it, before and in between")
    return (*steps[:first], gap, *(replace(step, start=step.start + length) for step in steps[first:]))
