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
from consort.judge.changes import Change, unseen_requests
from consort.judge.disturbance import DISTURBED
from consort.judge.fail_over import Gap
from consort.plan import ModePlans
from consort.record.columns import EVENTS_TABLE
from consort.record.raw import RawRun
from consort.record.sections import HAND_OVERS
from consort.record.status import EVENTS, NONE
from consort.record.stays import Stay, deaths_of
from consort.run.fail_over import PS, disturbed_between, gaps_of
from consort.run.phases import phases_section, stay_after

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
