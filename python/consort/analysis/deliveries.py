# SPDX-License-Identifier: Apache-2.0
"""Delivery times: from the write of a block over a link until it lies in its reader's memory.
docs/explanation/analyses.md, theorem 19.

docs/explanation/analyses.md, theorem 19.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from consort.analysis.figures import Cost, Figures, MissingFigure
from consort.analysis.result import Bound, Used, in_words, joined
from consort.plan import Plan, PlannedChannel
from consort.plan.over_links import link_of, on_link

SOURCE = "docs/explanation/analyses.md, theorem 19"
ASSUMPTIONS = (
    "the link serves its channels in turn, a block of each, and carries nothing else",
    "a transfer takes at most what the platform says of the link",
)


@dataclass(frozen=True)
class Delivery:
    """The longest from the writer's end to the block's arrival [ps]; without a bound, why there is none."""

    link: str
    wait: int | None
    transfer: int | None
    used: tuple[Used, ...] = ()
    why: str = ""
    missing: tuple[str, ...] = ()

    @property
    def ps(self) -> int | None:
        return None if self.wait is None or self.transfer is None else self.wait + self.transfer


def deliveries(plan: Plan, bounds: Mapping[str, Bound]) -> dict[str, Delivery]:
    """The delivery of every channel on a link."""
    figures = Figures(plan)
    return {
        name: _delivery(figures, channel, bounds)
        for name, channel in plan.channels.items()
        if link_of(plan, channel) is not None
    }


def transfers(figures: Figures, link: str) -> dict[str, Cost]:
    """The cost of one block's transfer by itself, for each channel on a link; `MissingFigure` for what nobody
    gave."""
    return {
        channel.name: figures.transfer(*figures.channel(channel.name))
        for channel in on_link(figures.plan, link)
    }


def _delivery(figures: Figures, channel: PlannedChannel, bounds: Mapping[str, Bound]) -> Delivery:
    link = str(channel.memory)
    try:
        costs = transfers(figures, link)
    except MissingFigure as missing:
        return Delivery(link, None, None, why=str(missing), missing=(missing.place,))
    used = joined(*(cost.used for cost in costs.values()))
    own = costs.pop(channel.name).ps
    wait = sum(cost.ps for cost in costs.values())
    writer, bound = figures.plan.tasks[channel.writer], bounds[channel.writer]
    held = bound.response if bound.schedulable else None
    lacks = bound.missing if held is None else ()
    return delivery_of(link, channel.writer, writer.period_ps, held, own, wait, used, lacks)


def delivery_of(
    link: str,
    writer: str,
    period: int,
    response: int | None,
    own: int,
    wait: int,
    used: tuple[Used, ...] = (),
    missing: tuple[str, ...] = (),
) -> Delivery:
    """The delivery of a channel whose block takes `own` to transfer, and one of each of the link's others
    together `wait`.

    `response` bounds the writer's response time, where it meets its deadline. All times in ps.
    """
    if response is None:
        why = f"{writer} has no response time that is guaranteed"
        return Delivery(link, None, own, used, why, missing)
    least = period - response
    if wait + own > least:
        why = (
            f"{link} may take {in_words(wait + own)} for a block, and the next one may come"
            f" {in_words(max(least, 0))} after it"
        )
        return Delivery(link, None, own, used, why)
    return Delivery(link, wait, own, used)


def delivery_between(
    plan: Plan, carried: Mapping[str, Delivery], writer: str, reader: str
) -> Delivery | None:
    """The longest delivery of the channels from one task to another; one without a bound is the longest.

    None where none of them is on a link.
    """
    found = [
        carried[name]
        for name, channel in plan.channels.items()
        if name in carried and channel.writer == writer and reader in channel.readers
    ]
    return max(found, key=lambda one: (one.ps is None, one.ps or 0), default=None)
