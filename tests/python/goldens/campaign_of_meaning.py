#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One meaning, tried on random descriptions: what the analysis bounds, the simulator stays below; what the
simulator does, the executive in virtual time does from the plan image, event by event, with the blocks that
jobs read and write, and so, too, where steps take longer than their worst case, or never end.

`tests/python/goldens/campaign_of_meaning.py 100000` tries so many, from the parts of features.yaml, from the
number `--first` on: each has the pair of parts that was compared least so far. It prints how many pairs were
compared ten times, how many are refused by a row of the tables of what does not go together, and what became
of the rest. It ends at the first difference, and prints the arguments that make its description again.
"""

from __future__ import annotations

import argparse
import collections
import copy
import functools
import itertools
import json
import random
import re
import string
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import consort
import featured
import numpy as np
from consort import _engine
from consort.analysis.mode_changes import ModeBounds, analyze_modes
from consort.analysis.result import Bound
from consort.analysis.system import analyze_system
from consort.base.errors import BadInput
from consort.model import (
    Duration,
    Platform,
    System,
    conflicts,
    exclusions,
    load_system,
    system_from_data,
)
from consort.plan import ModePlans, Plan, PlannedTask, lacks, plan, plan_in_modes
from consort.record.ran import OPERATIONS, STATUS
from consort.record.ran import SLICES as DOING
from consort.run.build import reads_its_plan
from consort.run.plan_image import EXECUTION, plan_image
from consort.simulate.build import Prepared, prepare
from consort.simulate.chains import Chains, measure_chains
from consort.simulate.engine import ARRIVAL, JOBS, SLICES, Choice, Simulation, figures_of
from consort.simulate.modes import (
    PreparedModes,
    engine_system,
    measured_in_modes,
    prepare_modes,
    simulate_modes,
)
from consort.simulate.outcome import excesses_of

WALK = Path(__file__).resolve().parents[1] / "plan" / "walk"
MS = 10**9
# Parts that no simulation knows; `analyze` alone has them.
ANALYSED = {"bandwidth", "remote state", "no cost", "asked modes"}
# Factors that no part varies, and a key may get wrong.
FACTORS = (1, 1, 1, 2, 3, 5)
VARIED = ("wcet", "offset", "jitter", "deadline", "self_suspension")
# A step takes at most so many times its worst case, at its worker as where its master falls back. One that
# never ends takes longer than a run. No step crashes here: where time is virtual nothing dies.
OVERRUNS = (2, 5, 20)
NEVER_PS = 10 * 310 * MS
# Executions that are near the bounds, beside those in virtual time.
NEAR: tuple[Choice, ...] = ("edges", "worst")
# How far a description came: nobody refused it, virtual time did, simulations as well, `check` did.
LEVELS = ("executed", "simulated", "analysed", "refused")
# A part that is refused alone has here what it needs, so that its keys are compared, too.
_AWAY: dict[str, Any] = {"execution": "offloaded", "on": "w-0", "master": "m-0"}


def _boxes(*tasks: str) -> dict[str, Any]:
    return {f"{task}.{end}": {"memory": "ddr", "size": "64B"} for task in tasks for end in ("in", "out")}


NEEDS: dict[str, dict[str, Any]] = {
    "second chain": {"chains": {"way": {"communication": "let"}}},
    "logical channel": {"chains": {"way": {"communication": "let"}}},
    "modes that offload": {"channels": _boxes("d")},
    "fail-over": {"tasks": {"c": {"footprint": {"data": "64B"}}}},
    # Sections so long that others do wait for them.
    "ceiling": {"tasks": {"d": {"sections": {"bus": {"length": "300us"}}}}},
    "inheritance": {"tasks": {"b": {"sections": {"wire": {"length": "900us"}}}}},
}
# A worker for which two jobs wait, the less urgent one first.
_WAITING: dict[str, Any] = {
    "tasks": {
        "b": _AWAY | {"wcet": "6ms"},
        "c": _AWAY | {"master": "m-1", "offset": "2ms"},
        "d": _AWAY | {"master": "m-2", "offset": "1ms"},
    },
    "channels": _boxes("b", "c", "d"),
}
# Keys that act of offloaded tasks alone, of several jobs that wait, of some three-phase cores, or in a mode.
MORE: dict[str, dict[str, Any]] = {
    "stop": {"tasks": {"b": _AWAY | {"on_miss": "stop"}}, "channels": _boxes("b")},
    "hold of an answer": {"tasks": {"b": _AWAY | {"on_miss": "hold-last-output"}}, "channels": _boxes("b")},
    # Its master gives up before its worker is ready, and needs longer.
    "slow fallback": {
        "tasks": {
            "b": _AWAY
            | {"wcet": {"m": "4ms", "w": "1500us"}, "deadline": "1800us", "on_miss": "local-fallback"}
        },
        "channels": _boxes("b"),
    },
    "three at a worker": _WAITING,
    "three in their order": _WAITING | {"scheduling": {"w": {"service": "fifo"}}},
    "turns at a DMA": {
        "scheduling": {"spm": {"slot": None, "arbitration": "round-robin"}},
        "tasks": {
            "b": {"execution": "three-phase", "on": "spm-0", "footprint": {"code": "4KiB", "data": "1KiB"}},
            "c": {"execution": "three-phase", "on": "spm-1", "footprint": {"code": "8KiB", "data": "1KiB"}},
            "d": {"execution": "three-phase", "on": "spm-1", "footprint": {"code": "1KiB", "data": "2KiB"}},
        },
    },
    # Its answer comes when it was given up, and the next job is not there.
    "answer for nobody": {
        "tasks": {"b": _AWAY | {"wcet": {"m": "1ms", "w": "1500us"}, "deadline": "1ms"}},
        "channels": _boxes("b"),
    },
    # The more urgent job comes later than the difference of their deadlines.
    "late under edf": {
        "scheduling": {"m-0": {"policy": "edf"}},
        "tasks": {"a": {"deadline": "10ms", "jitter": "4ms"}, "b": {"deadline": "11ms", "wcet": "3ms"}},
    },
    "arrival at deadlines": {
        "tasks": {"b": {"period": None, "min_interarrival": "8ms", "arrival": "link"}},
        "channels": {"link": {"communication": "let"}},
        "chains": {"way": None},
    },
    "another order at a worker": _WAITING
    | {
        "modes": {
            "normal": {"tasks": ["a", "b", "c", "d"]},
            "turned": {"overrides": {"c": {"deadline": "6ms"}, "d": {"deadline": "5ms"}}},
        },
        "mode_changes": {"start": "normal", "agreement": "50us"},
    },
    # Its core has nothing to do in the first mode.
    "a worker in a mode": {
        "tasks": {"d": {"footprint": {"data": "64B"}}},
        "channels": _boxes("d"),
        "modes": {
            "normal": {"tasks": ["a", "b", "c", "d"]},
            "away": {"overrides": {"d": _AWAY | {"wcet": "2ms"}}},
        },
        "mode_changes": {"start": "normal", "agreement": "50us", "state_through": "shm"},
    },
}
# Parts with modes between which changes are made up.
CHANGING = {"mode changes", "another order at a worker", "a worker in a mode"}
# Keys of parts that virtual time refuses: where no simulation differs without them, the simulator ignores
# them.
SIMULATED = {
    "accelerator": {"accelerators", "requests"},
    "turns at an accelerator": {"accelerators", "requests"},
    "budgets at an accelerator": {"accelerators", "requests"},
    "ceiling": {"resources", "sections"},
    "inheritance": {"resources", "sections"},
    "server": {"supply"},
    "partition": {"supply"},
    "reload": {"cache_reload"},
    "direct-mapped": {"cache", "cache_sets"},
    "ways": {"cache", "cache_sets"},
    "suspensions": {"suspensions"},
    "three in their order": {"service"},
}


def _needed(name: str) -> dict[str, Any]:
    part = copy.deepcopy(MORE.get(name) or featured.FEATURES[name])
    featured.merged(part, NEEDS.get(name, {}))
    return part


FEATURES = {name: _needed(name) for name in {**featured.FEATURES, **MORE}}
NAMES = sorted(FEATURES)
Pair = tuple[str, str]
PAIRS: list[Pair] = list(itertools.combinations(NAMES, 2))
random.Random(0).shuffle(PAIRS)
ENOUGH = 10
# A pair that was refused so often is not drawn any more.
MOST_TRIES = 20


@functools.cache
def layouts() -> Any:
    return _engine.plan_layouts()


@functools.cache
def platform() -> Platform:
    found = load_system(WALK / "stand_ins.yaml").platform_description
    assert isinstance(found, Platform)
    return found


@dataclass(frozen=True)
class Case:
    """A random description, the parts that it is made of, and how it runs."""

    number: int
    features: tuple[str, ...]
    # Those of them that are of tasks of their own, on other cores.
    apart: tuple[str, ...]
    data: dict[str, Any]
    duration: int
    seed: int
    mode: str | None
    near: Choice
    # It is executed a second time with steps that take so many times their worst case; 0: that never end.
    overruns: Mapping[str, int]

    def __str__(self) -> str:
        mode = "" if self.mode is None else f", mode {self.mode}"
        again = [str(self.number), ", ".join(self.features), ", ".join(self.apart)]
        return f"--again {again}{mode}, {self.duration // MS} ms"


class Need:
    """Chooses the parts of descriptions: a pair that was compared least, and parts that go with it."""

    def __init__(self) -> None:
        self.held: collections.Counter[Pair] = collections.Counter()
        self.executed: collections.Counter[Pair] = collections.Counter()
        # Of descriptions without a third part.
        self.tries: collections.Counter[Pair] = collections.Counter()
        # Pairs that were compared on the same tasks.
        self.near: set[Pair] = set()
        self._next: list[Pair] = []

    def case(self, number: int) -> Case:
        """The description of a number, which depends on what was added before."""
        if not self._next:
            self.again()
        chance = random.Random(number)
        pair = self._next.pop()
        # What does not go together on one core may on two.
        near = chance.random() < 0.85 if pair in self.near else self.held[pair] == 0 and self.tries[pair] < 2
        one, other = chance.sample(pair, 2)
        sides = ([one, other], []) if near else ([one], [other])
        for _ in range(chance.choice((1, 2, 2, 3)) if self.held[pair] else 0):
            self._add_part(sides, chance, self.executed if self.executed[pair] else self.held)
        return described(number, [*sides[0], *sides[1]], sides[1])

    def again(self) -> None:
        """Looks anew which pairs were compared least."""
        wanted = [pair for pair in PAIRS if self.lacks(pair)] or PAIRS
        # From the end on.
        self._next = sorted(wanted, key=lambda pair: (self.met(pair), self.tries[pair]))[::-1]

    def _add_part(
        self, sides: tuple[list[str], list[str]], chance: random.Random, known: collections.Counter[Pair]
    ) -> None:
        """Adds the part that lacks most among several that are known to go with those that are there."""
        found: list[tuple[int, str, list[str]]] = []
        for name in chance.sample(NAMES, 16):
            for side, others in (sides, sides[::-1]):
                pairs = [_pair(name, one) for one in side]
                far = [_pair(name, one) for one in others]
                fits = self.near.issuperset(pairs) and all(known[one] for one in pairs + far)
                if side and fits and name not in (*side, *others):
                    found.append((sum(map(self.lacks, pairs + far)), name, side))
        if found:
            _, name, side = max(found, key=lambda one: one[0])
            side.append(name)

    def lacks(self, pair: Pair) -> bool:
        """True if descriptions of it are still of use: it has not been compared ten times, and may be."""
        return self.met(pair) < ENOUGH and (self.held[pair] > 0 or self.tries[pair] < MOST_TRIES)

    def met(self, pair: Pair) -> int:
        """How often a pair was executed, if it can be, or else simulated."""
        return self.executed[pair] or self.held[pair]

    def add(self, one: Case, found: Found) -> None:
        for pair in itertools.combinations(one.features, 2):
            if len(one.features) == 2:
                self.tries[pair] += MOST_TRIES // 4 if found.level == "analysed" else 1
            self.held[pair] += found.held
            self.executed[pair] += found.level == "executed"
            if found.held and len({name in one.apart for name in pair}) == 1:
                self.near.add(pair)


def _pair(one: str, other: str) -> Pair:
    return min(one, other), max(one, other)


def described(number: int, features: Iterable[str], apart: Iterable[str] = ()) -> Case:
    """The description of a number with these parts, some of them of tasks of their own."""
    return _made(number, tuple(sorted(features)), random.Random(number), tuple(sorted(apart)))


def _made(number: int, features: tuple[str, ...], chance: random.Random, apart: tuple[str, ...] = ()) -> Case:
    data = featured.system(number, features, FEATURES, apart)
    for task in data["tasks"].values():
        for key in VARIED:
            if isinstance(task.get(key), str) and chance.random() < 0.3:
                task[key] = _times(task[key], chance.choice(FACTORS))
    if not CHANGING.isdisjoint(features):
        _change(data, chance)
    seed = chance.getrandbits(63)
    data.setdefault("run", {})["seed"] = seed
    modes = () if "mode_changes" in data else data.get("modes", ())
    mode = chance.choice((None, *modes, *modes))
    duration, near = chance.choice((60, 130, 310)) * MS, chance.choice(NEAR)
    overruns = _overruns(data["tasks"], chance)
    return Case(number, features, apart, data, duration, seed, mode, near, overruns)


def _overruns(tasks: dict[str, Any], chance: random.Random) -> dict[str, int]:
    """One or two tasks of every second description, by what their worst case is multiplied; 0: never ends.

    For an offloaded one its master has something to do when no answer comes.
    """
    if chance.random() < 0.5:
        return {}
    away = [name for name, task in tasks.items() if task.get("execution") == "offloaded"]
    chosen = chance.sample(list(tasks), chance.choice((1, 1, 2)))
    if away and chance.random() < 0.7:
        chosen = [chance.choice(away), *chosen[1:]]
    return {task: chance.choice((*OVERRUNS, *OVERRUNS, 0)) for task in chosen}


def _change(data: dict[str, Any], chance: random.Random) -> None:
    """Gives the modes figures of their own, and changes between them at any instants."""
    for mode in data["modes"].values():
        for name in mode.get("tasks", ()):
            own: dict[str, str] = {}
            if chance.random() < 0.5:
                own["wcet"] = f"{chance.randint(300, 3000)}us"
            if "period" in data["tasks"][name] and chance.random() < 0.5:
                own["period"] = f"{chance.choice((10, 20, 40))}ms"
            if own:
                mode.setdefault("overrides", {}).setdefault(name, {}).update(own)
    changes = data["mode_changes"]
    for mode in data["modes"].values():
        for name, own in mode.get("overrides", {}).items():
            if "on" in own:
                changes.setdefault("state_through", "shm")
                data["tasks"][name].setdefault("footprint", {}).setdefault("data", "64B")
    requests, now = [], changes["start"]
    for instant in sorted(chance.sample(range(10_000, 300_000), 4)):
        now = chance.choice([name for name in data["modes"] if name != now])
        requests.append({"at": f"{instant}us", "to": now})
    changes["requests"] = requests


def _times(written: str, factor: int) -> str:
    digits = written.rstrip("umnps")
    return f"{int(digits) * factor}{written[len(digits) :]}"


@dataclass
class Found:
    """What was compared of a description, and what differs. `why`: who refused it first, and the reason."""

    level: str = "executed"
    why: str = ""
    bounds: int = 0
    jobs: int = 0
    slices: int = 0
    operations: int = 0
    changes: int = 0
    differences: list[str] = field(default_factory=list)
    # Of executions in which steps overran: what became of jobs.
    faults: collections.Counter[str] = field(default_factory=collections.Counter)

    @property
    def held(self) -> bool:
        """True if a simulation was held against bounds."""
        return self.level in ("executed", "simulated")


def tried(case: Case) -> Found:
    """Analyses, simulates and executes a description."""
    try:
        system = system_from_data(case.data, file=WALK / "system.yaml", platform=platform())
    except BadInput as refused:
        return Found("refused", _reason(refused))
    modes = system.mode_changes is not None
    try:
        plans = (
            plan_in_modes(system, "virtual", stand_ins=True)
            if modes
            else ModePlans(plan(system, "virtual", mode=case.mode, stand_ins=True))
        )
        keeps = list(plans.whole.tasks)
        image = plan_image(plans, layouts(), keeps, case.duration)
    except BadInput as refused:
        return _not_executed(case, system, _reason(refused))
    found, simulated, made = _executed(case, system, plans, keeps, image)
    if isinstance(made, PreparedModes):
        _hold_modes(found, case, made, analyze_modes(system))
    else:
        bounds = analyze_system(plans.whole)
        _hold(found, bounds, _simulation(case, made, simulated), {})
        _hold_near(found, case, made, bounds)
    if case.overruns:
        plans = _overrunning(plans, case)
        image = plan_image(plans, layouts(), keeps, case.duration)
        _add_faults(found, *_executed(case, system, plans, keeps, image)[:2], case)
    return found


def _executed(
    case: Case, system: System, plans: ModePlans, keeps: list[str], image: bytes
) -> tuple[Found, dict[str, Any], Prepared | PreparedModes]:
    """A simulation beside an execution of the same plans."""
    executed = _engine.run_plan(image, True)
    made: Prepared | PreparedModes
    if plans.modes:
        found, simulated, made = _with_changes(case, system, plans, keeps, executed)
    else:
        made = _prepared(plans.whole, keeps)
        simulated = _engine.sim_run(made.engine, case.duration, case.seed, EXECUTION, ARRIVAL, True)
        found = compared(simulated, executed)
        found.differences += _unlike("figures", simulated["tasks"], executed["modes"][0])
        found.differences += _unlike("stop", simulated["stopped"], executed["stopped"])
    if executed["stopped"] is None:
        _compare_operations(found, plans.whole, simulated, executed)
    return found, simulated, made


def _compare_operations(
    found: Found, made: Plan, simulated: dict[str, Any], executed: dict[str, Any]
) -> None:
    """The blocks that jobs read and write in virtual time beside those that follow from simulated jobs."""
    expected = operations_of(made, simulated["jobs"].view(JOBS), simulated["slices"].view(SLICES))
    rows = executed["operations"].view(OPERATION)
    seen = sorted(zip(*(rows[key].tolist() for key in _OPERATION), strict=True))
    found.operations += len(seen)
    if seen != expected:
        pairs = itertools.zip_longest(expected, seen)
        first = next(pair for pair in pairs if pair[0] != pair[1])
        found.differences.append(f"operation: expected {first[0]}, executed {first[1]}")


# What is compared of an operation, and how it lies in memory (include/consort/task/job.hpp).
_OPERATION = ("channel", "task", "seq", "kind", "sequence", "time")
OPERATION = np.dtype(
    [
        ("time", "<i8"),
        ("sequence", "<u8"),
        ("seq", "<u4"),
        ("task", "<u2"),
        ("channel", "<u2"),
        ("kind", "<u2"),
        ("count", "<u2"),
        ("reserved", "<u4"),
    ]
)


def operations_of(
    made: Plan, jobs: np.ndarray[Any, Any], slices: np.ndarray[Any, Any]
) -> list[tuple[int, ...]]:
    """The operations of jobs by counting: docs/explanation/simulator.md, "Chains".

    A job reads the newest block that is there when it begins, a three-phase one when its load begins, and
    under logical execution time when it is due. Its own is there when it ends, or at its deadline.
    """
    names = list(made.tasks)
    loads = slices[slices["doing"] == DOING.index("load")]
    begins = {(int(one["task"]), int(one["seq"])): int(one["begin"]) for one in loads}
    by_task = {number: np.sort(jobs[jobs["task"] == number], order="seq") for number in range(len(names))}
    wrote_nothing = STATUS["outputs_held"] | STATUS["unserved"]
    found: list[tuple[int, ...]] = []
    for place, channel in enumerate(made.carried):
        if channel.writer not in names:
            continue  # no machine follows a device
        writer, let = names.index(channel.writer), channel.communication == "let"
        there = []
        for job in by_task[writer]:
            if job["status"] & wrote_nothing:
                continue
            at, late = int(job["finish"]), bool(let and job["finish"] > job["deadline"])
            at = max(at, int(job["deadline"])) if let else at
            kind = OPERATIONS.index("write-late" if late else "write")
            there.append(at)
            found.append((place, writer, int(job["seq"]), kind, len(there), at + 1))
        blocks = np.sort(np.array(there, dtype=np.int64))
        for name in channel.readers:
            reader = names.index(name)
            for job in by_task[reader]:
                if job["status"] & STATUS["unserved"]:
                    continue
                begin = begins.get((reader, int(job["seq"])), int(job["start"]))
                at = int(job["release"]) if let else begin
                newest = int(np.searchsorted(blocks, at, side="right"))
                found.append((place, reader, int(job["seq"]), OPERATIONS.index("read"), newest, at + 1))
    return sorted(found)


def _overrunning(plans: ModePlans, case: Case) -> ModePlans:
    """Plans with steps that overrun; deadlines, waits and ranks are those of the worst case."""

    def longer(task: PlannedTask) -> PlannedTask:
        factor = case.overruns.get(task.name)
        if factor is None or task.wcet_ps is None:
            return task
        if factor == 0:
            return replace(task, wcet_ps=NEVER_PS, bcet_ps=NEVER_PS)
        fallback = None if task.fallback_ps is None else task.fallback_ps * factor
        return replace(task, wcet_ps=task.wcet_ps * factor, fallback_ps=fallback)

    def made(right: Plan) -> Plan:
        return replace(right, tasks={name: longer(task) for name, task in right.tasks.items()})

    return ModePlans(made(plans.whole), {mode: made(one) for mode, one in plans.modes.items()})


def _add_faults(found: Found, faulty: Found, simulated: dict[str, Any], case: Case) -> None:
    found.differences += [f"with overruns of {dict(case.overruns)}: {one}" for one in faulty.differences]
    found.jobs += faulty.jobs
    found.slices += faulty.slices
    found.operations += faulty.operations
    found.changes += faulty.changes
    status = simulated["jobs"].view(JOBS)["status"]
    found.faults.update(name for name, bit in STATUS.items() if (status & bit).any())
    if simulated.get("stopped") is not None:
        found.faults["stopped"] += 1


def _reason(refused: BadInput) -> str:
    """The first reason, without the names and numbers of one description."""
    first = str(refused).partition("\n")[0].partition("system.yaml: ")[2] or str(refused)
    return re.sub(r"\d[\d.,]*", "N", first)


def _not_executed(case: Case, system: System, why: str) -> Found:
    """Holds what virtual time refuses against the simulator alone, or analyses it where that refuses, too."""
    found = Found("simulated", why)
    if system.mode_changes is not None:
        try:
            mode_bounds = analyze_modes(system)
            made = prepare_modes(system)
        except BadInput as refused:
            return Found("analysed", _reason(refused))
        _hold_modes(found, case, made, mode_bounds)
        return found
    try:
        planned = plan(system, "analysis", mode=case.mode)
        bounds = analyze_system(planned)
        prepared = prepare(planned)
    except BadInput as refused:
        return Found("analysed", _reason(refused))
    _hold_near(found, case, prepared, bounds)
    return found


def _hold_near(found: Found, case: Case, prepared: Prepared, bounds: list[Bound]) -> None:
    """Holds responses and chains of executions near the bounds against them."""
    simulated = _near(case, prepared)
    simulation = _simulation(case, prepared, simulated)
    found.jobs += simulated["jobs"].view(JOBS).size
    _hold(found, bounds, simulation, measure_chains(simulation))


def _near(case: Case, prepared: Prepared) -> dict[str, Any]:
    return _engine.sim_run(prepared.engine, case.duration, case.seed, case.near, ARRIVAL, True)


def ignored(descriptions: int = 100) -> list[str]:
    """Parts of `SIMULATED` without whose keys no simulation has other jobs."""
    return [part for part in SIMULATED if not any(_acts(part, number) for number in range(descriptions))]


def _acts(part: str, number: int) -> bool:
    made = _made(number, (part,), random.Random(number))
    jobs = []
    for data in (made.data, _without(made.data, SIMULATED[part])):
        system = system_from_data(data, file=WALK / "system.yaml", platform=platform())
        jobs.append(_near(made, prepare(system))["jobs"])
    return not np.array_equal(*jobs)


def _without(data: Any, keys: set[str]) -> Any:
    if not isinstance(data, dict):
        return data
    return {key: _without(value, keys) for key, value in data.items() if key not in keys}


def _simulation(case: Case, prepared: Prepared, simulated: dict[str, Any]) -> Simulation:
    figures = figures_of(prepared, dict(zip(prepared.tasks, simulated["tasks"], strict=True)), case.seed)
    jobs, slices = simulated["jobs"].view(JOBS), simulated["slices"].view(SLICES)
    return Simulation(prepared, case.duration, case.seed, 1, figures, simulated["stopped"], jobs, slices)


def _prepared(made: Plan, keeps: list[str]) -> Prepared:
    return prepare(made, skips=True, keeps=keeps)


def _with_changes(
    case: Case, system: System, plans: ModePlans, keeps: list[str], executed: dict[str, Any]
) -> tuple[Found, dict[str, Any], PreparedModes]:
    whole, names = plans.whole, list(plans.modes)
    changes = whole.changes
    assert changes is not None
    prepared = {mode: _prepared(made, keeps) for mode, made in plans.modes.items()}
    engine = _engine.SimModes(
        [
            engine_system(plans.modes[m], one, list(whole.tasks), list(whole.cores))
            for m, one in prepared.items()
        ],
        names.index(changes.start),
        changes.agreement_ps,
        [(at, names.index(to)) for at, to in changes.requests],
    )
    simulated = _engine.sim_run_modes(engine, case.duration, case.seed, EXECUTION, ARRIVAL, True)
    found = compared(simulated, executed)
    found.differences += _unlike("figures", simulated["modes"], executed["modes"])
    found.differences += _unlike("changes", simulated["changes"], executed["changes"])
    found.changes = len(executed["changes"])
    made = PreparedModes(system, prepared, engine, list(whole.tasks), list(whole.cores))
    return found, simulated, made


def _hold_modes(found: Found, case: Case, made: PreparedModes, bounds: ModeBounds) -> None:
    simulation = simulate_modes(made, bounds, case.duration, case.seed, choice=case.near, trace=True)
    chains = measured_in_modes(simulation)[1]
    for mode, one in simulation.modes.items():
        _hold(found, bounds.modes[mode], one, chains.get(mode, {}))
    for change in simulation.changes:
        found.changes += 1
        found.bounds += change.bound is not None
        if change.bound is not None and change.latency > change.bound:
            found.differences.append(f"{change.old} -> {change.new}: {change.excess}")


def _hold(found: Found, bounds: list[Bound], simulation: Simulation, chains: Chains) -> None:
    found.bounds += sum(bound.response is not None for bound in bounds)
    found.differences += [str(excess) for excess in excesses_of(bounds, simulation)]
    for bound in bounds:
        seen = chains.get(bound.task)
        if seen is None or bound.response is None or bound.kind not in ("reaction time", "data age"):
            continue
        took = seen.reaction if bound.kind == "reaction time" else seen.age
        if took is not None and took > bound.response:
            found.differences.append(f"{bound.task}: {bound.kind} {took} ps, bound {bound.response} ps")


def compared(simulated: dict[str, Any], executed: dict[str, Any]) -> Found:
    """The jobs and slices of the simulator beside those of virtual time."""
    jobs, slices = (
        [np.sort(one[key].view(kind), order=order) for one in (simulated, executed)]
        for key, kind, order in (
            ("jobs", JOBS, ["task", "seq"]),
            ("slices", SLICES, ["core", "task", "seq", "doing", "begin"]),
        )
    )
    found = Found(jobs=jobs[0].size, slices=slices[0].size)
    for which, (one, other) in (("job", jobs), ("slice", [_joined(rows) for rows in slices])):
        if one.size != other.size or (one != other).any():
            pairs = itertools.zip_longest(one.tolist(), other.tolist())
            first = next((pair for pair in pairs if pair[0] != pair[1]), (None, None))
            found.differences.append(f"{which}: simulated {first[0]}, executed {first[1]}")
    return found


def _joined(slices: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A stretch may be recorded in two pieces."""
    goes_on = np.zeros(slices.size, dtype=bool)
    if slices.size:
        same = slices["end"][:-1] == slices["begin"][1:]
        for key in ("core", "task", "seq", "doing"):
            same &= slices[key][:-1] == slices[key][1:]
        goes_on[1:] = same
    found = slices[~goes_on].copy()
    lasts = np.append(np.flatnonzero(~goes_on)[1:] - 1, slices.size - 1)
    if slices.size:
        found["end"] = slices["end"][lasts]
    return found


