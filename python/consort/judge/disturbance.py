# SPDX-License-Identifier: Apache-2.0
"""Disturbances of a run by the machine: how long it kept a core from its threads, why, and which jobs that
touched.

A *gap* is a stretch in which a core's thread did not run although it was to. What it delays is not only
the job that it hits: until the core has no job left that was released before, each is later for it. So a
gap disturbs every job that is pending between its beginning and the end of that busy period. A gap on a
worker's core reaches the master's core through the jobs that wait for the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from consort.base.environment import throttled_ns
from consort.record.ran import CAUSES_OF_DISTURBANCE, EVENTS, NONE, STATUS, Ran
from consort.record.raw import RawTable

Ticks = NDArray[np.int64]
_Time = TypeVar("_Time", np.int64, np.float64)
DISTURBED = EVENTS.index("disturbed")
STOPPED, INTERRUPTED, WOKEN_LATE, TAKEN, RESTED = (
    CAUSES_OF_DISTURBANCE.index(cause)
    for cause in ("stopped", "interrupted", "woken late", "taken", "rested")
)
THROTTLED = "real-time throttling"
PREEMPTED = "preempted by another thread"
INTERRUPT = "interrupt"
HOST = "taken by the host"
FIRMWARE = "system-management interrupt"
# Where no mark tells an interrupt, a guest cannot tell the two apart.
EITHER = f"{INTERRUPT}, or {HOST}"
# Causes that leave no trace in a job.
UNTRACED = (INTERRUPT, HOST, FIRMWARE, EITHER)
UNEXPLAINED = "preemption, interrupt or hypervisor"
LATE_WAKE_UP = "late wake-up"
REST = "rest for the kernel's threads"
SHARED_CPU = "another core of the run on its CPU"
EMULATED = "another core, as the emulator executes one at a time"
# A core is late when it takes up a released job, a request or an answer more than this share of the job's
# period after it was there, with nothing else to do meanwhile.
LATE_SHARE = 0.1
# Worker and master may disturb one another in turn; each round carries a gap over one more core.
_ROUNDS = 8


@dataclass(frozen=True)
class Gaps:
    """Stretches of one core in which it did not run, in ticks, and the culprit of each."""

    begin: Ticks
    end: Ticks
    culprit: NDArray[np.object_]

    @staticmethod
    def none() -> Gaps:
        empty = np.zeros(0, dtype=np.int64)
        return Gaps(empty, empty, np.zeros(0, dtype=object))

    def joined(self, other: Gaps) -> Gaps:
        return Gaps(
            np.concatenate([self.begin, other.begin]),
            np.concatenate([self.end, other.end]),
            np.concatenate([self.culprit, other.culprit]),
        )


@dataclass(frozen=True)
class Disturbances:
    """The jobs (rows of the table) that the machine disturbed, those that began late, and the gaps of each
    core."""

    disturbed: NDArray[np.bool_]
    late: NDArray[np.bool_]
    gaps: dict[int, Gaps]


def disturbances(
    table: RawTable,
    events: NDArray[np.void] | None,
    system: Ran,
    ticks_per_ns: float,
    *,
    environment: Mapping[str, Any] | None = None,
    wake_ups: bool = True,
    counted: bool = False,
) -> Disturbances:
    """Finds them. `environment` (of a run's record) says how the kernel throttles real-time threads.

    `wake_ups`: whether a job that begins late on an idle core counts; not so where time is simulated.
    `counted`: time is the instructions that an emulator executes, of all cores together that share it.
    """
    cores = len(system.cores)
    awaited = np.array([round(ns * ticks_per_ns) for ns in lateness_ns(system)], dtype=np.int64)
    gaps = {
        core: _recorded(events, core, int(awaited[core]), ticks_per_ns, environment) for core in range(cores)
    }
    if not wake_ups and not counted and not any(mine.begin.size for mine in gaps.values()):
        # No machine takes part in simulated time.
        none = np.zeros(table.spec.rows, dtype=np.bool_)
        return Disturbances(none, none, gaps)
    jobs = np.asarray(table.rows)
    spans = _Spans(jobs, system, ticks_per_ns)
    late = np.zeros(jobs.size, dtype=np.bool_)
    for core, others in (_sharing(system) if wake_ups or counted else {}).items():
        begin, end = merged(*_joined(*(spans.executing(other) for other in others)))
        hits = touched(merged(*spans.on(core)), begin, end)
        culprit = np.full(int(hits.sum()), EMULATED if counted else SHARED_CPU, dtype=object)
        gaps[core] = gaps[core].joined(Gaps(begin[hits], end[hits], culprit))
    if wake_ups:
        idle = _late_wake_ups(jobs, system, spans, awaited)
        late = idle > 0
        for core in range(cores):
            mine = late & (spans.core == core)
            since = spans.due[mine] + awaited[core]
            # Several jobs may wait for the same wake-up.
            begin, end = merged(since, since + idle[mine])
            begin, end = merged(*_joined((begin, end), spans.late_exchanges(core)))
            gaps[core] = gaps[core].joined(Gaps(begin, end, np.full(begin.size, LATE_WAKE_UP, dtype=object)))
    disturbed = np.zeros(jobs.size, dtype=np.bool_)
    carried = dict(gaps)
    for _ in range(_ROUNDS):
        before = int(disturbed.sum())
        # A job that its worker's core delays holds its master's core for as long.
        delayed = np.zeros(jobs.size, dtype=np.bool_)
        for core in range(cores):
            windows = _windows(carried[core], *spans.on(core))
            mine = spans.core == core
            disturbed[mine] |= touched(windows, spans.release[mine], spans.until[mine])
            served = spans.worker == core
            hit = touched(windows, spans.sent[served], spans.answered[served])
            disturbed[served] |= hit
            # Its worker was silent, so it was not sent: what kept the worker away keeps its answer away.
            unsent = spans.silent == core
            disturbed[unsent] |= touched(windows, spans.release[unsent], spans.until[unsent])
            delayed[np.flatnonzero(served)[hit]] = True
        if int(disturbed.sum()) == before:
            break
        for core in range(cores):
            mine = delayed & (spans.core == core)
            more = Gaps(spans.sent[mine], spans.answered[mine], np.full(int(mine.sum()), "", dtype=object))
            carried[core] = gaps[core].joined(more)
    return Disturbances(disturbed, late, gaps)


class _Spans:
    """The core of each job and the intervals in which it was pending, in ticks."""

    def __init__(self, jobs: NDArray[np.void], system: Ran, ticks_per_ns: float) -> None:
        def ticks(values: list[float]) -> Ticks:
            found: Ticks = np.rint(np.array(values) * ticks_per_ns).astype(np.int64)[jobs["task"]]
            return found

        cores = system.core_names
        workers = [cores.index(t.worker) if t.worker in cores else -1 for t in system.tasks]
        self.release = jobs["release"].astype(np.int64)
        self.start = jobs["start"].astype(np.int64)
        self.finish = jobs["finish"].astype(np.int64)
        self.core = jobs["core"].astype(np.int64)
        longest = ticks([system.pending_ns(t) for t in system.tasks])
        self.due = due(jobs, system, ticks_per_ns)
        # A release that was not served was given up after this long.
        self.until = np.where(self.finish > 0, self.finish, self.release + longest)
        exchanged = jobs["sent"] > 0
        asked = np.array(workers, dtype=np.int64)[jobs["task"]]
        self.worker = np.where(exchanged, asked, -1)
        lost = (jobs["status"] & STATUS["worker_lost"]) != 0
        self.silent = np.where(lost & ~exchanged, asked, -1)
        self.sent = jobs["sent"].astype(np.int64)
        received = jobs["received"].astype(np.int64)
        self.received = received > 0
        self.answered = np.where(self.received, received, self.until)
        have = jobs.dtype.names or ()
        none = np.zeros(jobs.size, dtype=np.int64)
        self.taken = jobs["worker_receive"].astype(np.int64) if "worker_receive" in have else none
        self.returned = jobs["worker_send"].astype(np.int64) if "worker_send" in have else none
        self.allowed = np.maximum(1, ticks([LATE_SHARE * system.ns(t.period_ps) for t in system.tasks]))

    def late_exchanges(self, core: int) -> tuple[Ticks, Ticks]:
        """Intervals in which requests lay before a worker's core that was free, and answers before a
        master's."""
        served = self.worker == core
        remote = (self.core == core) & (self.finish > 0) & (self.sent > 0)
        busy = merged(*self.executing(core))
        whole = (self.taken > 0) & (self.returned > 0) & self.received
        waits = []
        for rows, since, until in (
            (served & whole, self.sent, self.taken),
            (remote & whole, self.returned, self.answered),
        ):
            since, until = since[rows], until[rows]
            free = until - since - (covered(*busy, until) - covered(*busy, since))
            late = free > self.allowed[rows]
            waits.append((since[late], until[late]))
        return _joined(*waits)

    def executing(self, core: int) -> tuple[Ticks, Ticks]:
        """Intervals in which jobs had begun on a core and not ended, without a master's waits for answers."""
        served, mine = self.worker == core, self.core == core
        local = mine & (self.finish > 0) & (self.sent == 0)
        remote = mine & (self.finish > 0) & (self.sent > 0)
        return _joined(
            (self.taken[served], self.returned[served]),
            (self.start[local], self.finish[local]),
            (self.start[remote], self.sent[remote]),
            (self.answered[remote], self.finish[remote]),
        )

    def on(self, core: int) -> tuple[Ticks, Ticks]:
        """Beginning and end of the stretches in which jobs keep a core busy, or wait to."""
        mine = (self.core == core) & (self.finish > 0)
        served = self.worker == core
        begin = np.concatenate([self.release[mine], self.sent[served]])
        end = np.concatenate([self.finish[mine], self.answered[served]])
        return begin, end


def due(jobs: NDArray[np.void], system: Ran, ticks_per_ns: float) -> Ticks:
    """When each job was ready by its release and jitter: what comes later is not the description's jitter."""
    release = jobs["release"].astype(np.int64)
    if "ready" not in (jobs.dtype.names or ()):
        return release
    jitter = np.array([system.ns(task.jitter_ps) for task in system.tasks])[jobs["task"]]
    most = release + np.rint(jitter * ticks_per_ns).astype(np.int64)
    ready = jobs["ready"].astype(np.int64)
    return np.where(ready > 0, np.maximum(np.minimum(ready, most), release), release)


def _sharing(system: Ran) -> dict[int, list[int]]:
    """The other cores of the run on the same CPU, for each core that shares its CPU."""
    cpus = [system.facts.cpus.get(name) for name in system.core_names]
    shared = {
        core: [other for other, its in enumerate(cpus) if other != core and its == cpu]
        for core, cpu in enumerate(cpus)
        if cpu is not None and cpu >= 0
    }
    return {core: others for core, others in shared.items() if others}


def lateness_ns(system: Ran) -> list[float]:
    """How late each core may wake for a release by its bounds: the machine has no part in that."""
    return [system.ns(core.timer_lateness_ps or 0) if core.tasks else 0.0 for core in system.cores]


def _recorded(
    events: NDArray[np.void] | None,
    core: int,
    awaited: int,
    ticks_per_ns: float,
    environment: Mapping[str, Any] | None,
) -> Gaps:
    if events is None:
        return Gaps.none()
    mine = events[(events["kind"] == DISTURBED) & ((events["core"] == core) | (events["core"] == NONE))]
    end = mine["time"].astype(np.int64)
    lasted = mine["value"].astype(np.int64)
    cause = mine["cause"]
    culprit = np.full(mine.size, UNEXPLAINED, dtype=object)
    culprit[cause == STOPPED] = PREEMPTED
    guest = bool((environment or {}).get("hypervisor"))
    marked = (environment or {}).get("machine") == "x86_64"
    culprit[cause == INTERRUPTED] = EITHER if guest and not marked else INTERRUPT
    culprit[cause == TAKEN] = HOST if guest else FIRMWARE
    culprit[cause == WOKEN_LATE] = LATE_WAKE_UP
    culprit[cause == RESTED] = REST
    lasts = throttled_ns(environment or {})
    if lasts is not None:
        ns = lasted / ticks_per_ns
        other = np.isin(cause, (INTERRUPTED, TAKEN, RESTED))
        culprit[~other & (ns >= lasts[0]) & (ns <= lasts[1])] = THROTTLED
    begin = end - lasted + np.where(cause == WOKEN_LATE, awaited, 0)
    some = begin < end
    return Gaps(begin[some], end[some], culprit[some])


def _late_wake_ups(jobs: NDArray[np.void], system: Ran, spans: _Spans, awaited: Ticks) -> Ticks:
    """The time that each job that began late, or never, waited while its core was free, beyond what its bound
    counts (`awaited`, by core) [ticks]; 0 for all others."""
    late = np.zeros(jobs.size, dtype=np.int64)
    # A three-phase job waits for its slot by design, and a job of a worker may wait for the one before.
    timed = np.array([t.execution == "three-phase" for t in system.tasks])[jobs["task"]]
    # A thread that spins records what kept it; one that slept through a whole period has its job alone.
    asleep = np.array([core.time_base != "spin" for core in system.cores])[spans.core]
    local = np.array([t.execution == "local" for t in system.tasks])[jobs["task"]]
    skipped = asleep & local & (spans.start == 0) & ((jobs["status"] & STATUS["unserved"]) != 0)
    for core in range(len(system.cores)):
        here = spans.core == core
        begun = np.flatnonzero(here & (spans.start > 0) & ~timed)
        mine = np.flatnonzero(here & ((spans.start > 0) | skipped) & ~timed)
        if not mine.size:
            continue
        begin, end = merged(spans.start[begun], _ends(spans, begun))
        until = np.where(spans.start[mine] > 0, spans.start[mine], spans.until[mine])
        waited = until - spans.due[mine]
        busy = covered(begin, end, until) - covered(begin, end, spans.due[mine])
        free = waited - busy
        most = np.maximum(spans.allowed[mine], awaited[core])
        late[mine] = np.where(free > most, free - awaited[core], 0)
    return late


def _ends(spans: _Spans, begun: NDArray[np.int64]) -> Ticks:
    """The end of each of these jobs of a core; of one that never ended, the start of the next one."""
    start, finish = spans.start[begun], spans.finish[begun]
    order = np.sort(start)
    following = np.append(order, np.iinfo(np.int64).max)[np.searchsorted(order, start, side="right")]
    return np.where(finish > 0, np.maximum(finish, start), following)


def merged(begin: NDArray[_Time], end: NDArray[_Time]) -> tuple[NDArray[_Time], NDArray[_Time]]:
    """The union of intervals as intervals that neither overlap nor touch one another's inside."""
    if not begin.size:
        return begin, end
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], np.maximum.accumulate(end[order])
    new = np.append(True, begin[1:] >= end[:-1])
    first = np.flatnonzero(new)
    return begin[first], end[np.append(first[1:], begin.size) - 1]


