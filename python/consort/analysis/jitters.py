# SPDX-License-Identifier: Apache-2.0
"""The release jitter that `jitter: auto` stands for: the least that the blocks need which release a task
(theorem 27 of docs/explanation/analyses.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from consort.analysis.backlog import Arriving, arriving
from consort.analysis.result import Bound, in_words
from consort.plan import TARGETS, Plan
from consort.plan.channels import releasing
from consort.plan.types import AutoJitter

# Numbers that still grow after so many rounds are not followed further: there is then none.
MOST_ROUNDS = 1_000


def settled(plan: Plan, bounds_of: Callable[[Plan], Iterable[Bound]]) -> Plan:
    """The plan with the least number for each `jitter: auto` that is enough by the bounds of that plan; where
    there is none, with the reason.

    `bounds_of`: the bounds of the response times. The more jitter, the larger they are, and the larger they
    are, the more jitter do blocks need: numbers begin at 0 and never fall. They are whole ticks of the plan's
    target.
    """
    numbers = {name: 0 for name, task in plan.tasks.items() if task.auto_jitter is not None}
    states = dict.fromkeys(numbers, AutoJitter(found=True))
    tick = TARGETS[plan.target].tick_ps if plan.target in TARGETS else 1
    grew: dict[str, int] = {}
    rounds = 0
    while numbers:
        plan = _with(plan, numbers, states)
        bounds = {bound.task: bound for bound in bounds_of(plan)}
        arrived = arriving(plan, bounds)
        needed = {name: _needed(arrived[name], tick) for name in numbers if states[name].found}
        # What ends because another one has no number does so for that one's reason.
        first = all(state.found for state in states.values())
        before = [f"{name} at {in_words(numbers[name])}" for name in grew if first]
        grew = {n: jitter for n, jitter in needed.items() if jitter is not None and jitter > numbers[n]}
        ends = [name for name, jitter in needed.items() if jitter is None]
        rounds += 1
        if ends:
            while_ = f", while jitter still grows: {', '.join(before)}" if before else ""
            for name in ends:
                missing, cause = _cause(plan, bounds, name)
                # The cause of a later one says only that an earlier one has no number.
                why = f"{arrived[name].why}{cause if first else ''}{while_}"
                states[name] = AutoJitter(why=why, missing=missing)
        elif not grew:
            break
        elif rounds > MOST_ROUNDS:
            for name in grew:
                why = f"it still grows after {MOST_ROUNDS} rounds, at {in_words(numbers[name])}"
                states[name] = AutoJitter(why=why)
        numbers |= grew
    return plan


def _needed(by: Arriving, tick: int) -> int | None:
    """The jitter of a task whose blocks come so, in whole ticks; None if nothing bounds it."""
    return None if by.blocks is None else -(-(by.blocks.most - by.blocks.least) // tick) * tick


def _with(plan: Plan, numbers: Mapping[str, int], states: Mapping[str, AutoJitter]) -> Plan:
    changed = {
        name: replace(plan.tasks[name], jitter_ps=numbers[name] if state.found else 0, auto_jitter=state)
        for name, state in states.items()
    }
    return replace(plan, tasks={**plan.tasks, **changed})


def _cause(plan: Plan, bounds: Mapping[str, Bound], task: str) -> tuple[tuple[str, ...], str]:
    """Why tasks whose blocks lead to this one have no bound: the figures that one lacks, or words of the next
    one."""
    words = ""
    while (channel := releasing(plan, task)) is not None:
        task = channel.writer
        bound = bounds[task]
        if bound.missing:
            return bound.missing, ""
        if not words and bound.response is None and bound.notes:
            words = f": {bound.notes[0]}"
    return (), words


def without_number(plan: Plan) -> dict[str, str]:
    """The tasks whose jitter has no number, and what to say of each."""
    said = {}
    for name, task in plan.tasks.items():
        if task.auto_jitter is not None and task.auto_jitter.why:
            places = task.auto_jitter.missing
            remedy = f"give {' and '.join(places)}, or write a time" if places else "write a time"
            said[name] = f"'auto' has no number here: {task.auto_jitter.why}; {remedy}"
    return said
