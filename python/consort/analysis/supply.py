# SPDX-License-Identifier: Apache-2.0
"""The engine's analyses within 63 bits, where a larger sum gives no bound and no error; and the supply that
a hypervisor gives a core, as they take it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from consort.analysis.result import Bound, Step, in_words, with_theorem
from consort.model.quantities import LARGEST
from consort.plan.types import PlannedSupply

SOURCE = "docs/explanation/analyses.md, theorem 18 (Shin & Lee 2003), with "


def times_of(supply: PlannedSupply | None) -> tuple[int, ...]:
    return () if supply is None else (supply.period_ps, supply.budget_ps, supply.gap_ps)


def ticks_of_supply(supply: PlannedSupply | None, tick: int) -> tuple[int, int, int] | None:
    """The supply as the engine takes it."""
    if supply is None:
        return None
    return supply.period_ps // tick, supply.budget_ps // tick, supply.gap_ps // tick


def under(bound: Bound, supply: PlannedSupply | None) -> Bound:
    """A bound that was found under a supply, with its assumptions."""
    if supply is None:
        return bound
    where = "at one place of each" if supply.fixed else "anywhere in each"
    text = (
        f"the core has {in_words(supply.budget_ps)} in each {in_words(supply.period_ps)}, {where}; a"
        " hypervisor's own switches take nothing of that"
    )
    notes = bound.notes
    if bound.response is None and any("of the core" in note for note in notes):
        share = supply.budget_ps / supply.period_ps
        notes = (*notes, f"the supply is {share:.6g} of it, of which less than all may be asked for")
    return replace(
        bound,
        source=with_theorem(SOURCE, bound),
        assumptions=(*bound.assumptions, text),
        explanation=_with_gaps(bound),
        notes=notes,
    )


def _with_gaps(bound: Bound) -> Sequence[Step]:
    """The steps with the time without supply: they execute, and the rest of the bound is that time."""
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


OUT_OF_RANGE = "out-of-range"
NOTE = "its busy window, or a time of it, leaves 63 bits of picoseconds (106 days)"


def within_range(analysis: Callable[..., dict[str, Any]], **arguments: Any) -> dict[str, Any]:
    """The result of an analysis of the engine; without a bound, and with this verdict, if a sum is too
    large."""
    for value in arguments.values():
        if isinstance(value, list) and value and isinstance(value[0], int) and max(value) > LARGEST:
            return {"verdict": OUT_OF_RANGE, "bound": None}
    try:
        return analysis(**arguments)
    except OverflowError:
        return {"verdict": OUT_OF_RANGE, "bound": None}
