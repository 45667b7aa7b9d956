# SPDX-License-Identifier: Apache-2.0
"""A Cortex-R5F with interrupt controller and timer: checks, faults, messages, the drive and the servo."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from board_support import PATIENCE, ROOT, board, consort, images, recorded_and_judged
from consort.base.errors import SystemFails
from consort.base.waiting import silent
from consort.board import Board
from consort.board.application import prepare_board
from consort.board.exchange import exchange, pair
from consort.board.executive import run
from consort.model import load_system


@pytest.mark.representative
def test_its_core_is_as_described() -> None:
    board("vexpress-r5f")
    done = consort("board", "check", "vexpress-r5f", "--json")
    assert done.returncode == 0, done.stderr
    (core,) = json.loads(done.stdout)["cores"]
    assert core["problems"] == [] and core["ticks_per_second"] == 10**9


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("return static_cast<int>(reg(0xc0000000))", "data abort at .*address 0xc0000000"),
        # Code is not written.
        ("reg(0x2000) = 1; return 0", "data abort at .*address 0x00002000"),
        # Data are not executed.
        ("reinterpret_cast<void (*)()>(0x80000000)(); return 0", "prefetch abort at 0x8000000"),
    ],
)
def test_a_stray_access_says_where(tmp_path: Path, statement: str, said: str) -> None:
    spec = board("vexpress-r5f")
    source = tmp_path / "stray.cpp"
    source.write_text(
        '#include "consort/bare/program.hpp"\n#include "consort/bare/registers.hpp"\n'
        "using consort::bare::reg;\n"
        f"int consort_program(consort::bare::ControlBlock&) noexcept {{ {statement}; }}\n"
    )
    fault = pytest.raises(SystemFails, match=said)
    with Board(spec, images(spec, str(source)), orders={0: (0, ())}) as up, fault:
        up.wait([0], PATIENCE)


@pytest.mark.slow
def test_messages_arrive_whole() -> None:
    (found,) = exchange(board("vexpress-r5f"), [pair("r5f", "x86-64")], 100)
    assert found.messages == 100


@pytest.mark.slow
def test_two_counted_runs_are_the_same() -> None:
    board("vexpress-r5f")
    made = prepare_board(load_system(ROOT / "examples/drive/loop.yaml", "vexpress-r5f"), silent)
    first, second = (run(made.request(40 * 10**9, counted=True)) for _ in range(2))
    assert len(first.jobs) == 802 and first.jobs.tobytes() == second.jobs.tobytes()


@pytest.mark.representative
def test_the_servo_keeps_its_bounds(tmp_path: Path) -> None:
    file = ROOT / "examples/servo/vexpress-r5f.yaml"
    _, verdict = recorded_and_judged(file, tmp_path / "raw", "vexpress-r5f", jobs=200)
    assert verdict.ok, verdict.reasons
