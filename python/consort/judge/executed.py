# SPDX-License-Identifier: Apache-2.0
"""The system's part in jobs that the machine disturbed: the machine's time is subtracted, and no more.

A thread that was interrupted in a job is known to have been on its processor for the job's CPU time.
Interrupts use some of that: at most so often and so long as they did while cores waited. What is left is a
lower limit of what the job executed, and what is above the WCET is the system's. Of a job that others of its
core came into it is known how long it was off its processor: what is more than theirs, the machine took. A
job is the system's, too, that would have been too late without all that the machine can have taken since its
core was idle; and one whose worker died, or did not answer although nothing kept it for so long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from consort.judge.disturbance import (
    DISTURBED,
    INTERRUPTED,
    STOPPED,
    TAKEN,
    covered,
    merged,
    touched,
)
from consort.judge.lateness import Taken, too_late
from consort.judge.samples import Samples
from consort.judge.verdict import Bounds
from consort.record.ran import EVENTS, NONE, STATUS, executes_ns

Mask = NDArray[np.bool_]
Ticks = NDArray[np.int64]
_EXECUTED, _PREEMPTED, _DIED, _BACK = (
    EVENTS.index(name) for name in ("executed", "preempted", "worker-died", "worker-back")
)
# Timers of kernels interrupt at most once in that time.
TICK_NS = 1_000_000
# No interrupt with what it entails is taken to last longer than that without having been seen to; and one
# that was seen to take longer is not taken to be the rule.
LONGEST_NS = 100_000
# Where no core that waited saw one.
USUAL_NS = 20_000


@dataclass(frozen=True)
class Executed:
    """Execution of the jobs (rows of the table) that the machine disturbed.

    `least`: what each executed at least [ns], 0 where nothing is known. `own`: the jobs that are the system's
    whatever the machine did. `open`: those that executed for longer than their WCET by more than interrupts
    take, but not by more than what was once taken of a core; `late`: those that were too late by as much.
    `dead`: those of `own` whose worker was dead, which no stop of a core explains.
    `events`: those of the record with the machine's share of preempted jobs among them, and without those of
    interrupted jobs that are `own`: they disturbed nothing.
    """

    least: NDArray[np.float64]
    own: Mask
    open: Mask
    late: Mask
    dead: Mask
    events: NDArray[np.void] | None

    @staticmethod
    def nothing(samples: Samples) -> Executed:
        none = np.zeros(samples.size, dtype=np.bool_)
        return Executed(np.zeros(samples.size), none, none, none, none, samples.events)


def executed(samples: Samples, limits: Bounds) -> Executed:
    """Finds it, for time that a machine measured."""
    if samples.events is None or not samples.size:
        return Executed.nothing(samples)
    watched = _Watched(samples)
    wcet = _wcets(samples, limits)
    least, own, open_ = _overruns(samples, watched, wcet)
    unanswered, dead = _unanswered(samples, watched, wcet, own)
    own |= unanswered
    longest = max(watched.interrupt_ns, LONGEST_NS)
    own |= _slow(samples, watched, limits, longest, watched.host_ns, proven=True)
    late = _slow(samples, watched, limits, min(watched.interrupt_ns, LONGEST_NS), 0.0, proven=True)
    late |= _slow(samples, watched, limits, longest, watched.host_ns, proven=False)
    return Executed(least, own, open_ & ~own, late & ~open_ & ~own, dead, watched.without(own))


def _wcets(samples: Samples, limits: Bounds) -> NDArray[np.float64]:
    """The WCET of each task, in ns; inf if none is known."""
    known = [limits.wcets.get(task.name, executes_ns(task)) for task in samples.system.tasks]
    return np.array([np.inf if ns is None else ns for ns in known])


class _Watched:
    """The events that speak of whole jobs, and those of cores that waited."""

    def __init__(self, samples: Samples) -> None:
        assert samples.events is not None
        self.samples = samples
        jobs, events = samples.jobs, samples.events
        self.end = events["time"].astype(np.int64)
        self.lasted = events["value"].astype(np.int64)
        self.core = events["core"].astype(np.int64)
        disturbed = (events["kind"] == DISTURBED) & np.isin(events["cause"], (STOPPED, INTERRUPTED, 0))
        cpu = self._cpu_times()
        workers = [
            samples.system.core_names.index(task.worker) if task.worker in samples.system.core_names else -1
            for task in samples.system.tasks
        ]
        self.worker = np.array(workers, dtype=np.int64)[jobs["task"]]
        have = jobs.dtype.names or ()
        none = np.zeros(jobs.size, dtype=np.int64)
        self.taken = jobs["worker_receive"].astype(np.int64) if "worker_receive" in have else none
        self.returned = jobs["worker_send"].astype(np.int64) if "worker_send" in have else none
        # For each job the event of the core that released it, and of the one that computed it; -1 without.
        start, finish = jobs["start"].astype(np.int64), jobs["finish"].astype(np.int64)
        place = jobs["core"].astype(np.int64)
        candidates = np.flatnonzero(disturbed)
        self.master_event = self._around(candidates, cpu, place, start, finish)
        self.worker_event = self._around(candidates, cpu, self.worker, self.taken, self.returned)
        self.whole = np.zeros(events.size, dtype=np.bool_)
        for found in (self.master_event, self.worker_event):
            self.whole[found[found >= 0]] = True
        # The time that a thread did not have of its processor in a job, and whether that is known; the last
        # entry is that of a job without an event (-1).
        self.off = np.append(np.where(cpu >= 0, self.lasted - np.minimum(cpu, self.lasted), 0), 0)
        self.known = np.append((cpu >= 0) | (events["cause"] == INTERRUPTED), False)
        waited = (events["kind"] == DISTURBED) & ~self.whole
        ns = samples.ns(self.lasted)
        interrupts = ns[waited & (events["cause"] == INTERRUPTED)]
        self.interrupt_ns = float(interrupts.max()) if interrupts.size else USUAL_NS
        self.host_ns = float(ns[waited & (events["cause"] == TAKEN)].max(initial=0.0))
        self.gaps = waited
        self.others = _Others.of(self)

    def _cpu_times(self) -> Ticks:
        """The job's CPU time for each event `disturbed`, -1 if none is recorded."""
        events = self.samples.events
        assert events is not None
        found = np.full(events.size, -1, dtype=np.int64)
        stated = np.flatnonzero(events["kind"] == _EXECUTED)
        keys = self._keys(stated)
        order = np.argsort(keys, kind="stable")
        asked = np.flatnonzero(events["kind"] == DISTURBED)
        at = np.searchsorted(keys[order], self._keys(asked))
        there = at < keys.size
        there[there] = keys[order][at[there]] == self._keys(asked)[there]
        found[asked[there]] = self.lasted[stated[order[at[there]]]]
        return found

    def _keys(self, rows: NDArray[np.int64]) -> Ticks:
        cores = len(self.samples.system.cores)
        core = np.minimum(self.core[rows], cores)
        first = int(self.end.min(initial=np.iinfo(np.int64).max))
        return (self.end[rows] - first) * (cores + 1) + core

    def _around(
        self, candidates: NDArray[np.int64], cpu: Ticks, core: Ticks, begin: Ticks, end: Ticks
    ) -> NDArray[np.int64]:
        """The event that each job's core recorded when the job had ended, or -1."""
        found = np.full(begin.size, -1, dtype=np.int64)
        ran = (begin > 0) & (end > 0)
        for place in np.unique(core[core >= 0]).tolist():
            events = candidates[self.core[candidates] == place]
            events = events[np.argsort(self.end[events], kind="stable")]
            mine = np.flatnonzero(ran & (core == place))
            at = np.searchsorted(self.end[events], end[mine])
            mine, at = mine[at < events.size], at[at < events.size]
            event = events[at]
            around = self.end[event] - self.lasted[event] <= begin[mine]
            # An event with its CPU time is of the last job that had ended.
            ends = np.sort(end[mine])
            last = ends[np.searchsorted(ends, self.end[event], side="right") - 1] if mine.size else ends
            around |= (cpu[event] >= 0) & (last == end[mine])
            found[mine[around]] = event[around]
        return found

    def without(self, chosen: Mask) -> NDArray[np.void]:
        """The events, without those of whole jobs that are chosen. A preempted job that the machine stopped
        is one that was stopped, as long as the job."""
        events = self.samples.events
        assert events is not None
        dropped = np.zeros(self.whole.size, dtype=np.bool_)
        for found in (self.master_event, self.worker_event):
            dropped[found[chosen & (found >= 0)]] = True
        dropped[self.master_event[self.others.resumed]] = True
        jobs = self.samples.jobs
        stopped = np.flatnonzero((self.others.stolen > 0) & ~chosen)
        if stopped.size:
            at = self.others.event[stopped]
            events = events.copy()
            events["kind"][at], events["cause"][at] = DISTURBED, STOPPED
            events["value"][at] = events["time"][at] - jobs["start"][stopped]
        return events[~dropped]

    def interrupted(self, remote: Mask) -> Mask:
        """Jobs into whose execution a gap of its core reaches that is not an event of a whole job."""
        jobs = self.samples.jobs
        place = np.where(remote, self.worker, jobs["core"].astype(np.int64))
        begin = np.where(remote, self.taken, jobs["start"].astype(np.int64))
        end = np.where(remote, self.returned, jobs["finish"].astype(np.int64))
        found = np.zeros(jobs.size, dtype=np.bool_)
        for core in np.unique(place).tolist():
            gaps = self.gaps & ((self.core == core) | (self.core == NONE))
            mine = place == core
            stopped = merged(self.end[gaps] - self.lasted[gaps], self.end[gaps])
            found[mine] = touched(stopped, begin[mine], end[mine])
        return found

    def may_have_taken(self, ns: NDArray[np.float64], longest_ns: float) -> NDArray[np.float64]:
        """The time that interrupts may have taken of stretches of that length, each at most `longest_ns`."""
        return (1 + np.floor(ns / TICK_NS)) * longest_ns


