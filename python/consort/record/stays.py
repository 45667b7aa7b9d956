# SPDX-License-Identifier: Apache-2.0
"""The recording of a run that goes from mode to mode, mode by mode: the rows of all stays in each, and the
changes between them.

A job belongs to the mode in which it was released; its operations and its output go with it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.plan.types import Plan, PlannedTask
from consort.record.columns import EVENTS_TABLE, JOBS, OPERATIONS_TABLE
from consort.record.ran import EVENTS, NONE, STATUS, Ran
from consort.record.raw import RawRun

_DIED = EVENTS.index("core-died")


@dataclass(frozen=True)
class Death:
    """A core that died; ticks."""

    core: int
    sign: int
    """Its last sign of life."""
    noticed: int
    """When it was known to be dead, and did nothing any more."""


def deaths_of(raw: RawRun) -> list[Death]:
    """Deaths in order; none if no core died, or no other core went on for it."""
    events = raw.tables.get(EVENTS_TABLE)
    if events is None:
        return []
    rows = events.rows[events.rows["kind"] == _DIED]
    found = [Death(int(r["core"]), int(r["time"]) - int(r["value"]), int(r["time"])) for r in rows]
    return sorted(found, key=lambda death: death.noticed)


_REQUESTED, _IDLE, _ENTERED = (EVENTS.index(f"mode-{what}") for what in ("requested", "idle", "entered"))


@dataclass(frozen=True)
class Stay:
    """The time in a mode: from its release until no job of it was released any more, and until it was left.

    Ticks; `requested` and `end` are None where the run ended in it.
    """

    mode: int
    begin: int
    requested: int | None
    idle: int | None
    end: int | None


def stays_of(raw: RawRun) -> list[Stay]:
    """The stays of a run in its modes, in order; none where no modes change."""
    events = raw.tables.get(EVENTS_TABLE)
    if events is None:
        return []
    rows = events.rows
    entered = rows[rows["kind"] == _ENTERED]
    entered = entered[np.argsort(entered["time"], kind="stable")]
    times = {kind: np.sort(rows["time"][rows["kind"] == kind]).tolist() for kind in (_REQUESTED, _IDLE)}
    found = []
    for number, row in enumerate(entered):
        last = number + 1 == entered.size
        found.append(
            Stay(
                int(row["value"]),
                int(row["time"]),
                None if last else int(times[_REQUESTED][number]),
                None if last else int(times[_IDLE][number]),
                None if last else int(entered["time"][number + 1]),
            )
        )
    return found


def in_modes(raw: RawRun, stays: list[Stay], plans: Mapping[str, Plan]) -> Iterator[tuple[str, RawRun]]:
    """The rows of each mode that the run was in, as a recording. `plans` are those of all its modes.

    Where a core died, without what no bound of a mode speaks of, and the fail-over's own table does: jobs
    whose outputs another core wrote for it, and what was read from its channels before that core did.
    """
    ran = raw.ran
    assert ran is not None
    jobs = np.asarray(raw.tables[JOBS].rows)
    deaths = deaths_of(raw)
    for death in deaths:
        jobs = jobs[(jobs["core"] != death.core) | (jobs["finish"] <= death.noticed)]
    stay = _stay_of(jobs["release"], stays)
    modes = np.array([one.mode for one in stays])
    by_job = _Jobs(jobs, modes[stay])
    names = list(plans)
    for mode in sorted({one.mode for one in stays}):
        here = {name: place for place, name in enumerate(plans[names[mode]].tasks)}
        places = np.array([here.get(name, NONE) for name in ran.task_names])
        part = _Part(by_job, mode, [*plans.values()], places, deaths)
        yield names[mode], _of_mode(raw, ran, part, stays)


@dataclass(frozen=True)
class _Jobs:
    rows: NDArray[np.void]
    modes: NDArray[np.int64]

    def of(self, task: NDArray[Any], seq: NDArray[Any]) -> NDArray[np.int64]:
        """The mode of each job that is named; -1 where it has no row."""
        keys = (self.rows["task"].astype(np.int64) << 32) | self.rows["seq"].astype(np.int64)
        order = np.argsort(keys, kind="stable")
        wanted = (task.astype(np.int64) << 32) | seq.astype(np.int64)
        at = np.minimum(np.searchsorted(keys[order], wanted), max(keys.size - 1, 0))
        if not keys.size:
            return np.full(wanted.size, -1, dtype=np.int64)
        known = keys[order][at] == wanted
        return np.where(known, self.modes[order][at], -1)


@dataclass(frozen=True)
class _Part:
    jobs: _Jobs
    mode: int
    plans: Sequence[Plan]
    places: NDArray[np.int64]
    """Where each task of the run stands in the mode."""
    deaths: list[Death]

    @property
    def plan(self) -> Plan:
        return self.plans[self.mode]

    def placed(self, rows: NDArray[np.void]) -> NDArray[np.void]:
        made = rows.copy()
        none = rows["task"] == NONE
        places = np.append(self.places, NONE)
        made["task"] = places[np.where(none, self.places.size, rows["task"].astype(np.int64))]
        return made


def _stay_of(ticks: NDArray[Any], stays: list[Stay]) -> NDArray[np.int64]:
    begins = np.array([stay.begin for stay in stays[1:]], dtype=np.int64)
    return np.searchsorted(begins, ticks.astype(np.int64), side="right")


def _of_mode(raw: RawRun, whole: Ran, part: _Part, stays: list[Stay]) -> RawRun:
    mine = [stay for stay in stays if stay.mode == part.mode]
    jobs = part.placed(part.jobs.rows[part.jobs.modes == part.mode])
    tables = [raw.tables[JOBS].of(jobs)]
    if OPERATIONS_TABLE in raw.tables:
        rows = np.asarray(raw.tables[OPERATIONS_TABLE].rows)
        inside = part.jobs.of(rows["task"], rows["seq"]) == part.mode
        for death in part.deaths:
            inside &= ~_stale(rows, death, stays, part.plans, whole)
        tables.append(raw.tables[OPERATIONS_TABLE].of(part.placed(rows[inside])))
    if EVENTS_TABLE in raw.tables:
        rows = np.asarray(raw.tables[EVENTS_TABLE].rows)
        modes = np.array([stay.mode for stay in stays])[_stay_of(rows["time"], stays)]
        tables.append(raw.tables[EVENTS_TABLE].of(part.placed(rows[modes == part.mode])))
    for task, place in enumerate(part.places.tolist()):
        outputs = raw.tables.get(f"outputs-{task}")
        if outputs is None or place == NONE:
            continue
        rows = np.asarray(outputs.rows)
        inside = part.jobs.of(np.full(rows.size, task), rows["seq"]) == part.mode
        if inside.any() or bool((jobs["task"] == place).any()):
            tables.append(outputs.of(rows[inside], f"outputs-{place}"))
    manifest = raw.manifest
    times = _Times(whole, manifest.clock.ticks_per_second / 1e9)
    config = manifest.config | {
        "stays": [[stay.begin, _end(stay, times, part.deaths)] for stay in mine],
        "jobs": {
            task.name: _planned(task, mine, times, part.deaths, jobs["release"][jobs["task"] == place])
            for place, task in enumerate(part.plan.tasks.values())
            if task.release == "periodic"
        },
    }
    changes = whole.plan.changes
    if changes is not None and changes.detection_ps is not None:
        config["detection_ns"] = round(whole.ns(changes.detection_ps))
    # The rows number the cores and channels of all modes.
    ran = replace(Ran.of(part.plan, config), cores=whole.cores, channels=whole.channels)
    counters = dict(manifest.counters) | {"jobs": int(jobs.size)}
    for name, bit in STATUS.items():
        if name in counters:
            counters[name] = int(np.count_nonzero(jobs["status"] & bit))
    changed = {"tables": [table.spec for table in tables], "config": config, "counters": counters}
    return RawRun(raw.path, manifest.model_copy(update=changed), {table.name: table for table in tables}, ran)


@dataclass(frozen=True)
class _Times:
    """The whole run, and the rate of its clock."""

    ran: Ran
    per_ns: float

    @property
    def end(self) -> float:
        """Until when [ticks] jobs were released."""
        facts = self.ran.facts
        assert facts.start_tick is not None and facts.duration_ns is not None
        return facts.start_tick + facts.duration_ns * self.per_ns


def _stale(
    rows: NDArray[np.void], death: Death, stays: list[Stay], plans: Sequence[Plan], whole: Ran
) -> NDArray[np.bool_]:
    """A mask of rows in which others read a dead core's channels before somebody else wrote them."""
    at = sum(stay.begin <= death.noticed for stay in stays) - 1
    until = stays[at].end
    tasks = plans[stays[at].mode].tasks.values()
    mine = {task.name for task in tasks if task.core == whole.core_names[death.core]}
    channels = [place for place, one in enumerate(whole.channels) if one.writer in mine]
    found = np.isin(rows["channel"], channels) & (rows["time"] > death.sign)
    return found if until is None else found & (rows["time"] < until)


