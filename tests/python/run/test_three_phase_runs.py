# SPDX-License-Identifier: Apache-2.0
"""`consort run` of three-phase systems: every byte arrives, and phases follow one another in their slots."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from run_support import beside_time, consort, ran

pytestmark = [pytest.mark.realtime(when="run"), pytest.mark.usefixtures("two_cpus")]

STEP = """
#include <cstdint>
#include "consort/spm/step.hpp"
namespace filter {
struct Sum {
    struct Constants { std::uint32_t factor[64]; };
    struct In { std::uint32_t value; };
    struct State { std::uint64_t sum; std::uint32_t jobs; };
    // Three bytes of padding, which are not compared.
    struct Out { std::uint64_t sum; std::uint8_t odd; };
    static Constants constants() { Constants c{}; for (auto& f : c.factor) f = 3; return c; }
    static void step(const Constants& c, const In& in, State& state, Out& out) noexcept {
        state.sum += in.value * c.factor[state.jobs++ % 64];
        out.sum = state.sum;
        out.odd = state.sum % 2;
    }
};
struct Plain {
    using Constants = consort::spm::Empty;
    using In = consort::spm::Empty;
    using State = consort::spm::Empty;
    struct Out { std::uint32_t answer; };
    static void step(const Constants&, const In&, State&, Out& out) noexcept { out.answer = 42; }
};
// Keeps something that no DMA moves.
struct Hidden : Plain {
    static void step(const Constants&, const In&, State&, Out& out) noexcept {
        static std::uint32_t jobs = 0;
        out.answer = jobs++;
    }
};
}
"""
INPUTS = """
import numpy as np
def inputs(dtype, first):
    return np.arange(first, first + 5, dtype=np.uint32).view(dtype)
"""
SYSTEM = """
consort: 1
platform: chip.yaml
scheduling:
  core: {policy: three-phase, slot: 500us}
tasks:
  sum:
    step: step.hpp::filter::Sum::step
    input: {function: inputs.py::inputs, arguments: {first: 7}}
    period: 10ms
    wcet: 1ms
    footprint: {code: 256B, data: 272B, inputs: 4B, outputs: 16B}
    on: core-0
    execution: three-phase
  plain:
    step: step.hpp::filter::Plain::step
    period: 20ms
    wcet: 1ms
    footprint: {code: 64B, outputs: 4B}
    on: core-1
    execution: three-phase
run: {iterations: 30}
"""
# Beside the two a task whose outputs cannot be right.
HIDDEN = """
  hidden:
    step: step.hpp::filter::Hidden::step
    period: 20ms
    wcet: 1ms
    footprint: {code: 64B, outputs: 4B}
    on: core-1
    execution: three-phase
"""
LOCAL = """  local:
    {period: 1s, wcet: 1ms, on: other-0}