@dataclass(frozen=True)
class _Others:
    """Jobs that others of their core came into: the event that says so of each, or -1; how long it was off
    its processor [ticks]; how many others came meanwhile; and for how long the machine had it [ticks].

    `resumed`: jobs that were recorded as stopped, and were by masters of their core whose answers came.
    """

    event: NDArray[np.int64]
    off: Ticks
    count: NDArray[np.int64]
    stolen: Ticks
    resumed: Mask

    @staticmethod
    def of(watched: _Watched) -> _Others:
        samples = watched.samples
        events, jobs = samples.events, samples.jobs
        assert events is not None
        event = np.full(jobs.size, -1, dtype=np.int64)
        finish, core = jobs["finish"].astype(np.int64), jobs["core"].astype(np.int64)
        said = np.flatnonzero(events["kind"] == _PREEMPTED)
        for task in np.unique(events["task"][said]).tolist():
            mine = said[events["task"][said] == task]
            rows = np.flatnonzero((samples.task == task) & (finish > 0))
            rows = rows[np.argsort(finish[rows], kind="stable")]
            # It is of the job that had ended last.
            at = np.searchsorted(finish[rows], watched.end[mine], side="right") - 1
            event[rows[at[at >= 0]]] = mine[at >= 0]
        had = event >= 0
        # No job begins where one resumes: what that preempts is said to be stopped.
        stopped = ~had & (watched.master_event >= 0) & (jobs["sent"] == 0)
        stopped &= (events["cause"][watched.master_event] == STOPPED) if events.size else False
        stopped &= np.isin(core, np.flatnonzero(_asleep(samples)))
        off = np.where(had, watched.lasted[event] if events.size else 0, 0)
        off = np.where(stopped, watched.off[watched.master_event], off)
        until = np.where(had, watched.end[event] if events.size else 0, finish)
        inside, count = _inside(watched, until, np.unique(core[had | stopped]).tolist())
        # To switch to another thread and back takes time, too.
        switched = count * round(USUAL_NS * samples.ticks_per_ns)
        stolen = np.maximum(off - inside - switched, 0)
        resumed = stopped & (inside > 0) & (stolen == 0)
        known = had | resumed
        return _Others(event, off, np.where(known, count, 0), np.where(had, stolen, 0), resumed)


