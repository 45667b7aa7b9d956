# SPDX-License-Identifier: Apache-2.0
"""A key acts on a target where its row of `consort.plan.meanings` says so, and nowhere else.

In descriptions that a target takes, each value is changed and each key taken out, one at a time. Where the
row says that a key acts, one of the changes that are not refused changes what the target makes of the
description; where it says that the key has nothing to do with it, none does.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import astuple
from typing import Any

import campaign_of_meaning as meaning
from consort import _engine
from consort.analysis.mode_changes import analyze_modes
from consort.analysis.system import analyze_system
from consort.base.errors import BadInput
from consort.model import System, system_from_data
from consort.plan import ModePlans, Plan, plan, plan_in_modes
from consort.plan.meanings import ROWS, TARGETS
from consort.run.plan_image import plan_image
from consort.simulate.build import prepare
from consort.simulate.chains import measure_chains
from consort.simulate.engine import ARRIVAL
from consort.simulate.modes import prepare_modes, simulate_modes
from keys_of_descriptions import DESCRIPTIONS, SCHEMA, WALK, changed, data, get, others, walk, without
from loops import for_each

DURATION = 130 * meaning.MS
# Parts of the campaign that act together.
TOGETHER = (
    ("arrival", "best case"),
    ("slot", "three-phase"),
    ("more three-phase", "round robin"),
    ("budgets at an accelerator", "two offloaded"),
    ("priorities", "turns at an accelerator"),
)
# Where no change of these descriptions shows it, a test elsewhere does.
SHOWN_ELSEWHERE = {
    ("Accelerator.on", "analyze"): "a name: the figures of the board's cores are alike",
    ("Accelerator.on", "simulate"): "a name: the figures of the board's cores are alike",
    ("Burst.within", "analyze"): "analysis/test_min_distances.py",
    ("CacheSets.evicting", "simulate"): "analysis/test_cache_sets.py",
    ("Cache.replacement", "analyze"): "analysis/test_cache_sets.py",
    ("Cache.replacement", "simulate"): "analysis/test_cache_sets.py",
    ("Channel.capacity", "analyze"): "analysis/test_queued.py",
    ("Channel.capacity", "simulate"): "analysis/test_queued.py",
    ("Channel.implementation", "simulate"): "analysis/test_queued.py",
    ("Client.budget", "simulate"): "test_campaign_of_meaning.py, the whole of a client",
    ("Client.priority", "simulate"): "test_campaign_of_meaning.py, the whole of a client",
    ("ModeChanges.asked_by", "analyze"): "the modes that are entered are those of `start` here",
    ("ModeChanges.requests", "analyze"): "the modes that are entered are those of `start` here",
    ("ModeChanges.within", "simulate"): "cli/meanings.yaml, mode-within",
    ("ModeChanges.state_through", "simulate"): "run/test_fail_over.py",
    ("Override.bcet", "analyze"): "as Task.bcet",
    ("Override.priority", "virtual"): "test_campaign_of_meaning.py, a first mode's rank",
    ("Scheduling.service", "simulate"): "test_campaign_of_meaning.py",
    ("Scheduling.service", "virtual"): "test_campaign_of_meaning.py",
    ("Scheduling.service", "linux"): "refused",
    ("System.platform", "simulate"): "every other platform lacks the cores",
    ("Task.footprint", "simulate"): "its keys act",
    ("Task.reads", "simulate"): "analysis/test_chain.py",
    ("Task.writes", "analyze"): "as Channel.from",
    ("Task.writes", "simulate"): "analysis/test_chain.py",
    ("TimeByExecution.offloaded", "virtual"): "test_campaign_of_meaning.py",
    ("TimeByExecution.three-phase", "virtual"): "a task of these that has it is local",
}


def described() -> Iterator[dict[str, Any]]:
    yield from map(data, DESCRIPTIONS)
    for parts in (*((name,) for name in meaning.FEATURES), *TOGETHER):
        yield meaning._made(0, parts, random.Random(0)).data


def bounds(system: System) -> Any:
    if system.mode_changes is not None:
        made = analyze_modes(system)
        return [*made.modes, *(astuple(bound) for bound in made.every)]
    plans = (plan(system, "analysis", mode=mode) for mode in (None, *system.modes))
    return [[astuple(bound) for bound in analyze_system(one)] for one in plans]


def simulated(system: System) -> Any:
    if system.mode_changes is not None:
        found = simulate_modes(
            prepare_modes(system), analyze_modes(system), 310 * meaning.MS, system.run.seed, trace=True
        )
        changes = [(one.old, one.new, one.latency, one.excess) for one in found.changes]
        return [changes, [None if o.jobs is None else o.jobs.tobytes() for o in found.modes.values()]]
    return [_of_mode(plan(system, "analysis", mode=mode)) for mode in (None, *system.modes)]


def _of_mode(made: Plan) -> Any:
    prepared = prepare(made)
    ran = _engine.sim_run(prepared.engine, DURATION, made.run.seed, "uniform", ARRIVAL, True)
    case = meaning.Case(0, (), (), {}, DURATION, made.run.seed, None, "edges", {})
    found = meaning._simulation(case, prepared, ran)
    # By fields: what lies between those of a row is any bytes.
    rows = [t[name].tobytes() for t in (found.jobs, found.slices) if t is not None for name in t.dtype.names]
    return rows, repr(measure_chains(found)), repr(made.chains)


def executed(target: str) -> Callable[[System], Any]:
    """The image that cores execute, and the plan that programs, rows and verdicts are made of."""

    def made(system: System) -> Any:
        if system.mode_changes is not None:
            every = [plan_in_modes(system, target, stand_ins=True)]  # type: ignore[arg-type]
        else:
            modes = (None, *system.modes)
            every = [ModePlans(plan(system, target, mode=mode, stand_ins=True)) for mode in modes]
        images = [plan_image(plans, meaning.layouts(), list(plans.whole.tasks), DURATION) for plans in every]
        return images, [_said(one) for plans in every for one in (plans.whole, *plans.modes.values())]

    return made


def _said(made: Plan) -> str:
    # These repeat the description.
    said = {
        key: value for key, value in made.to_json().items() if key not in ("sources", "system", "description")
    }
    return json.dumps(said, sort_keys=True)


READERS: dict[str, Callable[[System], Any]] = {
    "analyze": bounds,
    "simulate": simulated,
    "virtual": executed("virtual"),
    "linux": executed("linux"),
}


def outcome(target: str, given: dict[str, Any]) -> Any:
    """What a target makes of a description; None: it is refused."""
    platform = meaning.platform() if given.get("platform") == "board.yaml" else None
    try:
        return READERS[target](system_from_data(given, file=WALK / "system.yaml", platform=platform))
    except BadInput:
        return None


def unlike_its_row(target: str) -> list[str]:
    place_of_target = TARGETS.index(target)
    cells = {key: row.cells[place_of_target] for row in ROWS for key in row.keys}
    acts, idle, wrong = set(), set(), []
    for number, given in enumerate(described()):
        right = outcome(target, given)
        if right is None:
            continue
        for place, key, schema in walk("System", SCHEMA, given, ()):
            cell = cells.get(key, "R")
            # Of executors the plan repeats what is described; only what acts is looked for.
            if cell not in ("AS." if target in ("analyze", "simulate") else "AS") or key in acts:
                continue
            variants = [changed(given, place, other) for other in others(get(given, place), schema)]
            for variant in (*itertools.islice(variants, 4), without(given, place)):
                found = outcome(target, variant)
                if found is None:
                    continue
                if found == right:
                    idle.add(key)
                    continue
                acts.add(key)
                if cell == ".":
                    wrong.append(f"{key} acts on {target}: description {number}, {place}")
                break
    known = {key for key, of in SHOWN_ELSEWHERE if of == target}
    idle -= acts
    wrong += [f"{key} does not act on {target}" for key in sorted(idle - known) if cells[key] in "AS"]
    return wrong + [f"{key} acts on {target} here, too" for key in sorted(known & acts)]


@for_each("target", READERS)
def test_a_key_acts_where_its_row_says_so(target: str) -> None:
    assert unlike_its_row(target) == []
