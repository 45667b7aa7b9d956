# SPDX-License-Identifier: Apache-2.0
"""The judge: one function that holds a run, simulated, counted or measured, against its bounds."""

from __future__ import annotations

import platform
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.base.environment import throttling, under_hypervisor
from consort.judge import checks as check
from consort.judge import rows as figures
from consort.judge import words
from consort.judge.deaths import lost_jobs, taken_for_dead
from consort.judge.disturbance import HOST, LATE_WAKE_UP, UNTRACED, Disturbances, disturbances
from consort.judge.executed import Executed, executed
from consort.judge.outputs import Expected, WrongOutput, compare, not_finite
from consort.judge.samples import Samples
from consort.judge.stops import Stops
from consort.judge.verdict import UNDECIDED_ABOVE, Bounds, Verdict
from consort.record.findings import JobCounts, NotFinite, Pause, Row, Unseen
from consort.record.ran import EVENTS, STATUS
from consort.record.raw import RawRun
from consort.record.sections import Held
from consort.record.summary import miss_causes

_MEASURED = ("compute", "response")


def hits_unseen(samples: Samples, rows: Sequence[Row], found: Disturbances) -> tuple[Unseen, ...]:
    """An estimate for each task with undisturbed jobs above a bound: in how many the host may have come
    between.

    It is an estimate from below and excuses nothing: the waits of a core are taken to last as long as the
    whole run, and only what lasted as long as the smallest excess counts. Without such a job, or where the
    host took nothing, there is nothing to say.
    """
    above = [row for row in rows if row.kind == "task" and row.above and row.quantity in _MEASURED]
    # One a task: of its responses, where those are above their bound.
    chosen = {row.subject: row for quantity in _MEASURED for row in above if row.quantity == quantity}
    estimates = (_of_task(samples, row, found) for row in chosen.values())
    return tuple(one for one in estimates if one.taken)


def _of_task(samples: Samples, row: Row, found: Disturbances) -> Unseen:
    task = samples.number(row.subject)
    mine = samples.rows_of(task)
    quiet = mine[~found.disturbed[mine]]
    over = _seen(samples, row)[quiet] - (row.bound or 0.0)
    excess = float(over[over > 0].min(initial=np.inf))
    taken, hits = 0, 0.0
    for core, busy in _busy(samples, task, quiet).items():
        gaps = found.gaps[core]
        lasted = (gaps.end - gaps.begin) / samples.ticks_per_ns
        here = int(np.count_nonzero((gaps.culprit == HOST) & (lasted >= excess)))
        taken += here
        hits += here * busy
    return Unseen(row.subject, row.above, excess, taken, hits)


def _seen(samples: Samples, row: Row) -> NDArray[np.float64]:
    """The row's quantity of each job, in ns."""
    return samples.response if row.quantity == "response" else samples.ns(samples.jobs["compute"])


def _busy(samples: Samples, task: int, rows: NDArray[np.int64]) -> dict[int, float]:
    """The share of the run in which the jobs of those rows execute, on each of the task's cores."""
    jobs = samples.jobs[rows]
    start, finish = jobs["start"].astype(np.int64), jobs["finish"].astype(np.int64)
    ended = finish > 0
    whole = max(1, samples.released_for)
    names = samples.system.core_names
    facts = samples.system.tasks[task]
    shares = {int(jobs["core"][0]): float((finish - start)[ended].sum()) / whole} if jobs.size else {}
    if facts.worker in names and "worker_send" in (jobs.dtype.names or ()):
        served = (jobs["worker_receive"] > 0) & (jobs["worker_send"] > 0)
        spent = jobs["worker_send"].astype(np.int64) - jobs["worker_receive"].astype(np.int64)
        shares[names.index(facts.worker)] = float(spent[served].sum()) / whole
    return shares


_NOT_ITS_OWN = STATUS["outputs_held"] | STATUS["unserved"] | STATUS["aborted"]


