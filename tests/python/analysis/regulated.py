# SPDX-License-Identifier: Apache-2.0
"""Cores with regulated accesses to one memory, tick by tick: what bounds with budgets are held against.

The memory serves one access at a time, in turn; an access is not given up once it is asked for. A core that
has seen as many accesses end as its budget holds is stopped until its next period begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random


@dataclass
class Port:
    """One core's regulator, and its place at the memory."""

    budget: int | None
    period: int
    phase: int
    # An access that ends as a period begins counts in the new one, or in the old one.
    late: bool
    ended: int = 0
    asking: bool = False

    @property
    def stalled(self) -> bool:
        return self.budget is not None and self.ended >= self.budget

    def begins(self, now: int) -> bool:
        return (now - self.phase) % self.period == 0


def simulated(
    programs: Sequence[str],
    periods: Sequence[int],
    offsets: Sequence[int],
    until: int,
    ports: Sequence[Port],
    access: tuple[int, int],
    random: Random,
) -> list[int]:
    """The longest response of each task of the first core; the others access memory as often as they may.

    A program is a text of `c` (a tick of computing) and `a` (an access).
    """
    jobs: list[list[int]] = []  # task, due, place in its program
    longest = [0] * len(programs)
    own, holder, turn, left, now = ports[0], -1, 0, 0, 0
    asked: list[int] = []  # the job that awaits its access

    def finish(job: list[int], at: int) -> None:
        job[2] += 1
        if job[2] == len(programs[job[0]]):
            jobs.remove(job)
            longest[job[0]] = max(longest[job[0]], at - job[1])

    greedy = random.choice((1.0, 1.0, 0.5))
    # The others may have kept quiet until then, and have all of their budgets left as their periods end.
    quiet = random.choice((0, max(0, offsets[-1] + random.randint(-1, 2))))
    while now < until or jobs:
        for port in ports:
            if port.late and port.begins(now):
                port.ended = 0
        if holder >= 0 and left == 0:
            ports[holder].ended += 1
            ports[holder].asking = False
            if holder == 0:
                finish(asked, now)
                asked = []
            turn, holder = holder + 1, -1
        for port in ports:
            if not port.late and port.begins(now):
                port.ended = 0
        for task, (period, offset) in enumerate(zip(periods, offsets, strict=True)):
            if offset <= now < until and (now - offset) % period == 0:
                jobs.append([task, now, 0])
        computes: list[int] = []
        if jobs and not asked and not own.stalled:
            job = min(jobs)
            if programs[job[0]][job[2]] == "a":
                asked, own.asking = job, True
            else:
                computes = job
        for port in ports[1:]:
            if now >= quiet and not port.stalled and not port.asking and random.random() < greedy:
                port.asking = True
        if holder < 0:
            waiting = [(turn + k) % len(ports) for k in range(len(ports))]
            holder = next((k for k in waiting if ports[k].asking), -1)
            left = random.choice((*access, random.randint(*access)))
        now += 1
        left -= 1
        if computes:
            finish(computes, now)
    return longest
