# SPDX-License-Identifier: Apache-2.0
"""Judges a run that goes from mode to mode: each job by the bounds of its mode, each change by its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.analysis.mode_changes import ModeBounds, bounds_in_modes
from consort.base.errors import BadInput
from consort.judge import Verdict
from consort.judge.changes import Change, Gap, phases_section, stay_after, unseen_requests
from consort.judge.disturbance import DISTURBED
from consort.plan import ModePlans
from consort.record.columns import EVENTS_TABLE, JOBS
from consort.record.ran import EVENTS, NONE, STATUS
from consort.record.raw import RawRun
from consort.record.sections import HAND_OVERS
from consort.record.stays import Death, Stay, deaths_of

PS = 10**12


def gaps_of(
    plans: ModePlans,
    bounds: ModeBounds | None,
    scale: int,
    raw: RawRun,
    stays: Sequence[Stay],
    verdicts: Sequence[tuple[RawRun, Verdict]],
) -> list[Gap]:
    """The gaps of the tasks of each core that died, in the mode in which it did."""
    found = []
    names, cores = list(plans.modes), list(plans.whole.cores)
    for death in deaths_of(raw):
        at = max((k for k, stay in enumerate(stays) if stay.begin <= death.noticed), default=0)
        mode, core = names[stays[at].mode], cores[death.core]
        for task in plans.modes[mode].tasks.values():
            if task.core == core:
                found.append(_gap(plans, bounds, scale, raw, stays, at, death, core, task.name, verdicts))
    return found


def _gap(
    plans: ModePlans,
    bounds: ModeBounds | None,
    scale: int,
    raw: RawRun,
    stays: Sequence[Stay],
    at: int,
    death: Death,
    core: str,
    task: str,
    verdicts: Sequence[tuple[RawRun, Verdict]],
) -> Gap:
    names = list(plans.modes)
    mode = names[stays[at].mode]
    changes = plans.whole.changes
    assert changes is not None
    after = stays[at + 1] if at + 1 < len(stays) else None
    follows = names[after.mode] if after is not None else changes.fail_over[core]
    rate = raw.manifest.clock.ticks_per_second
    config = raw.manifest.config
    end = int(config["start_tick"] + config["duration_ns"] * rate / 1e9)

    def ps(tick: int | None) -> int | None:
        return None if tick is None else round((tick - death.sign) * PS / rate)

    jobs = np.asarray(raw.tables[JOBS].rows)
    mine = jobs[(jobs["task"] == list(plans.whole.tasks).index(task)) & (jobs["core"] != death.core)]
    done = mine[(mine["release"] > death.sign) & (mine["status"] & STATUS["unserved"] == 0)]
    first = int(done["finish"].min()) if done.size else None
    until = int(done["release"].min()) if done.size else end
    planned = plans.modes[mode].tasks[task]
    gave = jobs[(jobs["task"] == list(plans.whole.tasks).index(task)) & (jobs["release"] < until)]
    last = int(gave["release"].max()) if gave.size else stays[at].begin
    goes_on = task in plans.modes[follows].tasks
    lost = max(0, round((until - last) * PS / rate) - 1) // (planned.period_ps * scale)
    bound = None
    if bounds is not None and follows == changes.fail_over[core]:
        known = bounds.gap(task, core, mode)
        bound = None if known is None or known.response is None else known.response * scale
    noticed = ps(death.noticed)
    left = ps(end)
    assert noticed is not None and left is not None
    return Gap(
        core,
        mode,
        task,
        noticed,
        ps(stays[at].idle),
        ps(None if after is None else after.begin),
        ps(first),
        lost if goes_on else None,
        goes_on,
        bound,
        left,
        raw.manifest.clock.provenance,
        disturbed_between(death.sign, first or end, verdicts)
        or any(death.core in verdict.mistaken for _, verdict in verdicts),
    )


def disturbed_between(begin: int, end: int, verdicts: Sequence[tuple[RawRun, Verdict]]) -> bool:
    """True if the machine disturbed a job that was under way meanwhile."""
    for raw, verdict in verdicts:
        jobs = np.asarray(raw.tables[JOBS].rows)[verdict.disturbed]
        assert raw.ran is not None
        per_ns = raw.manifest.clock.ticks_per_second / 1e9
        pending = np.array([raw.ran.pending_ns(task) * per_ns for task in raw.ran.tasks])[jobs["task"]]
        # One that was never served was under way for as long as it had.
        until = np.where(jobs["finish"] > 0, jobs["finish"], jobs["release"] + pending)
        if ((jobs["release"] < end) & (until >= begin)).any():
            return True
    return False


_PREPARED, _GIVEN, _TAKEN = (EVENTS.index(f"state-{what}") for what in ("prepared", "given", "taken"))


@dataclass(frozen=True)
class _HandOver:
    """A task's change of its core: times from the idle instant, and the two instants in ticks."""

    task: str
    mode: str
    way: str
    prepared_us: float | None
    given_us: float | None
    taken_us: float
    idle: int
    taken: int
    disturbed: bool
    """One of the two cores was seen not to run meanwhile."""


