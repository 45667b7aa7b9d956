# SPDX-License-Identifier: Apache-2.0
"""Arrivals of the blocks that release a task, after docs/explanation/analyses.md, theorem 27."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from consort.analysis.channel_bounds import holds
from consort.analysis.result import Bound, in_words
from consort.plan import Plan
from consort.plan.arrivals import releasing
from consort.plan.over_links import link_of


@dataclass(frozen=True)
class Blocks:
    """The blocks that a task writes; times in ps.

    One comes for each job of a task that no block releases, from `least` to `most` after that job was due.
    """

    apart: int
    """From when one of those jobs is due to when the next one is, at least."""
    periodic: bool
    """True if it is always so long."""
    least: int
    most: int


@dataclass(frozen=True)
class Arriving:
    """Arrivals of the blocks that release a task."""

    writer: str
    let: bool
    blocks: Blocks | None = None
    """None: nothing bounds when they come."""
    why: str = ""
    """Why a block may come before the task can be released by it; empty: none does."""


def arriving(plan: Plan, bounds: Mapping[str, Bound]) -> dict[str, Arriving]:
    """Arrivals by task, for tasks that the blocks of other tasks release."""
    found: dict[str, Arriving] = {}
    for task in plan.tasks:
        if releasing(plan, task) is not None:
            _arriving(plan, bounds, task, found, ())
    return found


def _arriving(
    plan: Plan, bounds: Mapping[str, Bound], task: str, found: dict[str, Arriving], before: tuple[str, ...]
) -> Arriving:
    if task not in found:
        channel = releasing(plan, task)
        assert channel is not None
        let = channel.communication == "let"
        if link_of(plan, channel) is not None:
            found[task] = Arriving(channel.writer, let, None, "they come over a link")
            return found[task]
        blocks = _written(plan, bounds, channel.writer, let, found, (*before, task))
        if isinstance(blocks, str):
            found[task] = Arriving(channel.writer, let, None, blocks)
        else:
            found[task] = Arriving(channel.writer, let, blocks, _early(plan, task, channel.name, blocks))
    return found[task]


def _written(
    plan: Plan,
    bounds: Mapping[str, Bound],
    writer: str,
    let: bool,
    found: dict[str, Arriving],
    before: tuple[str, ...],
) -> Blocks | str:
    """The blocks of a task, or why nothing bounds when they come."""
    if writer in before:
        return f"{writer} is released by its own blocks"
    task, response = plan.tasks[writer], holds(bounds[writer])
    if response is None:
        return f"{writer} has no response time that is guaranteed"
    apart, periodic, due = task.period_ps, not task.sporadic, 0
    if releasing(plan, writer) is not None:
        inner = _arriving(plan, bounds, writer, found, before)
        if inner.blocks is None or inner.why:
            return inner.why
        # Its jobs are due by then, and begin no earlier.
        apart, periodic, due = inner.blocks.apart, inner.blocks.periodic, inner.blocks.least
    if let and response > task.deadline_ps:
        return f"{writer} may take {in_words(response)}, longer than its interval"
    if let:
        # A block is there when its job's interval ends; a job that a block releases may be due by its jitter
        # earlier.
        early = task.jitter_ps if releasing(plan, writer) is not None else 0
        return Blocks(apart, periodic, max(due - early, 0) + task.deadline_ps, due + task.deadline_ps)
    return Blocks(apart, periodic, due + shortest(plan, writer), due + response)


def shortest(plan: Plan, task: str) -> int:
    """The least time of a job: its `bcet` if somebody gave one, else 0."""
    planned = plan.tasks[task]
    return (planned.bcet_ps or 0) if planned.has_bcet and planned.worker is None else 0


def _early(plan: Plan, task: str, channel: str, blocks: Blocks) -> str:
    given = plan.tasks[task]
    if given.period_ps > blocks.apart:
        apart = in_words(blocks.apart)
        return f"{channel} has a block each {apart}: write 'min_interarrival: {apart}' or less"
    if given.jitter_ps < blocks.most - blocks.least:
        spread = in_words(blocks.most - blocks.least)
        return f"how late they come in {channel} differs by {spread}: write 'jitter: {spread}' or more"
    for steps, distance in enumerate(given.min_distances_ps, 1):
        apart_by = max(0, steps * blocks.apart - (blocks.most - blocks.least))
        if distance > apart_by:
            return (
                f"{steps + 1} blocks in {channel} may come within {in_words(apart_by)}, closer than"
                " min_distances allow"
            )
    return ""