def judge(
    record: RawRun | Samples,
    bounds: Bounds | None = None,
    *,
    expected: Mapping[str, Expected] | None = None,
    expected_events: Collection[str] = (),
    environment: Mapping[str, Any] | None = None,
    undecided_above: float = UNDECIDED_ABOVE,
    stops: Stops | None = None,
) -> Verdict:
    """Judges one configuration of a run: its record, or the samples of it where that is judged again.

    `bounds` are in the system's own time: with a time scale they are stretched. `expected`: for a task its
    expected outputs. `expected_events` names events (worker-died) that were provoked. `environment`: that of
    the run's record, which tells throttling from other causes; without it a measured run is taken to be
    judged on the machine that it ran on. `undecided_above`: the share (0 to 1) of a task's jobs, or of the
    times of a channel or a chain, that the machine may disturb, where some of these are above a limit.
    `stops`: how the machine stops the run's cores, where that was watched; what exceeds a limit by no more
    and no more often is undecided.

    The system held if every job that the machine did not disturb met its deadline and its bounds, no output
    was wrong, every planned job was done, and nothing crashed or was lost. Nothing is known of it where the
    machine disturbed more than that share, where a task, a mode or a chain was never seen, or where simulated
    time counts nothing for a figure that nobody gave. Raises BadInput where the recording does not describe
    its tasks, or has no table `jobs`.
    """
    samples = record if isinstance(record, Samples) else Samples.of(record)
    limits = bounds or Bounds()
    provenance = samples.record.manifest.clock.provenance
    if environment is None and provenance == "measured":
        environment = {**throttling(), "hypervisor": under_hypervisor(), "machine": platform.machine()}
    # Only a machine interrupts a job.
    own = executed(samples, limits) if provenance == "measured" else Executed.nothing(samples)
    found = disturbances(
        samples.table,
        own.events,
        samples.system,
        samples.ticks_per_ns,
        environment=environment,
        wake_ups=provenance in ("measured", "emulated"),
        counted=provenance == "counted",
    )
    found = replace(found, disturbed=found.disturbed & ~own.own)
    if stops is not None:
        seen, seen_for = _seen_waiting(samples, found)
        stops = replace(stops, seen_ns=seen, seen_for_ns=seen_for)
    wrong, errors, beside = _outputs(samples, expected or {})
    endless = _not_finite(samples, expected or {}, beside, wrong)
    counts = _counts(samples, found.disturbed)
    rows, ways = figures.rows_of(samples, limits, found, provenance, stops, own.dead)
    # What follows from a job that may have been stopped may as well.
    stopped = figures.perhaps_stopped(samples, rows, found)
    beside_stops = replace(found, disturbed=found.disturbed | stopped)
    checks = (
        # The time of an emulator that does not count is the emulating machine's: no WCET is held against it.
        *(check.executions(samples, limits, found, own, stops) if provenance != "emulated" else ()),
        *check.releases(samples, found),
        *check.channels(samples, beside_stops),
        *check.remote_states(samples, limits),
        *check.links(samples, expected_events, rows),
        *check.reported(samples, beside_stops),
    )
    pauses = _pauses(samples, found)
    crashes = check.crashes(samples, expected_events)
    unseen = hits_unseen(samples, rows, found)
    mistaken = taken_for_dead(samples, found, expected_events)
    ordinary = samples.ordinary if provenance == "measured" else ()
    failures = words.reasons(
        rows,
        counts,
        checks,
        (*errors, *endless),
        crashes,
        provenance,
        unseen,
        pauses,
        ordinary,
        check.crashes(samples, ()),
        lost_jobs(mistaken),
    )
    unknown = (
        *words.undecided(rows, counts, undecided_above),
        *words.perhaps_longer(samples, own),
        *words.perhaps_alive(samples, mistaken),
        *(words.cannot_be_shown(rows, checks, stops) if stops is not None else ()),
        *(words.uncounted(limits.lacking) if provenance == "simulated" else ()),
    )
    reasons = (*failures, *unknown)
    notes = (*words.notes(samples, rows, provenance, ordinary), *(words.without_trace(one) for one in unseen))
    machine = words.machine(pauses, counts, stops)
    ok = Held.of(failures, unknown)
    summary = words.summary(ok, counts, failures, rows, provenance, pauses, unknown)
    return Verdict(
        ok=ok,
        reasons=reasons,
        rows=rows,
        tasks=counts,
        checks=checks,
        pauses=pauses,
        ways=ways,
        unseen=unseen,
        not_finite=endless,
        stops=None if stops is None else stops.seen,
        summary=summary,
        machine=machine,
        notes=notes,
        status=wrong,
        disturbed=found.disturbed,
        expected=beside,
        mistaken=tuple(one.core for one in mistaken),
    )


def _not_finite(
    samples: Samples,
    expected: Mapping[str, Expected],
    beside: Mapping[int, NDArray[np.void]],
    bits: NDArray[np.uint32],
) -> tuple[NotFinite, ...]:
    """The outputs that are not numbers, whose jobs get the error bit."""
    found: list[NotFinite] = []
    for number, facts in enumerate(samples.system.tasks):
        table = samples.record.tables.get(f"outputs-{number}")
        if table is None:
            continue
        rows = samples.rows_of(number)
        wanted = expected.get(facts.name)
        golden = beside.get(number) if wanted is not None and wanted.by == "input" else None
        skip = (samples.jobs["status"][rows] & _NOT_ITS_OWN) != 0
        bad, members = not_finite(facts.name, table, samples.jobs[rows], skip, golden)
        bits[rows[bad]] |= STATUS["output_errors"]
        found += members
    return tuple(found)


