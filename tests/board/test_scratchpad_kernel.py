# SPDX-License-Identifier: Apache-2.0
"""The scratchpad-centric kernel on the emulated Versal: images that move, faults that stay with a task."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from board_support import PATIENCE, board
from consort.base.errors import BadInput, SystemFails
from consort.board import scratchpad
from consort.board.boards import kernel_board, roles
from consort.board.layouts import Layouts
from consort.board.scratchpad import (
    Fault,
    Given,
    KernelResult,
    KernelRun,
    run_kernel,
)
from consort.board.task_image import TaskImage, image_of_text, kernel_row, make_image

HERE = Path(__file__).resolve().parent
ON_CHIP = kernel_board().memory["on_chip"].address
PARTITION_BYTES = roles(kernel_board())[0].scratchpad.bytes // 2
US = 1000
SLOT = 160 * US
CONSTANT = 0x1234
WRITE, HANG, CALL, READ, OWN_CODE, OWN_CONSTANTS, RUN_DATA, RUN_STACK = range(1, 9)


@pytest.fixture(scope="module")
def image() -> TaskImage:
    board("versal")
    code = image_of_text('#include "tests/board/kernel_task.hpp"\n')
    return make_image(code, struct.pack("<I", CONSTANT), bytes(4), 12, 12)


def inputs(*jobs: tuple[int, ...]) -> list[bytes]:
    """The input of each job: the number to add, and the misbehaviour."""
    return [struct.pack("<3I", *job, *(0,) * (3 - len(job))) for job in jobs]


def task(image: TaskImage, name: str, core: int, period: int, *jobs: tuple[int, ...]) -> Given:
    given = inputs(*jobs) if jobs else inputs(*((n + 1,) for n in range(20)))
    row = kernel_row(core, 0, period=period * US, deadline=period * US, wcet=600 * US, on_overrun="stop-job")
    return Given(name, row, image, inputs=given, outputs=20, lasting=[500 * US])


def pair(image: TaskImage, core: int) -> list[Given]:
    return [task(image, f"a{core}", core, 5000), task(image, f"b{core}", core, 8000)]


def run(tasks: list[Given], *faults: Fault, until: int = 30_000) -> KernelResult:
    return run_kernel(KernelRun(tasks, [SLOT, SLOT], until * US, faults=faults), seconds=PATIENCE)


def kinds(result: KernelResult) -> dict[str, int]:
    """Counts of events that are not a job's ordinary life."""
    ordinary = ("release", "load_begin", "load_end", "unload_begin", "unload_end")
    names = [result.kinds[k] for k in result.events["kind"]]
    return {k: names.count(k) for k in dict.fromkeys(names) if k not in ordinary}


def outcomes(result: KernelResult, core: int, task: int) -> list[str]:
    jobs = result.jobs[(result.jobs["core"] == core) & (result.jobs["task"] == task)]
    return [result.outcomes[o] for o in jobs["outcome"]]


def sums(result: KernelResult, name: str, count: int) -> list[int]:
    return [struct.unpack("<3I", out)[0] for out in result.outputs[name][:count]]


