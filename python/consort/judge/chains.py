# SPDX-License-Identifier: Apache-2.0
"""Reaction times and data ages of cause-effect chains, from the sequence numbers that jobs read and wrote.

The same code serves simulated and real runs. Each job of a chain's task knows a newest job of the first task,
its *source*: the first task's jobs know themselves, every other job knows what the writer of the block
that it read knew. One forward pass finds all sources, one pass over the last task's outputs the times:
O(jobs).

- Reaction of source s: from just after the read of source s-1 (a stimulus then just missed it) to the first
  output that knows s or a newer one. Reduced: from the read of s itself.
- Age of source s: from its read until the last output that rests on it is replaced by one that knows a newer
  one. Reduced: to when such an output is first written.

The maxima of reaction and age are equal where both are seen whole (Günzel et al., ECRTS 2023). Sources whose
effect the recording does not show are counted as open, never left out unsaid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort import _engine
from consort.judge.disturbance import touched
from consort.plan.types import PlannedChain
from consort.record.ran import OPERATIONS, STATUS, Ran

Times = NDArray[np.int64]
# Beginnings and ends.
Windows = tuple[Times, Times]
# A time that is none, a source that is none.
ABSENT = -1
_READ = OPERATIONS.index("read")
_WRITES = (OPERATIONS.index("write"), OPERATIONS.index("write-late"))
_NO_OUTPUT = STATUS["outputs_held"] | STATUS["unserved"] | STATUS["aborted"]


@dataclass(frozen=True)
class Hop:
    """The jobs of one task of a chain in their order; times in ticks, ABSENT where there is none.

    `producer` is, for each job, the position of the newest job of the task before it in the chain whose block
    the job had read; ABSENT where there was none, and for the first task.
    """

    task: str
    seq: NDArray[np.int64]
    reads: Times
    writes: Times
    producer: NDArray[np.int64]
    older: Times | None = None
    """How much older the block that each job read is than without those that a disturbance left waiting
    before it; None: nothing was disturbed."""


@dataclass(frozen=True)
class Link:
    """A job on the way from a stimulus to its effect: when it read and wrote, in ticks."""

    task: str
    seq: int
    read: int
    written: int


@dataclass(frozen=True)
class ChainTimes:
    """The times of a chain in ticks: one of each source that was seen whole, in the order of the sources.

    `worst` is the way of the longest reaction, from the first task's job to the last one's. `open` counts the
    sources whose effect, `open_ages` those whose end was not seen before the recording ended.
    """

    reactions: Times
    reduced_reactions: Times
    ages: Times
    reduced_ages: Times
    open: int
    open_ages: int
    worst: tuple[Link, ...]
    # When the stimulus of the longest reaction came.
    stimulus: int | None
    # When the stimulus of each reaction came, and when the source of each age was read.
    stimuli: Times
    read_at: Times
    # Since when a stimulus has had no effect, and since when the last output's data has been read.
    open_since: int | None
    standing_since: int | None
    # How much of each reaction and age is the wait behind blocks that a disturbance left (`Hop.older`).
    behind: Times
    behind_ages: Times


def chain_times(hops: Sequence[Hop]) -> ChainTimes:
    """The times of a chain, of its tasks' jobs in the order of its path."""
    first, last = hops[0], hops[-1]
    source = np.arange(first.seq.size, dtype=np.int64)
    behind = np.zeros(first.seq.size, dtype=np.int64)
    for hop in hops[1:]:
        # Of one without a producer the last place counts.
        source = np.append(source, ABSENT)[hop.producer]
        behind = np.append(behind, 0)[hop.producer]
        if hop.older is not None:
            behind = behind + hop.older
    outputs = np.flatnonzero((last.writes != ABSENT) & (source != ABSENT))
    # A job reads what is newest, so sources grow; where a block came out of order, the newest so far counts.
    knows = np.maximum.accumulate(source[outputs]) if outputs.size else source[outputs]
    written = last.writes[outputs]

    sources = np.flatnonzero(first.reads != ABSENT)
    at = np.searchsorted(knows, sources[1:], side="left")
    seen = at < outputs.size
    stimuli, later = sources[:-1][seen], sources[1:][seen]
    effect = outputs[at[seen]]
    reactions = last.writes[effect] - first.reads[stimuli]
    reduced = last.writes[effect] - first.reads[later]

    # Each output lasts until the next one; of those that rest on one source the last lasts longest.
    ends_group = np.append(knows[1:] != knows[:-1], True) if knows.size else np.zeros(0, dtype=np.bool_)
    starts_group = np.append(True, knows[1:] != knows[:-1]) if knows.size else ends_group
    ends, starts = np.flatnonzero(ends_group), np.flatnonzero(starts_group)
    rests_on = knows[ends]
    # The last source's output is not replaced; an earlier output of the same source may have been.
    whole = ends + 1 < outputs.size
    until = np.where(whole, ends + 1, ends)
    shown = whole | (ends > starts)
    ages = (written[until] - first.reads[rests_on])[shown]
    reduced_ages = written[starts] - first.reads[rests_on]

    worst: tuple[Link, ...] = ()
    stimulus = None
    if reactions.size:
        longest = int(np.argmax(reactions))
        stimulus = int(first.reads[stimuli[longest]])
        worst = _way(hops, int(effect[longest]))
    return ChainTimes(
        reactions=reactions,
        reduced_reactions=reduced,
        ages=ages,
        reduced_ages=reduced_ages,
        open=int(sources[1:].size - seen.sum()),
        open_ages=int(np.count_nonzero(~whole)),
        worst=worst,
        stimulus=stimulus,
        stimuli=first.reads[stimuli],
        read_at=first.reads[rests_on][shown],
        open_since=int(first.reads[sources[:-1][~seen][0]]) if not seen.all() else None,
        standing_since=int(first.reads[rests_on[-1]]) if rests_on.size else None,
        behind=behind[effect],
        behind_ages=behind[outputs[until]][shown],
    )


