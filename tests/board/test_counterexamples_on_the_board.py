# SPDX-License-Identifier: Apache-2.0
"""The four schedules that exceed the printed three-phase bound, on the kernel of the emulated Versal.

The same as in tests/spm/test_protocol.cpp, there in virtual time. Times in tenths of a slot.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from board_support import PATIENCE, board
from consort import _engine
from consort.board.scratchpad import Given, KernelRun, Request, run_kernel
from consort.board.task_image import image_of_text, kernel_row, make_image

TENTH = 20_000  # ns
SLOT = 10
# How late the I/O core may be when it notes an end: it looks at its clock, and its clock is in whole steps.
NOTED = 5_000
ONCE = 1_000_000
TOLD = 6


@dataclass(frozen=True)
class Arrivals:
    offset: int
    gaps: tuple[int, ...] = ()
    shorter: tuple[int, ...] = ()


@dataclass(frozen=True)
class Example:
    cores: int
    tasks: list[tuple[int, int]]  # execution, period and deadline
    arrivals: list[Arrivals]
    until: int
    victim: int
    printed: int
    response: int


EXAMPLES = {
    "four-cores": Example(
        4,
        [(160, 350), (10, 390), (10, 510), (10, 1140)],
        [Arrivals(1, (0, ONCE)), Arrivals(81, (ONCE,)), Arrivals(81, (ONCE,)), Arrivals(1, (ONCE,))],
        1000, 2, 480, 529,
    ),
    "two-cores": Example(
        2,
        [(180, 351), (10, 380), (10, 430), (80, 770), (51, 800)],
        [Arrivals(21, (8, ONCE)), Arrivals(121, (ONCE,)), Arrivals(121, (ONCE,)), Arrivals(21, (ONCE,)),
         Arrivals(1, (ONCE,))],
        1000, 2, 421, 489,
    ),
    "three-cores-lowest": Example(
        3,
        [(530, 1850), (760, 2170), (320, 2240), (490, 2270)],
        [Arrivals(31, (0, 0, 0, 263)), Arrivals(31, (0, 0, 0, 30, 10, 1618)), Arrivals(31),
         Arrivals(31, (), (0, 0, 0, 238))],
        5620, 3, 2250, 2339,
    ),
    "two-cores-lowest": Example(
        2,
        [(630, 1440), (230, 1670), (480, 1720), (290, 1740)],
        [Arrivals(421, (0, 20)), Arrivals(680, (1, 0, 0, 19, 0, 1), (0, 0, 45)), Arrivals(421),
         Arrivals(401, (0, 0, 776, 11))],
        5120, 3, 1740, 2049,
    ),
}  # fmt: skip


def releases(period: int, arrivals: Arrivals, until: int) -> list[int]:
    found, at = [], arrivals.offset
    while at < until:
        gap = arrivals.gaps[len(found)] if len(found) < len(arrivals.gaps) else 0
        found.append(at)
        at += period + gap
    return found


def filled(times: tuple[int, ...]) -> list[int]:
    return [*times, *(0,) * (TOLD - len(times))]


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_schedule_beyond_the_printed_bound_is_the_kernels_and_the_corrected_bound_holds(name: str):
    board("versal")
    example = EXAMPLES[name]
    rows = [(execution, period, period) for execution, period in example.tasks]
    entry = 'extern "C" __attribute__((section(".text.consort_entry"))) void consort_entry() {}'
    image = make_image(image_of_text(entry), b"", b"", 0, 0)
    tasks, requests = [], []
    for n, ((execution, period), arrivals) in enumerate(zip(example.tasks, example.arrivals, strict=True)):
        times = releases(period, arrivals, example.until)
        requests += [Request(at * TENTH, 0, n) for at in times]
        cut = [arrivals.shorter[k] if k < len(arrivals.shorter) else 0 for k in range(len(times))]
        lasting = [(execution - c) * TENTH for c in cut]
        row = kernel_row(0, n, period=period * TENTH, deadline=period * TENTH, on_request=True)
        tasks.append(Given(f"t{n}", row, image, lasting=lasting))
    slots = [SLOT * TENTH] * example.cores
    run = KernelRun(tasks, slots, example.until * TENTH, requests=requests)
    jobs = run_kernel(run, seconds=PATIENCE).jobs

    # Job by job what the analysis engine's exact protocol gives.
    arrivals = [(a.offset, filled(a.gaps), filled(a.shorter), False) for a in example.arrivals]
    expected = _engine.spm_replay(rows, example.cores * SLOT, SLOT, arrivals, example.until)
    assert [(int(j["task"]), int(j["release"])) for j in jobs] == [(t, r * TENTH) for t, r, *_ in expected]
    for job, (_, _, load, _, _, end) in zip(jobs, expected, strict=True):
        assert 0 <= job["load"] - load * TENTH < NOTED and 0 <= job["end"] - end * TENTH < NOTED

    responses = jobs["end"] - jobs["release"]
    worst = [int(np.max(responses[jobs["task"] == n])) for n in range(len(tasks))]
    assert example.printed * TENTH < worst[example.victim] < example.response * TENTH + NOTED
    printed = _engine.spm_bounds(rows, example.cores * SLOT, SLOT, "literal")
    assert printed[example.victim]["response"] == example.printed
    # The corrected bound refuses the set. Of a task that comes once the schedule is also one of a set with
    # longer periods; up to the first task that may be late there are bounds, and they hold.
    relaxed = [
        (e, ONCE, ONCE) if a.gaps[:1] == (ONCE,) else (e, p, p)
        for (e, p), a in zip(example.tasks, example.arrivals, strict=True)
    ]
    corrected = _engine.spm_bounds(relaxed, example.cores * SLOT, SLOT, "corrected", 16)
    assert corrected and all(b["response"] is not None for b in corrected)
    for n, bound in enumerate(corrected):
        assert worst[n] <= bound["response"] * TENTH, n


def test_the_schedules_are_those_of_the_kernels_other_test():
    """Both files carry them: neither changes alone."""
    from pathlib import Path

    text = (Path(__file__).resolve().parents[1] / "spm/test_protocol.cpp").read_text(encoding="utf-8")
    flat = "".join(text.split())
    for example in EXAMPLES.values():
        tasks = ",".join(f"{{{execution},{period}}}" for execution, period in example.tasks)
        last = f"{example.until},{example.victim},{example.printed},{example.response}}}"
        assert f"{{{tasks}}}" in flat and last in flat
