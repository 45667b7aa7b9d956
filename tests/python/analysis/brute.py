# SPDX-License-Identifier: Apache-2.0
"""A core simulated tick by tick, as plainly as it can be written: what the analyses are held against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass
class Job:
    task: int
    due: int
    release: int
    execution: int
    key: tuple[int, ...]
    left: int = 0
    start: int = -1
    finish: int = -1

    @property
    def response(self) -> int:
        return self.finish - self.due


def jobs_of(
    task: int,
    c: int,
    t: int,
    d: int,
    *,
    until: int,
    offset: int = 0,
    late: Sequence[int] = (),
    policy: str = "fp",
) -> list[Job]:
    """Periodic jobs of a task; job k comes `late[k]` after it was due, but not before the one before it."""
    jobs: list[Job] = []
    for k in range(max(0, -(-(until - offset) // t))):
        due = offset + k * t
        release = due + (late[k % len(late)] if late else 0)
        if jobs:
            release = max(release, jobs[-1].release)
        key = (task, k) if policy == "fp" else (due + d, task, k)
        jobs.append(Job(task, due, release, c, key))
    return jobs


def run(jobs: list[Job], *, preemptive: bool = True) -> list[Job]:
    """Executes the jobs to their end; the smallest key first."""
    waiting = sorted(jobs, key=lambda job: job.release)
    ready: list[Job] = []
    running: Job | None = None
    time = 0
    for job in jobs:
        job.left = job.execution
    while waiting or ready or running:
        while waiting and waiting[0].release <= time:
            ready.append(waiting.pop(0))
        if running is None or preemptive:
            if running is not None:
                ready.append(running)
            running = min(ready, key=lambda job: job.key, default=None)
            if running is None:
                time = waiting[0].release
                continue
            ready.remove(running)
        if running.start < 0:
            running.start = time
        running.left -= 1
        time += 1
        if running.left == 0:
            running.finish = time
            running = None
    return jobs


def worst(jobs: list[Job]) -> dict[int, int]:
    """The longest response of each task."""
    longest: dict[int, int] = {}
    for job in jobs:
        longest[job.task] = max(longest.get(job.task, 0), job.response)
    return longest
