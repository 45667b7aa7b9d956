# SPDX-License-Identifier: Apache-2.0
"""Fixed priorities and EDF on one core, of tasks whose jobs are due at known moments of one clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from consort import _engine
from consort.analysis.range import within_range
from consort.analysis.result import Bound, Later, Step, Steps
from consort.analysis.supply import ticks_of_supply, times_of
from consort.analysis.unitask import UniTask, ticks_of
from consort.plan.types import PlannedSupply

OFFSETS = "docs/explanation/analyses.md, theorem 17 (Tindell 1994; Palencia & Gonzalez Harbour 1998)"
EDF_OFFSETS = "docs/explanation/analyses.md, theorem 25 (Spuri 1996, with the windows of theorem 17)"
ANY_MOMENT = "releases at any moment: offsets between tasks are not made use of"
_KNOWN = "periodic tasks are due at their offsets and whole periods later, by one clock; others at any moment"
_TOO_MANY = (
    f"{ANY_MOMENT}, since a common period holds too many busy windows to look at each, or they need not end"
)


@dataclass(frozen=True)
class Timed:
    """The tasks of a core where some have offsets, as the engine takes them."""

    tasks: Sequence[UniTask]
    arguments: dict[str, Any]
    tick: int
    analysis: Callable[..., dict[str, Any]] = _engine.fp_offset_response
    source: str = OFFSETS


def timed(
    tasks: Sequence[UniTask], levels: Sequence[int], preemptive: bool, supply: PlannedSupply | None
) -> Timed | None:
    """The analysis with offsets; None if all tasks come at any moment."""
    if all(task.offset is None for task in tasks):
        return None
    common, _, tick = _common(tasks, supply)
    return Timed(tasks, common | {"level": list(levels), "preemptive": preemptive}, tick)


def timed_under_edf(tasks: Sequence[UniTask], supply: PlannedSupply | None) -> Timed | None:
    """The same for preemptive EDF."""
    if all(task.offset is None for task in tasks):
        return None
    common, deadlines, tick = _common(tasks, supply)
    return Timed(tasks, common | {"d": deadlines}, tick, _engine.edf_offset_response, EDF_OFFSETS)


def _common(tasks: Sequence[UniTask], supply: PlannedSupply | None) -> tuple[dict[str, Any], list[int], int]:
    """Arguments of both analyses, the deadlines, and a tick [ps]."""
    arrays, tick = ticks_of(tasks, *(task.offset or 0 for task in tasks), *times_of(supply))
    arguments = {
        "c": arrays["execution"],
        "t": arrays["period"],
        "offsets": [-1 if task.offset is None else task.offset // tick for task in tasks],
        "jitter": arrays["jitter"],
        "blocking": arrays["blocking"],
        "supply": ticks_of_supply(supply, tick),
    }
    return arguments, arrays["deadline"], tick


def with_offsets(bound: Bound, core: Timed | None, index: int) -> Bound:
    """The bound that makes use of the tasks' offsets, where it is lower."""
    if bound.response is None or core is None:
        return bound
    tasks = core.tasks
    if core.source == EDF_OFFSETS and tasks[index].offset is None:
        return bound  # at any moment, and so is each of its deadlines
    raw = within_range(core.analysis, task=index, **core.arguments)
    if raw["bound"] is None:
        return _assuming(bound, _TOO_MANY)
    if raw["bound"] * core.tick >= bound.response:
        return bound
    explanation = Later(lambda: _steps(core, index, raw))
    found = replace(bound, response=raw["bound"] * core.tick, source=core.source, explanation=explanation)
    return _assuming(found, _KNOWN)


def _steps(core: Timed, index: int, raw: dict[str, Any]) -> tuple[Step, ...]:
    tasks, tick = core.tasks, core.tick
    task, earlier, begin = tasks[index], raw["earlier"], raw["begin"] * tick
    steps = Steps(min(begin, 0))
    steps.put("jitter", f"{task.name} comes late", max(begin, 0))
    steps.put("blocking", "what holds the core", raw["blocking"] * tick)
    for other, count in zip(tasks, raw["jobs"], strict=True):
        steps.put("interference", f"{count} x {other.name}", count * other.execution, count)
    steps.put("own", f"{earlier} earlier x {task.name}", earlier * task.execution, earlier)
    steps.put("own", task.name, task.execution)
    return steps.done()


def _assuming(bound: Bound, text: str) -> Bound:
    """The bound with this assumption on offsets in place of `ANY_MOMENT`."""
    return replace(bound, assumptions=tuple(text if a == ANY_MOMENT else a for a in bound.assumptions))
