# SPDX-License-Identifier: Apache-2.0
"""Sizes come from the compiled types, and a description that says otherwise is refused where it says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from consort.analysis.mode_changes import analyze_modes
from consort.model import load_system
from consort.run import Options, prepare
from run_support import consort, silent, write

STEPS = """
#pragma once
#include <cstdint>
namespace big {
struct Block { std::uint32_t words[1024]; };
struct State { std::uint8_t kept[262144]; };
struct None {};
struct Out { Block block; std::uint32_t n; };
inline void make(const None&, State& s, Out& out) { out.n = ++s.kept[0]; }
struct In { Block block; };
struct Count { std::uint32_t n; };
inline void take(const In& in, Count& s, Count& out) { out.n = s.n += in.block.words[0]; }
}
"""
# One program for all: a compilation takes longer than anything else here.
SYSTEM: dict[str, Any] = {
    "assumed": "for a test",
    "tasks": {
        "make": {
            "step": "step.hpp::big::make",
            "period": "10ms",
            "wcet": "1ms",
            "bcet": "1ms",
            "on": "master-0",
            "writes": {"block": "blocks"},
        },
        "take": {
            "step": "step.hpp::big::take",
            "period": "10ms",
            "wcet": {"host": {"local": "1ms", "offloaded": "1ms"}},
            "bcet": "1ms",
            "on": "worker-0",
            "master": "master-0",
            "execution": "offloaded",
            "reads": {"block": "blocks"},
        },
    },
    "channels": {"blocks": {"kind": "sporadic", "memory": "shm"}},
    "run": {"iterations": 3, "interference": []},
}


def with_sizes(**sizes: str) -> dict[str, Any]:
    """The system with sizes of channels, and `data`, `inputs` and `outputs` of the writer's footprint."""
    footprint = {part: sizes.pop(part) for part in ("data", "inputs", "outputs") if part in sizes}
    channels: dict[str, Any] = dict(SYSTEM["channels"])
    for name, size in sizes.items():
        name = name.replace("_", ".")
        channels[name] = {**channels.get(name, {"memory": "shm"}), "size": size}
    tasks = dict(SYSTEM["tasks"])
    if footprint:
        tasks["make"] = {**tasks["make"], "footprint": footprint}
    return {**SYSTEM, "tasks": tasks, "channels": channels}


@pytest.mark.parametrize(
    ("sizes", "field", "words"),
    [
        (
            {"blocks": "4B"},
            "channels.blocks.size",
            "4B is not the size of the type of 'block' of the outputs",
        ),
        ({"blocks": "8KiB"}, "channels.blocks.size", "of 'make', which is 4KiB; write that, or remove it"),
        ({"take_in": "64B"}, "channels[take.in].size", "of the inputs of 'take', which is 4KiB"),
        ({"take_out": "8B"}, "channels[take.out].size", "of the outputs of 'take', which is 4B"),
        ({"data": "4B"}, "tasks.make.footprint.data", "of its state and constants, which is 256KiB"),
        ({"inputs": "4B"}, "tasks.make.footprint.inputs", "of its inputs, which is 0B"),
        ({"outputs": "4KiB"}, "tasks.make.footprint.outputs", "of its outputs, which is 4100B"),
    ],
)
def test_a_size_that_is_not_the_types_is_refused(
    tmp_path: Path, sizes: dict[str, str], field: str, words: str
) -> None:
    description = write(tmp_path, with_sizes(**sizes), step_hpp=STEPS)
    ended = consort("run", description, "--for", "virtual")
    assert ended.returncode == 2, ended.stdout + ended.stderr
    key = '"size":' if field.startswith("channels") else f'"{field.rpartition(".")[2]}": '
    line = next(n for n, text in enumerate(description.read_text().splitlines(), 1) if key in text)
    assert f"system.yaml:{line}:" in ended.stderr and f"{field}: " in ended.stderr
    assert words in ended.stderr


def test_sizes_that_nobody_gave_are_those_of_the_types(tmp_path: Path) -> None:
    description = write(tmp_path, SYSTEM, step_hpp=STEPS)
    prepared = prepare(load_system(description), silent, Options(target="virtual"))
    sizes = {name: channel.bytes for name, channel in prepared.plan.channels.items()}
    assert sizes == {"blocks": 4096, "take.in": 4096, "take.out": 4}
    footprint = prepared.plan.tasks["make"].footprint
    assert footprint is not None and footprint.data == 262144
    assert prepared.plan.tasks["take"].footprint is not None


def test_right_sizes_are_taken(tmp_path: Path) -> None:
    right = with_sizes(blocks="4KiB", take_in="4096B", take_out="4B", data="256KiB", outputs="4100B")
    prepared = prepare(load_system(write(tmp_path, right, step_hpp=STEPS)), silent, Options(target="virtual"))
    assert prepared.plan.channels["blocks"].bytes == 4096


def test_a_stand_in_takes_the_blocks_of_a_step(tmp_path: Path) -> None:
    """It has no type for what a step writes: it looks at the numbers of the blocks alone."""
    tasks = {
        "make": SYSTEM["tasks"]["make"],
        "take": {"step": "stand-in", "period": "10ms", "wcet": "1ms", "on": "master-1", "reads": ["blocks"]},
    }
    description = write(tmp_path, SYSTEM | {"tasks": tasks}, step_hpp=STEPS)
    ended = consort("run", description, "--for", "virtual", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert "held: all 6 jobs" in ended.stdout


def test_a_hand_over_is_bounded_by_the_size_of_the_state(tmp_path: Path) -> None:
    """The state's size is the type's, so the bound of its hand-over counts 256 KiB, and no 4 bytes."""
    tasks = {"make": {k: v for k, v in SYSTEM["tasks"]["make"].items() if k != "writes"}}
    whole = {
        **SYSTEM,
        "tasks": tasks,
        "channels": {},
        "modes": {
            "here": {"tasks": ["make"]},
            "there": {"tasks": ["make"], "overrides": {"make": {"on": "master-1"}}},
        },
        "mode_changes": {
            "start": "here",
            "agreement": "1ms",
            "state_through": "shm",
            "requests": [{"at": "25ms", "to": "there"}],
        },
    }
    system = load_system(write(tmp_path, whole, step_hpp=STEPS))
    assert "tasks.make.footprint.data" in {p for b in analyze_modes(system).changes for p in b.missing}
    prepared = prepare(system, silent, Options(target="virtual"))
    found = analyze_modes(prepared.system).changes
    assert "tasks.make.footprint.data" not in {place for bound in found for place in bound.missing}
