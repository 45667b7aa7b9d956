# SPDX-License-Identifier: Apache-2.0
"""Waits of chains in channels that hand out the oldest block: theorem 37 of the analyses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import lcm

from consort.analysis.arrivals import shortest
from consort.analysis.channel_bounds import holds
from consort.analysis.deliveries import Delivery
from consort.analysis.result import Bound, in_words
from consort.plan import Plan, PlannedChannel, PlannedTask
from consort.plan.over_links import link_of

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