def _unlike(what: str, simulated: Any, executed: Any) -> list[str]:
    return [] if simulated == executed else [f"{what}: simulated {simulated}, executed {executed}"]


def judged(case: Case, folder: Path) -> tuple[str, str] | None:
    """The verdicts of a simulation and of a run in virtual time; None where nobody has both.

    Steps that are compiled take as long as hundreds of descriptions of stand-ins.
    """
    try:
        system = system_from_data(case.data, file=WALK / "system.yaml", platform=platform())
        made = plan(system, "virtual", mode=case.mode, stand_ins=True)
        analysed = system if case.mode is None else plan(system, "analysis", mode=case.mode)
    except BadInput:
        return None
    rows = any(device.kind in ("function", "recording") for device in made.devices.values())
    if rows or not reads_its_plan(made):
        return None  # the rows of these descriptions are not inputs: a plan alone reads them
    length = Duration(case.duration)
    simulated = consort.simulate(analysed, length, seed=case.seed, root=folder)
    executed = consort.run(
        system,
        target="virtual",
        stand_ins=True,
        duration=length,
        mode=case.mode,
        configurations=["offloaded-off" if made.workers else "local-off"],
        seed=case.seed,
        root=folder,
    )
    return simulated.data["verdict"]["ok"], executed.data["verdict"]["ok"]