def _asleep(samples: Samples) -> Mask:
    """The cores whose masters sleep while they wait for an answer."""
    return np.array([core.wait == "sleep" for core in samples.system.cores], dtype=np.bool_)


def _inside(watched: _Watched, until: Ticks, cores: Sequence[int]) -> tuple[Ticks, NDArray[np.int64]]:
    """How long others of its core executed in the middle of each job of some cores, from its start until
    then, and how many came."""
    jobs = watched.samples.jobs
    lasted, count = np.zeros(jobs.size, dtype=np.int64), np.zeros(jobs.size, dtype=np.int64)
    start, finish = jobs["start"].astype(np.int64), jobs["finish"].astype(np.int64)
    sent, received = jobs["sent"].astype(np.int64), jobs["received"].astype(np.int64)
    asleep = _asleep(watched.samples)[np.minimum(jobs["core"], len(watched.samples.system.cores) - 1)]
    for core in cores:
        here = (jobs["core"] == core) & (start > 0) & (until > 0)
        local = np.flatnonzero(here & ((sent == 0) | ~asleep))
        master = np.flatnonzero(here & (sent > 0) & asleep)
        back = master[received[master] > 0]
        served = np.flatnonzero((watched.worker == core) & (watched.taken > 0) & (watched.returned > 0))
        begin = np.concatenate([start[local], start[master], received[back], watched.taken[served]])
        end = np.concatenate([until[local], sent[master], finish[back], watched.returned[served]])
        rows = np.concatenate([local, np.full(begin.size - local.size, -1, dtype=np.int64)])
        order = np.lexsort((-end, begin))
        begin, end, rows = begin[order], end[order], rows[order]
        count[local] = np.searchsorted(begin, until[local]) - np.searchsorted(begin, start[local], "right")
        # Of those under way the last one executes.
        under_way: list[tuple[int, int]] = []
        for since, to, row in zip(begin.tolist(), end.tolist(), rows.tolist(), strict=True):
            while under_way and under_way[-1][0] <= since:
                under_way.pop()
            if under_way and under_way[-1][1] >= 0:
                lasted[under_way[-1][1]] += min(to, under_way[-1][0]) - since
            under_way.append((to, row))
    return lasted, count


