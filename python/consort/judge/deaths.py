# SPDX-License-Identifier: Apache-2.0
"""Cores that were taken for dead because the machine stood still.

A core whose process ended is dead. One that gave no sign of life may have been kept from its processor, as
others were: the machine's is a death that was declared while the supervisor was kept from its own, and one
that would not have been without the time in which every other core stood still.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from consort.judge.disturbance import EMULATED, SHARED_CPU, Disturbances, covered, merged
from consort.judge.samples import Samples
from consort.record.ran import CAUSES_OF_EVENTS, EVENTS

_DIED, _REQUESTED = EVENTS.index("core-died"), EVENTS.index("mode-requested")
_, _SILENT, _UNWATCHED = range(len(CAUSES_OF_EVENTS["core-died"]))
# A core that gives no sign of life for this share of the detection is ended.
_SHARE = 0.75


@dataclass(frozen=True)
class TakenForDead:
    """A core that was ended for its silence [ns], which the machine made."""

    core: int
    silence_ns: float
    supervisor: bool
    """The supervisor was kept from its processor; else every other core was."""
    lost: Mapping[str, int]
    """By task: the jobs that were due from the last one on that must have ended before the silence."""


def taken_for_dead(
    samples: Samples, found: Disturbances, expected_events: Collection[str] = ()
) -> tuple[TakenForDead, ...]:
    """The deaths of a recording that are the machine's; none where the user asked for deaths."""
    events, detection = samples.events, samples.system.facts.detection_ns
    if events is None or detection is None or "core-died" in expected_events:
        return ()
    deaths = events[(events["kind"] == _DIED) & np.isin(events["cause"], (_SILENT, _UNWATCHED))]
    made = []
    for death in deaths:
        core, noticed = int(death["core"]), int(death["time"])
        sign = noticed - int(death["value"])
        unwatched = int(death["cause"]) == _UNWATCHED
        left = noticed - sign - _stood_still(samples, found, core, sign, noticed)
        if unwatched or left <= _SHARE * detection * samples.ticks_per_ns:
            silence = (noticed - sign) / samples.ticks_per_ns
            made.append(TakenForDead(core, silence, unwatched, _lost(samples, core, sign, noticed)))
    return tuple(made)


def lost_jobs(taken: Sequence[TakenForDead]) -> dict[str, int]:
    """By task: the jobs that were lost as its core was taken for dead."""
    return {task: count for one in taken for task, count in one.lost.items()}


def _stood_still(samples: Samples, found: Disturbances, core: int, begin: int, end: int) -> int:
    """For how long [ticks] the machine kept all other cores with tasks of the mode from their threads."""
    system = samples.system
    used = {name for task in system.tasks for name in (task.core, task.worker)}
    others = [place for place, one in enumerate(system.cores) if one.name in used and place != core]
    if not others:
        return 0
    inside = [_inside(samples, found, place, begin, end) for place in others]
    marks = np.unique(np.concatenate([[begin, end], *(mark for gaps in inside for mark in gaps)]))
    lasts = np.diff(marks)
    every = np.ones(lasts.size, dtype=np.bool_)
    for gaps in inside:
        every &= np.diff(covered(*gaps, marks)) == lasts
    return int(lasts[every].sum())


def _inside(
    samples: Samples, found: Disturbances, core: int, begin: int, end: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The gaps of a core in that time that the machine made."""
    gaps = found.gaps[core]
    since, until = np.maximum(gaps.begin, begin), np.minimum(gaps.end, end)
    mine = (since < until) & ~np.isin(gaps.culprit, (SHARED_CPU, EMULATED))
    return merged(since[mine], until[mine])


def _lost(samples: Samples, core: int, sign: int, noticed: int) -> dict[str, int]:
    """The jobs of a core that no longer had to be there: its tasks' in the mode, until that was left or the
    run was over."""
    system, facts, events = samples.system, samples.system.facts, samples.events
    assert events is not None
    if facts.start_tick is None or facts.duration_ns is None:
        return {}
    begin = max((begin for begin, _ in facts.stays if begin <= noticed), default=facts.start_tick)
    asked = events["time"][events["kind"] == _REQUESTED].astype(np.int64)
    over = facts.start_tick + facts.duration_ns * samples.ticks_per_ns
    until = min(noticed, over, *asked[asked >= begin].tolist())
    lost = {}
    for task in system.tasks:
        if task.core != system.core_names[core] or task.release != "periodic":
            continue

        def due(at: float, offset: int = task.offset_ps, period: int = task.period_ps) -> int:
            lasts = (at - begin) / samples.ticks_per_ns - system.ns(offset)
            return max(0, math.ceil(lasts / system.ns(period)))

        lost[task.name] = due(until) - due(
            min(sign - system.ns(task.deadline_ps) * samples.ticks_per_ns, until)
        )
    return lost
