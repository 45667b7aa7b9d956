# SPDX-License-Identifier: Apache-2.0
"""The phases of a run's hand-overs: how long each took at most, beside its bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from consort.analysis.figures import Figures, MissingFigure
from consort.analysis.mode_changes import COMMIT, COPY, RELEASED, ModeBounds, phases
from consort.plan import ModePlans
from consort.record.columns import EVENTS_TABLE, JOBS
from consort.record.ran import EVENTS, STATUS
from consort.record.raw import RawRun
from consort.record.sections import PHASES
from consort.record.stays import Stay

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
