# SPDX-License-Identifier: Apache-2.0
"""Jobs that were too late without all that the machine took of their core.

Let x be the latest moment at which a job may end by its bound, and let its busy period be the time since no
job that delays it was pending. Without the machine it had ended by x. What of it, and of more urgent jobs
that were released by then, was left at x is no longer than the machine took in the busy period. So after x a
job that ends at f needs no longer than that, and what more urgent jobs need that were released since:

    f - x  <=  taken in the busy period + executed of more urgent jobs released in [x, f) + backlog at x

The backlog is what such jobs, alone and without the machine, would have left at x: the job may have ended
before them. A job for which this does not hold was delayed by something that is not a machine's. Where a job
that has begun is not preempted, others may pass it in the machine's time alone: those count that were
released since it had to begin. One that was never served was pending until it was given up, and is judged as
one that ended then.

That is not a proof where a core's time is not all that delays its jobs: with masters as urgent, tasks
released by blocks, self-suspensions, cores that serve others, thresholds, or jobs of which nobody knows what
the machine took. There everything that anybody was seen to take of the core, of its workers and for the cores
that it serves is subtracted. A job that is late beyond that is nobody's for certain, so that the run is
undecided.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from consort.judge.disturbance import DISTURBED, WOKEN_LATE, covered, due, lateness_ns, merged
from consort.judge.samples import Samples
from consort.judge.verdict import Bounds
from consort.plan import PlannedCore, PlannedTask
from consort.record.ran import NONE, STATUS

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Ticks = NDArray[np.int64]


@dataclass(frozen=True)
class Taken:
    """By job (row of the table): how long it executed, and how much of its time the machine took [ns], and
    whether nobody knows that."""

    executed: Floats
    machine: Floats
    unknown: Mask


def too_late(
    samples: Samples, limits: Bounds, taken_on: Callable[[int], Taken], gaps: Mask, *, proven: bool
) -> Mask:
    """The jobs that no machine made so late. `taken_on` a core (its number); `gaps`: the events of cores that
    waited. Without `proven` also those of which that is only likely."""
    late: Mask = np.zeros(samples.jobs.size, dtype=np.bool_)
    most = _most(samples, limits)
    above = samples.response > most[samples.jobs["task"]] * (1 + 1e-9)
    for number, (core, late_ns) in enumerate(
        zip(samples.system.cores, lateness_ns(samples.system), strict=True)
    ):
        here = samples.jobs["core"] == number
        if core.supply is not None or not (above & here).any():
            continue
        names = {samples.system.tasks[task].name for task in np.unique(samples.jobs["task"][here]).tolist()}
        tasks = [t for t in samples.system.tasks if t.name in core.tasks or t.name in names]
        # A core that serves, or has a task of another core, has more to do than its own tasks.
        certain = not core.serves and names <= set(core.tasks)
        if proven and not certain:
            continue
        on = _Core(samples, number, late_ns, taken_on(number))
        more = on.others(gaps)
        for task in tasks:
            window = _window(samples, core, task, tasks) if certain else None
            mine = on.task == samples.number(task.name)
            if (proven and window is None) or not above[on.rows[mine]].any():
                continue
            edf = core.policy == "edf"
            rows, own = on.late(task, tasks, most, window, edf=edf, more=None if proven else more)
            late[rows] = own & above[rows]
    return late


def _most(samples: Samples, limits: Bounds) -> Floats:
    """The longest response of each task by its bound and deadline [ns]."""
    system = samples.system
    most = []
    for task in system.tasks:
        bound = limits.bound(task.name, "response").ns
        most.append(
            min(system.ns(task.deadline_ps), np.inf if bound is None else bound * system.facts.time_scale)
        )
    return np.array(most)


def _window(samples: Samples, core: PlannedCore, task: PlannedTask, tasks: list[PlannedTask]) -> float | None:
    """How long before its end others cannot pass a job any more, without the machine [ns]; None where what
    delays it is not the time of its core alone."""
    alone = len(tasks) == 1
    preempted = core.policy == "edf" or (core.policy == "fixed-priority" and not _thresholds(tasks))
    delaying = tasks if not preempted or core.policy == "edf" else _urgent(task, tasks)
    if not all(
        one.execution == "local"
        and one.arrival is None
        and not one.self_suspension_ps
        and (alone or one.remote_state is None)
        for one in delaying
    ):
        return None
    if preempted or alone:
        return 0.0
    if core.policy == "fixed-priority-non-preemptive":
        return None if task.wcet_ps is None else samples.system.ns(task.wcet_ps)
    return np.inf if core.policy == "fixed-priority" else None


def _thresholds(tasks: list[PlannedTask]) -> bool:
    return any(task.threshold is not None and task.threshold != task.rank for task in tasks)


def _urgent(task: PlannedTask, tasks: list[PlannedTask]) -> list[PlannedTask]:
    return [one for one in tasks if one.rank <= task.rank]


class _Core:
    """The jobs of a core that ended, or were given up, in the order in which they were due [ns from the first
    one on]."""

    def __init__(self, samples: Samples, number: int, late_ns: float, taken: Taken) -> None:
        self.samples, self.late_ns = samples, late_ns
        jobs = samples.jobs
        unserved = (jobs["start"] == 0) & ((jobs["status"] & STATUS["unserved"]) != 0)
        ended = (jobs["start"] > 0) & (jobs["finish"] > 0)
        rows = np.flatnonzero((jobs["core"] == number) & (ended | unserved))
        ready = due(jobs[rows], samples.system, samples.ticks_per_ns)
        rows = rows[np.argsort(ready, kind="stable")]
        self.rows, self.origin = rows, int(ready.min(initial=np.iinfo(np.int64).max))
        self.task = jobs["task"][rows]
        self.release = self._ns(jobs["release"][rows])
        self.due = self._ns(np.sort(ready))
        # One that nobody serves stands for so long.
        stands = np.array([samples.system.pending_ns(task) for task in samples.system.tasks])[self.task]
        self.number, self.given_up = number, unserved[rows]
        self.begin = np.where(self.given_up, self.release + stands, self._ns(jobs["start"][rows]))
        self.end = np.where(self.given_up, self.release + stands, self._ns(jobs["finish"][rows]))
        self.executed, self.machine = taken.executed[rows], taken.machine[rows]
        self.unknown = taken.unknown[rows]
        self.spans = self._spans(jobs[rows])
        self.waits = self._waits(number)

    def _ns(self, ticks: NDArray[np.generic]) -> Floats:
        return self.samples.ns(ticks.astype(np.int64) - self.origin)

    def _spans(self, jobs: NDArray[np.void]) -> tuple[Floats, Floats]:
        """The stretches in which any job executes; a master's job sleeps while it awaits its answer."""
        away = jobs["sent"] > 0
        back = away & (jobs["received"] > 0)
        begin = np.concatenate([self.begin, self._ns(jobs["received"][back])])
        end = np.concatenate([np.where(away, self._ns(jobs["sent"]), self.end), self.end[back]])
        return _union(begin, end)

    def _waits(self, number: int) -> tuple[Floats, Floats]:
        """When threads of the core woke later than bounds count, by its record."""
        events = self.samples.events
        assert events is not None
        mine = (events["kind"] == DISTURBED) & (events["cause"] == WOKEN_LATE)
        mine &= (events["core"] == number) | (events["core"] == NONE)
        end = self._ns(events["time"][mine])
        begin = np.minimum(end - self.samples.ns(events["value"][mine].astype(np.int64)) + self.late_ns, end)
        return _union(begin, end)

    def others(self, gaps: Mask) -> tuple[Floats, Floats]:
        """When anything was seen to keep this core, or a worker of it, from its jobs: the machine, or jobs of
        cores that it serves."""
        samples, jobs = self.samples, self.samples.jobs
        names = samples.system.core_names
        workers = [task.worker for task in samples.system.tasks if task.core == names[self.number]]
        near = [NONE, self.number, *(names.index(name) for name in workers if name in names)]
        events = samples.events
        assert events is not None
        mine = events[gaps & np.isin(events["core"], near)]
        end = self._ns(mine["time"])
        begin = end - samples.ns(mine["value"].astype(np.int64))
        if "worker_receive" in (jobs.dtype.names or ()):
            serves = [task.worker == names[self.number] for task in samples.system.tasks]
            done = jobs[np.array(serves)[jobs["task"]] & (jobs["worker_send"] > 0)]
            begin = np.append(begin, self._ns(done["worker_receive"]))
            end = np.append(end, self._ns(done["worker_send"]))
        return _union(begin, end)

    def late(
        self,
        task: PlannedTask,
        tasks: list[PlannedTask],
        most: Floats,
        window: float | None,
        *,
        edf: bool,
        more: tuple[Floats, Floats] | None,
    ) -> tuple[NDArray[np.int64], Mask]:
        """The rows of a task's jobs, and those of them that were late without the machine.

        `more`: when anything else was seen to take the core, where the rest is not a proof.
        """
        system, number = self.samples.system, self.samples.number(task.name)
        urgent = [self.samples.number(one.name) for one in (tasks if edf else _urgent(task, tasks))]
        delays = np.isin(self.task, urgent)
        mine = self.task == number
        release, end = self.release[mine], self.end[mine]
        since = self._since(delays)[np.cumsum(delays)[mine] - 1]
        machine = self.machine if more is None else np.where(self.unknown, self.executed, self.machine)
        taken = self._taken(delays, since, end, machine)
        taken += 0.0 if more is None else _within(more, since, end)
        by = release + most[number]
        passed = release if window is None else np.maximum(by - window, release)
        others = [one for one in urgent if one != number]
        before = self._backlog(np.isin(self.task, others), passed)
        for one in others:
            # By deadlines only those jobs pass it whose own is not later.
            ahead = system.ns(task.deadline_ps - system.tasks[one].deadline_ps) if edf else np.inf
            before += self._came(self.task == one, passed, np.minimum(end, release + max(ahead, 0.0) + 1.0))
        own = end - by > (taken + before) * (1 + 1e-9) + 1.0
        if more is not None:
            return self.rows[mine], own
        asked = self._sum_of(delays, self.unknown.astype(np.float64), since, end)
        return self.rows[mine], own & (asked < 0.5)

    def _since(self, delays: Mask) -> Floats:
        """The beginning of the busy period of each of these jobs, in the order in which they were due."""
        ready, until = self.due[delays], np.maximum.accumulate(self.end[delays])
        new = np.append(True, ready[1:] >= until[:-1])
        since: Floats = ready[np.flatnonzero(new)[np.cumsum(new) - 1]]
        return since

    def _taken(self, delays: Mask, since: Floats, until: Floats, machine: Floats) -> Floats:
        """The machine's time on the core in these stretches: in its jobs, and before those that delay them
        began."""
        taken = self._sum_of(delays, machine, since, until)
        others = ~delays
        # Of what executes below them, too.
        begun = _before(self.begin[others], machine[others], until)
        taken += begun - _before(self.end[others], machine[others], since)
        waits = _union(*(np.concatenate(ends) for ends in zip(self.waits, self._idle(delays), strict=True)))
        return taken + _within(waits, since, until)

    def _sum_of(self, jobs: Mask, values: Floats, since: Floats, until: Floats) -> Floats:
        """The sum of the values of those that were due from one moment on and began before another."""
        begun = _before(self.begin[jobs], values[jobs], until)
        # Those of an earlier busy period had ended.
        return begun - _before(self.due[jobs], values[jobs], since)

    def _idle(self, delays: Mask) -> tuple[Floats, Floats]:
        """Stretches in which nothing executed although some of these jobs had been due for longer than their
        core may need to wake."""
        # The core may have been idle until one was given up.
        begin, end = (np.append(moments, self.end[self.given_up]) for moments in self.spans)
        order = np.argsort(begin, kind="stable")
        begin, end = begin[order], np.maximum.accumulate(end[order])
        order = np.argsort(self.begin[delays], kind="stable")
        begun, ready = self.begin[delays][order], self.due[delays][order]
        # The first that was due of all that begin then or later.
        first = np.append(np.minimum.accumulate(ready[::-1])[::-1], np.inf)
        pending = first[np.searchsorted(begun, begin, side="left")] + self.late_ns
        idle = np.maximum(np.append(-np.inf, end[:-1]), pending)
        some = idle < begin
        return idle[some], begin[some]

    def _came(self, jobs: Mask, since: Floats, until: Floats) -> Floats:
        """The execution of jobs that were due from one moment on and before another."""
        ready, executed = self.due[jobs], self.executed[jobs]
        return np.maximum(_before(ready, executed, until) - _before(ready, executed, since), 0.0)

    def _backlog(self, jobs: Mask, at: Floats) -> Floats:
        """The work that these jobs would have left at a moment if they had a core for themselves."""
        ready, executed = self.due[jobs], self.executed[jobs]
        if not ready.size:
            return np.zeros(at.size)
        before = np.append(0.0, executed.cumsum())
        idle = np.append(-np.inf, np.maximum.accumulate(ready - before[:-1]))
        came = np.searchsorted(ready, at, side="left")
        left: Floats = np.maximum(before[came] - at + idle[came], 0.0)
        return left


def _before(at: Floats, values: Floats, moment: Floats) -> Floats:
    """The sum of the values of what is before each moment."""
    order = np.argsort(at, kind="stable")
    sums: Floats = np.append(0.0, values[order].cumsum())
    return sums[np.searchsorted(at[order], moment, side="left")]


def _union(begin: Floats, end: Floats) -> tuple[Floats, Floats]:
    some = begin < end
    return merged(begin[some], end[some])


def _within(stretches: tuple[Floats, Floats], since: Floats, until: Floats) -> Floats:
    """The part of each time that the (merged) stretches cover."""
    return covered(*stretches, until) - covered(*stretches, since)