def times_of_stays(parts: Sequence[ChainTimes]) -> ChainTimes:
    """The times of a chain in several stays in a mode. What spans two of them is not a time of the chain."""
    if len(parts) == 1:
        return parts[0]
    longest = max(parts, key=lambda part: int(part.reactions.max(initial=-1)))

    def all_of(name: str) -> Times:
        return np.concatenate([getattr(part, name) for part in parts])

    return ChainTimes(
        reactions=all_of("reactions"),
        reduced_reactions=all_of("reduced_reactions"),
        ages=all_of("ages"),
        reduced_ages=all_of("reduced_ages"),
        open=sum(part.open for part in parts),
        open_ages=sum(part.open_ages for part in parts),
        worst=longest.worst,
        stimulus=longest.stimulus,
        stimuli=all_of("stimuli"),
        read_at=all_of("read_at"),
        open_since=None,
        standing_since=None,
        behind=all_of("behind"),
        behind_ages=all_of("behind_ages"),
    )


def _way(hops: Sequence[Hop], position: int) -> tuple[Link, ...]:
    """The jobs through which the effect in the last task's job came, in the order of the chain."""
    links = []
    for hop in reversed(hops):
        if position < 0:
            break
        links.append(
            Link(hop.task, int(hop.seq[position]), int(hop.reads[position]), int(hop.writes[position]))
        )
        position = int(hop.producer[position])
    return tuple(reversed(links))


def tasks_of(chain: PlannedChain, system: Ran) -> list[str]:
    """The tasks of a chain's path; devices and channels in it lie between them."""
    names = set(system.task_names)
    return [name for name in chain.path if name in names]


def hops_of(
    jobs: NDArray[np.void],
    operations: NDArray[np.void] | None,
    chain: PlannedChain,
    system: Ran,
    ticks_per_ns: float,
    windows: Callable[[int], Windows] | None = None,
) -> list[Hop]:
    """The jobs of a chain's tasks, from the tables `jobs` and `operations` of a recording.

    `windows`: when the machine disturbed a job of an end of a channel, by its number.

    Under logical execution time a job reads at its release and writes at its deadline; otherwise it reads and
    writes when its operations say so, or, where it recorded none, at its start and its end. Channels under
    logical execution time have their own instants, which are none of an implicit chain through their tasks.
    """
    hops: list[Hop] = []
    tasks = tasks_of(chain, system)
    logical = [n for n, channel in enumerate(system.channels) if channel.communication == "let"]
    for place, name in enumerate(tasks):
        number = system.task_names.index(name)
        mine = jobs[jobs["task"] == number]
        mine = mine[np.argsort(mine["seq"], kind="stable")]
        seq = mine["seq"].astype(np.int64)
        done = operations[operations["task"] == number] if operations is not None else None
        let = chain.communication == "let"
        implicit = done if done is None else done[~np.isin(done["channel"], logical)]
        deadline = system.ns(system.tasks[number].deadline_ps)
        reads, writes = _moments(mine, done if let else implicit, seq, let, deadline, ticks_per_ns)
        producer = np.full(seq.size, ABSENT, dtype=np.int64)
        older = None if windows is None else np.zeros(seq.size, dtype=np.int64)
        if place and operations is not None and done is not None:
            for channel in _between(chain, system, tasks[place - 1], name):
                found = _producers(operations, done, channel, hops[-1], seq, system)
                producer = np.maximum(producer, found)
                oldest = system.channels[channel].reads_oldest
                if windows is not None and older is not None and oldest:
                    waited = _older(operations, done, channel, seq, windows(channel))
                    older = np.maximum(older, waited)
        hops.append(Hop(name, seq, reads, writes, producer, older))
    return hops


