# SPDX-License-Identifier: Apache-2.0
"""Sinks that are Python functions: each gets what its tasks wrote when the run is over, and may refuse it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from effort import VERDICTS
from run_support import consort

pytestmark = pytest.mark.realtime

FREE = {"value": "0us", "assumed": "a test"}
STEP = """
#include <cstdint>
namespace counting {
struct In {};
struct State { std::uint32_t jobs = 0; };
struct Pair { std::uint32_t low; float half; };
struct Out { std::uint32_t number; Pair pair; };
inline void step(const In&, State& state, Out& out) noexcept {
    ++state.jobs;
    out = {state.jobs, {100 + state.jobs, 0.5F * static_cast<float>(state.jobs)}};
}
}
"""
SINKS = """
import json
from pathlib import Path
SEEN = Path(__file__).with_name("seen.json")
def keep(task, blocks):
    seen = json.loads(SEEN.read_text()) if SEEN.exists() else {}
    seen[task] = {name: blocks[name].tolist() for name in blocks.dtype.names}
    SEEN.write_text(json.dumps(seen))
def refuse(task, blocks):
    return f"{blocks.size} blocks, and none is wanted"
def breaks(task, blocks):
    raise KeyError("limit")
"""


def described(folder: Path, writes: Any, sink: str = "sinks.py::keep") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "step.hpp").write_text(STEP)
    (folder / "sinks.py").write_text(SINKS)
    task = {
        "step": "step.hpp::counting::step", "period": "10ms", "wcet": "1ms", "on": "core-0", "writes": writes,
    }  # fmt: skip
    data = {
        "consort": 1,
        "platform": "platform.yaml",
        "devices": {"out": {"sink": sink}},
        "tasks": {"one": task, "two": {**task, "period": "20ms"}},
        "run": {"iterations": 6},
    }
    platform = {
        "consort": 1,
        "name": "platform",
        "processors": {"cpu": {"isa": "probed"}},
        "cores": {
            "core": {
                "processor": "cpu",
                "count": 1,
                "context_switch": {"value": "0us", "assumed": "a test"},
                "timer_lateness": {"value": "0ns", "assumed": "none in this test"},
            }
        },
        "memories": {"shm": {"kind": "posix-shared-memory"}},
    }
    (folder / "platform.yaml").write_text(json.dumps(platform))
    file = folder / "system.yaml"
    file.write_text(json.dumps(data))
    return file


@pytest.mark.parametrize("target", ["virtual", "linux"])
def test_a_sink_gets_what_each_task_wrote(tmp_path: Path, target: str) -> None:
    file = described(tmp_path / "s", {"number": "out"})
    done = consort("run", file, "--for", target, "--time-scale", "2", "--root", tmp_path / "runs")
    assert done.returncode in ((0,) if target == "virtual" else VERDICTS), done.stderr
    seen = json.loads((file.parent / "seen.json").read_text())
    assert list(seen) == ["one", "two"]
    for task, jobs in (("one", 6), ("two", 3)):
        assert list(seen[task]) == ["seq", "number"]
        # This machine may skip a release.
        assert target != "virtual" or seen[task]["seq"] == list(range(jobs))
        assert seen[task]["number"] == list(range(1, len(seen[task]["seq"]) + 1))


def test_a_sink_gets_a_struct_or_all(tmp_path: Path) -> None:
    for writes, names in (
        ({"pair": "out"}, ["seq", "pair_low", "pair_half"]),
        (["out"], ["seq", "number", "pair_low", "pair_half"]),
    ):
        file = described(tmp_path / "s", writes)
        done = consort("run", file, "--for", "virtual", "--root", tmp_path / "runs")
        assert done.returncode == 0, done.stderr
        seen = json.loads((file.parent / "seen.json").read_text())["one"]
        assert [name.replace(".", "_") for name in seen] == names
        assert list(seen.values())[-1] == [0.5, 1.0, 1.5, 2.0, 2.5, 3.0]


@pytest.mark.parametrize(
    ("sink", "said"),
    [
        ("refuse", "sink out, one: 6 blocks, and none is wanted"),
        ("breaks", "sink out, one: breaks raised KeyError: 'limit'"),
    ],
)
def test_what_a_sink_refuses_fails_the_run(tmp_path: Path, sink: str, said: str) -> None:
    file = described(tmp_path / "s", {"number": "out"}, f"sinks.py::{sink}")
    done = consort("run", file, "--for", "virtual", "--root", tmp_path / "runs", "-v")
    assert done.returncode == 1
    assert said in " ".join(done.stdout.split())


def test_a_function_that_is_not_there_is_refused(tmp_path: Path) -> None:
    file = described(tmp_path / "s", {"number": "out"}, "sinks.py::kept")
    done = consort("check", file)
    assert done.returncode == 2
    assert "devices.out.sink" in done.stderr and "keep" in done.stderr
