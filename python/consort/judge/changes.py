# SPDX-License-Identifier: Apache-2.0
"""Changes of mode as a run shows them, and the phases of their hand-overs, each held against its bound:
docs/explanation/mode-changes.md."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from consort.analysis.figures import Figures, MissingFigure
from consort.analysis.mode_changes import COMMIT, COPY, RELEASED, ModeBounds, phases
from consort.analysis.result import in_words
from consort.plan import ModePlans
from consort.record.columns import EVENTS_TABLE, JOBS
from consort.record.ran import EVENTS, STATUS
from consort.record.raw import RawRun
from consort.record.sections import CHANGES_OF_MODE, FAIL_OVERS, PHASES
from consort.record.stays import Stay


@dataclass(frozen=True)
class Change:
    """A change of mode that was seen; instants in ps."""

    old: str
    new: str
    requested: int
    drained: int
    released: int
    requests: int | None = None
    """That came before the idle instant: the last one counts. None where nobody counted them."""
    bound: int | None = None
    provenance: str = "simulated"
    disturbed: bool = False
    """The machine kept a core from a job that was under way."""
    within: int | None = None
    """The longest time that the description allows [ps]; None if it allows any."""

    @property
    def latency(self) -> int:
        """The time from the request to the new mode's release."""
        return self.released - self.requested

    @property
    def kept(self) -> bool:
        return self.disturbed or not self._passed

    @property
    def excess(self) -> str:
        """The message for a change that took longer than its bounds."""
        took = f"the change {self.old} -> {self.new} took {in_words(self.latency)}, above "
        return took + " and ".join(self._passed)

    @property
    def _passed(self) -> list[str]:
        """The limits that it took longer than."""
        limits = (("its bound", self.bound), ("'within',", self.within))
        return [f"{name} {in_words(ps)}" for name, ps in limits if ps is not None and self.latency > ps]

    def to_json(self) -> dict[str, Any]:
        return {
            "from": self.old,
            "to": self.new,
            "requested_ps": self.requested,
            "drained_ps": self.drained,
            "released_ps": self.released,
            "requests": self.requests,
            "latency_ps": self.latency,
            "bound_ps": self.bound,
            "within_ps": self.within,
            "kept": self.kept,
            "disturbed": self.disturbed,
            "provenance": self.provenance,
        }


def unseen_requests(
    requests: Sequence[tuple[int, str]], duration: int, entered: Collection[str]
) -> list[str]:
    """The requests (instant [ps], mode) that a run of so long, which entered those modes, does not show.

    Of two requests before an idle instant the first is of no effect, so that its mode may not be entered.
    """
    late = [(at, mode) for at, mode in requests if at >= duration]
    found = [f"the run was over before {in_words(at)}, when mode {mode} is asked for" for at, mode in late]
    never = {mode for _, mode in requests} - {*entered} - {mode for _, mode in late}
    return [*found, *(f"the run never entered mode {mode}, which is asked for" for mode in sorted(never))]


def changes_section(changes: Sequence[Change]) -> dict[str, Any]:
    """The table of a report; the changes of one run have one provenance."""
    provenance = changes[0].provenance if changes else "simulated"
    seen = {"unit": "us", "provenance": provenance}
    return {
        "title": CHANGES_OF_MODE,
        "kind": "table",
        "columns": [
            {"name": "from"},
            {"name": "to"},
            {"name": "requested", **seen},
            {"name": "idle", **seen},
            {"name": "released", **seen},
            {"name": "latency", **seen},
            {"name": "bound", "unit": "us", "provenance": "bound"},
        ],
        "rows": [
            [
                change.old,
                change.new,
                change.requested / 1e6,
                change.drained / 1e6,
                change.released / 1e6,
                change.latency / 1e6,
                None if change.bound is None else change.bound / 1e6,
            ]
            for change in changes
        ],
    }


@dataclass(frozen=True)
class Gap:
    """A task whose core died; times in ps from the core's last sign of life."""

    core: str
    mode: str
    """In which the core died."""
    task: str
    noticed: int
    idle: int | None
    released: int | None
    """The first releases of the mode that follows; None: the run ended before."""
    first: int | None
    """The end of its first job on another core; None: there was none."""
    lost: int | None
    """Jobs that were due and gave nothing, until the first one elsewhere; None: there is to be none."""
    goes_on: bool
    """True if the mode that follows has it."""
    bound: int | None
    left: int
    """How long the run lasted."""
    provenance: str
    disturbed: bool = False
    """The machine kept a core from a job meanwhile."""

    @property
    def kept(self) -> bool:
        if not self.goes_on or self.disturbed or self.bound is None:
            return True
        return self.first <= self.bound if self.first is not None else self.left < self.bound

    @property
    def excess(self) -> str:
        assert self.bound is not None
        what = f"{self.task} when {self.core} died in {self.mode}"
        if self.first is None:
            return f"{what}: no job of it elsewhere, {in_words(self.left)} after the last sign of life"
        return f"{what}: a gap of {in_words(self.first)}, above its bound {in_words(self.bound)}"


