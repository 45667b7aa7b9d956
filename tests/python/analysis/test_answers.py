# SPDX-License-Identifier: Apache-2.0
"""The answer of bounds: undecided where only a figure that nobody gave would tell, and that alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from consort.analysis.lacking import held
from consort.analysis.mode_changes import analyze_modes
from consort.analysis.system import analyze_system
from consort.base.errors import Held
from consort.cli import main
from consort.model import System, platform_from_data, system_from_data
from loops import for_each
from ruamel.yaml import YAML

SHORT = {"period": "10ms", "wcet": "1ms", "on": "c-0"}
LONG = SHORT | {"wcet": "6ms"}
AWAY = SHORT | {"execution": "offloaded", "master": "c-0", "on": "c-2"}
ASKS = SHORT | {"requests": [{"accelerator": "fft", "operation": "small"}]}
FFT = {
    "on": "c-3",
    "arbitration": "fixed-priority",
    "memory": "m",
    "operations": {"small": {"wcet": "10us", "request": "8B", "answer": "8B"}},
    "clients": {"a": {"priority": 2}, "b": {"priority": 1}},
}
CHAIN = {
    "tasks": {"a": SHORT | {"writes": ["k"]}, "b": SHORT | {"on": "c-1", "reads": ["k"]}},
    "channels": {"k": {"kind": "sporadic", "memory": "m", "size": "8B"}},
    "chains": {"way": {"path": ["a", "b"], "reaction": "40ms"}},
}
MODES = {
    "modes": {"one": {"tasks": ["a"]}, "two": {"tasks": ["a", "b"]}},
    "mode_changes": {"start": "one", "agreement": "1ms", "requests": [{"at": "200ms", "to": "two"}]},
}
HELD, NOT_HELD, UNDECIDED = Held.HELD, Held.NOT_HELD, Held.UNDECIDED
# The description, what the platform lacks, and the answer.
CASES: dict[str, tuple[dict[str, Any], tuple[str, ...], Held]] = {
    "all is given": ({"tasks": {"a": SHORT, "b": SHORT}}, (), HELD),
    "a timer": ({"tasks": {"a": SHORT, "b": SHORT}}, ("timer_lateness",), UNDECIDED),
    "a timer and a switch": (
        {"tasks": {"a": SHORT, "b": SHORT}},
        ("timer_lateness", "context_switch"),
        UNDECIDED,
    ),
    "held to the last picosecond where both cost nothing": (
        {"tasks": {"a": SHORT | {"deadline": "1ms"}, "b": SHORT}},
        ("timer_lateness", "context_switch"),
        UNDECIDED,
    ),
    "late with any timer": ({"tasks": {"a": LONG, "b": LONG}}, ("timer_lateness",), NOT_HELD),
    "late, and another core lacks": (
        {"tasks": {"a": LONG, "b": LONG, "c": SHORT | {"on": "d-0"}}},
        ("of d",),
        NOT_HELD,
    ),
    "another core lacks": ({"tasks": {"a": SHORT, "c": SHORT | {"on": "d-0"}}}, ("of d",), UNDECIDED),
    "an execution time": ({"tasks": {"a": SHORT, "b": {**SHORT, "wcet": None}}}, (), UNDECIDED),
    "the others are late without it": (
        {"tasks": {"a": LONG, "b": LONG, "c": {**SHORT, "wcet": None}}},
        (),
        NOT_HELD,
    ),
    "a chain": (CHAIN, ("timer_lateness",), UNDECIDED),
    "a chain that is too long": (
        CHAIN | {"chains": {"way": {"path": ["a", "b"], "reaction": "9ms"}}},
        ("context_switch",),
        NOT_HELD,
    ),
    "who shares a worker": (
        {"tasks": {"a": AWAY, "b": AWAY | {"master": "d-0"}}},
        ("of d",),
        UNDECIDED,
    ),
    "another client of an accelerator": (
        {"tasks": {"a": ASKS, "b": ASKS | {"on": "d-0"}}, "accelerators": {"fft": FFT}},
        ("of d",),
        UNDECIDED,
    ),
    "no bound for another reason": (
        {
            "tasks": {
                "a": SHORT | {"sections": {"bus": {"length": "1us"}}},
                "b": SHORT | {"sections": {"bus": {"length": "1us"}}},
                "c": SHORT | {"on": "d-0"},
            },
            "resources": {"bus": {"protocol": "priority-ceiling"}},
            "scheduling": {"c-0": {"policy": "edf"}},
        },
        ("late c", "of d"),
        NOT_HELD,
    ),
    "in a mode": ({"tasks": {"a": SHORT, "b": SHORT}, **MODES}, ("timer_lateness",), UNDECIDED),
    "late in a mode": (
        {"tasks": {"a": SHORT, "b": LONG, "c": LONG}, **MODES},
        ("timer_lateness",),
        UNDECIDED,
    ),
    "late in a mode that is entered": (
        {"tasks": {"a": LONG, "b": LONG}, **MODES},
        ("timer_lateness",),
        NOT_HELD,
    ),
}


def figure(value: str) -> dict[str, str]:
    return {"value": value, "assumed": "x"}


def described(parts: dict[str, Any], lacks: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    given = {"context_switch": figure("1us"), "timer_lateness": figure("0us")}
    if "late c" in lacks:
        given["timer_lateness"] = figure("5us")
    here = {key: value for key, value in given.items() if key not in lacks}
    cores = {
        "c": {"processor": "p", "count": 4, **here},
        "d": {"processor": "p", "count": 1, **({} if "of d" in lacks else given)},
    }
    access = {"base": figure("0ns"), "per_byte": figure("0ns")}
    platform = {
        "consort": 1,
        "name": "some",
        "processors": {"p": {"isa": "x86_64"}},
        "cores": cores,
        "memories": {"m": {"kind": "sram", "size": "1MiB", "assumed": "x", "access": access}},
    }
    tasks = {
        name: {key: value for key, value in task.items() if value is not None}
        | ({"footprint": {"inputs": "8B", "outputs": "8B"}} if task.get("master") else {})
        for name, task in parts["tasks"].items()
    }
    away = {
        f"{name}.{end}": {"memory": "m"} for name in tasks if "master" in tasks[name] for end in ("in", "out")
    }
    channels = {"channels": away} if away else {}
    return {"consort": 1, "platform": "some.yaml", **channels, **parts, "tasks": tasks}, platform


def system_of(name: str) -> System:
    whole, platform = described(*CASES[name][:2])
    return system_from_data(whole, platform=platform_from_data(platform))


@for_each("name", CASES)
def test_an_answer_is_undecided_where_only_a_missing_figure_would_tell(name: str) -> None:
    system, wanted = system_of(name), CASES[name][2]
    assert held(system) is wanted
    if system.mode_changes is None:
        assert held(system, analyze_system(system)) is wanted
    else:
        assert analyze_modes(system).schedulable == (wanted is HELD)


@for_each("name", CASES)
def test_the_command_says_the_answer(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / name.replace(" ", "-")
    folder.mkdir()
    whole, platform = described(*CASES[name][:2])
    for file, data in (("system", whole), ("some", platform)):
        with (folder / f"{file}.yaml").open("w") as out:
            YAML(typ="safe").dump(data, out)
    for options in ([], ["--json"]):
        with pytest.raises(SystemExit) as ended:
            main(["analyze", str(folder / "system.yaml"), "--no-advice", *options])
        said = capsys.readouterr().out
        answer = CASES[name][2]
        assert (ended.value.code or 0) == answer.exit_status, said
        if options:
            assert json.loads(said)["held"] == answer
        else:
            assert said.startswith("verdict:     Undecided: no bound") == (answer is UNDECIDED), said
