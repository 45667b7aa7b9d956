# SPDX-License-Identifier: Apache-2.0
"""Single changes that make a description schedulable; each is tried before it is named."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal

from consort.analysis.result import Bound, in_words
from consort.analysis.system import analyze_system
from consort.analysis.three_phase import three_phase_cores
from consort.base.waiting import Progress, silent
from consort.model import BadDescription, System, system_from_data
from consort.model.channel import Wait
from consort.model.emulation import unpreempted

ChangeKind = Literal["priority", "core", "wcet", "slot", "arbitration", "policy"]
# A description as text, and which of its bounds hold.
Tried = dict[str, dict[tuple[str, str], bool]]
# Cores of one group are alike: so many of those that are not in use are tried.
_UNUSED_CORES = 1
# How long is searched [s]: on a system of hundreds of tasks each change that is tried takes a second.
SECONDS = 10.0
# Halvings in the search for an execution time: to a four-thousandth.
_HALVINGS = 12
NONE_FOUND = (
    "none of the changes that were tried makes it hold: of its priority, core, execution time or policy, of"
    " one core's slot, of the DMA's arbitration, or of the core or execution time of one task beside it"
)


@dataclass(frozen=True)
class Change:
    """A single change after which the bound holds, and none that held before fails."""

    kind: ChangeKind
    text: str
    # True if everything then holds, and not this bound alone.
    mends_all: bool


@dataclass(frozen=True)
class Advice:
    """A bound that does not hold, and the changes that would make it hold."""

    bound: Bound
    changes: tuple[Change, ...]
    # True if every change was tried; else the time was over.
    complete: bool = True

    def lines(self) -> list[str]:
        """The verdict, by how much it fails, and each change that makes it hold."""
        lines = [self.bound.verdict()]
        for change in self.changes:
            rest = "" if change.mends_all else " (other bounds that fail stay failing)"
            lines.append(f"  {change.kind}: {change.text}{rest}")
        if not self.complete:
            lines.append("  not every change was tried in the time allowed (--advice-time)")
        elif not self.changes and not self.bound.missing:
            lines.append(f"  {NONE_FOUND}")
        return lines


def advise(
    system: System,
    *,
    waiting: Wait | None = None,
    progress: Progress = silent,
    before: list[Bound] | None = None,
    seconds: float = SECONDS,
) -> list[Advice]:
    """Every bound that does not hold, in the order of the analysis, with the changes that would make it hold.

    Each change that is tried is a whole analysis: seconds for a system of some ten tasks. The search ends
    after `seconds`; what it had not tried then is marked. `before` are the system's bounds, where they are
    known. `progress` gets what is being analysed and the share that is done.
    """
    until = time.monotonic() + seconds
    before = analyze_system(system, waiting=waiting) if before is None else before
    failing = [bound for bound in before if not bound.schedulable]
    tried: Tried = {}
    advice = []
    for index, bound in enumerate(failing):
        progress(f"changes for {bound.task}", index / len(failing))
        now = time.monotonic()
        # To each that is left an equal share of the time that is left.
        search = _Search(system, before, bound, waiting, tried, now + (until - now) / (len(failing) - index))
        changes: list[Change] = []
        complete = True
        try:
            for change in search.changes():
                changes.append(change)
        except _OutOfTime:
            complete = False
        advice.append(Advice(bound, tuple(changes), complete))
    return advice


class _OutOfTime(Exception):
    pass


class _Search:
    def __init__(
        self,
        system: System,
        before: list[Bound],
        failing: Bound,
        waiting: Wait | None,
        tried: Tried,
        until: float,
    ) -> None:
        self.system = system
        self.until = until
        self.tried = tried
        self.failing = failing
        self.waiting = waiting
        self.held = {(b.task, b.kind) for b in before if b.schedulable}
        self.data = system.to_json()
        self.unpreempted = {core for core, *_ in unpreempted(system)}

    def tasks(self) -> list[str]:
        """The tasks whose change may make the bound hold."""
        if self.failing.task in self.system.tasks:
            return [self.failing.task]
        chain = self.system.chains.get(self.failing.task)
        return [] if chain is None else list(dict.fromkeys(chain.path))

    def changes(self) -> Iterator[Change]:
        found = False
        for task in self.tasks():
            for attempts in (self.priorities, self.cores, self.wcets, self.slots, self.policies):
                for change in attempts(task):
                    found = True
                    yield change
        if found:
            return
        # Then those that its tasks wait for.
        for other in self.beside():
            for attempts in (self.cores, self.wcets):
                yield from attempts(other)

    def beside(self) -> list[str]:
        """The other tasks on the cores and at the workers of `tasks()`."""
        own = self.tasks()
        places = {place for name in own for place in self.places(name)}
        return [
            name for name in self.system.tasks if name not in own and not places.isdisjoint(self.places(name))
        ]

    def places(self, task: str) -> set[str]:
        """The core that releases a task, and the one that computes it."""
        described = self.system.tasks[task]
        return {described.released_by, described.on}

    def attempt(self, data: dict[str, Any]) -> bool | None:
        """None if the bound still fails after the change; else true if every bound holds."""
        # Two bounds of one task, or two tasks that wait for the same one, lead to the same changes.
        if time.monotonic() > self.until:
            raise _OutOfTime
        key = json.dumps(data, sort_keys=True)
        if key not in self.tried:
            self.tried[key] = self.verdicts(data)
        after = self.tried[key]
        wanted = (self.failing.task, self.failing.kind)
        if not after.get(wanted, False) or not all(after.get(key, True) for key in self.held):
            return None
        return all(after.values())

    def verdicts(self, data: dict[str, Any]) -> dict[tuple[str, str], bool]:
        """The verdict on each bound of the changed description; empty if it is invalid, or if a core then has
        to preempt and cannot."""
        try:
            system = system_from_data(data, file=self.system.file, platform=self.system.platform_description)
            if not {core for core, *_ in unpreempted(system)} <= self.unpreempted:
                return {}
            bounds = analyze_system(system, waiting=self.waiting)
        except BadDescription:
            # It may be refused as soon as it is planned, too: one DMA engine has one arbitration.
            return {}
        return {(b.task, b.kind): b.schedulable for b in bounds}

    def changed(self, task: str, **fields: object) -> dict[str, Any]:
        data = deepcopy(self.data)
        data["tasks"][task] |= fields
        return data

    def priorities(self, task: str) -> Iterator[Change]:
        """The task above another of its core, or another below it; the first that does of each."""
        core = self.system.tasks[task].released_by
        order = self.system.priorities(core)
        # Below the others of its own priority: to be above one of them is a change, too.
        ranked = sorted(order, key=lambda name: (-order[name], name == task))
        place = ranked.index(task)
        for other in reversed(ranked[:place]):
            up = [name for name in ranked if name != task]
            up.insert(up.index(other), task)
            all_hold = self.attempt(self.ranked(up, task, order))
            if all_hold is not None:
                yield Change("priority", f"make {task} more urgent than {other}", all_hold)
                return
        for other in ranked[:place]:
            down = [name for name in ranked if name != other]
            down.insert(down.index(task) + 1, other)
            all_hold = self.attempt(self.ranked(down, other, order))
            if all_hold is not None:
                yield Change("priority", f"make {other} less urgent than {task}", all_hold)
                return

    def ranked(self, names: list[str], moved: str, order: Mapping[str, int]) -> dict[str, Any]:
        """The tasks in this order; those that shared a priority still do, but for the one that was moved."""
        data = deepcopy(self.data)
        below, number = "", 0
        for name in reversed(names):
            if not below or moved in (name, below) or order[name] != order[below]:
                number += 1
            data["tasks"][name]["priority"] = number
            below = name
        return data

    def cores(self, task: str) -> Iterator[Change]:
        """The first core of each kind to which the task can move so that the bound holds."""
        platform = self.system.platform_description
        used = set(self.system.cores())
        serving = {accelerator.on for accelerator in self.system.accelerators.values()}
        described = self.system.tasks[task]
        for group in platform.cores:
            unused = 0
            for core in platform.cores_of(group):
                if core.name in (described.on, described.master) or core.name in serving:
                    continue
                if core.name not in used:
                    unused += 1
                    if unused > _UNUSED_CORES:
                        continue
                if described.wcet_on(core.processor_name) is None:
                    continue
                all_hold = self.attempt(self.changed(task, on=core.name))
                if all_hold is not None:
                    yield Change("core", f"place {task} on {core.name}", all_hold)
                    break

    def wcets(self, task: str) -> Iterator[Change]:
        """The longest execution time that does, to a four-thousandth of the present one."""
        wcet = self.system.wcet(task)
        if wcet is None or wcet.picoseconds < 2:
            return
        # Known to do, known not to.
        good, bad = 0, wcet.picoseconds
        all_hold = False
        for _ in range(_HALVINGS):
            middle = (good + bad) // 2
            if middle in (good, bad):
                break
            data = self.changed(task, wcet=f"{middle}ps")
            data["tasks"][task].pop("bcet", None)
            result = self.attempt(data)
            if result is None:
                bad = middle
            else:
                good, all_hold = middle, result
        if good:
            share = 100 - 100 * good / wcet.picoseconds
            text = f"bring the execution time of {task} to {in_words(good)} from {in_words(wcet.picoseconds)}"
            yield Change("wcet", f"{text} ({share:.3g} % less)", all_hold)

    def slots(self, task: str) -> Iterator[Change]:
        """A slot that just fits the tasks of a core, and the other arbitration for all on the DMA engine."""
        described = self.system.tasks[task]
        if described.execution != "three-phase":
            return
        cores = three_phase_cores(self.system)
        for core in (described.on, *(other for other in cores if other != described.on)):
            if self.system.scheduling_of(core).slot in (None, "auto"):
                continue
            all_hold = self.attempt(self.scheduled({core: {"slot": "auto"}}))
            if all_hold is not None:
                yield Change("slot", f"a slot on {core} that just fits its tasks (slot: auto)", all_hold)
                break
        # The engine has one arbitration. Neither has the shorter bound of every task.
        now = self.system.scheduling_of(described.on).arbitration
        other = "tdma" if now == "round-robin" else "round-robin"
        # Turns need a slot.
        slots = {core: self.system.scheduling_of(core).slot or "auto" for core in cores}
        keys = {core: {"arbitration": other, "slot": str(slot)} for core, slot in slots.items()}
        all_hold = self.attempt(self.scheduled(keys))
        if all_hold is not None:
            yield Change("arbitration", f"arbitration {other} for {', '.join(cores)}", all_hold)

    def scheduled(self, keys: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
        """The description with these keys in the scheduling of these cores."""
        data = deepcopy(self.data)
        scheduling = data.setdefault("scheduling", {})
        for core, changed in keys.items():
            own = scheduling.get(self.system.scheduling_entry(core), {})
            scheduling[core] = {**own, **changed}
        return data

    def policies(self, task: str) -> Iterator[Change]:
        described = self.system.tasks[task]
        core = described.released_by
        now = self.system.scheduling_of(core).policy
        if described.execution == "three-phase" or now == "three-phase":
            return
        stuck = core in self.unpreempted
        for policy in ("fixed-priority-non-preemptive",) if stuck else ("edf", "fixed-priority"):
            if policy == now:
                continue
            data = self.scheduled({core: {"policy": policy}})
            if policy == "edf":
                # Deadlines order its jobs: a priority there would be an error.
                for name in self.system.priorities(core):
                    data["tasks"][name].pop("priority", None)
            all_hold = self.attempt(data)
            if all_hold is not None:
                yield Change("policy", f"{policy} on {core} instead of {now}", all_hold)
                return
