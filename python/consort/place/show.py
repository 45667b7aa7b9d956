# SPDX-License-Identifier: Apache-2.0
"""A placement, or preemption thresholds, before and after: tables, data, and the load of each core."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from fractions import Fraction
from typing import Any

from consort.analysis.result import Bound, in_words
from consort.model import System
from consort.place.call import Placement
from consort.place.evaluate import CHANGES, failing_of, value_of
from consort.place.goals import WORDS, Bounds, Goal
from consort.place.problem import Choice, Place, Problem, systems_of
from consort.place.search import Conflict
from consort.place.thresholds import Thresholds, memory


def value_before(placement: Placement, goal: Goal) -> int | None:
    """The objective's value of the description as it stands; None where it does not hold."""
    problem, bounds = placement.problem, placement.before
    if any(failing_of(problem, bounds)):
        return None
    return value_of(problem, problem.given, bounds, goal)


def verdict(placement: Placement, goal: Goal) -> list[str]:
    """The result in words: its quality, and what is proven."""
    found, best = placement.found, placement.best
    words = WORDS[goal]
    if found.outcome is None:
        if found.status == "infeasible":
            return ["These analyses accept no placement: proven."]
        if found.status == "undecided":
            return [
                "Undecided: no placement is accepted without figures that nobody gave.",
                *left_out(placement.missing),
            ]
        return ["No placement was found in the time allowed, and none is shown not to exist (--time-limit)."]
    before = value_before(placement, goal)
    was = "it has no value as it stands" if before is None else f"{words.value(before)} as it stands"
    if any(failing_of(placement.problem, placement.before)):
        was = "it does not hold as it stands"
    lines = [f"{words.what}: {words.value(placement.value)} ({was})"]
    if found.status == "optimal":
        lines.append("Proven optimal: no placement that these analyses accept is better.")
    elif found.bound is None:
        lines.append("Not proven: the time was over before anything was known of better placements.")
    else:
        lines.append(f"Not proven: no placement is better than {words.value(found.bound)}.")
    moved = best.outcome.moved(placement.problem) if best.outcome is not None else []
    fewest = placement.moves is None or placement.moves.status == "optimal"
    if best.outcome is not None and placement.problem.settings:
        lines.append(_of_settings(placement.problem, best.outcome.choice))
    count = f"{len(moved)} task{'' if len(moved) == 1 else 's'} move{'s' if len(moved) == 1 else ''}"
    if not moved:
        lines.append("No task moves.")
    elif fewest and found.status == "optimal":
        lines.append(f"{count}: no placement as good moves fewer.")
    else:
        lines.append(f"{count}; fewer may do.")
    return [*lines, *left_out(placement.missing)]


def left_out(missing: Collection[str]) -> list[str]:
    """The figures without which placements were left out of the search, in words."""
    if not missing:
        return []
    return [f"Left out: placements that rest on what nobody gave: {', '.join(missing)}"]


def _of_settings(problem: Problem, choice: Choice) -> str:
    changed, every = len(problem.changed(choice)), len(problem.settings)
    return f"{changed} of {every} value{'' if every == 1 else 's'} to choose change{'s' * (changed == 1)}."


def setting_rows(placement: Placement) -> Iterator[tuple[str, str, str]]:
    """Rows of the chosen values: the place in the description, the old value and the new one."""
    problem, best = placement.problem, placement.best
    assert best.outcome is not None
    for setting, value in problem.values(best.outcome.choice):
        yield str(setting), str(setting.values[setting.given]), str(value)


def conflict_lines(conflict: Conflict) -> list[str]:
    lines = ["These cannot all be met:"]
    lines += [f"  {one.text}" for one in conflict.requirements]
    if conflict.why:
        lines.append(f"  {conflict.why}")
    if conflict.minimal:
        lines.append("Without any one of them there is a placement.")
    else:
        lines.append("Fewer of them may be in conflict: that is not known.")
    return lines


def rows(placement: Placement) -> Iterator[tuple[str, str, str, str, str]]:
    """Rows of the tasks: name and mode, places and bounds before and after."""
    problem, best = placement.problem, placement.best
    assert best.outcome is not None
    places = problem.places(best.outcome.choice)
    for view, active in problem.active.items():
        for task, index in active.items():
            decision = problem.decisions[index]
            if decision.mode != view and problem.system.mode_changes is None:
                continue
            old, new = decision.places[decision.given], places[index]
            name = task if view is None else f"{task} in {view}"
            yield (
                name,
                str(old),
                str(new),
                _share(placement.before, view, task),
                _share(placement.after, view, task),
            )


def _share(bounds: Bounds, view: str | None, task: str) -> str:
    bound = next(b for b in bounds[view] if b.task == task and b.kind == "response time")
    if bound.response is None or bound.deadline is None:
        return "none"
    return f"{in_words(bound.response)} ({bound.response / bound.deadline:.1%})"


