# SPDX-License-Identifier: Apache-2.0
"""Arrivals of the blocks that release a task (theorem 27 of docs/explanation/analyses.md), and waits of
chains in channels that hand out the oldest block (theorem 37)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import lcm

from consort.analysis.channel_bounds import Delivery, holds
from consort.analysis.result import Bound, in_words
from consort.plan import Plan, PlannedChannel, PlannedTask
from consort.plan.channels import link_of, releasing


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
            found[task] = Arriving(channel.writer, let, None, f"blocks of {channel.name} come over a link")
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
        least = due - early
        # The first is due no earlier than its block's writer was, nor are others that are as far apart.
        if task.period_ps >= apart:
            least = max(least, 0)
        return Blocks(apart, periodic, least + task.deadline_ps, due + task.deadline_ps)
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
    # An automatic one is as large as they need, by the analysis that finds it.
    if given.auto_jitter is None and given.jitter_ps < blocks.most - blocks.least:
        spread = in_words(blocks.most - blocks.least)
        return (
            f"how late they come in {channel} differs by {spread}: write 'jitter: {spread}' or more, or"
            " 'jitter: auto'"
        )
    for steps, distance in enumerate(given.min_distances_ps, 1):
        apart_by = max(0, steps * blocks.apart - (blocks.most - blocks.least))
        if distance > apart_by:
            return (
                f"{steps + 1} blocks in {channel} may come within {in_words(apart_by)}, closer than"
                " min_distances allow"
            )
    return ""


# More blocks than that are not followed one by one.
MOST = 20_000


@dataclass(frozen=True)
class Behind:
    """The longer wait of a block than if the newest were read [ps]; or the reason that nothing bounds it."""

    more: int = 0
    why: str = ""
    in_order: bool = True
    """True if a channel hands out the oldest."""
    rests: str = ""
    """The assumption behind it."""


@dataclass(frozen=True)
class _End:
    """Instants of the jobs of one end of a channel, from when each is due [ps]."""

    offset: int
    period: int
    earliest: int
    latest: int

    def due(self, job: int) -> int:
        return self.offset + job * self.period


def lateness(plan: Plan, task: PlannedTask) -> int:
    """The largest lateness of a release: its own jitter, and that of the timer that wakes a sleeping core."""
    return task.jitter_ps + (plan.cores[task.core].timer_lateness_ps or 0)


def behind(
    plan: Plan, bounds: Mapping[str, Bound], carried: Mapping[str, Delivery], writer: str, reader: str
) -> Behind:
    """The wait in all channels from one task to another: the longest, or one that nothing bounds."""
    found = [
        _behind(plan, bounds, carried.get(channel.name), channel, reader)
        for channel in plan.channels.values()
        if channel.writer == writer
        and reader in channel.readers
        and channel.exchange_of is None
        and channel.reads_oldest
    ]
    return max(found, key=lambda one: (one.why != "", one.more), default=Behind(in_order=False))


def _behind(
    plan: Plan, bounds: Mapping[str, Bound], carried: Delivery | None, channel: PlannedChannel, reader: str
) -> Behind:
    name, source, sink = channel.name, plan.tasks[channel.writer], plan.tasks[reader]
    written, read = holds(bounds[source.name]), holds(bounds[reader])
    if written is None or read is None or source.sporadic:
        return Behind()  # the chain has no bound by them
    if carried is not None:
        if carried.ps is None:
            return Behind()
        written += carried.ps
    capacity = channel.capacity or 1
    if sink.release == "arrival" and sink.arrival == name:
        # A block is taken by the job that it releases.
        most = (read + sink.jitter_ps) // source.period_ps + 1
        if most <= capacity:
            return Behind()
        text = f"{name} holds {_blocks(capacity)}, and {most} may wait for jobs of {reader}: some are dropped"
        return Behind(why=text)
    if sink.sporadic:
        return Behind()
    computed = sink.wcet_ps if sink.worker is None and sink.wcet_ps is not None else 0
    reads = _End(sink.offset_ps, sink.period_ps, 0, max(0, read - computed))
    if sink.period_ps > source.period_ps and plan.takes_several(reader):
        first = reads.offset + reads.latest - source.offset_ps
        most = max(first, reads.period + reads.latest + written) // source.period_ps + 1
        if most <= capacity:
            return Behind(rests=f"a job of {reader} takes all blocks that wait in {name} (Batch)")
        text = (
            f"{name} holds {_blocks(capacity)}, and {most} may wait for a job of {reader}: some are dropped"
        )
        return Behind(why=text)
    if sink.period_ps > source.period_ps:
        return Behind(
            why=f"{name} gets a block each {in_words(source.period_ps)}, and {reader} takes the oldest each"
            f" {in_words(sink.period_ps)}: some are dropped. 'kind: sporadic' hands out the newest"
        )
    # Whatever its bcet, a job takes some time.
    first = max(1, shortest(plan, source.name))
    writes = _End(source.offset_ps, source.period_ps, first, written)
    before, after = _order(plan, channel, reader)
    waiting = _most(writes, reads, before, after)
    if waiting is None:
        return Behind(why=f"{name}: the common period of {source.name} and {reader} is too long to follow")
    if waiting > capacity:
        return Behind(
            why=f"{name} holds {_blocks(capacity)} and hands out the oldest, and {waiting} may wait for jobs"
            f" of {reader}: some are dropped. 'kind: sporadic' hands out the newest"
        )
    # The time that a chain counts already, between the due instants of the writer's and the reader's jobs.
    counted = (written if before is None else before) + reads.period
    return Behind(max(0, reads.offset - writes.offset - counted))


def _blocks(count: int) -> str:
    return "one block" if count == 1 else f"{count} blocks"


def _order(plan: Plan, channel: PlannedChannel, reader: str) -> tuple[int | None, int | None]:
    """On one core with fixed priorities: how late a job of the more urgent end may come, where jobs of the
    other end that are released no earlier begin (or end) after it. For the writer, and for the reader."""
    source, sink = plan.tasks[channel.writer], plan.tasks[reader]
    core = plan.cores[source.core]
    apart = source.core != sink.core or link_of(plan, channel) is not None
    if apart or any(task.execution != "local" or task.waits for task in (source, sink)):
        return None, None
    if not core.policy.startswith("fixed-priority") or source.rank == sink.rank:
        return None, None
    if source.rank < sink.rank:
        return lateness(plan, source), None
    held = any(plan.tasks[name].threshold is not None or plan.tasks[name].sections for name in core.tasks)
    if core.policy == "fixed-priority" and not held:
        return None, lateness(plan, sink)
    return None, None


def _most(writes: _End, reads: _End, before: int | None, after: int | None) -> int | None:
    """The most blocks that lie in the channel; the reader is as fast as the writer, or faster.

    `before`: jobs of the reader that are due that long after a job of the writer begin when it has written.
    `after`: a job of the reader that is due that long before a job of the writer ends has read by then.
    """
    common = lcm(writes.period, reads.period)
    begun = max(writes.offset, reads.offset) + writes.latest + reads.latest
    count = -(-begun // writes.period) + 2 * (common // writes.period) + 2
    if count > MOST:
        return None
    sees = writes.latest + 1 if before is None else min(writes.latest + 1, before)
    # A job that is released as another one ends begins after it.
    past = reads.latest + 1 if after is None else min(reads.latest + 1, after + (writes.earliest > 0))

    def surely_written(job: int) -> int:
        """The last block that was written before a job of the reader begins."""
        return max(-1, (reads.due(job) - sees - writes.offset) // writes.period)

    def surely_read(block: int) -> int:
        """The last job of the reader that has begun before a block is written."""
        return max(-1, (writes.due(block) + writes.earliest - past - reads.offset) // reads.period)

    most, emptied, job = 0, 0, 0
    for block in range(count):
        done = surely_read(block)
        while job <= done:
            emptied = max(emptied, job - surely_written(job))
            job += 1
        most = max(most, block - done + emptied)
    return most