def _overruns(
    samples: Samples, watched: _Watched, wcet: NDArray[np.float64]
) -> tuple[NDArray[np.float64], Mask, Mask]:
    """The least execution of each job, and the jobs that are above the WCET for certain, or perhaps."""
    jobs = samples.jobs
    allowed = wcet[jobs["task"]] * (1 + 1e-9) + samples.resolution_ns
    remote = (watched.taken > 0) & (watched.returned > 0)
    computed = (jobs["compute"] > 0) & ((jobs["status"] & STATUS["local_fallbacks"]) == 0)
    local = (jobs["sent"] == 0) & computed
    # A step that the master computed instead of the worker has another WCET; one that the worker did all the
    # same, this.
    span = np.where(remote, watched.returned - watched.taken, jobs["compute"].astype(np.int64))
    answered = remote & (jobs["compute"] > 0) & ((jobs["status"] & _NO_ANSWER) == 0)
    # The worker's time beside the step: it takes the input, and gives the output.
    beside = (span - jobs["compute"].astype(np.int64))[answered]
    span = np.where(answered, jobs["compute"].astype(np.int64), span)
    span = np.where(remote & ~answered, span - int(beside.max(initial=0)), span)
    event = np.where(remote, watched.worker_event, watched.master_event)
    judged = (local | remote) & _alone(samples)
    # In the middle of which nothing came, whatever came before or after it.
    preempted = local & (watched.others.event >= 0)
    whole = judged & (event < 0) & ~preempted & ~watched.interrupted(remote)
    judged &= watched.known[event]
    off = np.where(judged, watched.off[event], np.where(preempted, watched.others.off, 0))
    judged |= preempted
    ns = np.maximum(samples.ns(span - off), 0.0)
    # Each job that came into it was released by an interrupt more.
    longest, often = max(watched.interrupt_ns, LONGEST_NS), min(watched.interrupt_ns, LONGEST_NS)
    certain = watched.may_have_taken(ns, longest) + watched.others.count * longest + watched.host_ns
    usual = watched.may_have_taken(ns, often) + watched.others.count * often
    least = np.where(whole, ns, np.where(judged, ns - certain, 0.0))
    own = least > allowed
    return np.where(own, least, 0.0), own, judged & ~own & (ns - usual > allowed)