run: {"""
CHIP = """
consort: 1
name: chip
processors: {small: {isa: other}}
cores:
  core:
    processor: small
    count: 2
    context_switch: {value: 0ns, assumed: none}
    timer_lateness: {value: 0ns, assumed: none in this test}
    scratchpad: {size: 16KiB}
  other: {processor: small, count: 1, assumed: none, context_switch: 0ns, timer_lateness: 0ns}
"""


# Times are stretched, so that two cores and the I/O core share two CPUs.
SCALE = 4


@pytest.fixture
def system(tmp_path: Path) -> Path:
    folder = tmp_path / "three"
    folder.mkdir()
    for name, text in {
        "step.hpp": STEP,
        "inputs.py": INPUTS,
        "chip.yaml": CHIP,
        "system.yaml": SYSTEM,
    }.items():
        (folder / name).write_text(text)
    return folder / "system.yaml"


def sums(jobs: int) -> list[int]:
    """The outputs that the step `sum` must give: it begins anew where its five input rows do."""
    found, total = [], 0
    for job in range(jobs):
        total = (0 if job % 5 == 0 else total) + 3 * (7 + job % 5)
        found.append(total)
    return found


@pytest.mark.representative
def test_every_job_is_recorded_and_every_wrong_output_found(system: Path) -> None:
    system.write_text(SYSTEM.replace("\nrun:", f"{HIDDEN}run:"))
    found = ran(system, "local-off", time_scale=SCALE)
    # A machine whose processors others use may miss deadlines; that is all it may do.
    wrong = beside_time(found.verdict.reasons)
    assert [r.partition(":")[0] for r in wrong] == ["hidden"], wrong
    assert "outputs are wrong" in wrong[0]
    for name, period, planned in (("sum", 10, 30), ("plain", 20, 15), ("hidden", 20, 15)):
        every = found.jobs(name, skipped=True)
        assert every["seq"].tolist() == list(range(planned))
        ticks = found.raw.manifest.clock.ticks_per_second
        gaps = np.diff(every["release"].astype(np.int64)) - period * SCALE * ticks / 1000
        assert np.abs(gaps).max() <= 1
        jobs = found.jobs(name)
        order = ("release", "ready", "loaded", "start", "executed", "finish")
        for earlier, later in itertools.pairwise(order):
            assert (jobs[earlier] <= jobs[later]).all(), (name, earlier, later)
    assert found.outputs("sum")["sum"].tolist() == sums(len(found.jobs("sum")))
    assert (found.outputs("plain")["answer"] == 42).all()


def test_under_round_robin_too(system: Path) -> None:
    system.write_text(SYSTEM.replace("slot: 500us", "slot: 500us, arbitration: round-robin"))
    (system.parent / "chip.yaml").write_text(CHIP + "dmas: {dma: {rate: 1GB/s}}\n")
    found = ran(system, "local-off", time_scale=SCALE)
    assert beside_time(found.verdict.reasons) == []
    assert found.outputs("sum")["sum"].tolist() == sums(len(found.jobs("sum")))


@pytest.mark.parametrize(
    ("change", "words", "status", "said"),
    [
        (("step: step.hpp::filter::Plain::step", ""), [], 2, "tasks.plain: the task has no step to execute"),
        (("period: 20ms", "period: 20000000500ps"), [], 2, "tasks.plain.period: "),
        (("Sum::step", "Gone::step"), [], 2, "tasks.sum.step: does not compile: "),
        (("", ""), ["--only", "offloaded-off"], 2, "--only: no task is offloaded"),
        (("", ""), ["--counted"], 2, "--counted: only boards count instructions"),
        (("first: 7", "second: 7"), [], 2, "inputs.py: inputs raised TypeError"),
    ],
)
def test_what_cannot_be_run_is_refused(
    system: Path, runs: Path, change: tuple[str, str], words: list[str], status: int, said: str
) -> None:
    system.write_text(SYSTEM.replace(*change, 1) if change[0] else SYSTEM)
    ended = consort("run", system, "--time-scale", SCALE, *words)
    assert (ended.returncode, said in ended.stderr) == (status, True), ended.stderr + ended.stdout
    assert "Traceback" not in ended.stderr
    assert not runs.exists() or list(runs.iterdir()) == []


def test_a_processor_each_or_stretched_times(system: Path, runs: Path) -> None:
    """On two CPUs the cores are run one after another, each beside the I/O core; under round robin not."""
    import os

    two = set(sorted(os.sched_getaffinity(0))[:2])
    system.write_text(SYSTEM.replace("slot: 500us", "slot: 500us, arbitration: round-robin"))
    (system.parent / "chip.yaml").write_text(CHIP + "dmas: {dma: {rate: 1GB/s}}\n")
    ended = consort("run", system, preexec_fn=lambda: os.sched_setaffinity(0, two))
    assert ended.returncode == 3
    assert "uses 3 cores with the I/O core" in ended.stderr and "--time-scale" in ended.stderr
    assert not runs.exists() or list(runs.iterdir()) == []
