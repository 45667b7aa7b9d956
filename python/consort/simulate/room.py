# SPDX-License-Identifier: Apache-2.0
"""Blocks of channels that hand out the oldest one: which job takes each, and which find no room."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from consort.judge.chains import operation_rows
from consort.record.ran import OPERATIONS, Ran

Times = NDArray[np.int64]


def taken_in_order(
    there: Times, reads: Times, capacity: int, *, several: bool = False
) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
    """The blocks that are dropped for want of room; and for each read the number of the newest block that was
    taken by then (from 1; 0: none), and how many it took.

    `there`: when blocks come, ascending; `reads`: when jobs read, ascending. A block that comes at
    the instant of a read comes before it. `several`: a job takes all that wait, not one.
    """
    dropped = np.zeros(there.size, dtype=np.bool_)
    newest = np.zeros(reads.size, dtype=np.int64)
    count = np.zeros(reads.size, dtype=np.int64)
    waiting: deque[int] = deque()
    come, last, times = 0, 0, there.tolist()

    def enter() -> None:
        if len(waiting) < capacity:
            waiting.append(come + 1)
        else:
            dropped[come] = True

    for job, at in enumerate(reads.tolist()):
        while come < len(times) and times[come] <= at:
            enter()
            come += 1
        take = len(waiting) if several else min(1, len(waiting))
        for _ in range(take):
            last = waiting.popleft()
        newest[job], count[job] = last, take
    while come < len(times):
        enter()
        come += 1
    return dropped, newest, count


def in_order_operations(
    ends: tuple[int, int, int],
    writes: tuple[NDArray[np.int64], Times],
    reads: tuple[NDArray[np.int64], Times],
    arrives: Times | None,
    capacity: int,
    *,
    several: bool,
) -> NDArray[np.void]:
    """The operations on such a channel, as a run records them.

    `ends`: the numbers of the channel, of its writer and of its reader. `writes` and `reads`: their jobs'
    sequence numbers and times; a read at 0 is that of a job that never began. `arrives`: when the blocks are
    there, in the order of their writing, if that is later.
    """
    channel, writer, reader = ends
    order = np.argsort(writes[1], kind="stable")
    jobs, written = writes[0][order], writes[1][order]
    began = reads[1] > 0
    mine, at = reads[0][began], reads[1][began]
    there = written if arrives is None else arrives
    dropped, newest, count = taken_in_order(there, at, capacity, several=several)
    block = np.arange(1, written.size + 1)
    made = operation_rows(written, block, jobs, writer, channel, "write")
    made["kind"][dropped] = OPERATIONS.index("write-dropped")
    made["count"][dropped] = 0
    taken = operation_rows(at, newest, mine, reader, channel, "read")
    taken["count"] = count
    return np.concatenate([made, taken])


def waiting_in(operations: NDArray[np.void], numbers: Iterable[int]) -> list[int]:
    """The channels among these, which hand out the oldest block, in which blocks wait that nobody took."""
    write, read = OPERATIONS.index("write"), OPERATIONS.index("read")
    found = []
    for number in numbers:
        here = operations[operations["channel"] == number]
        taken = int(here["count"][here["kind"] == read].sum())
        if np.count_nonzero(here["kind"] == write) > taken:
            found.append(number)
    return found


def dropped_of(operations: NDArray[np.void], ran: Ran) -> dict[str, int]:
    """The blocks that found no room, by channel; channels that dropped none are left out."""
    rows = operations[operations["kind"] == OPERATIONS.index("write-dropped")]
    numbers, counts = np.unique(rows["channel"], return_counts=True)
    return {ran.channel_names[n]: count for n, count in zip(numbers.tolist(), counts.tolist(), strict=True)}