def chain_rows(placement: Placement) -> Iterator[tuple[str, str, str]]:
    """Rows of the chains in each mode: the reaction time before and after."""
    for view, bounds in placement.after.items():
        for bound in bounds:
            if bound.kind in ("reaction time", "data age") and view != CHANGES:
                old = next(
                    (b for b in placement.before[view] if (b.task, b.kind) == (bound.task, bound.kind)), None
                )
                name = f"{bound.task}, {bound.kind}" + ("" if view is None else f" in {view}")
                yield name, _length(old), _length(bound)


def _length(bound: Bound | None) -> str:
    return "none" if bound is None or bound.response is None else in_words(bound.response)


def loads(problem: Problem, system: System) -> dict[str, float]:
    """The share of each core that its tasks' execution times ask for, in the mode in which that is most;
    loads and unloads of three-phase tasks, waits and context switches are not in it."""
    found: dict[str, Fraction] = {}
    for one in systems_of(system, problem.views).values():
        asked: dict[str, Fraction] = {}
        for name, task in one.tasks.items():
            wcet = one.wcet(name)
            share = (0 if wcet is None else wcet.value) / task.long_run_interval
            asked[task.on] = asked.get(task.on, Fraction(0)) + share
            asked.setdefault(task.released_by, Fraction(0))
        for core, share in asked.items():
            found[core] = max(found.get(core, Fraction(0)), share)
    return {core: float(share) for core, share in found.items()}


def as_data(
    placement: Placement, goal: Goal, conflict: Conflict | None, diff: str, output: str | None
) -> dict[str, Any]:
    """All of it as data."""
    found, best = placement.found, placement.best
    data: dict[str, Any] = {
        "objective": goal,
        "status": found.status,
        "placements_analysed": placement.rounds,
        "conflict": None if conflict is None else conflict_data(conflict),
        "missing": list(placement.missing),
        "provenance": "bound",
    }
    if best.outcome is None:
        return data
    problem = placement.problem
    places = problem.places(best.outcome.choice)
    data |= {
        "value": placement.value,
        "bound": found.bound,
        "value_before": value_before(placement, goal),
        "words": verdict(placement, goal),
        "moved": best.outcome.moved(problem),
        "fewest_moves": placement.moves is None or placement.moves.status == "optimal",
        "places": [
            {
                "task": decision.task,
                "mode": decision.mode,
                "before": place_data(decision.places[decision.given]),
                "after": place_data(place),
            }
            for decision, place in zip(problem.decisions, places, strict=True)
        ],
        "chosen": [
            {"field": field, "before": old, "after": new} for field, old, new in setting_rows(placement)
        ],
        "load_before": loads(problem, problem.system),
        "load_after": loads(problem, placement.system),
        "diff": diff,
        "written": output,
    }
    return data


def place_data(place: Place) -> Mapping[str, str | None]:
    return {"on": place.on, "execution": place.execution, "master": place.master}


def conflict_data(conflict: Conflict) -> dict[str, Any]:
    return {
        "minimal": conflict.minimal,
        "requirements": [
            {"kind": one.kind, "name": one.name, "text": one.text} for one in conflict.requirements
        ],
        "why": conflict.why,
    }


def threshold_lines(found: Thresholds) -> Iterator[str]:
    """The result in words: the stacks' sizes, and what is proven."""
    if found.late is not None:
        yield f"No thresholds make {found.late} meet its deadline with these places and priorities: proven."
        return
    total = memory(found.stacks)
    less = ""
    if total["after"]:
        less = f", {total['preemptive'] / total['after']:.3g} times less than full preemption"
    yield f"the stacks of the tasks: {total['after']} B ({total['before']} B as it stands){less}"
    for one in found.stacks:
        yield f"  {one.core}: {one.after} B ({one.before} B as it stands, {one.preemptive} B of all tasks)"
    yield "Proven optimal: no thresholds that these analyses accept take less for these priorities."
    for bound in found.failing:
        yield f"But with them {bound.task} fails: {bound.verdict()}"


def thresholds_as_data(found: Thresholds, changes: str, written: str | None) -> dict[str, Any]:
    return {
        "status": "infeasible" if found.late is not None else "optimal",
        "objective": "memory",
        "late": found.late,
        "stacks": [vars(one) for one in found.stacks],
        "memory_bytes": memory(found.stacks),
        "thresholds": {
            name: {"priority": task.priority, "preemption_threshold": task.preemption_threshold}
            for name, task in found.system.tasks.items()
            if task.preemption_threshold is not None
        },
        "bounds": [_threshold_bound(old, new) for old, new in zip(found.before, found.after, strict=True)],
        "failing": [bound.task for bound in found.failing],
        "diff": changes,
        "written": written,
    }


def _threshold_bound(old: Bound, new: Bound) -> dict[str, Any]:
    return {
        "name": new.task,
        "kind": new.kind,
        "before_ps": old.response,
        "after_ps": new.response,
        "holds": new.schedulable,
    }