def whole(result: KernelResult, name: str, count: int) -> bool:
    """True if each of the task's jobs has run once, in order, on the state that the one before has kept."""
    return sums(result, name, count) == [n * (n + 1) // 2 for n in range(1, count + 1)]


@pytest.mark.representative
def test_jobs_run_from_whatever_partition_is_free(image: TaskImage):
    result = run([*pair(image, 0), *pair(image, 1)])
    assert kinds(result) == {}
    for core in (0, 1):
        assert whole(result, f"a{core}", 6) and whole(result, f"b{core}", 4)
        bases = {struct.unpack("<3I", o)[2] for t in "ab" for o in result.outputs[f"{t}{core}"][:4]}
        first = ON_CHIP + 2 * core * PARTITION_BYTES
        assert bases == {first, first + PARTITION_BYTES}, "both partitions, and none of the other core"
        constants = {struct.unpack("<3I", o)[1] for o in result.outputs[f"a{core}"][:6]}
        assert constants == {CONSTANT}
        assert result.states[f"a{core}"] == struct.pack("<I", 21), "the state is kept in main memory"
    j = result.jobs
    assert (j["release"] <= j["load"]).all() and (j["load"] < j["ready"]).all()
    assert (j["ready"] <= j["start"]).all() and (j["start"] < j["finish"]).all()
    assert (j["finish"] <= j["unload"]).all() and (j["unload"] < j["end"]).all()


@pytest.mark.slow
def test_the_same_run_twice_is_the_same_to_the_tick(image: TaskImage):
    one, other = (run(pair(image, 0), until=12_000) for _ in range(2))
    assert one.events.tobytes() == other.events.tobytes()
    assert one.jobs.tobytes() == other.jobs.tobytes() and one.jobs.size == 5


@pytest.mark.parametrize(
    ("what", "address"),
    [
        pytest.param(WRITE, ON_CHIP, marks=pytest.mark.slow, id="write-to-a-partition-that-is-another-job's"),
        pytest.param(
            WRITE,
            ON_CHIP + 3 * PARTITION_BYTES,
            marks=pytest.mark.slow,
            id="write-to-the-other-core's-scratchpad",
        ),
        pytest.param(
            WRITE, ON_CHIP + 4 * PARTITION_BYTES, marks=pytest.mark.slow, id="write-to-the-hand-over"
        ),
        pytest.param(WRITE, 0x04010000, id="write-to-main-memory"),
        pytest.param(WRITE, 0x00204000, marks=pytest.mark.slow, id="write-to-the-kernel's-code"),
        pytest.param(READ, 0xFF000000, marks=pytest.mark.slow, id="read-a-device"),
        pytest.param(CALL, 0, marks=pytest.mark.slow, id="call-the-monitor"),
        pytest.param(OWN_CODE, 0, id="write-to-its-own-code"),
        pytest.param(OWN_CONSTANTS, 0, marks=pytest.mark.slow, id="write-to-its-own-constants"),
        pytest.param(RUN_DATA, 0, id="execute-its-own-data"),
        pytest.param(RUN_STACK, 0, marks=pytest.mark.slow, id="execute-its-own-stack"),
    ],
)
def test_a_job_that_leaves_its_partition_stops_its_task_only(image: TaskImage, what: int, address: int):
    # The first task of core 0 is in the first partition when the second one's bad job runs from the second.
    bad = task(image, "b0", 0, 8000, (1,), (2, what, address), (3,))
    result = run([task(image, "a0", 0, 8000), bad, *pair(image, 1)])
    assert kinds(result) == {"job_fault": 1, "task_stopped": 1}
    assert outcomes(result, 0, 1) == ["done", "fault"]
    assert sums(result, "b0", 3) == [1, 0, 0], "what the bad job computed is not written back"
    assert whole(result, "a0", 4) and whole(result, "a1", 6) and whole(result, "b1", 4)


@pytest.mark.representative
def test_a_job_that_hangs_is_left_and_its_task_goes_on(image: TaskImage):
    bad = task(image, "b0", 0, 8000, (1,), (2, HANG), (3,), (4,))
    result = run([task(image, "a0", 0, 5000), bad, *pair(image, 1)])
    assert kinds(result) == {"execution_overrun": 1}
    assert outcomes(result, 0, 1) == ["done", "stopped", "done", "done"]
    assert sums(result, "b0", 3) == [1, 4, 8], "the second job's 2 is lost with it"
    assert whole(result, "a0", 6) and whole(result, "a1", 6) and whole(result, "b1", 4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "expected", "found"),
    [
        ("report", ["done"] * 4, {"execution_overrun": 1}),
        ("stop-job", ["done", "stopped", "done", "done"], {"execution_overrun": 1}),
        ("stop-task", ["done", "stopped"], {"execution_overrun": 1, "task_stopped": 1}),
    ],
)
def test_a_job_longer_than_its_budget(image: TaskImage, policy: str, expected: list[str], found: dict):
    long = task(image, "b0", 0, 8000)
    row = {**long.row, "on_overrun": policy}
    long = replace(long, row=row, lasting=[500 * US, 1500 * US, 500 * US])
    result = run([task(image, "a0", 0, 5000), long, *pair(image, 1)])
    assert kinds(result) == found
    assert outcomes(result, 0, 1) == expected
    assert whole(result, "a0", 6) and whole(result, "a1", 6) and whole(result, "b1", 4)


