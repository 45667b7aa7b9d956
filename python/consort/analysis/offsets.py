# SPDX-License-Identifier: Apache-2.0
"""Fixed priorities on one core, of tasks whose jobs are due at known moments of one clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from consort import _engine
from consort.analysis.range import within_range
from consort.analysis.result import Bound, Steps
from consort.analysis.supply import Supply, ticks_of_supply, times_of
from consort.analysis.unitask import UniTask, tick_of

OFFSETS = "docs/explanation/analyses.md, theorem 17 (Tindell 1994; Palencia & Gonzalez Harbour 1998)"
ANY_MOMENT = "releases at any moment: offsets between tasks are not made use of"
_KNOWN = "periodic tasks are due at their offsets and whole periods later, by one clock; others at any moment"
_TOO_MANY = f"{ANY_MOMENT}, since a common period holds too many busy windows to look at each"


def with_offsets(
    bound: Bound,
    tasks: Sequence[UniTask],
    levels: Sequence[int],
    index: int,
    preemptive: bool,
    supply: Supply | None,
) -> Bound:
    """The bound that makes use of the tasks' offsets, where it is lower."""
    if bound.response is None or not any(task.offset for task in tasks):
        return bound
    tick = tick_of(tasks, *(task.offset or 0 for task in tasks), *times_of(supply))
    raw = within_range(
        _engine.fp_offset_response,
        c=[task.execution // tick for task in tasks],
        t=[task.period // tick for task in tasks],
        offsets=[-1 if task.offset is None else task.offset // tick for task in tasks],
        jitter=[task.jitter // tick for task in tasks],
        blocking=[task.blocking // tick for task in tasks],
        level=list(levels),
        task=index,
        preemptive=preemptive,
        supply=ticks_of_supply(supply, tick),
    )
    if raw["bound"] is None:
        return _assuming(bound, _TOO_MANY)
    if raw["bound"] * tick >= bound.response:
        return bound
    task, earlier, begin = tasks[index], raw["earlier"], raw["begin"] * tick
    steps = Steps(min(begin, 0))
    steps.put("jitter", f"{task.name} comes late", max(begin, 0))
    steps.put("blocking", "what holds the core", raw["blocking"] * tick)
    for other, count in zip(tasks, raw["jobs"], strict=True):
        steps.put("interference", f"{count} x {other.name}", count * other.execution, count)
    steps.put("own", f"{earlier} earlier x {task.name}", earlier * task.execution, earlier)
    steps.put("own", task.name, task.execution)
    found = replace(bound, response=raw["bound"] * tick, source=OFFSETS, explanation=steps.done())
    return _assuming(found, _KNOWN)


def _assuming(bound: Bound, text: str) -> Bound:
    """With that about offsets in place of what their being left out assumes."""
    return replace(bound, assumptions=tuple(text if a == ANY_MOMENT else a for a in bound.assumptions))
