# SPDX-License-Identifier: Apache-2.0
"""One core with a real cache, tick by tick: what bounds of preemption delay are held against.

It knows nothing of useful or evicting blocks: a program is a list of blocks that it touches in turn, a hit
takes a tick and a miss as many more as a reload takes. The sets of the analysis are computed from programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random


@dataclass
class Cache:
    """Sets of a few ways, replaced least recently used first; one way is a direct-mapped cache."""

    sets: int
    ways: int

    def __post_init__(self) -> None:
        self.held: list[list[tuple[int, int]]] = [[] for _ in range(self.sets)]

    def touch(self, owner: int, block: int) -> bool:
        """True if it is there; in either case it is then the most recent one."""
        lines = self.held[block % self.sets]
        hit = (owner, block) in lines
        if hit:
            lines.remove((owner, block))
        lines.append((owner, block))
        del lines[: -self.ways]
        return hit


def alone(program: Sequence[int], cache: Cache, reload: int) -> int:
    """The time of a job that nothing preempts, from an empty cache."""
    return sum(1 + (0 if cache.touch(0, block) else reload) for block in program)


def useful(program: Sequence[int], sets: int, ways: int) -> list[dict[int, int]]:
    """At each point of a program: by set, how many blocks that are in the cache will be hit there."""
    found = []
    for point in range(1, len(program)):
        cache = Cache(sets, ways)
        for block in program[:point]:
            cache.touch(0, block)
        there = {block for lines in cache.held for _, block in lines}
        hit: set[int] = set()
        for block in program[point:]:
            if cache.touch(0, block) and block in there:
                hit.add(block)
            elif block in there:
                there.discard(block)
        found.append({s: sum(block % sets == s for block in hit) for s in {b % sets for b in hit}})
    return found


def simulated(
    programs: Sequence[Sequence[int]],
    periods: Sequence[int],
    offsets: Sequence[int],
    until: int,
    cache: Cache,
    reload: int,
) -> list[int]:
    """The longest response of each task under preemptive fixed priorities; the first is the most urgent."""
    jobs: list[list[int]] = []  # task, due, place in its program, ticks left of the access under way
    longest = [0] * len(programs)
    now = 0
    while now < until or jobs:
        for task, (period, offset) in enumerate(zip(periods, offsets, strict=True)):
            if offset <= now < until and (now - offset) % period == 0:
                jobs.append([task, now, 0, 0])
        if jobs:
            job = min(jobs)
            program = programs[job[0]]
            if job[3] == 0:
                job[3] = 1 if cache.touch(job[0], program[job[2]]) else 1 + reload
                job[2] += 1
            job[3] -= 1
            if job[3] == 0 and job[2] == len(program):
                jobs.remove(job)
                longest[job[0]] = max(longest[job[0]], now + 1 - job[1])
        now += 1
    return longest


def a_program(random: Random, sets: int) -> list[int]:
    """A few loops over a few blocks."""
    program: list[int] = []
    for _ in range(random.randint(1, 2)):
        body = [random.randrange(2 * sets) for _ in range(random.randint(1, 5))]
        program += body * random.randint(1, 4)
    return program
