# SPDX-License-Identifier: Apache-2.0
"""A mode is held to every rule that the whole is held to: random changes of random tasks, described in a mode
and in the description itself, are taken by both or refused by both."""

from __future__ import annotations

import copy
import random
from pathlib import Path
from typing import Any

import featured
import pytest
from consort.base.errors import BadInput
from consort.model import Platform, load_system, system_from_data
from consort.model.mode import overridden
from consort.plan import plan

WALK = Path(__file__).parents[1] / "plan" / "walk"
VALUES: dict[str, list[Any]] = {
    "period": ["0ms", "1us", "7ms", "1000s", "500ps"],
    "deadline": ["0ms", "1us", "90ms", "1000s", "1500ps"],
    "offset": ["0ms", "3ms", "90ms", "1000s"],
    "jitter": ["0ms", "3ms", "90ms"],
    "priority": [0, 5, 40, 1000],
    "preemption_threshold": [1, 10, 40, 1000],
    "wcet": ["0ms", "10us", "90ms", {"m": "1ms"}, {"w": "1ms"}, {"zz": "1ms"}],
    "bcet": ["0ms", "90ms", {"m": "1us"}],
    "on": ["m-0", "m-1", "w-0", "spm-0", "zz-0", "m-99"],
    "execution": ["local", "offloaded", "three-phase"],
    "min_interarrival": ["0ms", "1us", "30ms"],
}
# Descriptions with these have no modes at all, have some already, or say of cores how they await answers and
# serve requests, or their CPUs, which may be of use in one mode alone.
UNLIKE = ("mode", "fail-over", "accelerator", "burst", "distances", "wait", "served", "run")
PARTS = [name for name in featured.FEATURES if not any(word in name for word in UNLIKE)]


def refused(data: dict[str, Any], mode: str | None, target: str, platform: Platform) -> str:
    try:
        system = system_from_data(data, file=WALK / "system.yaml", platform=platform)
        plan(system, target, mode=mode, stand_ins=True)
    except BadInput as error:
        return str(error)
    return ""


def differences(numbers: range) -> tuple[int, list[str]]:
    """How many changes were refused, and those that only one of the two refuses."""
    platform = load_system(WALK / "stand_ins.yaml").platform_description
    assert isinstance(platform, Platform)
    found, count = [], 0
    for number in numbers:
        chance = random.Random(number)
        parts = tuple(chance.sample(PARTS, chance.choice((1, 2))))
        base = featured.system(number, parts)
        task, target = chance.choice(list(base["tasks"])), chance.choice(("analysis", "linux", "virtual"))
        key = chance.choice(list(VALUES))
        change = {key: chance.choice(VALUES[key])}
        # The channels of an offloaded task's requests are of use in the modes in which it is offloaded.
        offloaded = base["tasks"][task].get("execution") == "offloaded"
        if (offloaded and "execution" in change) or refused(base, None, target, platform):
            continue
        whole, in_mode = copy.deepcopy(base), copy.deepcopy(base)
        whole["tasks"][task] = overridden(whole["tasks"][task], change)
        in_mode["modes"] = {"m": {"overrides": {task: change}}}
        said = refused(whole, None, target, platform), refused(in_mode, "m", target, platform)
        count += bool(said[0])
        if bool(said[0]) != bool(said[1]):
            found.append(f"{number} {parts} {target}: {task} {change}: whole {said[0]!r}, mode {said[1]!r}")
    return count, found


def test_a_mode_is_refused_what_the_whole_is_refused() -> None:
    refused_ones, found = differences(range(60))
    assert found == [] and refused_ones >= 5


@pytest.mark.slow
def test_thousands_of_modes_are_refused_what_the_whole_is_refused() -> None:
    refused_ones, found = differences(range(1000, 5000))
    assert found == [] and refused_ones > 300