class JudgedModes:
    """The plans of a run's modes, and what they are held to."""

    def __init__(self, plans: ModePlans, time_scale: int) -> None:
        self.plans = plans
        self.names = list(plans.modes)
        self.scale = time_scale

    @property
    def start(self) -> str:
        assert self.plans.whole.changes is not None
        return self.plans.whole.changes.start

    def unseen(self, raw: RawRun, stays: Sequence[Stay]) -> list[str]:
        """The description's own requests that the recording does not show."""
        assert self.plans.whole.changes is not None
        duration = raw.manifest.config["duration_ns"] * 1000 // self.scale
        entered = {self.names[stay.mode] for stay in stays}
        return unseen_requests(self.plans.whole.changes.requests, duration, entered)

    def before_the_start(self, raw: RawRun) -> Stay:
        """The stay of a run that ended before it entered a mode: its first one, of which all is missing."""
        return Stay(self.names.index(self.start), raw.manifest.config["start_tick"], None, None, None)

    @cached_property
    def _bounds(self) -> ModeBounds | None:
        """The bounds; None if the system cannot be analysed, and the record says so."""
        assert self.plans.whole.changes is not None
        try:
            return bounds_in_modes(self.plans.whole.changes, self.plans.modes)
        except BadInput:
            return None

    def changes(
        self, raw: RawRun, stays: Sequence[Stay], verdicts: Sequence[tuple[RawRun, Verdict]]
    ) -> list[Change]:
        """The changes of a recording, from its start on; `verdicts` are those of its modes."""
        start = raw.manifest.config["start_tick"]
        rate = raw.manifest.clock.ticks_per_second
        provenance = raw.manifest.clock.provenance

        def ps(tick: int) -> int:
            found: int = round((tick - start) * PS / rate)
            return found

        assert self.plans.whole.changes is not None
        within = self.plans.whole.changes.within_ps
        found = []
        for stay, after in pairwise(stays):
            assert stay.requested is not None and stay.idle is not None
            old, new = self.names[stay.mode], self.names[after.mode]
            bound = None if self._bounds is None else self._bounds.change(old, new).response
            found.append(
                Change(
                    old,
                    new,
                    ps(stay.requested),
                    ps(stay.idle),
                    ps(after.begin),
                    None,
                    None if bound is None else bound * self.scale,
                    provenance,
                    disturbed=disturbed_between(stay.requested, after.begin, verdicts),
                    within=None if within is None else within * self.scale,
                )
            )
        return found

    def gaps(
        self, raw: RawRun, stays: Sequence[Stay], verdicts: Sequence[tuple[RawRun, Verdict]]
    ) -> list[Gap]:
        """Gaps that cores that died left in their tasks' outputs."""
        return gaps_of(self.plans, self._bounds, self.scale, raw, stays, verdicts)

    def phases(self, raw: RawRun, stays: Sequence[Stay]) -> dict[str, Any] | None:
        """The table of the times of hand-overs' parts; None if no task changed its core."""
        return phases_section(self.plans, self._bounds, self.scale, raw, stays)

    def hand_overs(self, raw: RawRun, stays: Sequence[Stay]) -> dict[str, Any] | None:
        """The table of the tasks that changed their core: when each was given and taken, from the idle
        instant, beside what its accesses take at most and the agreement. None where no task did."""
        found = self._handed(raw, stays)
        if not found:
            return None
        seen = {"unit": "us", "provenance": raw.manifest.clock.provenance}
        bound = {"unit": "us", "provenance": "bound"}
        return {
            "title": HAND_OVERS,
            "kind": "table",
            "columns": [
                {"name": "task"},
                {"name": "into"},
                {"name": "cores"},
                {"name": "given", **seen},
                {"name": "taken", **seen},
                {"name": "accesses", **bound},
                {"name": "agreement", **bound},
            ],
            "rows": [
                [
                    one.task,
                    one.mode,
                    one.way,
                    one.given_us,
                    one.taken_us,
                    self._accesses(one.mode),
                    self._agreement_us,
                ]
                for one in found
            ],
        }

    def late_hand_overs(
        self, raw: RawRun, stays: Sequence[Stay], verdicts: Sequence[tuple[RawRun, Verdict]]
    ) -> list[str]:
        """Words for each hand-over that took longer than the agreement, and that the machine did not make so.

        What the machine did: it kept one of the two cores from its thread, or woke the old one up late.
        """
        agreement = self._agreement_us
        found = []
        for one in self._handed(raw, stays):
            if one.taken_us <= agreement or one.taken_us - (one.prepared_us or 0) <= agreement:
                continue
            if one.disturbed or disturbed_between(one.idle, one.taken, verdicts):
                continue
            found.append(
                f"the hand-over of {one.task} ({one.way}, into {one.mode}) took {one.taken_us:,.1f} us, above"
                f" its agreement {agreement:,.1f} us"
            )
        return found

    @property
    def _agreement_us(self) -> float:
        changes = self.plans.whole.changes
        assert changes is not None
        return changes.agreement_ps * self.scale / 1e6

    def _handed(self, raw: RawRun, stays: Sequence[Stay]) -> list[_HandOver]:
        """The hand-overs that were complete: a run may end, or a ring be full, between the two ends."""
        if EVENTS_TABLE not in raw.tables:
            return []
        rows: NDArray[np.void] = raw.tables[EVENTS_TABLE].rows
        given, prepared = (
            {_of_change(row): row for row in rows[rows["kind"] == kind]} for kind in (_GIVEN, _PREPARED)
        )
        taken = {
            _of_change(row): row for row in np.sort(rows[rows["kind"] == _TAKEN], order=("task", "time"))
        }
        per_us = raw.manifest.clock.ticks_per_second / 1e6
        tasks, cores = list(self.plans.whole.tasks), list(self.plans.whole.cores)
        deaths = deaths_of(raw)
        gaps = rows[rows["kind"] == DISTURBED]
        found = []
        for key, end in taken.items():
            task, idle = key
            start, ready = given.get(key), prepared.get(key)
            gone = [death.core for death in deaths if death.noticed <= idle]
            source = start["core"] if start is not None else gone[-1] if gone else None
            mine = gaps[np.isin(gaps["core"], [end["core"], NONE, *([] if source is None else [source])])]
            stopped = (mine["time"] > idle) & (mine["time"] - mine["value"].astype(np.int64) < end["time"])
            found.append(
                _HandOver(
                    tasks[task],
                    self.names[stay_after(stays, idle).mode],
                    f"{'?' if source is None else cores[source]} -> {cores[end['core']]}",
                    None if ready is None else int(ready["value"]) / per_us,
                    None if start is None else int(start["value"]) / per_us,
                    int(end["value"]) / per_us,
                    idle,
                    int(end["time"]),
                    bool(stopped.any()),
                )
            )
        return found

    def _accesses(self, mode: str) -> float | None:
        """The bound of theorem 24, of all tasks that go to the mode."""
        found = [] if self._bounds is None else [b for b in self._bounds.changes if b.task == f"to {mode}"]
        return None if not found or found[0].response is None else found[0].response * self.scale / 1e6


def _of_change(event: np.void) -> tuple[int, int]:
    """The task that was handed over, and the idle instant from which the time counts."""
    return int(event["task"]), int(event["time"]) - int(event["value"])
