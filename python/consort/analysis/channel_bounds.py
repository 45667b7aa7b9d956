# SPDX-License-Identifier: Apache-2.0
"""Bounds of the channels of a description, from what accesses to their memories cost; delivery times over
links (docs/explanation/analyses.md, theorem 19)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from consort.analysis.channels import (
    WORD_BYTES,
    Implementation,
    Side,
    age_when_read,
    latency,
    never_torn,
    read_time,
    version_age,
    whole,
    write_time,
)
from consort.analysis.figures import Cost, Figures, MissingFigure
from consort.analysis.result import Bound, Steps, Used, in_words, joined
from consort.plan import Plan, PlannedChannel
from consort.plan.channels import ends_of, link_of, on_link

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


def holds(bound: Bound) -> int | None:
    """A bound that others may rest on: some analyses promise nothing more once a deadline is missed."""
    return bound.response if bound.schedulable else None


def channel_bounds(plan: Plan, bounds: dict[str, Bound], carried: Mapping[str, Delivery]) -> list[Bound]:
    """Latencies, longest reads and ages of the channels between tasks, as far as there are figures for them.

    `carried`: the deliveries of the channels on links. Nothing is required of a channel: where a figure is
    missing its bounds are left out. A channel on a link has a bound or says why it has none, because the
    chains through it rest on it.
    """
    figures = Figures(plan)
    results: list[Bound] = []
    for name, channel in plan.channels.items():
        if not channel.described or channel.writer_core is None:
            continue  # from a device, whose accesses no figure describes
        targets = [
            (channel.writer if channel.exchange_of else reader, core)
            for reader, core in zip(channel.readers, channel.reader_cores, strict=True)
            if core is not None
        ]
        for reader, core in targets:
            label = name if len(targets) == 1 else f"{name} to {reader}"
            if name in carried:
                results.append(_over_link(figures, label, channel, core, carried[name]))
                results.append(_delivered(label, carried[name]))
                continue
            here = _side(figures, name, channel.writer_core)
            there = _side(figures, name, core)
            if channel.implementation in ("mailbox", "queue"):
                if here is not None and there is not None:
                    kind = "mailbox" if channel.implementation == "mailbox" else "queue"
                    bound = latency(label, kind, here, there)  # type: ignore[arg-type]
                    results.append(replace(bound, figures=joined(here.used, there.used)))
                continue
            latest = _latest(plan, label, channel, reader, there, bounds)
            ends = (bounds[channel.writer].figures, bounds[reader].figures)
            rests = joined(*ends, () if there is None else there.used)
            results += [replace(bound, figures=rests) for bound in latest]
    return results


def _over_link(figures: Figures, label: str, channel: PlannedChannel, core: str, delivery: Delivery) -> Bound:
    """The latency from the begin of a write until a reader at the link's other end has the block."""
    made = Bound(label, None, None, SOURCE, ASSUMPTIONS, figures=delivery.used, kind="latency")
    assert channel.writer_core is not None
    if delivery.wait is None or delivery.transfer is None:
        return replace(made, notes=(delivery.why,), missing=delivery.missing)
    try:
        here, there = (
            _side_in(figures, ends_of(figures.plan, channel, one), channel.name, one)
            for one in (channel.writer_core, core)
        )
    except MissingFigure as missing:
        return replace(made, notes=(str(missing),), missing=(missing.place,))
    kind: Implementation = "mailbox" if channel.implementation == "mailbox" else "queue"
    steps = Steps()
    steps.put("communication", f"{channel.name} is written", write_time(kind, here))
    steps.put("communication", f"other blocks on {delivery.link} go first", delivery.wait)
    steps.put("communication", f"the block travels over {delivery.link}", delivery.transfer)
    steps.put("communication", "a look that came just too early", there.word)
    steps.put("communication", f"{channel.name} is read", read_time(kind, there))
    done = steps.done()
    return replace(
        made,
        response=sum(step.length for step in done),
        explanation=done,
        figures=joined(delivery.used, here.used, there.used),
    )


def _delivered(label: str, delivery: Delivery) -> Bound:
    """The time from the end of a write until the block lies in its reader's memory."""
    made = Bound(label, None, None, SOURCE, ASSUMPTIONS, figures=delivery.used, kind="delivery")
    if delivery.wait is None or delivery.transfer is None:
        return replace(made, notes=(delivery.why,), missing=delivery.missing)
    steps = Steps()
    steps.put("communication", f"other blocks on {delivery.link} go first", delivery.wait)
    steps.put("communication", f"the block travels over {delivery.link}", delivery.transfer)
    done = steps.done()
    return replace(made, response=sum(step.length for step in done), explanation=done)


def _latest(
    plan: Plan,
    label: str,
    channel: PlannedChannel,
    reader: str,
    there: Side | None,
    bounds: dict[str, Bound],
) -> list[Bound]:
    """The bounds of a double buffer, a snapshot or a ring of versions, for one reader."""
    writer = plan.tasks[channel.writer]
    period = None if writer.sporadic else writer.period_ps
    writes, span = holds(bounds[writer.name]), holds(bounds[reader])
    if channel.implementation == "versions":
        age = version_age(
            label,
            writer_period=period,
            writer_interval=writer.deadline_ps,
            holds=writes is not None,
            read=span,
        )
        return [age] if age.response is not None else []
    results = []
    if channel.implementation == "snapshot" and there is not None:
        results.append(never_torn(label, there))
    # Between its accesses the reader may be preempted, but no longer than its job takes.
    if channel.implementation == "double-buffer" and writes is not None and span is not None:
        results.append(whole(label, writer_period=writer.period_ps, writer_response=writes, read=span))
    age = age_when_read(label, writer_period=period, writer_response=writes, read=span)
    return [*results, age] if age.response is not None else results


def _side(figures: Figures, channel: str, core: str) -> Side | None:
    """One side's access costs in a channel's memory, under load; None if there is no figure."""
    try:
        return _side_in(figures, figures.channel(channel)[0], channel, core)
    except MissingFigure:
        return None


def _side_in(figures: Figures, memory: str, channel: str, core: str) -> Side:
    """One side's costs to access the channel's blocks in a memory."""
    processor = figures.plan.cores[core].processor
    _, size = figures.channel(channel)
    word = figures.access(memory, WORD_BYTES, processor)
    copy = figures.access(memory, size, processor)
    return Side(word.ps, copy.ps, joined(word.used, copy.used))