_NO_ANSWER = STATUS["outputs_held"] | STATUS["local_fallbacks"]


def _alone(samples: Samples) -> Mask:
    """Jobs in the middle of which no other job of the run began on the same core."""
    single = np.zeros(samples.jobs.size, dtype=np.bool_)
    for number in range(len(samples.system.tasks)):
        single[samples.rows_of(number)] = samples.alone(number, fallbacks=True)
    return single


def _slow(
    samples: Samples,
    watched: _Watched,
    limits: Bounds,
    interrupt_ns: float,
    host_ns: float,
    *,
    proven: bool,
) -> Mask:
    """Jobs above their bound or deadline without what the machine took of their core: what was seen, and so
    much in each interrupt, and unseen in each job that was interrupted. Without `proven` also where that is
    no proof."""

    def taken_on(core: int) -> Taken:
        jobs, others = samples.jobs, watched.others
        begin, end = jobs["start"].astype(np.int64), jobs["finish"].astype(np.int64)
        had = others.event >= 0
        until = np.where(had, watched.end[others.event] if had.any() else 0, end)
        inside, count = _inside(watched, until, [core])
        event = watched.master_event
        # Threads are switched in the machine's time here: nobody knows better.
        switched = others.count * round(USUAL_NS * samples.ticks_per_ns)
        off = np.where(had, others.stolen + switched, watched.off[event])
        own = samples.ns(np.maximum(end - begin - inside, 0))
        seen = samples.ns(off) + watched.may_have_taken(own, interrupt_ns) + host_ns
        hit = had | (event >= 0)
        nobody = ~had & (((event >= 0) & ~watched.known[event]) | (count > 0))
        nobody |= ~hit & watched.interrupted(np.zeros(jobs.size, dtype=np.bool_))
        return Taken(np.maximum(own - samples.ns(off), 0.0), np.where(hit, seen, 0.0), nobody)

    return too_late(samples, limits, taken_on, watched.gaps, proven=proven)


