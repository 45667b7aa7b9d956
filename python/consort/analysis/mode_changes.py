# SPDX-License-Identifier: Apache-2.0
"""Bounds of a system that changes its mode while it runs: of each mode, and of each change."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from consort.analysis.channels import WORD_BYTES
from consort.analysis.figures import NOTHING, Cost, Figures, MissingFigure
from consort.analysis.offload_costs import fail_over_bounds, gap_name, state_bytes, take_over
from consort.analysis.result import Bound, Steps, in_words, joined
from consort.analysis.system import analyze_system
from consort.model import System
from consort.model.channel import Service, Wait
from consort.plan import Plan, plan
from consort.plan.in_modes import sleeping_alike
from consort.plan.make import changes_of
from consort.plan.types import PlannedChanges

HAND_OVER_SOURCE = "docs/explanation/mode-changes.md, theorem 24"
HAND_OVER = "hand-over of state"
COPY, COMMIT, RELEASED = "copy", "commit", "released"


def hand_over(
    mode: str, plans: Mapping[str, Plan], memory: str | None, agreement: int, mortal: Collection[str] = ()
) -> Bound | None:
    """The bound of a change to a mode; None where no task of it is computed by another core in another one.

    A task's state lies at the core that last computed it, in whatever mode that was; where that core is
    `mortal`, it may be dead.
    """
    made = plans[mode]
    figures = Figures(made)
    moved = {}
    for task, planned in made.tasks.items():
        everywhere = {one.tasks[task].computed_on for one in plans.values() if task in one.tasks}
        moved[task] = sorted(everywhere - {planned.computed_on})
    moved = {task: cores for task, cores in moved.items() if cores}
    if not moved or memory is None:
        return None
    name = f"to {mode}"
    steps, total = Steps(), NOTHING
    try:
        for task, cores in moved.items():
            ways = [_move(figures, task, core, memory) for core in cores]
            if any(core in mortal for core in cores):
                ways.append(take_over(figures, task, memory))
            cost = max(ways, key=lambda one: one.ps)
            steps.put("communication", f"state of {task}", cost.ps, note=f"from {' or '.join(cores)}")
            total = total + cost
    except MissingFigure as missing:
        return Bound(
            name,
            None,
            agreement,
            HAND_OVER_SOURCE,
            notes=(str(missing),),
            kind=HAND_OVER,
            missing=(missing.place,),
        )
    return Bound(
        name,
        total.ps,
        agreement,
        HAND_OVER_SOURCE,
        assumptions=("one task after another, each in one piece", "allowed: the agreement"),
        explanation=steps.done(),
        kind=HAND_OVER,
        figures=tuple(dict.fromkeys(total.used)),
    )


def phases(figures: Figures, task: str, source: str, memory: str) -> dict[str, Cost]:
    """Costs of a hand-over's parts: the old core writes the state and says so; the new one looks, sees it,
    and reads the state."""
    size, used = state_bytes(figures, task)
    platform = figures.platform
    old, new = (platform.core(core).processor_name for core in (source, figures.plan.tasks[task].computed_on))
    there = figures.access(memory, size, old) if size else NOTHING
    here = figures.access(memory, size, new) if size else NOTHING
    said, seen = figures.access(memory, WORD_BYTES, old), figures.access(memory, WORD_BYTES, new)
    # A look that came just too early, and the one that sees it.
    return {COPY: there + used, COMMIT: said, RELEASED: seen.times(2) + here}


def _move(figures: Figures, task: str, source: str, memory: str) -> Cost:
    parts = phases(figures, task, source, memory)
    return parts[COPY] + parts[COMMIT] + parts[RELEASED]


SOURCE = (
    "docs/explanation/mode-changes.md, theorem 23 (idle instant: Tindell & Alonso 1996; Real & Crespo 2004)"
)
KIND = "change of mode"
_ASSUMED = (
    "no job that is due at or after the request is released in the old mode",
    "the new mode's offsets count from the end of the agreement",
)


@dataclass(frozen=True)
class ModeBounds:
    """The bounds of each mode, and of the change from each mode to another.

    Where no mode changes there is one, called "".
    """

    plans: Mapping[str, Plan]
    modes: Mapping[str, Sequence[Bound]]
    changes: Sequence[Bound] = ()
    """Bounds of each change, and of each mode to which tasks bring their state from other cores."""
    gaps: Sequence[Bound] = ()
    """Bounds for each task of a core that may die, in each mode in which it does."""
    given: PlannedChanges | None = None

    @property
    def every(self) -> list[Bound]:
        return [bound for bounds in (*self.modes.values(), self.changes, self.gaps) for bound in bounds]

    @property
    def schedulable(self) -> bool:
        return all(bound.schedulable for bound in self.every)

    def gap(self, task: str, core: str, mode: str) -> Bound | None:
        """The bound of a task's gap when its core dies; None if no other core goes on with it."""
        name = gap_name(task, core, mode)
        return next((bound for bound in self.gaps if bound.task == name), None)

    def change(self, old: str, new: str) -> Bound:
        """The bound of a change; of one back to the mode that was left, that of any that leaves it."""
        name = name_of(old, new)
        return next((b for b in self.changes if b.task == name), self.leaving(old))

    def leaving(self, mode: str) -> Bound:
        return next(bound for bound in self.changes if bound.task.startswith(f"{mode} -> "))


