# SPDX-License-Identifier: Apache-2.0
"""A description laid on a target is the description of that platform, and nothing else of it differs."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from consort.analysis.system import analyze_system
from consort.base.errors import BadInput
from consort.model import BadDescription, System, load_system, system_from_data
from consort.model.base import group_of, names_in
from consort.model.rules import warnings_of
from consort.plan import plan
from consort.simulate.build import prepare
from consort.simulate.engine import simulate
from loops import for_each

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tests" / "python" / "goldens"))
import featured  # noqa: E402

WALK = ROOT / "tests" / "python" / "plan" / "walk"
# Another name for each group of cores and each memory of board.yaml. `shm` keeps its own: channels without a
# memory lie there by that name.
RENAMED = {"m": "alpha", "w": "beta", "spm": "gamma", "ddr": "delta", "far": "epsilon"}

# Random systems.


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("targets")
    for file in WALK.iterdir():
        if file.is_file():
            shutil.copy(file, made)
    text = (WALK / "board.yaml").read_text(encoding="utf-8")
    for old, new in RENAMED.items():
        text = re.sub(rf"^  {old}:", f"  {new}:", text, flags=re.MULTILINE)
    (made / "renamed").mkdir()
    (made / "renamed" / "board.yaml").write_text(text, encoding="utf-8")
    return made


def renamed(name: str) -> str:
    group, dash, number = name.rpartition("-")
    return f"{RENAMED[group]}-{number}" if dash else RENAMED.get(name, name)


def with_targets(data: dict[str, Any]) -> dict[str, Any]:
    """The description with two targets: its own platform, and the one of other names."""
    found = list(names_in(System, data))
    # What is said of a group without tasks goes on a target, as another test has it.
    groups = {group_of(one.name) for one in found if one.part == "core"}
    if "scheduling" in data:
        kept = {e: s for e, s in data["scheduling"].items() if "-" in e or e in groups}
        data = data | {"scheduling": kept}
    cores = {one.name for one in found if one.part == "core"}
    cores |= {one.name for one in found if one.part == "core or group" and "-" in one.name}
    memories = {one.name for one in found if one.part == "memory"}
    return data | {
        "targets": {
            "same": {"platform": "board.yaml", "cores": {core: core for core in sorted(cores)}},
            "renamed": {
                "platform": "renamed/board.yaml",
                "cores": {core: renamed(core) for core in sorted(cores)},
                "memories": {memory: renamed(memory) for memory in sorted(memories)},
            },
        }
    }


def back(text: str) -> str:
    """A text with the first platform's names."""
    for old, new in RENAMED.items():
        text = re.sub(rf"\b{new}\b", old, text)
    return text.replace("renamed/board.yaml", "board.yaml")


def described(folder: Path, data: dict[str, Any], on: str | None) -> list[Any]:
    """The description as it is on a target, or what is said against it."""
    try:
        system = system_from_data(data, file=folder / "system.yaml", on=on)
    except BadDescription as error:
        return [problem.message for problem in error.problems]
    found = system.to_given()
    found.pop("targets", None)
    return [found]


def outcome(folder: Path, data: dict[str, Any], on: str | None) -> list[Any]:
    """The plans, bounds and jobs of a description on a target, or what is said against them."""
    try:
        system = system_from_data(data, file=folder / "system.yaml", on=on)
    except BadDescription:
        return []
    found: list[Any] = []
    for mode in (None, *system.modes):
        for target in ("analysis", "linux"):
            try:
                made = plan(system, target, mode=mode, stand_ins=True)
            except BadDescription as error:
                found.append([(problem.field, problem.message) for problem in error.problems])
                continue
            found.append(made.to_json())
            if target == "analysis" and (mode is not None or system.mode_changes is None):
                found.append([bound.to_json() for bound in analyze_system(made)])
                with contextlib.suppress(BadInput):
                    run = simulate(prepare(made), 10**11, seed=3, trace=True)
                    assert run.jobs is not None
                    found.append(run.jobs.tobytes().hex())
    return found


CHOICES = featured.choices()[: featured.QUICK]


@for_each("number", range(0, len(CHOICES), 4))
def test_a_random_description_is_the_same_on_another_platform(number: int, folder: Path) -> None:
    data = with_targets(featured.system(number, CHOICES[number]))
    before = described(folder, data, None)
    assert described(folder, data, "same") == before
    assert json.loads(back(json.dumps(described(folder, data, "renamed")))) == json.loads(json.dumps(before))


@for_each("number", range(0, len(CHOICES), 20))
def test_so_are_its_plans_bounds_and_simulations(number: int, folder: Path) -> None:
    data = with_targets(featured.system(number, CHOICES[number]))
    before = json.dumps(outcome(folder, data, None))
    assert json.loads(json.dumps(outcome(folder, data, "same"))) == json.loads(before)
    assert json.loads(back(json.dumps(outcome(folder, data, "renamed")))) == json.loads(before)


# What a target leaves out, and where it says so.


