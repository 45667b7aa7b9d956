# SPDX-License-Identifier: Apache-2.0
"""A system of every kind of task, one of which breaks: which, and how, is a number in its input rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from run_support import Ran, ran, write

STEP = """
#pragma once
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <unistd.h>
namespace broken {
struct In { std::uint32_t how; };
struct State { std::uint32_t jobs; };
struct Out { std::uint32_t jobs; };
inline void act(std::uint32_t how) {
    if (how == 1) { *reinterpret_cast<volatile int*>(std::uintptr_t{16}) = 1; }
    if (how == 2) { for (volatile int forever = 1; forever != 0;) {} }
    if (how == 3) { std::_Exit(0); }
    if (how == 4) { std::_Exit(7); }
    if (how == 5) { std::abort(); }
    if (how == 6) { throw how; }
    if (how == 7) { usleep(350'000); }
    if (how == 8) { raise(SIGSTOP); }
}
inline void step(const In& in, State& state, Out& out) { act(in.how); out.jobs = ++state.jobs; }
inline void other(const In& in, State& state, Out& out) { step(in, state, out); }
inline void away(const In& in, State& state, Out& out) { step(in, state, out); }
struct Load {
    struct Constants {};
    struct In { std::uint32_t how; };
    struct State { std::uint32_t jobs; };
    struct Out { std::uint32_t jobs; };
    static void step(const Constants&, const In& in, State& state, Out& out) noexcept {
        act(in.how);
        out.jobs = ++state.jobs;
    }
};
}
"""
INPUTS = """
import numpy as np
def inputs(dtype, at, how):
    made = np.zeros(at + 4, dtype)
    made["how"][at] = how
    return made
"""
CHIP = """
consort: 1
name: chip
processors: {small: {isa: other}}
dmas: {dma: {setup: 1us, rate: 100MB/s, assumed: for this test}}
cores:
  m: {processor: small, count: 2, assumed: none, context_switch: 0ns, timer_lateness: 0ns}
  w: {processor: small, count: 1, assumed: none, context_switch: 0ns, timer_lateness: 0ns}
  s:
    processor: small
    count: 1
    context_switch: {value: 0ns, assumed: none}
    timer_lateness: {value: 0ns, assumed: none in this test}
    scratchpad: {size: 16KiB, partitions: 2}
"""
FINE = {"at": 0, "how": 0}
AT = 5


def system(folder: Path, breaks: str, how: int, at: int = AT, iterations: int = 20, **changes: Any) -> Path:
    """Four tasks on three cores and a worker; job 5, or `at`, of one of them breaks."""

    def task(name: str, **more: Any) -> dict[str, Any]:
        arguments = {"at": at, "how": how} if name == breaks else FINE
        made = {
            "period": "10ms",
            "wcet": {"small": "100us"},
            "input": {"function": "inputs.py::inputs", "arguments": arguments},
            **more,
            **(changes if name == breaks else {}),
        }
        return {key: value for key, value in made.items() if value is not None}

    tasks = {
        "plain": task("plain", step="step.hpp::broken::step", on="m-0"),
        "beside": task("beside", step="step.hpp::broken::other", on="m-1", period="20ms"),
        "away": task(
            "away",
            step="step.hpp::broken::away",
            on="w-0",
            execution="offloaded",
            master="m-0",
            on_miss="hold-last-output",
        ),
        "load": task(
            "load",
            step="step.hpp::broken::Load::step",
            on="s-0",
            execution="three-phase",
            wcet="2ms",
            period="20ms",
            footprint={"code": "64B", "data": "4B", "inputs": "4B", "outputs": "4B"},
        ),
    }
    described = {
        "platform": "chip.yaml",
        "scheduling": {"s": {"policy": "three-phase", "slot": "500us"}},
        "tasks": tasks,
        "run": {"iterations": iterations, "interference": []},
    }
    return write(folder, described, step_hpp=STEP, inputs_py=INPUTS, chip_yaml=CHIP)


def broken(folder: Path, breaks: str, how: int, **changes: Any) -> Ran:
    """The run of it, at a tenth of its speed: its cores share two CPUs."""
    return ran(system(folder, breaks, how, **changes), "offloaded-off", time_scale=10)