def fail_over_section(gaps: Sequence[Gap]) -> dict[str, Any]:
    """The table of a report; all times from the last sign of life."""
    seen = {"unit": "us", "provenance": gaps[0].provenance}

    def us(ps: int | None) -> float | None:
        return None if ps is None else ps / 1e6

    return {
        "title": FAIL_OVERS,
        "kind": "table",
        "columns": [
            {"name": "core"},
            {"name": "died in"},
            {"name": "task"},
            {"name": "jobs lost"},
            {"name": "noticed", **seen},
            {"name": "idle", **seen},
            {"name": "released", **seen},
            {"name": "first job", **seen},
            {"name": "bound", "unit": "us", "provenance": "bound"},
        ],
        "rows": [
            [
                gap.core,
                gap.mode,
                gap.task,
                gap.lost,
                us(gap.noticed),
                us(gap.idle),
                us(gap.released),
                us(gap.first),
                us(gap.bound),
            ]
            for gap in gaps
        ],
        "note": "Times from the core's last sign of life. A task without a first job is not in the mode that"
        " follows, or the run ended before.",
    }


# Each from the end of the one before, the first from the idle instant; then the task's first job, from there.
_MARKS = {"prepare": "state-prepared", COPY: "state-copied", COMMIT: "state-given", RELEASED: "state-taken"}
_FIRST_JOB = "first job"


def phases_section(
    plans: ModePlans, bounds: ModeBounds | None, scale: int, raw: RawRun, stays: Sequence[Stay]
) -> dict[str, Any] | None:
    """The longest of each phase by task, mode and cores; None where no task changed its core."""
    found: dict[tuple[str, str, str], list[dict[str, float]]] = {}
    for key, times in _hand_overs(plans, raw, stays):
        found.setdefault(key, []).append(times)
    if not found:
        return None
    seen = {"unit": "us", "provenance": raw.manifest.clock.provenance}
    rows = []
    for (task, mode, cores), each in found.items():
        allowed = _bounds(plans, bounds, scale, task, mode, cores.partition(" -> ")[0])
        for phase in (*_MARKS, _FIRST_JOB):
            longest = max((times[phase] for times in each if phase in times), default=None)
            rows.append([task, mode, cores, phase, longest, allowed.get(phase)])
    return {
        "title": PHASES,
        "kind": "table",
        "columns": [
            {"name": "task"},
            {"name": "into"},
            {"name": "cores"},
            {"name": "phase"},
            {"name": "longest", **seen},
            {"name": "bound", "unit": "us", "provenance": "bound"},
        ],
        "rows": rows,
        "note": "Prepare: from the idle instant until the old core begins: its thread wakes up, and no bound"
        " speaks of it. Copy, commit and released count the accesses (theorem 24). First job: from the idle"
        " instant to its end.",
    }


def stay_after(stays: Sequence[Stay], idle: int) -> Stay:
    """The stay that follows an idle instant, which may be the very beginning of the one before; the two
    records of the instant are a few ticks apart at most."""
    for before, after in pairwise(stays):
        if before.idle is not None and abs(before.idle - idle) <= 4:
            return after
    return next((stay for stay in stays if stay.begin >= idle), stays[-1])


def _hand_overs(
    plans: ModePlans, raw: RawRun, stays: Sequence[Stay]
) -> list[tuple[tuple[str, str, str], dict[str, float]]]:
    if EVENTS_TABLE not in raw.tables:
        return []
    rows = np.asarray(raw.tables[EVENTS_TABLE].rows)
    jobs = np.asarray(raw.tables[JOBS].rows)
    per_us = raw.manifest.clock.ticks_per_second / 1e6
    tasks, cores, modes = list(plans.whole.tasks), list(plans.whole.cores), list(plans.modes)
    made: dict[tuple[int, int], dict[str, Any]] = {}
    for phase, name in _MARKS.items():
        for row in rows[rows["kind"] == EVENTS.index(name)]:
            made.setdefault((int(row["task"]), int(row["time"]) - int(row["value"])), {})[phase] = row
    found = []
    for (task, idle), marks in made.items():
        if set(marks) != set(_MARKS):
            continue  # a run ended between them, or the old core was dead
        times, before = {}, 0
        for phase, row in marks.items():
            times[phase] = (int(row["value"]) - before) / per_us
            before = int(row["value"])
        stay = stay_after(stays, idle)
        mine = jobs[(jobs["task"] == task) & (jobs["release"] >= stay.begin)]
        if stay.requested is not None:
            mine = mine[mine["release"] < stay.requested]
        done = mine["finish"][mine["status"] & STATUS["unserved"] == 0]
        if done.size:
            times[_FIRST_JOB] = (int(done.min()) - idle) / per_us
        way = f"{cores[marks[COMMIT]['core']]} -> {cores[marks[RELEASED]['core']]}"
        found.append(((tasks[task], modes[stay.mode], way), times))
    return found


def _bounds(
    plans: ModePlans, bounds: ModeBounds | None, scale: int, task: str, mode: str, source: str
) -> Mapping[str, float]:
    changes, made = plans.whole.changes, plans.modes[mode]
    assert changes is not None and changes.state_through is not None
    found: dict[str, float] = {}
    try:
        costs = phases(Figures(made), task, source, changes.state_through)
        found |= {phase: cost.ps * scale / 1e6 for phase, cost in costs.items()}
    except MissingFigure:
        pass
    planned = made.tasks[task]
    responses = [] if bounds is None else bounds.modes[mode]
    first = next((b.response for b in responses if b.task == task and b.kind == "response time"), None)
    if first is not None and not planned.sporadic:
        found[_FIRST_JOB] = (changes.agreement_ps + planned.offset_ps + first) * scale / 1e6
    return found