PLATFORM = ROOT / "platforms"
DRIVE: dict[str, Any] = {
    "consort": 1,
    "platform": "linux-host",
    "tasks": {
        "servo": {
            "period": "1ms",
            "wcet": {"host": "10us", "a72": "20us", "r5f": {"local": "30us"}},
            "on": "worker-0",
            "execution": "offloaded",
            "master": "master-0",
            "on_miss": "stop",
        },
        "panel": {"period": "20ms", "wcet": {"host": "10us"}, "on": "master-1"},
    },
    "channels": {"servo.in": {"memory": "shm", "size": "8B"}},
    "scheduling": {"master-0": {"wait": "sleep"}, "worker": {"service": "fifo"}},
    "run": {"cpus": {"master-1": 3}, "configurations": ["local-off", "offloaded-off"]},
}


def on_target(target: dict[str, Any], **changes: Any) -> System:
    data = {**DRIVE, **changes, "targets": {"there": {"platform": "versal", **target}}}
    return system_from_data(data, file=PLATFORM / "system.yaml", on="there")


APART = {"master-0": "r5f-0", "worker-0": "a72-0", "master-1": "a72-1"}
TOGETHER = APART | {"master-0": "a72-0"}


def test_names_and_costs_are_those_of_the_target() -> None:
    system = on_target({"cores": APART, "memories": {"shm": "ocm"}})
    servo = system.tasks["servo"]
    assert (servo.master, servo.on, system.channels["servo.in"].memory) == ("r5f-0", "a72-0", "ocm")
    assert system.scheduling.keys() == {"r5f-0", "a72-0"} and system.run.cpus == {"a72-1": 3}
    assert str(system.wcet("servo")) == "20us"
    # Only the host's is known, which is not a processor here: as everywhere it is a figure that is missing.
    assert system.tasks["panel"].wcet is None
    assert warnings_of(system) == []
    assert not system.targets and system.platform_description.name == "versal"


def test_a_task_whose_master_is_its_worker_is_local_and_what_that_leaves_out_is_said() -> None:
    system = on_target({"cores": TOGETHER, "memories": {"shm": "ddr"}})
    servo = system.tasks["servo"]
    assert (servo.execution, servo.master, servo.on, servo.on_miss) == (
        "local",
        None,
        "a72-0",
        "hold-last-output",
    )
    assert system.channels == {} and system.scheduling == {}
    assert system.configurations() == ("local-off",)
    said = sorted((note.field or "", note.message) for note in warnings_of(system))
    left = "master, on_miss, servo.in mean nothing"
    alone = "a72-0 neither awaits answers of other cores nor serves them, and"
    assert said == [
        ("scheduling.master-0.wait", f"{alone} 'wait' means nothing"),
        ("scheduling.worker.service", f"{alone} 'service' means nothing"),
        ("tasks.servo.execution", f"a72-0 is master and worker: servo is local there, and {left}"),
    ]


def test_so_is_it_in_a_mode() -> None:
    modes = {"near": {"overrides": {"servo": {"on": "master-1"}}}, "far": {"tasks": ["servo"]}}
    system = on_target({"cores": APART | {"master-1": "r5f-0"}, "memories": {"shm": "ddr"}}, modes=modes)
    there = {mode: system.tasks_in(mode)["servo"] for mode in modes}
    assert (there["near"].execution, there["near"].on, there["near"].master) == ("local", "r5f-0", None)
    assert (there["far"].execution, there["far"].master) == ("offloaded", "r5f-0")
    (note,) = warnings_of(system)
    assert note.field == "modes.near.overrides.servo"


def test_scheduling_of_cores_without_tasks_means_nothing() -> None:
    scheduling = {"worker-0": {"service": "fifo"}, "noisy": {"policy": "edf"}}
    system = on_target({"cores": APART, "memories": {"shm": "ddr"}}, scheduling=scheduling)
    assert system.scheduling.keys() == {"a72-0"}
    (note,) = warnings_of(system)
    assert note.field == "scheduling.noisy" and "no task is on a core of 'noisy'" in note.message


def test_a_processor_of_no_platform_of_the_description_is_refused() -> None:
    tasks = {"panel": {"period": "20ms", "wcet": {"host": "10us", "a73": "1us"}, "on": "master-1"}}
    changes = {"tasks": tasks, "channels": {}, "scheduling": {}, "run": {}}
    for on in (None, "there"):
        with pytest.raises(BadDescription, match="'a73' is not a processor of platform"):
            targets = {"there": {"platform": "versal", "cores": {"master-1": "a72-0"}}}
            system_from_data(DRIVE | changes | {"targets": targets}, file=PLATFORM / "system.yaml", on=on)


# Files.


def written(folder: Path) -> Path:
    """A description with a target that is right and one that leaves something open."""
    targets = {
        "versal": {"cores": APART, "memories": {"shm": "ddr"}},
        "other": {"platform": "versal", "cores": APART},
    }
    path = folder / "system.yaml"
    path.write_text(json.dumps(DRIVE | {"targets": targets}, indent=1), encoding="utf-8")
    return path


def test_places_are_those_of_the_file(tmp_path: Path) -> None:
    file = written(tmp_path)
    text = file.read_text(encoding="utf-8").replace('"service": "fifo"', '"slot": "1us"')
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadDescription) as refused:
        load_system(file, "versal")
    (problem,) = refused.value.problems
    assert problem.field == "scheduling.worker.slot"
    assert text.splitlines()[(problem.line or 0) - 1].strip() == '"slot": "1us"'