def _end(stay: Stay, times: _Times, deaths: list[Death]) -> int:
    """The end of the stay: the mode was left, or the run ended in it; if a core died in it, that core's last
    sign of life: what comes after it has no chains."""
    for death in deaths:
        if stay.begin <= death.noticed and (stay.end is None or death.noticed < stay.end):
            return max(stay.begin, death.sign)
    return max(stay.begin, int(times.end)) if stay.end is None else stay.end


def _planned(
    task: PlannedTask, stays: list[Stay], times: _Times, deaths: list[Death], releases: NDArray[np.uint64]
) -> int:
    """The number of a periodic task's jobs that are due in the stays.

    Of a core that died: as many as there are, if no job lacks that must have ended before its last sign of
    life, and none was released after its death was known.
    """
    ran, per_ns = times.ran, times.per_ns

    def due(stay: Stay, until: float) -> int:
        lasts = (until - stay.begin) / per_ns - ran.ns(task.offset_ps)
        # One that is due within two ticks of the end may be on either side of it.
        jobs: int = math.ceil((lasts - 2 / per_ns) / ran.ns(task.period_ps))
        return max(0, jobs)

    count = 0
    for stay in stays:
        until = times.end if stay.requested is None else min(stay.requested, times.end)
        death = next(
            (
                death
                for death in deaths
                if ran.core_names[death.core] == task.core and stay.begin <= death.noticed <= until
            ),
            None,
        )
        if death is None:
            count += due(stay, until)
            continue
        inside = (releases >= stay.begin) & (releases < death.noticed)
        least = due(stay, death.sign - ran.ns(task.deadline_ps) * per_ns)
        count += min(max(int(np.count_nonzero(inside)), least), due(stay, death.noticed))
    return count
