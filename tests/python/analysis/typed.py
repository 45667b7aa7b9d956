# SPDX-License-Identifier: Apache-2.0
"""Random sizes in descriptions against random types: the types' are taken, and others are refused where they
stand."""

from __future__ import annotations

import functools
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from consort.analysis.system import analyze_system
from consort.model import (
    BadDescription,
    Figure,
    Footprint,
    Platform,
    Size,
    System,
    load_system,
    system_from_data,
)
from consort.plan import Plan, plan
from consort.run.blocks import sized

WALK = Path(__file__).resolve().parents[1] / "plan" / "walk"
STEP = "steps.hpp::control::step"
# As many structures there are: their sizes are drawn anew for each system.
STRUCTURES = 200
PARTS = {"data": ("state", "constants"), "inputs": ("in",), "outputs": ("out",)}


@functools.cache
def platform() -> Platform:
    found = load_system(WALK / "stand_ins.yaml").platform_description
    assert isinstance(found, Platform)
    return found


def structure(chance: random.Random) -> dict[str, Any]:
    """A description without sizes: tasks with and without steps, and channels from each to the next."""
    tasks: dict[str, Any] = {}
    channels: dict[str, Any] = {}
    names = [f"t{place}" for place in range(chance.randint(2, 5))]
    for place, name in enumerate(names):
        kind = chance.choice(("local", "local", "offloaded", "three-phase"))
        task: dict[str, Any] = {"period": "20ms", "wcet": "1ms", "execution": kind}
        if chance.random() < 0.75:
            task["step"] = STEP
        task["on"] = {"local": "m-0", "offloaded": "w-0", "three-phase": f"spm-{place % 2}"}[kind]
        if kind == "offloaded":
            task["master"] = "m-0"
            channels |= {f"{name}.in": {"memory": "ddr"}, f"{name}.out": {"memory": "shm"}}
        if kind == "three-phase":
            task["footprint"] = {"code": "1KiB"}
        if place and chance.random() < 0.7:
            channel = f"c{place}"
            channels[channel] = {"kind": "sporadic", "memory": "shm"}
            member = chance.random() < 0.5
            writer = tasks[names[place - 1]]
            writer["writes"] = {"torque": channel} if member and "step" in writer else [channel]
            task["reads"] = [channel]
            # A stand-in's blocks are read by stand-ins alone.
            task.pop("step", None)
            task |= {"step": STEP} if "step" in writer else {}
        tasks[name] = task
    used = {task["on"].partition("-")[0] for task in tasks.values()}
    scheduling = {"spm": {"policy": "three-phase", "slot": "auto"}} if "spm" in used else {}
    return {"platform": "board.yaml", "assumed": "a campaign", "scheduling": scheduling, "tasks": tasks} | (
        {"channels": channels} if channels else {}
    )


@dataclass(frozen=True)
class Made:
    """A structure, its plan, and the sizes that its types have a say in."""

    system: System
    plan: Plan
    channels: dict[str, tuple[str, str]]
    """By name: the task and the part of its types that a block is of."""
    stepping: tuple[str, ...]


@functools.cache
def made(number: int) -> Made:
    data = structure(random.Random(number))
    tasks = data["tasks"]
    stepping = tuple(name for name, task in tasks.items() if "step" in task)
    channels = {}
    for name in data.get("channels", {}):
        task, dot, end = name.partition(".")
        if dot:
            channels[name] = (task, end)
        else:
            writer = next(one for one, task in tasks.items() if name in _written(task))
            channels[name] = (writer, "block")
    of_types = {name: of for name, of in channels.items() if of[0] in stepping}
    system = system_from_data({"consort": 1, **data}, file=WALK / "system.yaml", platform=platform())
    return Made(system, plan(system, "virtual", stand_ins=True), of_types, stepping)


def _written(task: dict[str, Any]) -> list[str]:
    writes = task.get("writes", [])
    return list(writes.values() if isinstance(writes, dict) else writes)


def attack(seed: int) -> tuple[int, int, int]:
    """Sizes that were held against types, those that were refused, and 0; it raises where one is wrong."""
    chance = random.Random(seed)
    one = made(seed % STRUCTURES)
    types = {
        name: {part: chance.randint(1, 4096) for part in ("in", "state", "out", "constants", "block")}
        for name in one.system.tasks
    }
    layouts = {
        "tasks": [
            {"name": name, **{part: {"bytes": size} for part, size in parts.items() if part != "block"}}
            for name, parts in types.items()
        ],
        "channels": [
            {"name": name, "block": {"bytes": types[task][part]}}
            for name, (task, part) in one.channels.items()
        ],
    }
    right: dict[tuple[str, ...], int] = {
        ("channels", name, "size"): types[task][part] for name, (task, part) in one.channels.items()
    }
    for name in one.stepping:
        for part, of in PARTS.items():
            right["tasks", name, "footprint", part] = sum(types[name][each] for each in of)
    wrong_ones = chance.random() < 0.5
    given: dict[tuple[str, ...], int] = {}
    wrong = set()
    for place, size in right.items():
        drawn = chance.random()
        if wrong_ones and drawn < 0.2:
            given[place] = max(size + chance.choice((-1, 1, 4, 4096)), 1)
            wrong |= {place} if given[place] != size else set()
        elif drawn < 0.6:
            given[place] = size
    system = with_sizes(one.system, given)
    try:
        found = sized(system, one.plan, layouts)
    except BadDescription as refused:
        said = {str(problem.field) for problem in refused.problems}
        assert said == {spelled(place) for place in wrong}, f"seed {seed}: {said}, and wrong are {wrong}"
        return len(right), len(wrong), 0
    assert not wrong, f"seed {seed}: {wrong} are taken"
    for place, size in right.items():
        if place[0] == "channels":
            now = found.channel(place[1]).size
            assert now is not None and now.bytes == size, f"seed {seed}: {place} is {now}"
        else:
            footprint = found.tasks[place[1]].footprint
            taken = None if footprint is None else getattr(footprint, place[3])
            known = taken is not None or place[3] != "data"
            assert known and (taken is None or taken.value.bytes == size), f"seed {seed}: {place} is {taken}"
    if seed % 500 == 0:
        all_given = with_sizes(one.system, right)
        bounds = [analyze_system(plan(each, "virtual", stand_ins=True)) for each in (found, all_given)]
        times = [[bound.response for bound in each] for each in bounds]
        assert times[0] == times[1], f"seed {seed}: bounds of sizes that are written differ"
    return len(right), 0, 0


def with_sizes(system: System, given: dict[tuple[str, ...], int]) -> System:
    """The description with some sizes."""
    tasks, channels = dict(system.tasks), dict(system.channels)
    for place, size in given.items():
        name = place[1]
        if place[0] == "channels":
            channels[name] = channels[name].model_copy(update={"size": Size(size)})
        else:
            part = Figure[Size](value=Size(size))
            footprint = tasks[name].footprint or Footprint()
            footprint = footprint.model_copy(update={place[3]: part})
            tasks[name] = tasks[name].model_copy(update={"footprint": footprint})
    return system.model_copy(update={"tasks": tasks, "channels": channels})


def spelled(place: tuple[str, ...]) -> str:
    """A place as messages write it."""
    name = f"[{place[1]}]" if "." in place[1] else f".{place[1]}"
    return f"{place[0]}{name}.{'.'.join(place[2:])}"
