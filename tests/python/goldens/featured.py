# SPDX-License-Identifier: Apache-2.0
"""Random systems of the parts in features.yaml; every two parts meet in one system at least."""

from __future__ import annotations

import copy
import itertools
import random
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

_FILE: dict[str, Any] = YAML(typ="safe").load(
    (Path(__file__).parent / "features.yaml").read_text(encoding="utf-8")
)
BASE: dict[str, Any] = _FILE["base"]
FEATURES: dict[str, dict[str, Any]] = _FILE["features"]
SYSTEMS = 1000
# As many of them `make test` compares.
QUICK = 100
PERIODS = {"a": (8, 10, 20), "b": (16, 20, 40), "c": (20, 40), "d": (40, 50, 100)}
COSTS = {"a": (500, 1500), "b": (1000, 3000), "c": (200, 2000), "d": (1000, 5000)}


def merged(into: dict[str, Any], part: dict[str, Any]) -> None:
    """Merges a part into a description in its place."""
    for key, value in part.items():
        there = into.get(key)
        if value is None:
            into.pop(key, None)
        elif isinstance(value, dict) and isinstance(there, dict):
            merged(there, value)
        elif isinstance(value, dict) and isinstance(there, list):
            # Entries of a list of reads or writes get names, where members are.
            into[key] = {f"m{place}": name for place, name in enumerate(there)} | value
        elif isinstance(value, list) and isinstance(there, dict):
            there |= {f"n{place}": name for place, name in enumerate(value)}
        elif isinstance(value, list) and isinstance(there, list):
            there += [copy.deepcopy(one) for one in value if one not in there]
        else:
            into[key] = copy.deepcopy(value)


def choices() -> list[tuple[str, ...]]:
    """The features of each system, three or four, in random order."""
    names = list(FEATURES)
    chance = random.Random(1)
    left = {frozenset(pair) for pair in itertools.combinations(names, 2)}
    found = []
    for number in range(SYSTEMS):
        chosen = sorted(min(left, key=sorted)) if left else chance.sample(names, 2)
        while len(chosen) < (4 if number % 5 == 0 else 3):
            # Among all others the one with the most pairs that are still missing.
            rest = [name for name in names if name not in chosen]
            chance.shuffle(rest)
            chosen.append(max(rest, key=lambda name: sum(frozenset((name, one)) in left for one in chosen)))
        left -= {frozenset(pair) for pair in itertools.combinations(chosen, 2)}
        found.append(tuple(chosen))
    # Each feature is among the first ones, which `make test` compares.
    while {name for one in found[:QUICK] for name in one} != FEATURES.keys():
        chance.shuffle(found)
    return found


def system(
    number: int,
    features: tuple[str, ...],
    known: Mapping[str, dict[str, Any]] = FEATURES,
    apart: Collection[str] = (),
) -> dict[str, Any]:
    """A system with the base's tasks, of random periods and costs, and some features.

    The features `apart` are of as many tasks more, on other cores.
    """
    chance = random.Random(number)
    described = _base(chance)
    if apart:
        cores = _other_cores(chance)
        merged(described, renamed(_base(chance), cores))
        known = {**known, **{feature: renamed(known[feature], cores) for feature in apart}}
    for feature in features:
        merged(described, known[feature])
    if apart:
        _in_all_modes(described)
    return described


def _base(chance: random.Random) -> dict[str, Any]:
    described = copy.deepcopy(BASE)
    for name, task in described["tasks"].items():
        task["period"] = f"{chance.choice(PERIODS[name])}ms"
        task["wcet"] = f"{chance.randint(*COSTS[name])}us"
    return described


# What features name, but for cores.
_NAMES = {
    name
    for part in (BASE, *FEATURES.values())
    for kind in ("tasks", "channels", "chains", "resources", "devices", "accelerators")
    for name in part.get(kind, ())
}
# Keys that hold names of columns, arguments and types.
_OTHERS_NAMES = {"columns", "arguments", "types"}


def _other_cores(chance: random.Random) -> dict[str, str]:
    first, second = chance.sample(("m-1", "m-2", "m-3", "m-3"), 2)
    spm = chance.choice((0, 2))
    return {
        "m-0": first,
        "m-1": second,
        "m-2": "m-0",
        "w-0": f"w-{chance.randint(0, 3)}",
        "spm-0": f"spm-{spm}",
        "spm-1": f"spm-{spm + 1}",
    }


def renamed(part: Any, cores: Mapping[str, str]) -> Any:
    """A part of a description with the names and cores of the further tasks."""
    if isinstance(part, dict):
        return {
            renamed(key, cores): copy.deepcopy(value) if key in _OTHERS_NAMES else renamed(value, cores)
            for key, value in part.items()
        }
    if isinstance(part, list):
        return [renamed(one, cores) for one in part]
    if not isinstance(part, str):
        return part
    name, dot, member = part.partition(".")
    return f"{name}2{dot}{member}" if name in _NAMES else cores.get(part, part)


def _in_all_modes(described: dict[str, Any]) -> None:
    """A mode that names some of the base's tasks, or of the further ones, has all of the others."""
    for mode in described.get("modes", {}).values():
        names = mode.get("tasks", ())
        for further in (False, True):
            if names and not any(name.endswith("2") == further for name in names):
                names += [name for name in described["tasks"] if name.endswith("2") == further]