def _moments(
    jobs: NDArray[np.void],
    operations: NDArray[np.void] | None,
    seq: NDArray[np.int64],
    let: bool,
    deadline_ns: float,
    ticks_per_ns: float,
) -> tuple[Times, Times]:
    reads = np.where(jobs["start"] > 0, jobs["start"], 0).astype(np.int64)
    ended = (jobs["finish"] > 0) & ((jobs["status"] & _NO_OUTPUT) == 0)
    writes = np.where(ended, jobs["finish"], 0).astype(np.int64)
    if operations is not None:
        reading = operations[operations["kind"] == _READ]
        if reading.size:
            reads = np.where(reads > 0, _fold(np.minimum, reading, seq, reads), 0)
        # A block that found no room was an output, too; whoever should read it lies beyond the chain's end.
        writing = operations[np.isin(operations["kind"], (*_WRITES, OPERATIONS.index("write-dropped")))]
        if writing.size:
            # A task that records what it writes wrote nothing in the jobs without such an operation.
            writes = _fold(np.maximum, writing, seq, np.zeros(seq.size, dtype=np.int64), absent=0)
    if let:
        due = jobs["release"].astype(np.int64)
        reads = np.where(reads > 0, due, 0)
        writes = np.where(writes > 0, due + round(deadline_ns * ticks_per_ns), 0)
    return np.where(reads > 0, reads, ABSENT), np.where(writes > 0, writes, ABSENT)


def _fold(
    combine: Any,
    operations: NDArray[np.void],
    seq: NDArray[np.int64],
    default: Times,
    absent: int | None = None,
) -> Times:
    """The first or last time of each job's operations; `default` for jobs without one."""
    start = np.iinfo(np.int64).max if combine is np.minimum else 0
    found = np.full(seq.size, start, dtype=np.int64)
    where, there = _positions(operations["seq"].astype(np.int64), seq)
    combine.at(found, where[there], operations["time"].astype(np.int64)[there])
    missing = found == start
    return np.where(missing, default if absent is None else absent, found)


def _positions(values: NDArray[np.int64], ordered: NDArray[np.int64]) -> tuple[NDArray[np.int64], Any]:
    """The position of each value in an ordered array, and a mask of those that are there."""
    at = np.searchsorted(ordered, values)
    there = at < ordered.size
    there[there] = ordered[at[there]] == values[there]
    return at, there


def _between(chain: PlannedChain, system: Ran, writer: str, reader: str) -> list[int]:
    """The channels that lead from one task of a chain to the next: those that its path names, or all."""
    found = [
        number
        for number, channel in enumerate(system.channels)
        if channel.writer == writer and reader in channel.readers
    ]
    named = [number for number in found if system.channels[number].name in chain.path]
    return named or found


def writes_to(operations: NDArray[np.void], channel: int) -> NDArray[np.void]:
    """The writes to a channel, by the numbers of their blocks."""
    written = operations[(operations["channel"] == channel) & np.isin(operations["kind"], _WRITES)]
    ordered: NDArray[np.void] = written[np.argsort(written["sequence"], kind="stable")]
    return ordered


def _reads_of(
    reader: NDArray[np.void], channel: int, written: NDArray[np.void]
) -> tuple[NDArray[np.void], NDArray[np.int64]]:
    """A reader's reads of a channel whose blocks are known, and the place of each block in `written`."""
    read = reader[(reader["channel"] == channel) & (reader["kind"] == _READ) & (reader["sequence"] > 0)]
    block, found = _positions(read["sequence"].astype(np.int64), written["sequence"].astype(np.int64))
    return read[found], block[found]