def name_of(old: str, new: str) -> str:
    return f"{old} -> {new}"


def mode_plans(system: System) -> dict[str, Plan]:
    """The plan of each mode that the system can be in; `BadDescription` with what is wrong in any."""
    assert system.mode_changes is not None
    made = {mode: plan(system, "analysis", mode=mode) for mode in system.mode_changes.entered()}
    return sleeping_alike(made)


def analyze_modes(
    system: System,
    mode: str | None = None,
    *,
    waiting: Wait | None = None,
    serving: Service | None = None,
) -> ModeBounds:
    """The bounds of a description, in one mode of it or in all that it goes through.

    The options are those of `analyze_system`. Every change between two of the modes that `mode_changes` names
    is bounded, whether it is asked for or not.
    """
    changes = changes_of(system) if mode is None else None
    plans = {"": plan(system, "analysis", mode=mode)} if changes is None else mode_plans(system)
    return bounds_in_modes(changes, plans, waiting=waiting, serving=serving)


def bounds_in_modes(
    given: PlannedChanges | None,
    plans: Mapping[str, Plan],
    *,
    waiting: Wait | None = None,
    serving: Service | None = None,
) -> ModeBounds:
    """The same of the plans of all modes."""
    modes = {mode: analyze_system(one, waiting=waiting, serving=serving) for mode, one in plans.items()}
    if given is None:
        return ModeBounds(plans, modes)
    within, agreement = given.within_ps, given.agreement_ps
    mortal = list(given.fail_over)
    moved: dict[str, Bound] = {}
    for mode in plans:
        bound = hand_over(mode, plans, given.state_through, agreement, mortal)
        if bound is not None:
            moved[mode] = bound
    changes = [
        _change(old, new, plans[old], modes[old], moved.get(new), agreement, within)
        for old in plans
        for new in plans
        if old != new
    ]
    gaps = fail_over_bounds(given, plans, modes, {bound.task: bound for bound in changes})
    return ModeBounds(plans, modes, [*changes, *moved.values()], gaps, given)


def published_at_deadline(made: Plan) -> set[str]:
    """The tasks whose output is there at the deadline, whenever the job ended: logical execution time."""
    found = {
        channel.writer
        for channel in made.channels.values()
        if channel.communication == "let" and channel.writer is not None
    }
    for chain in made.chains.values():
        found |= set(chain.path) if chain.communication == "let" else set()
    return found & set(made.tasks)


def _change(
    old: str,
    new: str,
    made: Plan,
    bounds: Sequence[Bound],
    moved: Bound | None,
    agreement: int,
    within: int | None,
) -> Bound:
    tasks = [bound for bound in bounds if bound.kind == "response time"]
    name = name_of(old, new)
    open_ = [bound for bound in tasks if not bound.schedulable]
    missing = tuple(dict.fromkeys(place for bound in open_ for place in bound.missing))
    if open_:
        text = f"rests on {open_[0].task} meeting its deadline in {old}, which is not shown"
        return Bound(name, None, within, SOURCE, notes=(text,), kind=KIND, missing=missing)
    if moved is not None and not moved.schedulable:
        text = "rests on the tasks' state being handed over within the agreement, which is not shown"
        return Bound(name, None, within, SOURCE, notes=(text,), kind=KIND, missing=moved.missing)
    logical = published_at_deadline(made)
    last, longest = "", 0
    for bound in tasks:
        assert bound.response is not None
        over = max(bound.response, made.tasks[bound.task].deadline_ps if bound.task in logical else 0)
        if over > longest:
            last, longest = bound.task, over
    steps = Steps()
    why = "its output is there at its deadline" if last in logical else "its longest response"
    steps.put("own", f"the last job of {last} that was due before the request", longest, note=why)
    if agreement > longest:
        waits = "a request after the idle instant waits for the release before it"
        steps.put("communication", "agreement of the change before", agreement - longest, note=waits)
    steps.put("communication", "agreement", agreement)
    return Bound(
        name,
        max(longest, agreement) + agreement,
        within,
        SOURCE,
        assumptions=(*_ASSUMED, f"agreement {in_words(agreement)}"),
        explanation=steps.done(),
        kind=KIND,
        figures=joined(*(bound.figures for bound in tasks)),
    )