def _unanswered(
    samples: Samples, watched: _Watched, wcet: NDArray[np.float64], overran: Mask
) -> tuple[Mask, Mask]:
    """Jobs without an answer in time whose worker was dead, or was not kept by the machine for so long; and
    those of them whose worker was dead."""
    jobs = samples.jobs
    missed = (jobs["status"] & (STATUS["deadline_misses"] | STATUS["outputs_held"])) != 0
    asked = (watched.worker >= 0) & (jobs["start"] > 0) & ((jobs["status"] & _NO_ANSWER) != 0) & missed
    if not asked.any():
        return asked, asked
    sent, given_up = jobs["sent"].astype(np.int64), jobs["received"].astype(np.int64)
    answered = (sent > 0) & (given_up > 0) & ((jobs["status"] & _NO_ANSWER) == 0)
    sent = np.where(sent > 0, sent, jobs["start"].astype(np.int64))
    longest = np.array([samples.system.pending_ns(task) for task in samples.system.tasks])
    ticks = np.rint(longest * samples.ticks_per_ns).astype(np.int64)[jobs["task"]]
    until = np.where(given_up > sent, given_up, sent + ticks)
    dead: Mask = asked & _dead(samples, watched, sent, until)
    own = dead.copy()
    exchange = samples.ns(given_up - sent - jobs["compute"].astype(np.int64))
    for core in np.unique(watched.worker[asked]).tolist():
        here = watched.worker == core
        needs = wcet[jobs["task"]] + float(exchange[answered & here].max(initial=0.0))
        slack = samples.ns(until - sent) - needs
        kept = _kept(samples, watched, core, sent, until, overran)
        own |= asked & here & (jobs["sent"] > 0) & (slack > 0) & (kept < slack)
    return own, dead


def _dead(samples: Samples, watched: _Watched, sent: Ticks, until: Ticks) -> Mask:
    """Jobs that were under way when their worker died, or were sent before it was back."""
    events = samples.events
    assert events is not None
    dead: Mask = np.zeros(sent.size, dtype=np.bool_)
    for event in np.flatnonzero(events["kind"] == _DIED):
        died, core = int(watched.end[event]), int(watched.core[event])
        mine = watched.worker == core if core != NONE else watched.worker >= 0
        tasks = np.unique(samples.jobs["task"][mine])
        back = watched.end[(events["kind"] == _BACK) & np.isin(events["task"], tasks) & (watched.end > died)]
        again = int(back.min(initial=np.iinfo(np.int64).max))
        # A death is noticed afterwards: of a job that was just given up, too.
        dead |= mine & (until + (until - sent) >= died) & (sent <= again)
    return dead


def _kept(
    samples: Samples, watched: _Watched, core: int, sent: Ticks, until: Ticks, overran: Mask
) -> NDArray[np.float64]:
    """The longest time that the machine, and other jobs in their time, kept a worker and its masters from
    each exchange [ns]."""
    served = (watched.worker == core) & (watched.taken > 0) & (watched.returned > 0)
    masters = np.unique(samples.jobs["core"][watched.worker == core])
    gaps = watched.gaps & np.isin(watched.core, [core, *masters.tolist(), NONE])
    taken = np.where(served & (watched.taken > sent), np.minimum(watched.taken, until), sent)
    returned = np.clip(np.where(served, watched.returned, taken), taken, until)
    stopped = merged(watched.end[gaps] - watched.lasted[gaps], watched.end[gaps])
    everyone = merged(watched.taken[served], watched.returned[served])
    good = served & ~overran
    others = merged(watched.taken[good], watched.returned[good])
    kept = covered(*stopped, until) - covered(*stopped, sent)
    kept += covered(*others, until) - covered(*others, sent)
    # The time of a job's own execution kept it from nothing, and is in its WCET.
    kept -= np.where(good, returned - taken, 0)
    # A request that was taken up in the end lay there before a worker that had nothing else to do.
    kept += (taken - sent) - (covered(*everyone, taken) - covered(*everyone, sent))
    for event in (watched.master_event, watched.worker_event):
        kept += np.where(event >= 0, watched.off[event], 0)
    kept += watched.others.stolen
    interrupts = watched.may_have_taken(samples.ns(until - sent), max(watched.interrupt_ns, LONGEST_NS))
    return samples.ns(kept) + interrupts + watched.host_ns
