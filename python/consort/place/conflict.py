# SPDX-License-Identifier: Apache-2.0
"""The conflict if no placement holds: requirements that cannot all be met, of which any one less could be."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from consort.base.progress import Progress
from consort.model import System
from consort.place.problem import Problem, problem_of
from consort.place.search import Search

Kind = Literal["task", "chain", "keep", "moves", "choose"]


@dataclass(frozen=True)
class Requirement:
    """A requirement on a placement, in the user's words."""

    kind: Kind
    name: str
    text: str


@dataclass(frozen=True)
class Conflict:
    """Requirements that no placement meets together."""

    requirements: tuple[Requirement, ...]
    minimal: bool
    """True if without any one of them there is a placement; else that is not known."""
    why: str = ""
    """The failure of the last placement that was looked at, if one task alone is in conflict."""


def requirements_of(problem: Problem) -> list[Requirement]:
    """All that a placement must meet: each can be given up alone."""
    found = []
    if problem.moves is not None:
        found.append(Requirement("moves", "", f"--moves {problem.moves}"))
    for kept in sorted(problem.kept, key=list(problem.system.tasks).index):
        at = next(d for d in problem.decisions if d.task == kept)
        found.append(Requirement("keep", kept, f"--keep {kept} (on {at.places[at.given]})"))
    for kind, span in problem.choose.items():
        if span is not None:
            found.append(Requirement("choose", kind, f"--choose {kind}={span.text}"))
    for name, chain in problem.system.chains.items():
        allowed = [f"{k} {v}" for k, v in (("reaction", chain.reaction), ("age", chain.age)) if v is not None]
        if allowed:
            found.append(Requirement("chain", name, f"chain {name} ({', '.join(allowed)})"))
    for name, task in problem.system.tasks.items():
        places = [str(p) for d in problem.decisions if d.task == name and d.mode is None for p in d.places]
        text = f"task {name}, deadline {task.deadline}, which may run on {_listed(problem.system, places)}"
        found.append(Requirement("task", name, text))
    return found


def _listed(system: System, places: Sequence[str]) -> str:
    """Places, with all cores of a group in one word."""
    found = list(places)
    for group, cores in system.platform_description.cores.items():
        names = [f"{group}-{index}" for index in range(cores.count)]
        if cores.count > 1 and all(name in found for name in names):
            found[found.index(names[0])] = f"{names[0]} to {names[-1]}"
            found = [name for name in found if name not in names]
    return ", ".join(found)


def known_conflict(problem: Problem, until: float) -> list[Requirement] | None:
    """Requirements that no placement meets, whatever the figures are that nobody gave; None: none is found.

    One after another is added, but for those with which it is undecided whether a placement meets them.
    """
    kept: list[Requirement] = []
    for one in requirements_of(problem):
        feasible, _ = _feasible(problem, [*kept, one], until - time.monotonic())
        if feasible is not None:
            kept.append(one)
        if feasible is False:
            return kept
    return None


def conflict_of(problem: Problem, seconds: float, progress: Progress, *, lacking: bool = False) -> Conflict:
    """A minimal set of requirements that cannot all be met, of a problem that has no placement.

    With `lacking` figures it is one of those that are in conflict whatever these are.

    Each is given up in turn: where there is still no placement, it was none of the reasons. One more
    requirement may make a bound lower (a task with an offset makes others' moments known), so that all that
    are left are tried again once one was given up.
    """
    until = time.monotonic() + seconds
    kept = (known_conflict(problem, until) if lacking else None) or requirements_of(problem)
    turns = deque(kept)
    needed = 0  # of those tried since one was given up
    minimal, why = True, ""
    while minimal and needed < len(kept):
        progress("requirements in conflict", needed / len(kept))
        one = turns.popleft()
        fewer = [other for other in kept if other != one]
        feasible, reason = _feasible(problem, fewer, until - time.monotonic())
        if feasible is None:
            minimal = False
        elif feasible:
            turns.append(one)
            needed += 1
        else:
            kept, why, needed = fewer, reason, 0
    return Conflict(tuple(kept), minimal, why if len(kept) == 1 else "")


def _feasible(
    problem: Problem, requirements: Sequence[Requirement], seconds: float
) -> tuple[bool | None, str]:
    """True if a placement meets some requirements, None if that is not known; and the failing bound."""
    if seconds <= 0:
        return None, ""
    names = {kind: {one.name for one in requirements if one.kind == kind} for kind in ("task", "chain")}
    if not names["task"]:
        return True, ""
    system = problem.system.without([name for name in problem.system.tasks if name not in names["task"]])
    ranges = {one.name for one in requirements if one.kind == "choose"}
    in_modes = any(d.mode is not None and len(d.places) > 1 for d in problem.decisions)
    fewer = problem_of(
        system,
        keep=[one.name for one in requirements if one.kind == "keep" and one.name in names["task"]],
        waived=[name for name in system.chains if name not in names["chain"]],
        moves=problem.moves if any(one.kind == "moves" for one in requirements) else None,
        in_modes=in_modes,
        choose={kind: span if kind in ranges else None for kind, span in problem.choose.items()},
    )
    search = Search(fewer, seconds)
    found = search.best("cores", any_will_do=True)
    if found.status in ("undecided", "unknown"):
        return None, ""
    return found.outcome is not None, search.why()
