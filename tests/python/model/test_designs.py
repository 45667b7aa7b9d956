# SPDX-License-Identifier: Apache-2.0
"""Designs that are analysed and simulated: what descriptions of every feature say, read from Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from consort.base.errors import BadInput
from consort.model import (
    BadDescription,
    Duration,
    Energy,
    Provenance,
    System,
    load_platform,
    load_system,
    platform_from_data,
    system_from_data,
    system_schema,
)
from loops import for_each
from ruamel.yaml import YAML

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
VEHICLE = ROOT / "examples" / "vehicle" / "system.yaml"
FILES = [*sorted((HERE / "data").glob("*.yaml")), HERE / "design.yaml", VEHICLE]
IDS = [file.stem if file != VEHICLE else "vehicle" for file in FILES]


def ms(number: float) -> Duration:
    return Duration(int(number * 10**9))


def data(name: str) -> System:
    return load_system(HERE / "data" / f"{name}.yaml")


def texts(quantities: dict[Any, Any]) -> dict[Any, str]:
    return {key: str(value) for key, value in quantities.items()}


@for_each("file", FILES, ids=IDS)
def test_written_and_read_again(file: Path, tmp_path: Path) -> None:
    system = load_system(file)
    if system.platform.endswith(".yaml"):
        (tmp_path / system.platform).write_text((file.parent / system.platform).read_text())
    system.to_yaml(tmp_path / "again.yaml", "A comment\nof two lines.")
    again = load_system(tmp_path / "again.yaml")
    assert again.tasks == system.tasks
    assert again.to_json() == system.to_json()
    text = (tmp_path / "again.yaml").read_text()
    assert text.startswith("# A comment\n# of two lines.\nconsort: 1\n")
    # Keys that were left out stay out.
    assert "on_miss" not in text or "on_miss" in file.read_text()


@for_each("file", FILES, ids=IDS)
def test_schema_accepts_them(file: Path) -> None:
    jsonschema.validate(YAML(typ="safe").load(file.read_text(encoding="utf-8")), system_schema())
    jsonschema.validate(load_system(file).to_json(), system_schema())


@for_each("file", FILES, ids=IDS)
def test_from_data(file: Path) -> None:
    system = load_system(file)
    again = system_from_data(json.loads(json.dumps(system.to_json())), platform=system.platform_description)
    assert again.to_json() == system.to_json()


@for_each("file", FILES, ids=IDS)
def test_each_mode_is_a_right_system(file: Path) -> None:
    system = load_system(file)
    for mode in system.modes:
        there = system.in_mode(mode)
        again = system_from_data(there.to_json(), platform=system.platform_description)
        assert again.tasks == there.tasks


def test_costs() -> None:
    tasks = data("costs").tasks
    assert tasks["everywhere"].wcet_on("a72") == tasks["everywhere"].wcet_on("x", "offloaded") == ms(1)
    assert tasks["everywhere"].energy_on("a72") == Energy.parse("12uJ")
    assert tasks["everywhere"].bcet_on("a72") == ms(1)
    assert tasks["by-processor"].wcet_on("r5f") == ms(3)
    assert tasks["by-processor"].wcet_on("x86") is None
    assert tasks["by-processor"].energy_on("r5f") is None
    task = tasks["by-execution"]
    assert task.wcet_on("a72") == task.wcet_on("a72", "local") == ms(1)
    assert task.wcet_on("a72", "offloaded") == ms(0.9)
    assert task.wcet_on("r5f", "three-phase") == ms(2.5)
    assert task.wcet_on("r5f", "offloaded") is None
    assert task.bcet_on("a72", "offloaded") == ms(0.5)
    assert task.bcet_on("r5f", "local") == ms(3)
    assert task.energy_on("r5f", "three-phase") == Energy.parse("80uJ")
    assert task.energy_on("a72", "offloaded") is None


def test_figures_carry_their_sources() -> None:
    figures = {place: source for place, _, source in data("costs").figures()}
    assert figures["tasks.sourced.wcet"] == Provenance("measured", "a run")
    assert figures["tasks.by-processor.wcet.r5f"] == Provenance("bound", "static analysis")
    assert figures["tasks.by-processor.wcet.a72"] is None
    footprint = {place: source for place, _, source in data("three_phase").figures()}
    assert footprint["tasks.tblook.footprint.code"] == Provenance("published", "spm-centric-os, Table V")


def test_releases() -> None:
    tasks = data("sporadic").tasks
    assert tasks["bus"].sporadic and tasks["bus"].period is None
    assert tasks["bus"].interval == tasks["bus"].deadline == ms(5)
    assert tasks["bus"].jitter == ms(0.2)
    assert not tasks["log"].sporadic
    assert tasks["log"].deadline == ms(25)
    assert (tasks["log"].offset, tasks["wait"].self_suspension) == (ms(2), ms(4))


def test_scheduling() -> None:
    system = data("scheduling")
    assert system.scheduling_of("app-0").policy == "fixed-priority-non-preemptive"
    assert system.scheduling_of("app-1").policy == "edf"
    assert system.scheduling_of("io-0").policy == "fixed-priority"
    # A core's own figure, else its group's, else the platform's, else nothing.
    assert texts({core: system.context_switch(core) for core in ("app-0", "app-1", "io-0")}) == {
        "app-0": "460ns",
        "app-1": "1us",
        "io-0": "0ns",
    }
    assert system.tasks_on("app-0") == ["a", "b"]
    # No priorities: by deadline.
    assert system.tasks_on("io-0") == ["f", "e"]
    assert system.priorities("io-0") == {"f": 2, "e": 1}
    assert system.wcet("a") == ms(1)


def test_three_phase() -> None:
    system = data("three_phase")
    assert system.scheduling_of("app-1").slot == "auto"
    footprint = system.tasks["tblook"].footprint
    assert footprint is not None
    assert (footprint.bytes, footprint.load_bytes, footprint.unload_bytes) == (12408, 12408, 10516)
    scratchpad = system.core_of("tblook").scratchpad
    assert scratchpad is not None
    assert scratchpad.partition_bytes == 40 * 1024
    assert data("round_robin").scheduling_of("app-0").arbitration == "round-robin"


def test_offloaded() -> None:
    system = data("offloaded")
    assert system.wcet("left") == ms(0.2)
    assert system.workers() == ["a53-0"]
    assert system.priorities("r5f-0") == {"left": 2, "watch": 1}
    dispatch = system.tasks["left"].dispatch
    assert dispatch is not None and dispatch.send is not None and dispatch.receive is not None
    assert dispatch.receive.value == Duration.parse("5us")
    assert dispatch.receive.provenance == Provenance("assumed", "half of sending")
    assert system.writer("left.in") == "r5f-0"
    assert system.readers("left.in") == ["left"]


def test_channels() -> None:
    system = data("channels")
    ends = {name: (system.writer(name), system.readers(name)) for name in system.channels}
    assert ends == {
        "samples": ("sense", ["filter"]),
        "gains": ("filter", ["control", "log"]),
        "latest": ("sense", ["control"]),
        "news": ("filter", ["log"]),
        "frames": ("bus", ["sense"]),
        "names": ("bus", ["log"]),
    }
    held = {name: channel.implemented_by for name, channel in system.channels.items()}
    assert list(held.values()) == ["mailbox", "snapshot", "double-buffer", "queue", "queue", "snapshot"]
    assert system.writer("latest") == "sense" and "control" in system.readers("latest")
    assert system.channels["frames"].flow == 17
    assert system.channels["names"].flow == "wheel/"


def test_modes() -> None:
    system = data("modes")
    assert list(system.in_mode("idle").tasks) == ["keep"]
    assert system.in_mode("idle").channels == {}
    assert system.in_mode("idle").chains == {}
    alone = system.in_mode("alone")
    fast = alone.tasks["fast"]
    assert (fast.execution, fast.on, fast.master, fast.deadline) == ("local", "r5f-0", None, ms(2))
    assert list(alone.channels) == ["state"]
    eager = system.in_mode("eager")
    assert eager.tasks["slow"].sporadic
    assert eager.tasks["slow"].deadline == ms(40)
    assert not eager.tasks["keep"].sporadic
    assert system.tasks["slow"].period == ms(50)
    with pytest.raises(KeyError):
        system.in_mode("none")


def test_vehicle_uses_what_there_is() -> None:
    system = load_system(VEHICLE)
    assert {task.execution for task in system.tasks.values()} == {"local", "offloaded", "three-phase"}
    policies = {system.scheduling_of(core).policy for core in system.cores()}
    assert policies == {"fixed-priority", "fixed-priority-non-preemptive", "edf", "three-phase"}
    kinds = {channel.kind for channel in system.channels.values()}
    assert kinds == {"periodic", "sporadic", "subscription"}
    assert {core.rpartition("-")[0] for core in system.cores()} == set(system.platform_description.cores)
    assert all(system.wcet(name) is not None for name in system.tasks)


def test_inline_data_without_a_file() -> None:
    platform = platform_from_data(
        {
            "consort": 1,
            "name": "two",
            "processors": {"p": {"isa": "riscv64"}},
            "cores": {"p": {"processor": "p", "count": 2}},
        }
    )
    described = {
        "consort": 1,
        "platform": "two",
        "tasks": {"a": {"period": "1ms", "wcet": "1us", "on": "p-1"}},
    }
    system = system_from_data(described, platform=platform)
    assert system.core_of("a").processor.isa == "riscv64"
    for period, said in {
        # Nothing else is known of a task whose form is wrong.
        "1": [
            "a.period: 1 has no unit; a duration is a number with one of ps, ns, us, ms, s, for example 50us"
        ],
        "1ms": [
            "a.on: 'p-2' is not a core of platform two; p cores: p-0 to p-1",
            "a.wcet.q: 'q' is not a processor of platform two; processors: p",
        ],
    }.items():
        described["tasks"] = {"a": {"period": period, "wcet": {"q": "1us"}, "on": "p-2"}}
        with pytest.raises(BadDescription) as caught:
            system_from_data(described, file="made.xml", platform=platform)
        assert str(caught.value).split("\n") == [f"made.xml: tasks.{line}" for line in said]
    with pytest.raises(BadInput, match="'nowhere' is not known"):
        system_from_data({**described, "platform": "nowhere"})


def test_platform_with_modes_of_writing(tmp_path: Path) -> None:
    for name in ("embedded-plus", "linux-host"):
        platform = load_platform(ROOT / "platforms" / f"{name}.yaml")
        assert platform_from_data(json.loads(json.dumps(platform.to_json()))) == platform


@pytest.mark.parametrize("device", ["sink", "function", "recording", "driver"])
def test_what_a_chain_passes_is_checked_of_tasks_bound_to_devices(device: str, tmp_path: Path) -> None:
    """A task that a device feeds or that feeds one is not misspelt: nothing flows from it to the next."""
    kinds = {
        "sink": {"sink": "record"},
        "function": {"function": "f.py::values"},
        "recording": {"recording": "f.csv"},
        "driver": {"driver": "f.hpp::f::driver"},
    }
    bound = {"writes": {"v": "there"}} if device in ("sink", "driver") else {"reads": {"v": "there"}}
    data = {
        "consort": 1,
        "platform": "linux-host",
        "devices": {"there": kinds[device]},
        "tasks": {
            "a": {"period": "1ms", "wcet": "1us", "on": "master-0", **bound},
            "b": {"period": "1ms", "wcet": "1us", "on": "master-0", "writes": ["k"]},
            "c": {"period": "1ms", "wcet": "1us", "on": "worker-0", "reads": ["k"]},
        },
        "channels": {"k": {"kind": "sporadic"}},
        "chains": {"x": {"path": ["a", "c"], "reaction": "1s"}},
    }
    with pytest.raises(BadDescription) as error:
        system_from_data(data, file=tmp_path / "s.yaml")
    assert "no channel leads from 'a' to 'c'" in str(error.value)
    # Nor is a channel that nobody writes passed over, because a device is called almost like it.
    del data["tasks"]["b"]["writes"], data["chains"]
    data["channels"] = {"ther": {"kind": "sporadic"}}
    data["tasks"]["c"]["reads"] = ["ther"]
    with pytest.raises(BadDescription, match="nothing writes 'ther'"):
        system_from_data(data, file=tmp_path / "s.yaml")


@pytest.mark.parametrize(
    ("more", "mode", "said"),
    [
        (
            {"r": {"sections": {"bus": {"length": "1us"}}}, "o": {"sections": {"bus": {"length": "1us"}}}},
            {"o": {"on": "master-1"}},
            "in this mode resources.bus: r and o are on 2 cores",
        ),
        (
            {"r": {"sections": {"bus": {"length": "1us"}}}},
            {"r": {"wcet": "500ns"}},
            "in this mode tasks.r.sections.bus.length: 1us is longer than the wcet",
        ),
        ({"r": {"sections": {"bus": {"length": "1us"}}}}, {"o": {"period": "0us"}}, "the period is 0"),
        ({"r": {"sections": {"bus": {"length": "1us"}}}}, {"o": {"deadline": "0us"}}, "the deadline is 0"),
    ],
)
def test_a_mode_is_held_to_the_rules_of_the_whole(
    more: dict[str, Any], mode: dict[str, Any], said: str
) -> None:
    tasks: dict[str, Any] = {name: {"period": "1ms", "wcet": "9us", "on": "master-0"} for name in ("r", "o")}
    tasks = {name: {**task, **more.get(name, {})} for name, task in tasks.items()}
    system = {"consort": 1, "platform": "linux-host", "tasks": tasks}
    system["resources"] = {"bus": {"protocol": "priority-ceiling"}}
    # A mode in which nobody uses the resource is right.
    system_from_data({**system, "modes": {"m": {"tasks": ["o"]}}})
    with pytest.raises(BadDescription, match=f"modes.m.*{said}"):
        system_from_data({**system, "modes": {"m": {"overrides": mode}}})
