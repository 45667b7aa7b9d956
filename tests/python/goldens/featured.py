# SPDX-License-Identifier: Apache-2.0
"""Random systems of the parts in features.yaml; every two parts meet in one system at least."""

from __future__ import annotations

import copy
import itertools
import random
from collections.abc import Mapping
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
    number: int, features: tuple[str, ...], known: Mapping[str, dict[str, Any]] = FEATURES
) -> dict[str, Any]:
    """A system with the base's tasks, of random periods and costs, and some features."""
    chance = random.Random(number)
    described = copy.deepcopy(BASE)
    for name, task in described["tasks"].items():
        task["period"] = f"{chance.choice(PERIODS[name])}ms"
        task["wcet"] = f"{chance.randint(*COSTS[name])}us"
    for feature in features:
        merged(described, known[feature])
    return described