@dataclass
class Counts:
    """What a campaign compared. `why`: the reasons for which the simulator, or all, refused a pair alone."""

    tried: int = 0
    bounds: int = 0
    jobs: int = 0
    slices: int = 0
    operations: int = 0
    changes: int = 0
    levels: collections.Counter[str] = field(default_factory=collections.Counter)
    executed: collections.Counter[tuple[str, ...]] = field(default_factory=collections.Counter)
    held: collections.Counter[tuple[str, ...]] = field(default_factory=collections.Counter)
    why: dict[tuple[str, ...], list[str]] = field(default_factory=dict)
    faults: collections.Counter[str] = field(default_factory=collections.Counter)

    def add(self, one: Case, found: Found) -> None:
        self.tried += 1
        self.levels[found.level] += 1
        pairs = [(name,) for name in one.features] + list(itertools.combinations(one.features, 2))
        if found.level == "executed":
            self.executed.update(pairs)
        if found.level in ("executed", "simulated"):
            self.held.update(pairs)
        elif len(one.features) == 2:
            self.why.setdefault(one.features, []).append(found.why)
        for count in ("bounds", "jobs", "slices", "operations", "changes"):
            setattr(self, count, getattr(self, count) + getattr(found, count))
        self.faults += found.faults

    @property
    def compared(self) -> int:
        return self.levels["executed"]

    def seldom(self, size: int) -> list[tuple[str, ...]]:
        """The parts, or pairs of parts, that were simulated and analysed less than ten times."""
        return [one for one in itertools.combinations(NAMES, size) if self.held[one] < ENOUGH]

    def refused(self, size: int) -> list[tuple[str, ...]]:
        """Those of them that a row of the tables of what does not go together refuses."""
        return [one for one in self.seldom(size) if any(map(by_row, self.why.get(one, ())))]

    def analysed(self, size: int) -> list[tuple[str, ...]]:
        """Those of them with a part that no simulation knows."""
        return [one for one in self.seldom(size) if not ANALYSED.isdisjoint(one)]

    def rest(self, size: int) -> list[tuple[str, ...]]:
        """What seldom was compared, for no such reason."""
        known = {*self.refused(size), *self.analysed(size)}
        return [one for one in self.seldom(size) if one not in known]

    def __str__(self) -> str:
        return (
            f"{self.tried:,} descriptions: {', '.join(f'{self.levels[one]:,} {one}' for one in LEVELS)};"
            f" {self.jobs:,} jobs, {self.slices:,} slices, {self.operations:,} operations of channels,"
            f" {self.changes:,} changes of mode,"
            f" {self.bounds:,} bounds; with steps that overran, descriptions with jobs that were: "
            + ", ".join(f"{name} {count:,}" for name, count in sorted(self.faults.items()))
        )


