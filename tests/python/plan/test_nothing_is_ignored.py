# SPDX-License-Identifier: Apache-2.0
"""Each key of a description changes the plan, or is refused: the walk over the schema.

Descriptions in walk/ together have every key of the schema, which a test makes sure of. Each of their values
is changed and each key taken out, one at a time; what is planned then must differ, or be refused. Texts that
only describe must stand in what `consort plan` prints.

A figure for a processor that a task is not placed on is not a key that is ignored: it is what the task costs
there. The descriptions give none. Of priorities only the order counts.
"""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from consort.model import BadDescription, Platform, load_platform, system_from_data
from consort.plan import plan
from consort.plan.show import text_of
from keys_of_descriptions import (
    DESCRIPTIONS,
    SCHEMA,
    SOURCES,
    WALK,
    Place,
    all_keys,
    changed,
    data,
    get,
    keys,
    others,
    without,
)
from loops import for_each

# Keys that only describe, by the part of the schema that has them. They must be printed.
DESCRIPTIVE = {
    "System.name",
    "System.description",
    "SystemDevice.kind",
    "SystemDevice.rate",
    "SystemDevice.description",
    "Figure_DataRate_.value",
    *(
        f"{part}.{kind}"
        for part in (
            "System",
            "Task",
            "Scheduling",
            "Section",
            "Accelerator",
            "Operation",
            "Cache",
            "CacheSets",
            "Bandwidth",
            "Accesses",
            "RemoteState",
            "Dispatch",
            "Footprint",
            "SystemDevice",
            "Figure_DataRate_",
            "Figure_Duration_",
            "Figure_Energy_",
            "Figure_Size_",
        )
        for kind in SOURCES
    ),
}
# Written out, these are what is without them; the value that differs changes the plan.
DEFAULTS = {
    ("Task", "execution"),
    ("Channel", "kind"),
    ("Chain", "communication"),
    ("Channel", "communication"),
    ("Scheduling", "policy"),
    ("Scheduling", "arbitration"),
    ("Scheduling", "service"),
}
# Only their order counts: one of the changes must change the plan.
ORDERS = {f"{part}.{key}" for part in ("Task", "Override") for key in ("priority", "preemption_threshold")}
ORDERS |= {"Client.priority"}
# The virtual target honours what linux does, or refuses it (tests/python/run/test_virtual_time_runs.py).
PLANNED_FOR = ("analysis", "linux")


def test_the_descriptions_have_every_key() -> None:
    wanted = set(all_keys("System", SCHEMA, set()))
    found = {key for name in DESCRIPTIONS for _, key, _ in keys(name)}
    # Each of the seven kinds of source is one key of each figure; one of them at least stands at each part.
    for part in {key.partition(".")[0] for key in wanted}:
        if any(f"{part}.{kind}" in found for kind in SOURCES):
            found |= {f"{part}.{kind}" for kind in SOURCES} & wanted
    assert sorted(wanted - found) == []
    assert len(wanted) > 100


# What is planned.


@cache
def board(folder: Path) -> Platform:
    return load_platform(folder / "board.yaml")


def outcome(described: dict[str, Any], folder: Path, *, modes: bool, texts: bool = False) -> list[Any]:
    """What is planned of a description as it stands, and on each of its own targets."""
    targets = described.get("targets", {})
    return [one for on in (None, *targets) for one in plans(described, folder, on, modes=modes, texts=texts)]


def plans(described: dict[str, Any], folder: Path, on: str | None, *, modes: bool, texts: bool) -> list[Any]:
    """The plan for each target, with `modes` in each mode too, or the reason of its refusal."""
    known = board(folder) if described.get("platform") == "board.yaml" else None
    try:
        system = system_from_data(described, file=folder / "system.yaml", platform=known, on=on)
    except BadDescription as error:
        return [str(error)]
    found: list[Any] = []
    for target in PLANNED_FOR:
        for mode in (None, *(system.modes if modes else ())):
            for place in ("described", "local") if mode is None and target == "linux" else ("described",):
                try:
                    made = plan(system, target, mode=mode, stand_ins=True, place=place)  # type: ignore[arg-type]
                except BadDescription as error:
                    found.append(str(error))
                    continue
                if texts:
                    found.append("".join(text_of(made).split()))
                    continue
                said = made.to_json()
                # They repeat what is described; what is planned has to show it by itself.
                for key in ("sources", "system", "description"):
                    del said[key]
                for device in said["devices"].values():
                    for key in ("is_a", "rate", "description"):
                        del device[key]
                found.append(json.dumps(said, sort_keys=True))
    return found


CASES = [
    pytest.param(name, place, key, schema, id=f"{name}:{'.'.join(map(str, place))}")
    for name in DESCRIPTIONS
    for place, key, schema in keys(name)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("walk")
    for file in WALK.iterdir():
        if file.is_file():
            shutil.copy(file, made)
    return made


@pytest.fixture(scope="module")
def planned(folder: Path) -> dict[str, list[Any]]:
    modes = {f"{name} in its modes": outcome(data(name), folder, modes=True) for name in DESCRIPTIONS}
    return modes | {name: outcome(data(name), folder, modes=False) for name in DESCRIPTIONS}


def test_the_descriptions_are_planned(planned: dict[str, list[Any]]) -> None:
    for name in ("stand_ins", "steps", "stand_ins in its modes"):
        assert all(found.startswith("{") for found in planned[name]), name
    for name in DESCRIPTIONS[2:]:
        assert any(found.startswith("{") for found in planned[name]), name


@for_each(("name", "place", "key", "schema"), CASES)
def test_a_change_changes_the_plan(
    name: str, place: Place, key: str, schema: dict[str, Any], folder: Path, planned: dict[str, list[Any]]
) -> None:
    described = data(name)
    value = get(described, place)
    variants = [changed(described, place, other) for other in others(value, schema)]
    if isinstance(value, dict | list) or not variants:
        variants.append(without(described, place))
    assert variants
    if key in DESCRIPTIVE:
        before = outcome(described, folder, modes=False, texts=True)
        ignored = [v for v in variants if outcome(v, folder, modes=False, texts=True) == before]
    else:
        ignored = [v for v in variants if not planned_differently(v, name, place, folder, planned)]
    if key in ORDERS:
        assert len(ignored) < len(variants)
    else:
        assert [get(variant, place[:-1]) for variant in ignored] == []


def planned_differently(
    variant: dict[str, Any], name: str, place: Place, folder: Path, planned: dict[str, list[Any]]
) -> bool:
    modes = place[0] == "modes"
    return outcome(variant, folder, modes=modes) != planned[f"{name} in its modes" if modes else name]


@for_each(("name", "place", "key", "schema"), CASES)
def test_a_key_that_is_taken_out_changes_the_plan(
    name: str, place: Place, key: str, schema: dict[str, Any], folder: Path, planned: dict[str, list[Any]]
) -> None:
    described = data(name)
    if key in DESCRIPTIVE or tuple(key.split(".")) in DEFAULTS:
        return
    assert planned_differently(without(described, place), name, place, folder, planned)


def test_the_walk_would_find_an_ignored_value(folder: Path, planned: dict[str, list[Any]]) -> None:
    # A cost on a processor where the task is not placed is in no plan: to the walk that is a value that is
    # ignored.
    place: Place = ("tasks", "fast", "wcet", "w")
    variant = changed(data("stand_ins"), place, "70us")
    assert not planned_differently(variant, "stand_ins", place, folder, planned)