@pytest.mark.parametrize(("what", "seen"), [("dma_error", "dma_error"), ("dma_silence", "slot_overrun")])
def test_a_transfer_that_fails_once_is_repeated(image: TaskImage, what: str, seen: str):
    result = run([*pair(image, 0), *pair(image, 1)], Fault(what, 5))
    assert kinds(result) == {seen: 1}
    for core in (0, 1):
        assert whole(result, f"a{core}", 6) and whole(result, f"b{core}", 4)


@pytest.mark.slow
@pytest.mark.parametrize(("what", "seen"), [("dma_error", "dma_error"), ("dma_silence", "slot_overrun")])
def test_a_transfer_that_keeps_failing_stops_its_task_only(image: TaskImage, what: str, seen: str):
    # The first transfers: loads of a0, a1, b0, b1; b0's is tried again in core 0's next slot, which is the
    # second after it.
    result = run([*pair(image, 0), *pair(image, 1)], Fault(what, 2), Fault(what, 4))
    assert kinds(result) == {seen: 2, "transfer_failed": 1, "task_stopped": 1}
    assert outcomes(result, 0, 1) == []
    assert whole(result, "a0", 6) and whole(result, "a1", 6) and whole(result, "b1", 4)


@pytest.mark.slow
def test_a_lost_slot_is_told_and_made_up_for(image: TaskImage):
    result = run([*pair(image, 0), *pair(image, 1)], Fault("io_core_sleeps", 4, 2 * SLOT))
    found = kinds(result)
    # The transfer that was under way, of several parts, goes on by itself.
    assert found.keys() == {"slot_missed"} and 1 <= found["slot_missed"] <= 2
    for core in (0, 1):
        assert whole(result, f"a{core}", 6) and whole(result, f"b{core}", 4)


@pytest.mark.slow
def test_an_image_that_is_damaged_is_not_run(image: TaskImage, monkeypatch: pytest.MonkeyPatch):
    right = scratchpad.headed

    def damaged(image: TaskImage, layouts: Layouts) -> bytes:
        code = bytearray(right(image, layouts))
        code[80] ^= 1
        return bytes(code)

    monkeypatch.setattr(scratchpad, "headed", damaged)
    with pytest.raises(SystemFails, match="task 0's image is damaged"):
        run([task(image, "a0", 0, 5000)])


@pytest.mark.representative
def test_a_plan_of_other_tables_is_not_run(image: TaskImage, monkeypatch: pytest.MonkeyPatch):
    right = scratchpad.kernel_image

    def other(*given: Any) -> bytes:
        made = bytearray(right(*given))
        made[8] ^= 1  # in the fingerprint of the tables
        return bytes(made)

    monkeypatch.setattr(scratchpad, "kernel_image", other)
    with pytest.raises(SystemFails, match="tables are laid out otherwise"):
        run([task(image, "a0", 0, 5000)])


def test_a_task_too_large_for_its_partition_is_refused(image: TaskImage):
    large = replace(image, state=bytes(PARTITION_BYTES))
    with pytest.raises(BadInput, match=r"task a0 is .* bytes too large"):
        run([replace(task(image, "a0", 0, 5000), image=large)])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('int counter; extern const char* const names[]; const char* const names[]{"a", "b"};', "address"),
        ("extern int counter; int counter;", "no variables but its state"),
    ],
)
def test_an_image_that_cannot_be_moved_is_not_built(text: str, why: str):
    board("versal")
    entry = 'extern "C" __attribute__((section(".text.consort_entry"))) void consort_entry(int n) {'
    use = 'asm volatile("" :: "r"(names[n]));' if "names" in text else "counter = n;"
    with pytest.raises(BadInput, match=why):
        image_of_text(f"{text} {entry} {use} }}")


@pytest.mark.slow
def test_times_are_of_one_clock(image: TaskImage):
    result = run(pair(image, 0), until=10_000)
    # Both cores know the I/O core's time to well within the tolerance for a late slot.
    assert max(result.round_trip) < 2000
    assert (np.abs(result.jobs["finish"] - result.jobs["start"] - 500 * US) < 5 * US).all()