def _joined(*intervals: tuple[Ticks, Ticks]) -> tuple[Ticks, Ticks]:
    """Several lists of intervals as one."""
    return np.concatenate([i[0] for i in intervals]), np.concatenate([i[1] for i in intervals])


def covered(begin: NDArray[_Time], end: NDArray[_Time], at: NDArray[_Time]) -> NDArray[_Time]:
    """The part of the time before each instant that the (merged) intervals cover."""
    total = np.append(0, np.cumsum(end - begin))
    before = np.searchsorted(begin, at, side="right")
    # The last interval that began may not have ended.
    covered: NDArray[_Time] = total[before]
    if begin.size:
        covered = covered - np.where(before > 0, np.maximum(end[np.maximum(before - 1, 0)] - at, 0), 0)
    return covered


def _windows(gaps: Gaps, begin: Ticks, end: Ticks) -> tuple[Ticks, Ticks]:
    """Windows from each gap to the end of its busy period."""
    if not gaps.begin.size:
        return gaps.begin, gaps.end
    busy, idle = merged(np.concatenate([begin, gaps.begin]), np.concatenate([end, gaps.end]))
    period = np.searchsorted(busy, gaps.begin, side="right") - 1
    return merged(gaps.begin, np.maximum(idle[period], gaps.end))


def touched(windows: tuple[Ticks, Ticks], begin: Ticks, end: Ticks) -> NDArray[np.bool_]:
    """A mask of the stretches that overlap a window."""
    starts, ends = windows
    if not starts.size:
        return np.zeros(begin.size, dtype=np.bool_)
    last = np.searchsorted(starts, end, side="left") - 1
    touched: NDArray[np.bool_] = (last >= 0) & (ends[np.maximum(last, 0)] > begin)
    return touched
