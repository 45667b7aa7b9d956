# SPDX-License-Identifier: Apache-2.0
"""Tasks that the blocks of a channel release: whose blocks, and what simulated and virtual time follow."""

from __future__ import annotations

from collections.abc import Iterator

from consort.plan.over_links import link_of
from consort.plan.types import Plan, PlannedChannel


def releasing(plan: Plan, task: str) -> PlannedChannel | None:
    """The channel whose blocks release the task; None: it is released otherwise, or by a device's blocks."""
    arrival = plan.tasks[task].arrival
    channel = None if arrival is None else plan.channels[arrival]
    return channel if channel is not None and channel.writer in plan.tasks else None


def not_followed(plan: Plan) -> Iterator[tuple[str, str, str]]:
    """Tasks whose releases by other tasks' blocks simulated and virtual time do not follow, the channels, and
    why."""
    for task in plan.tasks:
        channel = releasing(plan, task)
        if channel is None:
            continue
        why = None
        if plan.tasks[task].execution == "three-phase":
            why = "the kernel of three-phase cores releases its tasks by the clock"
        elif plan.tasks[channel.writer].execution == "three-phase":
            why = f"{channel.writer!r} is three-phase, and such cores are simulated by themselves"
        elif link_of(plan, channel) is not None:
            why = f"its blocks come over the link {channel.memory!r}, which is simulated after all jobs"
        if why is not None:
            yield task, channel.name, why
