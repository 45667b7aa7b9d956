#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One meaning, tried on random descriptions: what the analysis bounds, the simulator stays below; what the
simulator does, the executive in virtual time does from the plan image, event by event.

`tests/python/goldens/campaign_of_meaning.py 100000` tries so many, from the parts of features.yaml, from the
number `--first` on, and prints how often each part and each pair of parts was compared. It ends at the first
difference, and names its number.
"""

from __future__ import annotations

import argparse
import collections
import functools
import itertools
import random
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import featured
import numpy as np
from consort import _engine
from consort.analysis.mode_changes import ModeBounds, analyze_modes
from consort.analysis.result import Bound
from consort.analysis.system import analyze_system
from consort.errors import BadInput
from consort.model import Platform, System, load_system, system_from_data
from consort.plan import ModePlans, Plan, plan, plan_in_modes
from consort.run.virtual import EXECUTION, plan_image
from consort.simulate.build import Prepared, prepare
from consort.simulate.chains import Chains, measure_chains
from consort.simulate.check import excesses_of
from consort.simulate.engine import ARRIVAL, Simulation, figures_of
from consort.simulate.modes import engine_system
from consort.simulate.rows import JOBS, SLICES

WALK = Path(__file__).resolve().parents[1] / "plan" / "walk"
MS = 10**9
# What no part varies, and a key may get wrong.
FACTORS = (1, 1, 1, 2, 3, 5)
VARIED = ("wcet", "offset", "jitter", "deadline", "self_suspension")


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
    data: dict[str, Any]
    duration: int
    seed: int

    def __str__(self) -> str:
        return f"description {self.number} ({', '.join(self.features)}), {self.duration // MS} ms"


def case(number: int) -> Case:
    """The description of a number: some parts, mostly of those that a machine can honour together."""
    chance = random.Random(number)
    chosen = {*chance.sample(list(featured.FEATURES), chance.choice((1, 2, 2, 3, 3, 4)))}
    features = tuple(sorted(chosen | {"mode changes"} if chance.random() < 0.2 else chosen))
    data = featured.system(number, features)
    for task in data["tasks"].values():
        for key in VARIED:
            if isinstance(task.get(key), str) and chance.random() < 0.3:
                task[key] = _times(task[key], chance.choice(FACTORS))
    if "mode changes" in features:
        _change(data, chance)
    seed = chance.getrandbits(63)
    data.setdefault("run", {})["seed"] = seed
    return Case(number, features, data, chance.choice((60, 130, 310)) * MS, seed)


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
    requests, now = [], data["mode_changes"]["start"]
    for instant in sorted(chance.sample(range(10_000, 300_000), 4)):
        now = chance.choice([name for name in data["modes"] if name != now])
        requests.append({"at": f"{instant}us", "to": now})
    data["mode_changes"]["requests"] = requests


def _times(written: str, factor: int) -> str:
    digits = written.rstrip("umnps")
    return f"{int(digits) * factor}{written[len(digits) :]}"


@dataclass
class Found:
    """What was compared of a description, and what differs. `refused`: who said that it cannot be."""

    refused: str = ""
    bounds: int = 0
    jobs: int = 0
    slices: int = 0
    changes: int = 0
    differences: list[str] = field(default_factory=list)


def tried(case: Case) -> Found:
    """Analyses, simulates and executes a description."""
    try:
        system = system_from_data(case.data, file=WALK / "system.yaml", platform=platform())
    except BadInput:
        return Found("check")
    modes = system.mode_changes is not None
    try:
        plans = (
            plan_in_modes(system, "virtual", stand_ins=True)
            if modes
            else ModePlans(plan(system, "virtual", stand_ins=True), {})
        )
        keeps = list(plans.whole.tasks)
        image = plan_image(plans, layouts(), keeps, case.duration)
    except BadInput:
        return Found("virtual")
    executed = _engine.run_plan(image, True)
    if plans.modes:
        return _with_changes(case, system, plans, keeps, executed)
    prepared = _prepared(plans.whole, keeps)
    simulated = _engine.sim_run(prepared.engine, case.duration, case.seed, EXECUTION, ARRIVAL, True)
    found = compared(simulated, executed)
    found.differences += _unlike("figures", simulated["tasks"], executed["modes"][0])
    found.differences += _unlike("stop", simulated["stopped"], executed["stopped"])
    jobs, slices = simulated["jobs"].view(JOBS), simulated["slices"].view(SLICES)
    figures = figures_of(prepared, dict(zip(prepared.tasks, simulated["tasks"], strict=True)), case.seed)
    simulation = Simulation(prepared, case.duration, case.seed, 1, figures, None, jobs, slices)
    _hold(found, plans.whole, analyze_system(plans.whole), simulation, measure_chains(simulation))
    return found


def _prepared(made: Plan, keeps: list[str]) -> Prepared:
    return prepare(made, skips=True, keeps=keeps)


def _with_changes(
    case: Case, system: System, plans: ModePlans, keeps: list[str], executed: dict[str, Any]
) -> Found:
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
    found.changes = len(simulated["changes"])
    found.differences += _unlike("figures", simulated["modes"], executed["modes"])
    found.differences += _unlike("changes", simulated["changes"], executed["changes"])
    bounds = analyze_modes(system)
    for mode, figures in zip(names, simulated["modes"], strict=True):
        mine = {
            name: one
            for name, one in zip(whole.tasks, figures, strict=True)
            if name in plans.modes[mode].tasks
        }
        made = prepared[mode]
        simulation = Simulation(made, case.duration, case.seed, 1, figures_of(made, mine, case.seed))
        _hold(found, plans.modes[mode], bounds.modes[mode], simulation, {})
    found.differences += _late_changes(found, names, bounds, simulated["changes"])
    return found


def _late_changes(
    found: Found, names: list[str], bounds: ModeBounds, changes: Iterable[dict[str, int]]
) -> list[str]:
    late = []
    for change in changes:
        old, new = names[change["source"]], names[change["target"]]
        bound = bounds.change(old, new).response
        found.bounds += bound is not None
        took = change["released"] - change["requested"]
        if bound is not None and took > bound:
            late.append(f"the change {old} -> {new} took {took} ps, above its bound {bound} ps")
    return late


def _hold(found: Found, made: Plan, bounds: list[Bound], simulation: Simulation, chains: Chains) -> None:
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


@dataclass
class Counts:
    """What a campaign compared."""

    tried: int = 0
    compared: int = 0
    bounds: int = 0
    jobs: int = 0
    slices: int = 0
    changes: int = 0
    refused: collections.Counter[str] = field(default_factory=collections.Counter)
    features: collections.Counter[str] = field(default_factory=collections.Counter)
    pairs: collections.Counter[tuple[str, str]] = field(default_factory=collections.Counter)

    def add(self, one: Case, found: Found) -> None:
        self.tried += 1
        if found.refused:
            self.refused[found.refused] += 1
            return
        self.compared += 1
        self.features.update(one.features)
        self.pairs.update(itertools.combinations(one.features, 2))
        for count in ("bounds", "jobs", "slices", "changes"):
            setattr(self, count, getattr(self, count) + getattr(found, count))

    def __str__(self) -> str:
        return (
            f"{self.tried:,} descriptions, {self.compared:,} compared: {self.jobs:,} jobs, {self.slices:,}"
            f" slices, {self.changes:,} changes of mode, {self.bounds:,} bounds; refused:"
            f" {', '.join(f'{n:,} by {who}' for who, n in self.refused.items()) or 'none'}"
        )


def campaign(numbers: Iterable[int]) -> Counts:
    """Tries descriptions; `AssertionError` at the first difference."""
    counts = Counts()
    for number in numbers:
        one = case(number)
        found = tried(one)
        assert not found.differences, "\n".join([str(one), *found.differences])
        counts.add(one, found)
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("descriptions", type=int)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    begin = time.monotonic()
    counts = campaign(range(options.first, options.first + options.descriptions))
    print(counts)
    print(f"{counts.tried / (time.monotonic() - begin):.0f} descriptions a second")
    seldom = [name for name in featured.FEATURES if counts.features[name] < 10]
    print(f"parts compared less than ten times: {', '.join(seldom) or 'none'}")
    ever = [name for name in featured.FEATURES if counts.features[name]]
    few = [pair for pair in itertools.combinations(sorted(ever), 2) if counts.pairs[pair] < 10]
    print(f"pairs of the other parts compared less than ten times: {len(few)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
