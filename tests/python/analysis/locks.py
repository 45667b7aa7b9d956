# SPDX-License-Identifier: Apache-2.0
"""One core with locks, tick by tick: what blocking by resources is held against.

Nobody is kept from a lock by a priority here but by what executes: with ceilings it asserts that none is
taken twice. With inheritance a job that finds its lock taken waits, and the holder goes on in its place.
"""

from __future__ import annotations

from random import Random


def with_locks(
    programs: list[list[int | None]],
    periods: list[int],
    offsets: list[int],
    until: int,
    eager: bool,
    ceiling: bool = True,
    inherits: bool = False,
) -> list[int]:
    """The longest response of each task; the first is the most urgent.

    A program says for each tick which resource the job holds. `eager`: a job whose next tick is in a section
    has the resource from the end of the tick before, so that what comes just then finds it taken.
    """
    ceilings: dict[int, int] = {}
    for task, program in enumerate(programs):
        for r in program:
            if r is not None:
                ceilings[r] = min(ceilings.get(r, task), task)
    jobs: list[dict[str, int]] = []
    owner: dict[int, int | None] = dict.fromkeys(ceilings)
    longest = [0] * len(programs)
    now = 0

    def took(job: dict[str, int]) -> int | None:
        """The resource that it holds, if any."""
        return next((r for r, holder in owner.items() if holder == job["id"]), None)

    def urgency(job: dict[str, int]) -> tuple[int, int]:
        held = took(job)
        own = job["task"]
        raised = held is not None and ceiling and not inherits
        return (min(own, ceilings[held]) if raised else own, 0 if job["done"] else 1)  # type: ignore[index]

    def take(job: dict[str, int]) -> None:
        program = programs[job["task"]]
        wanted = program[job["done"]] if job["done"] < len(program) else None
        held = took(job)
        if held is not None and held != wanted:
            owner[held] = None
        if wanted is not None and held != wanted:
            assert owner[wanted] is None, "two jobs hold one resource"
            owner[wanted] = job["id"]

    def holder_before(job: dict[str, int]) -> int | None:
        """The other job that holds what this one needs for its next tick, if any."""
        wanted = programs[job["task"]][job["done"]]
        holder = None if wanted is None else owner[wanted]
        return None if holder == job["id"] else holder

    def goes_on() -> dict[str, int]:
        """The jobs that go on: the most urgent job, or the one that holds what it wants, and so on."""
        job = min(jobs, key=urgency)
        while inherits and (holder := holder_before(job)) is not None:
            job = next(one for one in jobs if one["id"] == holder)
        return job

    number = 0
    while now < until or jobs:
        for task, (period, offset) in enumerate(zip(periods, offsets, strict=True)):
            if now < until and now >= offset and (now - offset) % period == 0:
                jobs.append({"task": task, "due": now, "done": 0, "id": number})
                number += 1
        if jobs:
            job = goes_on()
            take(job)
            job["done"] += 1
            finished = job["done"] == len(programs[job["task"]])
            held = took(job)
            program = programs[job["task"]]
            gives_back = held is not None and (finished or program[job["done"]] != held)
            if held is not None and gives_back:
                owner[held] = None
            if finished:
                jobs.remove(job)
                longest[job["task"]] = max(longest[job["task"]], now + 1 - job["due"])
            elif eager and not gives_back and holder_before(job) is None:
                take(job)
        now += 1
    return longest


def tiny(random: Random) -> tuple[list[list[int | None]], list[int]]:
    """Programs and periods of a few tasks that share one or two resources."""
    programs: list[list[int | None]] = []
    for _ in range(random.randint(2, 4)):
        program: list[int | None] = []
        for _ in range(random.randint(1, 3)):
            r = random.choice((None, 0, 0, 1))
            # Nothing of the resource between two sections of it: they would be one.
            if r is not None and program and program[-1] == r:
                r = None
            program += [r] * random.randint(1, 3)
        programs.append(program)
    return programs, [random.choice((12, 15, 20, 30, 40)) for _ in programs]
