# SPDX-License-Identifier: Apache-2.0
"""Preemption thresholds with which every deadline holds and the tasks' stacks take the least memory.

proofs/placement.md, lemma 10: one assignment is the best. docs/explanation/placement.md: how it is found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from consort.analysis.figures import Figures, NotAnalysable
from consort.analysis.result import Bound
from consort.analysis.system import analyze_system, master_of
from consort.analysis.uniprocessor import UniTask, fixed_priority
from consort.base.errors import BadInput
from consort.model import System
from consort.model.conflicts import may_have
from consort.model.task import AUTO
from consort.plan import Plan, plan
from consort.plan.types import PlannedSupply

KEY = "preemption_threshold"


@dataclass(frozen=True)
class CoreStack:
    """The size of all stacks of a core's tasks together [bytes]."""

    core: str
    preemptive: int
    """Without thresholds: of all tasks at once."""
    before: int
    after: int


@dataclass(frozen=True)
class Thresholds:
    """The thresholds found for a description."""

    late: str | None
    """A task whose deadline no thresholds meet: then there are none."""
    system: System
    """The description with the thresholds; as it was where there are none."""
    stacks: tuple[CoreStack, ...]
    before: tuple[Bound, ...]
    after: tuple[Bound, ...]

    @property
    def failing(self) -> tuple[Bound, ...]:
        """The requirements that do not hold with the thresholds."""
        return tuple(b for b in self.after if b.deadline is not None and not b.schedulable)


def choose_thresholds(system: System) -> Thresholds:
    """The thresholds of all tasks of preemptive cores, for the places and priorities that are described.

    `BadInput` where there is no such core, and where a task has no `footprint.stack`.
    """
    if system.modes:
        text = "thresholds are chosen of a system without modes; a mode may override them by hand"
        raise BadInput(text, file=system.file, field="modes")
    refuse_auto_jitter(system)
    changes: dict[str, dict[str, object]] = {
        name: {KEY: None} for name, t in system.tasks.items() if t.preemption_threshold is not None
    }
    without = system.changed(dict(changes))
    bare, before = plan(without, "analysis"), plan(system, "analysis")
    cores = [
        name
        for name, core in bare.cores.items()
        if core.policy == "fixed-priority" and len(core.tasks) > 1 and may_have(without, name, KEY)
    ]
    if not cores:
        text = "no core has preemptive fixed priorities, two local tasks or more, and no job that waits"
        raise BadInput(f"{text}: there is no threshold to choose", file=system.file, field="--choose")
    stacks = []
    found_before = tuple(analyze_system(before))
    for core in cores:
        names = bare.cores[core].tasks
        sizes = [_stack(bare, name) for name in names]
        try:
            tasks, switch = _tasks(bare, core)
        except NotAnalysable as error:
            raise BadInput(str(error), file=system.file, field=f"tasks.{names[0]}") from None
        limits = greatest(tasks, switch, bare.cores[core].supply, bare.cores[core].cache_reload_ps or 0)
        if isinstance(limits, str):
            return Thresholds(limits, system, (), found_before, found_before)
        priorities = _priorities(system, names)
        for level, name in enumerate(names):
            changes[name] = {"priority": priorities[level]}
            changes[name][KEY] = None if limits[level] == level else priorities[limits[level]]
        own, were = list(range(len(names))), [before.tasks[name].limit for name in names]
        stacks.append(CoreStack(core, *(stack_of(sizes, one) for one in (own, were, limits))))
    made = system.changed(changes)
    return Thresholds(None, made, tuple(stacks), found_before, tuple(analyze_system(made)))


def refuse_auto_jitter(system: System) -> None:
    """`BadInput` where a jitter follows from what is to be chosen."""
    for name, task in system.tasks.items():
        if task.jitter == AUTO:
            raise BadInput(
                "how late its blocks come follows from what is chosen here; write a time, the most that is"
                " allowed",
                file=system.file,
                field=f"tasks.{name}.jitter",
            )


def refuse_thresholds(system: System) -> None:
    """`BadInput` where a task that is to be placed has a threshold."""
    for name, task in system.tasks.items():
        if task.preemption_threshold is not None:
            raise BadInput(
                "it is a number among priorities that are chosen anew; remove it, place, and then choose"
                " thresholds for the new places (--choose thresholds --best memory)",
                file=system.file,
                field=f"tasks.{name}.{KEY}",
            )


def stack_of(sizes: Sequence[int], limits: Sequence[int]) -> int:
    """The most that is on one stack at once: of tasks of which each preempts the one below.

    The first is the most urgent; one is preempted by those before the place that its limit says.
    """
    above: list[int] = []
    for size, limit in zip(sizes, limits, strict=True):
        above.append(size + max(above[:limit], default=0))
    return max(above, default=0)


def greatest(
    tasks: Sequence[UniTask],
    context_switch: int,
    supply: PlannedSupply | None = None,
    reload: int = 0,
) -> list[int] | str:
    """The thresholds of which none can be higher; or the name of a task whose deadline no thresholds meet.

    The most urgent task comes first; a threshold is the place of the first that does not preempt.
    """
    limits = list(range(len(tasks)))

    def bounds() -> list[Bound]:
        given = [replace(t, level=k, threshold=limits[k]) for k, t in enumerate(tasks)]
        return fixed_priority(given, context_switch=context_switch, supply=supply, cache_reload=reload)

    for place in range(len(tasks)):
        # Each of those above has its own threshold by now, and is blocked by this task, or is not.
        limits[place] = 0
        late = [k for k, bound in enumerate(bounds()[:place]) if not bound.schedulable]
        limits[place] = late[-1] + 1 if late else 0
    return next((b.task for b in bounds() if not b.schedulable), limits)


def _tasks(whole: Plan, core: str) -> tuple[list[UniTask], int]:
    """The tasks of a core, the most urgent first, and what a context switch costs [ps]."""
    master, _ = master_of(Figures(whole), core, list(whole.cores[core].tasks))
    return [replace(t.without_waits(), level=None) for t in master.tasks], master.context_switch


def _stack(whole: Plan, name: str) -> int:
    footprint = whole.tasks[name].footprint
    if footprint is None or footprint.stack is None:
        text = "what its job takes of the stack is not said, and nothing is 0 because nobody gave it; add it,"
        text += " for example 'footprint: {stack: {value: 2KiB, assumed: why}}'"
        raise BadInput(text, file=whole.file, field=f"tasks.{name}.footprint.stack")
    return footprint.stack


def _priorities(system: System, names: Sequence[str]) -> list[int]:
    """Priorities of the tasks as described; for those without one, a priority that keeps their order."""
    given = [system.tasks[name].priority for name in names]
    return [len(names) - k if one is None else one for k, one in enumerate(given)]


def memory(stacks: Sequence[CoreStack]) -> Mapping[str, int]:
    """The size of the stacks of all cores together [bytes]."""
    return {key: sum(getattr(one, key) for one in stacks) for key in ("preemptive", "before", "after")}
