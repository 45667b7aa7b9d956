# SPDX-License-Identifier: Apache-2.0
"""The five lines on bounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from consort.analysis.advice import Advice
from consort.analysis.lacking import named, remedies
from consort.analysis.result import Bound
from consort.base.errors import Held
from consort.base.units import counted, microseconds
from consort.report.lines import Brief, Timed, largest_part, listed, worst

TASK = "response time"
CHAIN = ("reaction time", "data age")


def brief_of_bounds(
    bounds: Mapping[str, Sequence[Bound]],
    answer: Held,
    file: str,
    advice: Sequence[Advice] = (),
    lacking: Iterable[str] = (),
) -> Brief:
    """`bounds` of each mode, or of none under the name ""; those that are not a mode's under any other.

    `answer`: that of all of them. `lacking`: the places of figures that are missing.
    """
    every = [(mode, bound) for mode, some in bounds.items() for bound in some]
    failing = [(mode, bound) for mode, bound in every if not bound.schedulable]
    tasks = [(timed(bound, mode), mode, bound) for mode, bound in every if bound.kind == TASK]
    chains = [timed(bound, mode) for mode, bound in every if bound.kind in CHAIN]
    top = worst(one for one, _, _ in tasks)
    mode, bound = next(
        ((mode, bound) for one, mode, bound in tasks if one is top), failing[0] if failing else ("", None)
    )
    if failing and bound is not None and bound.schedulable:
        mode, bound = failing[0]
    which = f" --mode {mode}" if mode and bound is not None and bound.kind in (TASK, *CHAIN) else ""
    places = list(dict.fromkeys(lacking))
    if places:
        after = remedies(places)
    elif failing and bound is not None:
        after = f"consort analyze {file}{which} --explain {_quoted(bound.task)}"
    else:
        after = f"consort simulate {file}; -v prints every bound with its theorem"
    return Brief(
        _verdict(every, failing, answer),
        [one for one, _, _ in tasks],
        chains,
        named(places) if places else "no task has a bound" if bound is None else _cause(bound, advice),
        after,
    )


def timed(bound: Bound, mode: str = "") -> Timed:
    """A bound, beside what is allowed."""
    where = f" on {bound.core}" if bound.core else ""
    return Timed(
        f"{bound.task}{where}" + (f" in {mode}" if mode else ""),
        bound.kind,
        None if bound.response is None else bound.response / 1000,
        () if bound.deadline is None else (("allowed", bound.deadline / 1000),),
        not bound.schedulable,
        why="has no bound" + (f", allowed {_us(bound.deadline)}" if bound.deadline is not None else ""),
        at_most=True,
    )


def _verdict(every: Sequence[tuple[str, Bound]], failing: Sequence[tuple[str, Bound]], answer: Held) -> str:
    if not failing:
        required = sum(bound.deadline is not None for _, bound in every)
        return (
            f"The system holds: {counted(len(every), 'bound')}, each within what is allowed"
            f" ({required} with a limit)"
        )
    none = [bound for _, bound in failing if bound.response is None]
    names = listed(f"{bound.task} ({bound.kind}{f', {mode}' if mode else ''})" for mode, bound in failing)
    if answer is Held.UNDECIDED:
        return f"{answer.capitalize()}: no bound for {names}"
    if all(bound.held is Held.UNDECIDED for _, bound in failing):
        return f"Not known to hold, whatever the missing figures are: no bound for {names}"
    if len(none) == len(failing):
        return f"Not known to hold: no bound for {names}"
    return (
        f"Not known to hold: {len(failing)} of {counted(len(every), 'bound')} above what is allowed: {names}"
    )


def _cause(bound: Bound, advice: Sequence[Advice]) -> str:
    if bound.schedulable:
        part = largest_part(bound.task, bound.response, bound.parts)
        return part or f"{bound.task} has nothing beside itself"
    remedy = next((c.text for one in advice if one.bound.task == bound.task for c in one.changes[:1]), "")
    mended = f"; it would hold: {remedy}" if remedy else ""
    if bound.response is None:
        return f"{bound.task}: {bound.notes[0] if bound.notes else 'the analysis found no bound'}{mended}"
    assert bound.deadline is not None
    late = f"{bound.task} may be late by {_us(bound.response - bound.deadline)}"
    if bound.lateness.value >= bound.response - bound.deadline:
        late += f", and its core, which sleeps, wakes late by up to {bound.lateness} (timer_lateness)"
    part = largest_part(bound.task, bound.response, bound.parts)
    return f"{late}{f'; {part}' if part else ''}{mended}"


def _us(ps: int) -> str:
    return f"{microseconds(ps / 1000)} µs"


def _quoted(name: str) -> str:
    return f'"{name}"' if " " in name else name
