# SPDX-License-Identifier: Apache-2.0
"""Recordings of a system on a machine that interrupts it, made up by a seed, with faults planted in them.

The machine has a tick that interrupts whatever runs, and a thread that wants a CPU for itself now and then.
The executive records what it sees of that: gaps while a core waits, and for a job that was interrupted how
much CPU time it had.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from system_recording import Recording

US, MS = 1_000, 1_000_000
WORKER_DIED, DISTURBED, WORKER_BACK, EXECUTED, PREEMPTED = 4, 11, 2, 31, 32
STOPPED, INTERRUPTED, WOKEN_LATE = 1, 2, 3
LATE, HELD, LOST = 1 << 0, 1 << 1, 1 << 3
PERIOD, WCET, DEADLINE = 20 * MS, 1 * MS, 10 * MS
# So late a core that sleeps may wake, by the bounds of its tasks.
LATENESS = 3 * MS


@dataclass(frozen=True)
class Planted:
    """By job: how long its step executes beyond the WCET [ns], how long its thread spins after its step, and
    how late its core wakes for it. When the worker dies, and is back [ns].

    Of a core of several tasks: `wakes`: by how much a job's wake-up is lost although its core is there;
    `keeps`: the jobs that nobody preempts."""

    overruns: dict[int, int]
    died: int | None = None
    back: int | None = None
    stalls: Mapping[int, int] = field(default_factory=dict)
    wakes: Mapping[int, int] = field(default_factory=dict)
    keeps: frozenset[int] = frozenset()


NOTHING = Planted({})


class Machine:
    """Interruptions of a core: at the times of its tick, for at most `longest` each, and a hog of its CPU."""

    def __init__(self, random: random.Random, end: int, *, loaded: bool) -> None:
        phase = random.randrange(4 * MS)
        self.ticks = [(at, random.randint(1 * US, 15 * US)) for at in range(phase, end, 4 * MS)]
        many = random.randrange(8) if loaded else 0
        self.hog = sorted((random.randrange(end), random.randint(50 * US, 3 * MS)) for _ in range(many))

    def run(self, begin: int, executes: int) -> tuple[int, int, bool]:
        """A thread that executes from `begin` on: when it is done, its CPU time, and whether it was hit."""
        end, cpu, hit = begin + executes, executes, False
        at = begin
        for start, lasts, off in sorted(
            [(*tick, False) for tick in self.ticks] + [(*one, True) for one in self.hog]
        ):
            if at <= start < end:
                end, hit = end + lasts, True
                cpu += 0 if off else lasts
        return end, cpu, hit

    def seen(self, recording: Recording, core: str, waits: list[tuple[int, int]]) -> None:
        """Records the gaps of a core that spun in these stretches."""
        for gaps, why in ((self.ticks, INTERRUPTED), (self.hog, STOPPED)):
            for at, lasts in gaps:
                if any(begin <= at and at + lasts < end for begin, end in waits):
                    recording.event(DISTURBED, at + lasts, lasts, core=core, why=why)


def job_event(recording: Recording, core: str, begin: int, end: int, cpu: int) -> None:
    """Adds the event that an executive records of an interrupted job."""
    why = STOPPED if end - begin > cpu + 20 * US else INTERRUPTED
    recording.event(DISTURBED, end, end - begin, core=core, why=why)
    recording.event(EXECUTED, end, cpu, core=core)


def local_system(seed: int, planted: Planted, jobs: int = 60, *, sleeps: bool = False) -> Recording:
    """A task on its own core, as the executive serves and records it."""
    draw = random.Random(seed)
    facts = {"deadline_ns": DEADLINE, "wcet_ns": WCET, "period_ns": PERIOD}
    recording = _system(facts | ({"lateness_ns": LATENESS} if sleeps else {}), jobs)
    machine = Machine(draw, jobs * PERIOD, loaded=seed % 2 == 1)
    waits: list[tuple[int, int]] = []
    free = 0
    for seq in range(jobs):
        release = seq * PERIOD
        if free > release + PERIOD:
            recording.job("a", seq, 0, 0)
            continue
        late = planted.wakes.get(seq, 0)
        start = max(release + late, free) + 2 * US
        if late > LATENESS:
            recording.event(DISTURBED, release + late, late, task="a", core="m0", why=WOKEN_LATE)
        waits.append((free, start))
        executes = _executes(draw, planted, seq)
        returned = machine.run(start, executes)[0]
        free, cpu, hit = machine.run(start, executes + planted.stalls.get(seq, 0))
        recording.job("a", seq, start - release, free - release, compute=returned - start)
        if hit:
            job_event(recording, "m0", start - 1 * US, free + 1 * US, cpu + 2 * US)
        free += 2 * US
    if not sleeps:
        machine.seen(recording, "m0", waits)
    return recording


def offloaded_system(seed: int, planted: Planted, jobs: int = 60) -> Recording:
    """A task that a worker computes; its master spins for the answer until the period is nearly over."""
    draw = random.Random(seed)
    facts = {"worker": "w0", "execution": "offloaded", "deadline_ns": PERIOD, "wcet_ns": WCET}
    recording = _system(facts | {"period_ns": PERIOD}, jobs)
    end = jobs * PERIOD
    machine, remote = (Machine(draw, end, loaded=seed % 2 == 1) for _ in range(2))
    waits: list[tuple[int, int]] = []
    served: list[tuple[int, int]] = []
    free = 0
    for seq in range(jobs):
        release = seq * PERIOD
        start, sent, give_up = release + 2 * US, release + 3 * US, release + PERIOD - 200 * US
        taken, returned, cpu, hit = _served(remote, max(sent + 1 * US, free), _executes(draw, planted, seq))
        died = planted.died is not None and returned >= planted.died
        died = died and (planted.back is None or taken < planted.back)
        exchange: dict[str, int] = {"sent": sent - release}
        if not died:
            exchange |= {"worker_receive": taken - release, "worker_send": returned - release}
            waits.append((free, taken))
            served.append((taken, returned))
            free = returned + 1 * US
            if hit:
                job_event(recording, "w0", taken - 1 * US, returned + 1 * US, cpu + 2 * US)
        late = died or returned + 1 * US > give_up
        received = give_up if late else returned + 1 * US
        finish, cpu, hit = machine.run(received, 3 * US)
        status = (LATE | HELD if late else 0) | (LOST if died else 0)
        compute = 0 if late else returned - taken - 2 * US
        row = {"received": received - release, "compute": compute, "status": status, **exchange}
        recording.job("a", seq, start - release, finish - release, **row)
        # The master spins: the tick comes into each long wait.
        if hit or any(start <= at < finish for at, _ in machine.ticks):
            job_event(recording, "m0", start - 1 * US, finish + 1 * US, finish - start + 2 * US)
    if planted.died is not None:
        recording.event(WORKER_DIED, planted.died + draw.randrange(300 * US), core="w0")
        if planted.back is not None:
            recording.event(WORKER_BACK, planted.back, 0, task="a", core="m0")
    remote.seen(recording, "w0", waits)
    return recording


def _served(machine: Machine, taken: int, executes: int) -> tuple[int, int, int, bool]:
    returned, cpu, hit = machine.run(taken, executes + 2 * US)
    return taken, returned, cpu, hit


def _system(facts: dict[str, Any], jobs: int) -> Recording:
    return Recording({"a": facts}, duration_ns=jobs * PERIOD)


def _executes(draw: random.Random, planted: Planted, seq: int) -> int:
    if seq in planted.overruns:
        return WCET + planted.overruns[seq]
    return draw.randint(WCET // 10, WCET - 20 * US)


@dataclass
class _Pending:
    """A job of a core of several tasks; its thread has been at it from `since` on."""

    task: str
    seq: int
    release: int
    awake: int
    key: tuple[int, int]
    left: int
    stall: int = 0
    keeps: bool = False
    since: int = -1
    start: int = 0
    cpu: int = 0
    hit: bool = False
    others: bool = False


# A thread needs so long until its job begins, and from its end on until another one runs.
_BEFORE, _AFTER = 3 * US, 2 * US


def shared_system(
    seed: int,
    tasks: Mapping[str, Mapping[str, int]],
    planted: Mapping[str, Planted],
    length: int,
    *,
    edf: bool = False,
    hogs: Sequence[tuple[int, int]] = (),
) -> Recording:
    """Tasks of one core that preempt one another, the most urgent first, as the executive serves and records
    them: {name: its period, WCET and offset [ns]}. Their core sleeps. `hogs`: when another thread takes the
    core besides, and for how long [ns]."""
    draw = random.Random(seed)
    facts = {
        name: {f"{key}_ns": value for key, value in one.items()}
        | {"deadline_ns": one["period"], "lateness_ns": LATENESS, "rank": rank}
        for rank, (name, one) in enumerate(tasks.items())
    }
    recording = Recording(facts, duration_ns=length)
    machine = Machine(draw, length, loaded=seed % 2 == 1)
    to_come = []
    for rank, (name, one) in enumerate(tasks.items()):
        for seq in range(-(-(length - one["offset"]) // one["period"])):
            release = one["offset"] + seq * one["period"]
            over = planted.get(name, NOTHING).overruns.get(seq)
            executes = draw.randint(one["wcet"] // 2, one["wcet"] - 20 * US)
            executes = executes if over is None else one["wcet"] + over
            key = (release + one["period"], rank) if edf else (rank, release)
            mine = planted.get(name, NOTHING)
            stall, keeps = mine.stalls.get(seq, 0), seq in mine.keeps
            left = executes + stall + _BEFORE + _AFTER
            awake = release + mine.wakes.get(seq, 0)
            to_come.append(_Pending(name, seq, release, awake, key, left, stall, keeps))
    to_come.sort(key=lambda job: (job.awake, job.key))
    others = [*machine.hog, *hogs]
    taken = sorted([(*tick, False) for tick in machine.ticks] + [(*one, True) for one in others])
    _serve(recording, tasks, to_come, taken)
    return recording


def _serve(
    recording: Recording,
    tasks: Mapping[str, Mapping[str, int]],
    to_come: list[_Pending],
    taken: list[tuple[int, int, bool]],
) -> None:
    """The jobs in the order of their keys, between what the machine takes of the core."""
    ready: list[_Pending] = []
    now = 0
    while to_come or ready:
        while to_come and to_come[0].awake <= now:
            ready.append(to_come.pop(0))
        if not ready:
            now = to_come[0].awake
            continue
        if taken and taken[0][0] < now:
            # It began while nothing ran.
            now = max(now, taken[0][0] + taken[0][1])
            taken.pop(0)
            continue
        job = min(ready, key=lambda one: one.key)
        if job.since < 0:
            if now > job.release + tasks[job.task]["period"]:
                recording.job(job.task, job.seq, 0, 0)
                ready.remove(job)
                continue
            job.since, job.start = now, now + _BEFORE
            for other in ready:
                other.others |= other.since >= 0 and other is not job
            if job.keeps:
                job.key = (-1, 0)
        event = now + job.left
        for next_ in (taken[0][0] if taken else event, to_come[0].awake if to_come else event):
            event = max(now, min(event, next_))
        ran = event - now
        if not job.cpu and ran < _BEFORE:
            # What comes so soon comes just before it.
            event, ran = now + _BEFORE, _BEFORE
        job.cpu, job.left, now = job.cpu + ran, job.left - ran, event
        if taken and taken[0][0] <= now and job.left > 0:
            _, lasts, off = taken.pop(0)
            job.hit, now = True, now + lasts
            job.cpu += 0 if off else lasts
        if not job.left:
            _ended(recording, job, now)
            ready.remove(job)


def _ended(recording: Recording, job: _Pending, now: int) -> None:
    finish = now - _AFTER
    times = (job.start - job.release, finish - job.release)
    recording.job(job.task, job.seq, *times, compute=finish - job.start - job.stall)
    if job.others:
        recording.event(PREEMPTED, now, now - job.since - job.cpu, task=job.task, core="m0")
    elif job.hit:
        job_event(recording, "m0", job.since, now, job.cpu)