@functools.cache
def _rows() -> re.Pattern[str]:
    """The reasons of all rows of the tables, with anything for what they name."""
    whys = {row.why for row in (*conflicts.ROWS, *exclusions.EXCLUSIONS, *lacks.LACKS)}
    return re.compile("|".join(map(_pattern, whys)))


def _pattern(why: str) -> str:
    parts = string.Formatter().parse(why)
    return "".join(re.escape(text) + ("" if name is None else ".+") for text, name, *_ in parts)


def by_row(why: str) -> bool:
    """True if a reason is that of a row of the tables of what does not go together."""
    return _rows().search(why) is not None


def campaign(numbers: Iterable[int], seen: Callable[[Counts], None] | None = None) -> Counts:
    """Tries descriptions; `AssertionError` at the first difference. `seen` is called after each one."""
    counts, need = Counts(), Need()
    for number in numbers:
        one = need.case(number)
        found = tried(one)
        assert not found.differences, "\n".join([str(one), *found.differences])
        counts.add(one, found)
        need.add(one, found)
        if seen is not None:
            seen(counts)
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("descriptions", type=int, nargs="?", default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--again", nargs=3, metavar=("NUMBER", "PARTS", "APART"))
    options = parser.parse_args()
    if options.again:
        number, *parts = options.again
        one = described(int(number), *([name for name in part.split(", ") if name] for part in parts))
        print(json.dumps(one.data, indent=1), tried(one), sep="\n")
        return 0
    begin = time.process_time()

    def progress(counts: Counts) -> None:
        if counts.tried % 1000 == 0:
            speed = counts.tried / (time.process_time() - begin)
            print(f"{counts.tried:,} tried, {speed:.0f} a second of one core", file=sys.stderr, flush=True)

    counts = campaign(range(options.first, options.first + options.descriptions), progress)
    print(counts)
    print(f"{counts.tried / (time.process_time() - begin):.0f} descriptions a second of one core")
    print(f"ignored by the simulator: {', '.join(ignored()) or 'nothing'}")
    for size, what in ((1, "parts"), (2, "pairs")):
        every = list(itertools.combinations(NAMES, size))
        held = sum(counts.held[one] >= ENOUGH for one in every)
        executed = sum(counts.executed[one] >= ENOUGH for one in every)
        print(
            f"{what}: {len(every):,}; ten times held against their bounds: {held:,}, of these executed event"
            f" by event as well: {executed:,}; refused by a row of the tables: {len(counts.refused(size)):,};"
            f" with a part that no simulation knows: {len(counts.analysed(size)):,}; the rest:"
            f" {len(counts.rest(size)):,}"
        )
        for one in counts.rest(size):
            print(f"  {counts.held[one]} {' + '.join(one)}: {next(iter(counts.why.get(one, '')), '')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
