# SPDX-License-Identifier: Apache-2.0
"""The executive on bare-metal cores: several tasks, offsets, preemption by timer interrupt, or none."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from board_support import ROOT, board, consort
from consort.base.errors import BadInput
from consort.base.waiting import silent
from consort.board import executive, programs
from consort.board.application import BEGIN, prepare_board
from consort.board.placement import placement
from consort.model import load_system
from consort.run.plan_image import Clock

# Platform, core, processor.
PREEMPTIVE = [
    ("stm32mp157", "m4-0", "m4"),
    ("riscv-virt", "rv64-0", "rv64"),
    ("riscv-virt32", "rv32-0", "rv32"),
    ("versal", "a72-1", "a72"),
    ("vexpress-r5f", "r5f-0", "r5f"),
    ("zynq-ultrascale-plus", "a53-1", "a53"),
]
# The R5F of these boards has no timer interrupt. The A72 has one, and does not preempt by its policy.
NON_PREEMPTIVE_CORES = [
    ("versal", "r5f-1", "r5f"),
    ("versal", "a72-0", "a72"),
    ("zynq-ultrascale-plus", "r5f-1", "r5f"),
]
ALONE = ("stm32mp157", "riscv-virt32", "zynq-ultrascale-plus")
BOARDS = {"stm32mp157": "mps2", "zynq-ultrascale-plus": "zynqmp"}
TASKS = {"fast": (200, 0), "middle": (1000, 100), "slow": (4000, 0)}  # period and offset [us]
FIXED, NON_PREEMPTIVE = "fixed-priority", "fixed-priority-non-preemptive"
DURATION = 20 * 10**9  # ps


def description(folder: Path, platform: str, core: str, policy: str, **changes: str) -> Path:
    text = f"consort: 1\nplatform: {platform}\nscheduling: {{{core}: {{policy: {policy}}}}}\ntasks:\n"
    for name, (period, offset) in TASKS.items():
        text += f"  {name}: {{step: 'step.hpp::{name}::step', on: {core}, offset: {offset}us,"
        text += f" period: {changes.get(name, f'{period}us')}}}\n"
    file = folder / "system.yaml"
    file.write_text(text + "run: {iterations: 100}\n", encoding="utf-8")
    header = folder / "step.hpp"
    header.write_text((ROOT / "tests/board/tasks/step.hpp").read_text(encoding="utf-8"), encoding="utf-8")
    return file


def recorded(file: Path, platform: str) -> tuple[executive.Recorded, list[str]]:
    board(BOARDS.get(platform, platform))
    run = prepare_board(load_system(file), lambda *_: None)
    return executive.run(run.request(DURATION, counted=True)), list(run.plan.tasks)


def of(run: executive.Recorded, tasks: list[str], name: str) -> np.ndarray:
    return run.jobs[run.jobs["task"] == tasks.index(name)]


@pytest.mark.parametrize(
    ("platform", "core", "processor"),
    [
        # Other tests represent the other boards.
        pytest.param(*given, marks=[pytest.mark.representative] if given[0] in ALONE else [])
        for given in PREEMPTIVE
    ],
)
def test_the_more_urgent_task_preempts(tmp_path: Path, platform: str, core: str, processor: str) -> None:
    run, tasks = recorded(description(tmp_path, platform, core, FIXED), platform)
    assert run.lost == 0
    for name, (period, offset) in TASKS.items():
        jobs = of(run, tasks, name)
        due = BEGIN + 1000 * offset + 1000 * period * np.arange(len(jobs))
        assert len(jobs) == -(-(20_000 - offset) // period)
        assert np.array_equal(jobs["release"], due) and np.all(jobs["start"] >= due)
        assert np.all(jobs["status"] == 0)
    fast, middle, slow = (of(run, tasks, name) for name in TASKS)
    # A job of the slow one is longer than two periods of the fast one, which never waits for it.
    assert np.all(slow["finish"] - slow["start"] > 400_000)
    assert np.all(fast["start"] - fast["release"] < 20_000)
    assert np.all(middle["finish"] - middle["release"] < 150_000)
    inside = [
        np.count_nonzero((fast["start"] > job["start"]) & (fast["finish"] < job["finish"])) for job in slow
    ]
    assert min(inside) >= 2 and run.preemptions[core] >= sum(inside)


@pytest.mark.parametrize(("platform", "core", "processor"), PREEMPTIVE[:2])
def test_what_is_not_above_the_threshold_waits(
    tmp_path: Path, platform: str, core: str, processor: str
) -> None:
    levels = {
        "fast": "200us, priority: 3",
        "middle": "1000us, priority: 2",
        "slow": "4000us, priority: 1, preemption_threshold: 2",
    }
    run, tasks = recorded(description(tmp_path, platform, core, FIXED, **levels), platform)
    fast, middle, slow = (of(run, tasks, name) for name in TASKS)
    inside = {
        name: np.count_nonzero(
            (jobs["start"] > slow["start"][:, None]) & (jobs["start"] < slow["finish"][:, None])
        )
        for name, jobs in (("fast", fast), ("middle", middle))
    }
    assert inside["fast"] >= 10 and inside["middle"] == 0
    # It was released while the slow one executed.
    assert np.count_nonzero(middle["start"] - middle["release"] > 200_000) >= 4


@pytest.mark.parametrize(("platform", "core", "processor"), NON_PREEMPTIVE_CORES)
def test_without_preemption_what_has_begun_runs_to_its_end(
    tmp_path: Path, platform: str, core: str, processor: str
) -> None:
    run, tasks = recorded(description(tmp_path, platform, core, NON_PREEMPTIVE), platform)
    served = run.jobs[run.jobs["start"] != 0]
    order = served[np.argsort(served["start"])]
    assert np.all(order["finish"][:-1] <= order["start"][1:]) and run.preemptions[core] == 0
    # The fast one waits for the slow one; a release that it cannot serve before the next is due is skipped.
    late = of(run, tasks, "fast")
    assert (late["start"].astype(np.int64) - late["release"].astype(np.int64)).max() > 80_000
    assert len(of(run, tasks, "slow")) == 5


@pytest.mark.representative
def test_tasks_of_one_priority_are_served_as_they_are_released(tmp_path: Path) -> None:
    """middle comes in the midst of a job of slow, which stands behind it and has its priority."""
    platform, core, _ = PREEMPTIVE[1]
    levels = {"fast": "200us, priority: 2", "middle": "1000us, priority: 1", "slow": "4000us, priority: 1"}
    run, tasks = recorded(description(tmp_path, platform, core, FIXED, **levels), platform)
    middle, slow = (of(run, tasks, name) for name in ("middle", "slow"))
    for one in slow:
        inside = (middle["start"] > one["start"]) & (middle["start"] < one["finish"])
        assert not inside.any()


def test_an_image_of_another_layout_is_refused(tmp_path: Path) -> None:
    platform, core, _ = PREEMPTIVE[1]
    where = placement(load_system(description(tmp_path, platform, core, FIXED)))
    board(BOARDS.get(platform, platform))
    with pytest.raises(BadInput, match="the plan image is made for other tables than this core's"):
        programs.build(where, silent, layout=1)


def test_outputs_are_the_same_on_every_instruction_set(tmp_path: Path) -> None:
    last = {}
    for platform, core, _ in PREEMPTIVE:
        folder = tmp_path / platform
        folder.mkdir()
        run, _ = recorded(description(folder, platform, core, FIXED), platform)
        last[platform] = {name: rows.tobytes() for name, rows in run.outputs.items()}
    first, *others = last.values()
    assert all(outputs == first for outputs in others)


@pytest.mark.representative
def test_a_counted_run_repeats_to_the_tick(tmp_path: Path) -> None:
    file = description(tmp_path, "riscv-virt", "rv64-0", FIXED)
    (first, _), (second, _) = (recorded(file, "riscv-virt") for _ in range(2))
    assert first.jobs.tobytes() == second.jobs.tobytes()


@pytest.mark.slow
def test_the_command_judges_the_run(tmp_path: Path) -> None:
    board("riscv-virt")
    file = description(tmp_path, "riscv-virt", "rv64-0", FIXED)
    done = consort("run", str(file), "--counted", "--root", str(tmp_path / "runs"), "--json")
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)["configurations"]
    assert (found["counters"]["jobs"], found["jobs"]["output_errors"]) == (125, 0)
    # A deadline that a job cannot meet: its own execution is longer.
    late = description(tmp_path, "riscv-virt", "rv64-0", FIXED, fast="10us")
    done = consort("run", str(late), "--counted", "--root", str(tmp_path / "runs"))
    assert done.returncode == 1 and "fast" in done.stderr + done.stdout


@pytest.mark.parametrize(
    ("platform", "core", "policy", "changes", "said"),
    [
        (
            "versal",
            "r5f-0",
            FIXED,
            {},
            "the emulated Cortex-R5F has no timer interrupt, so that a job of 'fast'",
        ),
        ("zynq-ultrascale-plus", "r5f-0", FIXED, {}, "the emulated Cortex-R5F has no timer interrupt"),
        ("stm32mp157", "a7-1", FIXED, {}, "'a7-1' is a process in the board's time, where"),
        ("stm32mp157", "a7-0", FIXED, {}, "'a7-0' is a process in the board's time, where"),
    ],
)
def test_what_a_core_cannot_do_is_refused(
    tmp_path: Path, platform: str, core: str, policy: str, changes: dict[str, str], said: str
) -> None:
    with pytest.raises(BadInput, match=said):
        placement(load_system(description(tmp_path, platform, core, policy, **changes)))


def test_a_time_between_ticks_is_refused(tmp_path: Path) -> None:
    file = description(tmp_path, "stm32mp157", "m4-0", FIXED, fast="200010ns")
    where = placement(load_system(file))
    made, side = where.plan, where.played["m4-0"]
    clock = Clock("m4-0", side.title, side.hertz, untimed=False)
    said = (
        r"system\.yaml:\d+:\d+: tasks\.fast\.period: the time is not a whole number of ticks of the .*: one"
    )
    with pytest.raises(BadInput, match=said + r" takes 40 ns; write 200us or 200040ns"):
        clock.ticks(made, made.tasks["fast"], "period", made.tasks["fast"].period_ps)
