# SPDX-License-Identifier: Apache-2.0
"""Channels on a link: a block lies in the writer's memory, and a DMA engine moves it to the readers'."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from consort.base.errors import BadInput
from consort.model.document import Location
from consort.model.memories import Link
from consort.plan.types import Plan, PlannedChannel

if TYPE_CHECKING:
    from consort.plan.targets import Target

At = Callable[[Location, str], BadInput]
# Implementations that hold each block until it was read, so that a transfer has a block to move.
CARRIED = ("mailbox", "queue")
# The targets whose executive has an engine for it.
EXECUTED_ON = ("linux", "virtual")


def link_of(plan: Plan, channel: PlannedChannel) -> Link | None:
    """The link that a channel is on."""
    return None if channel.memory is None else plan.platform.links.get(channel.memory)


def on_link(plan: Plan, link: str) -> list[PlannedChannel]:
    """The channels on a link."""
    if link not in plan.platform.links:
        return []
    return [channel for channel in plan.channels.values() if channel.memory == link]


def links_of(plan: Plan) -> list[str]:
    """The links that carry channels of a plan, in the platform's order."""
    return [link for link in plan.platform.links if on_link(plan, link)]


def ends_of(plan: Plan, channel: PlannedChannel, core: str) -> str:
    """The memory at a core's end of the channel's link; the channel was planned without a problem."""
    link = link_of(plan, channel)
    assert link is not None
    return link.sides[plan.cores[core].processor]


def link_problems(plan: Plan, target: Target, at: At) -> Iterator[BadInput]:
    """Obstacles to planning channels on links for a target."""
    for name, channel in plan.channels.items():
        link = link_of(plan, channel)
        if link is None:
            continue
        wrong = _wrong(plan, channel, link) or _not_executed(plan, channel, target)
        if wrong:
            yield at(("channels", name, "memory"), wrong)


def _not_executed(plan: Plan, channel: PlannedChannel, target: Target) -> str:
    if not target.executes:
        return ""
    if target.name not in EXECUTED_ON:
        return (
            f"{target.name} moves no blocks over a link: {' and '.join(EXECUTED_ON)} do; name a memory that"
            " both sides reach to run it there"
        )
    released = [name for name in channel.readers if plan.tasks[name].arrival == channel.name]
    if released:
        return (
            f"{released[0]} is released by the blocks of this channel, and a link's engine releases nobody;"
            " write 'min_interarrival' only, or name a memory"
        )
    if plan.changes is not None:
        return (
            "the run goes from mode to mode, and a link's engine takes part in no change; run one mode with"
            " --mode, or name a memory"
        )
    return ""


def _wrong(plan: Plan, channel: PlannedChannel, link: Link) -> str:
    """The reason that the link cannot carry the channel; empty if it can."""
    memories, name = plan.platform.memories, channel.memory
    near = [end for end in link.between if end in memories]
    if len(near) != 2:
        return (
            f"the link {name!r} joins {' and '.join(map(repr, link.between))}; a channel lies on a link"
            " between two memories"
        )
    if channel.exchange_of is not None:
        return (
            f"the requests and answers of {channel.exchange_of!r} lie in a memory that master and worker"
            f" reach, and {name!r} is a link; name a memory"
        )
    cores = [channel.writer_core, *channel.reader_cores]
    if None in cores:
        return f"a device is at one end, and {name!r} carries blocks from task to task; name a memory"
    sides = []
    for core in cores:
        processor = plan.cores[str(core)].processor
        if processor not in link.sides:
            return (
                f"the link {name!r} does not say at which end {processor} is ({core}); add it to the"
                f" platform, for example 'sides: {{{processor}: {near[0]}}}'"
            )
        sides.append(link.sides[processor])
    for core, side in zip(cores[1:], sides[1:], strict=True):
        if side == sides[0]:
            return (
                f"{cores[0]} and {core} are both at the end {side!r} of the link {name!r}; write"
                f" 'memory: {side}'"
            )
    if channel.implementation not in CARRIED:
        return (
            f"a {channel.implementation} lies in memory that both sides reach, and {name!r} is a link, which"
            " moves each block once; write 'kind: queue' with its capacity, or name a memory"
        )
    if channel.communication == "let":
        return (
            f"under logical execution time a block counts from an instant on, and {name!r} delivers it when"
            " it is there; write 'communication: implicit', or name a memory"
        )
    return ""
