# SPDX-License-Identifier: Apache-2.0
"""Recordings of a system on a machine that interrupts it, made up by a seed, with faults planted in them.

The machine has a tick that interrupts whatever runs, and a thread that wants a CPU for itself now and then.
The executive records what it sees of that: gaps while a core waits, and for a job that was interrupted how
much CPU time it had.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from system_recording import Recording

US, MS = 1_000, 1_000_000
WORKER_DIED, DISTURBED, WORKER_BACK, EXECUTED = 4, 11, 2, 31
STOPPED, INTERRUPTED, WOKEN_LATE = 1, 2, 3
LATE, HELD, LOST = 1 << 0, 1 << 1, 1 << 3
PERIOD, WCET, DEADLINE = 20 * MS, 1 * MS, 10 * MS
# So late a core that sleeps may wake, by the bounds of its tasks.
LATENESS = 3 * MS


@dataclass(frozen=True)
class Planted:
    """By job: how long its step executes beyond the WCET [ns], how long its thread spins after its step, and
    how late its core wakes for it. When the worker dies, and is back [ns]."""

    overruns: dict[int, int]
    died: int | None = None
    back: int | None = None
    stalls: Mapping[int, int] = field(default_factory=dict)
    wakes: Mapping[int, int] = field(default_factory=dict)


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
