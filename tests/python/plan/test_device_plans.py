# SPDX-License-Identifier: Apache-2.0
"""Drivers, plants and sinks in a plan: who uses them, on which core, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from consort.model import load_system
from consort.plan import plan, problems_of
from consort.plan.refusals import PLANT_COMMANDS
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[3]
STEP = "h.hpp::n::step"


def system(folder: Path, devices: dict[str, Any], tasks: dict[str, dict[str, Any]]) -> Any:
    """A system for this machine; the header that it names is there, and nothing compiles it."""
    (folder / "h.hpp").write_text("#pragma once\n", encoding="utf-8")
    (folder / "sink.py").write_text("def take(rows):\n    pass\n", encoding="utf-8")
    common = {"period": "1ms", "wcet": "100us", "bcet": "100us", "on": "master-0", "step": STEP}
    whole = {
        "consort": 1,
        "assumed": "a test",
        "platform": "linux-host",
        "tasks": {name: {**common, **task} for name, task in tasks.items()},
        "devices": devices,
    }
    file = folder / "system.yaml"
    with file.open("w", encoding="utf-8") as out:
        YAML().dump(whole, out)
    return load_system(file)


PLANT = {"plant": STEP, "period": "1ms"}
LOOP = {"reads": {"n": "arm.n"}, "writes": {"cmd": "arm.cmd"}}


@pytest.mark.parametrize("target", ["linux", "virtual"])
@pytest.mark.parametrize(("deadline", "waiting"), [("16ms", None), ("16500us", 17), ("40ms", 40)])
def test_a_plant_has_room_for_so_many_commands(
    tmp_path: Path, target: str, deadline: str, waiting: int | None
) -> None:
    found = problems_of(system(tmp_path, {"arm": PLANT}, {"a": {**LOOP, "deadline": deadline}}), target)
    said = [str(problem) for problem in found]
    if waiting is None:
        assert said == []
        return
    assert len(said) == 1
    assert re.search(r"system\.yaml:\d+:\d+: tasks\.a\.deadline: ", said[0])
    assert f"{waiting} commands would wait" in said[0] and "at most 16ms, 16 periods" in said[0]


def test_the_room_for_commands_is_that_of_the_plant() -> None:
    text = (ROOT / "include/consort/app/device_ends.hpp").read_text(encoding="utf-8")
    assert f"most_pending = {PLANT_COMMANDS};" in text


@pytest.mark.parametrize(
    ("tasks", "field"),
    [
        ({"a": {"reads": {"x": "dev"}}, "b": {"writes": {"y": "dev"}, "on": "master-1"}}, "tasks.b.writes"),
        ({"a": {"writes": {"x": "dev"}}, "b": {"reads": {"y": "dev"}, "on": "master-1"}}, "tasks.a.writes"),
        ({"a": {"reads": {"x": "dev"}}, "b": {"reads": {"y": "dev"}, "on": "master-1"}}, "tasks.b.reads"),
        ({"a": {"reads": {"x": "dev"}}, "b": {"writes": {"y": "dev"}}}, None),
        # An offloaded task's master reads and writes for it.
        (
            {
                "a": {"reads": {"x": "dev"}},
                "b": {
                    "writes": {"y": "dev"},
                    "on": "worker-0",
                    "master": "master-0",
                    "execution": "offloaded",
                },
            },
            None,
        ),
    ],
)
def test_a_driver_is_one_object_of_one_core(
    tmp_path: Path, tasks: dict[str, dict[str, Any]], field: str | None
) -> None:
    found = problems_of(system(tmp_path, {"dev": {"driver": "h.hpp::n::Dev"}}, tasks), "linux")
    assert [problem.field for problem in found] == ([] if field is None else [field])
    if field is not None:
        assert found[0].line and "the driver 'dev' is one object of one core" in found[0].message


@pytest.mark.parametrize(
    ("device", "task", "used"),
    [
        (PLANT, {"reads": ["arm"], "writes": ["arm"]}, "arm"),
        ({"driver": "h.hpp::n::Dev"}, {"reads": ["arm"]}, "arm"),
        ({"sink": "sink.py::take"}, {"writes": ["arm"]}, "arm"),
        ({"sink": "record"}, {"writes": ["arm"]}, None),
        ({}, {"writes": ["arm"]}, None),
    ],
)
def test_a_stand_in_uses_no_device_and_the_plan_says_so(
    tmp_path: Path, device: dict[str, Any], task: dict[str, Any], used: str | None
) -> None:
    notes = plan(system(tmp_path, {"arm": device}, {"a": {**task, "step": "stand-in"}}), "linux").notes
    said = [note for note in notes if "uses no device" in note]
    assert said == (
        []
        if used is None
        else [f"a: its stand-in uses no device, so {used} gives it nothing and gets nothing from it"]
    )