def _outputs(
    samples: Samples, expected: Mapping[str, Expected]
) -> tuple[NDArray[np.uint32], list[WrongOutput], dict[int, NDArray[np.void]]]:
    """The error bit of each job, the first wrong output of each task, and what each was expected to be."""
    bits = np.zeros(samples.size, dtype=np.uint32)
    errors: list[WrongOutput] = []
    beside: dict[int, NDArray[np.void]] = {}
    for name, wanted in expected.items():
        number = samples.number(name)
        table = samples.record.tables.get(f"outputs-{number}")
        if table is None:
            errors.append(WrongOutput(name, -1, "", None, None, 0, 0, wanted.source))
            continue
        rows = samples.rows_of(number)
        skip = (samples.jobs["status"][rows] & _NOT_ITS_OWN) != 0
        wrong, error, rows_beside = compare(name, table, samples.jobs[rows], wanted, skip)
        bits[rows[wrong]] |= STATUS["output_errors"]
        beside[number] = rows_beside
        if error is not None:
            errors.append(error)
    return bits, errors, beside


def _counts(samples: Samples, disturbed: NDArray[np.bool_]) -> tuple[JobCounts, ...]:
    """The counts of all tasks."""
    missed, endless = samples.missed, ~np.isfinite(samples.response)
    blamed = missed & ~disturbed
    masks = (~missed, missed & ~endless, endless, disturbed, disturbed & missed, blamed)
    columns = zip(samples.released, *map(samples.count, masks), strict=True)
    counts = []
    for number, (released, on_time, late, unserved, touched, excused, own) in enumerate(columns):
        rows = samples.rows_of(number) if own else ()
        counts.append(
            JobCounts(
                task=samples.system.tasks[number].name,
                planned=samples.planned(number),
                released=released,
                on_time=on_time,
                late=late,
                unserved=unserved,
                disturbed=touched,
                disturbed_misses=excused,
                causes=miss_causes(samples.status[rows], blamed[rows]) if own else {},
            )
        )
    return tuple(counts)


def _seen_waiting(samples: Samples, found: Disturbances) -> tuple[NDArray[np.float64], float]:
    """The stops [ns] that cores saw while they waited, and for how long they did so, all together.

    Of a stop that a core sleeps through it sees the end alone, as a late wake-up, and only of one that is in
    its way: such a stop counts, and the sleep does not. No thread but those of the run comes before one with
    a real-time priority on a CPU of its own.
    """
    system, jobs = samples.system, samples.jobs
    cpus = [system.facts.cpus.get(name) for name in system.core_names]
    lengths, waited = [np.zeros(0)], 0.0
    for number, core in enumerate(system.cores):
        gaps = found.gaps[number]
        own = core.name not in samples.ordinary and cpus.count(cpus[number]) == 1
        causes = (*UNTRACED, LATE_WAKE_UP) if own else UNTRACED
        # The event of an interrupted job, which is as long as the job, is not a stop of that length.
        waiting = np.isin(gaps.culprit, causes) & ~np.isin(gaps.end, _job_ends(samples, number))
        lengths.append(samples.ns((gaps.end - gaps.begin)[waiting]))
        if core.time_base == "spin":
            serving = [samples.number(task.name) for task in system.tasks if task.worker == core.name]
            here = np.where(jobs["sent"] > 0, np.isin(jobs["task"], serving), jobs["core"] == number)
            busy = float(samples.ns(jobs["compute"][here].astype(np.int64)).sum())
            waited += max(samples.released_for / samples.ticks_per_ns - busy, 0.0)
    return np.concatenate(lengths), waited


def _job_ends(samples: Samples, core: int) -> NDArray[np.int64]:
    """When a core recorded jobs that were interrupted."""
    if samples.events is None:
        return np.zeros(0, dtype=np.int64)
    mine = (samples.events["kind"] == EVENTS.index("executed")) & (samples.events["core"] == core)
    ends: NDArray[np.int64] = samples.events["time"][mine].astype(np.int64)
    return ends


def _pauses(samples: Samples, found: Disturbances) -> tuple[Pause, ...]:
    pauses = []
    for core, gaps in found.gaps.items():
        lasted = (gaps.end - gaps.begin) / samples.ticks_per_ns
        for culprit in sorted(set(gaps.culprit.tolist())):
            mine = lasted[gaps.culprit == culprit]
            name = samples.system.cores[core].name
            pauses.append(Pause(name, culprit, int(mine.size), float(mine.sum()), float(mine.max())))
    return tuple(sorted(pauses, key=lambda p: (p.core, -p.total_ns)))