def _producers(
    operations: NDArray[np.void],
    reader: NDArray[np.void],
    channel: int,
    writer: Hop,
    seq: NDArray[np.int64],
    system: Ran,
) -> NDArray[np.int64]:
    """The position of the newest writer's job whose block each job of the reader read."""
    number = system.task_names.index(writer.task)
    written = writes_to(operations, channel)
    written = written[written["task"] == number]
    read, block = _reads_of(reader, channel, written)
    job, known = _positions(written["seq"].astype(np.int64)[block], writer.seq)
    mine, recorded = _positions(read["seq"].astype(np.int64), seq)
    use = known & recorded
    producer = np.full(seq.size, ABSENT, dtype=np.int64)
    np.maximum.at(producer, mine[use], job[use])
    return producer


def _older(
    operations: NDArray[np.void],
    reader: NDArray[np.void],
    channel: int,
    seq: NDArray[np.int64],
    windows: Windows,
) -> Times:
    """How much older the block of each job is than the one that it would have read without a backlog that
    arose in `windows`.

    Where the reader is no faster than the writer it has no spare job to read such a backlog away.
    """
    written = writes_to(operations, channel)
    read, block = _reads_of(reader, channel, written)
    mine, recorded = _positions(read["seq"].astype(np.int64), seq)
    read, block, mine = read[recorded], block[recorded], mine[recorded]
    older = np.zeros(seq.size, dtype=np.int64)
    if not read.size:
        return older
    order = np.argsort(mine, kind="stable")
    at, block, mine = read["time"].astype(np.int64)[order], block[order], mine[order]
    times = written["time"].astype(np.int64)
    waiting = np.maximum(np.searchsorted(times, at, side="right") - 1 - block, 0)
    before = np.append(0, at[:-1])
    grown = np.where(touched(windows, before, at), np.maximum(np.diff(waiting, prepend=0), 0), 0).cumsum()
    # What has been read away is gone for good.
    more = grown + np.minimum(np.minimum.accumulate(waiting - grown), 0)
    older[mine] = times[block + more] - times[block]
    return older


def simulated_operations(
    channels: Mapping[int, tuple[int, Sequence[int]]],
    reads: Mapping[int, tuple[NDArray[np.int64], Times]],
    writes: Mapping[int, tuple[NDArray[np.int64], Times]],
    arrivals: Mapping[int, Times] | None = None,
) -> NDArray[np.void]:
    """The operations of tasks that read and write at known times, as a recording has them.

    `channels`: for a channel's number its writer's and its readers' numbers. `reads` and `writes`: for a task
    the jobs' sequence numbers and times, in order; a writer without any is outside of the system. What is
    written at an instant can be read at that instant; or, of the channels in `arrivals`, when it arrives
    there: the times of its writer's blocks, in the order of their writing.
    """
    parts = []
    for channel, (writer, readers) in channels.items():
        jobs, times = writes.get(writer, (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)))
        order = np.argsort(times, kind="stable")
        jobs, times = jobs[order], times[order]
        if times.size:
            block = np.arange(1, times.size + 1)
            parts.append(operation_rows(times, block, jobs, writer, channel, "write"))
        for reader in readers:
            mine, at = reads[reader]
            there = times if arrivals is None else arrivals.get(channel, times)
            newest = np.searchsorted(there, at, side="right")
            parts.append(operation_rows(at, newest, mine, reader, channel, "read"))
    return np.concatenate(parts) if parts else np.zeros(0, dtype=OPERATION)


# The row of the table `operations` (include/consort/task/job.hpp).
OPERATION: np.dtype[Any] = np.dtype(_engine.row_layouts()["operations"])


def operation_rows(
    times: Times,
    sequence: NDArray[np.int64],
    seq: NDArray[np.int64],
    task: int | NDArray[np.uint16],
    channel: int,
    kind: str,
) -> NDArray[np.void]:
    """Operations of one kind on a channel, by a task or by the tasks that the rows name."""
    rows = np.zeros(times.size, dtype=OPERATION)
    rows["time"], rows["sequence"], rows["seq"] = times, sequence, seq
    rows["task"], rows["channel"], rows["kind"], rows["count"] = task, channel, OPERATIONS.index(kind), 1
    return rows
