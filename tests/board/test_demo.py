# SPDX-License-Identifier: Apache-2.0
"""The boards' demo: one table, one report, everything held."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from board_support import CONSORT, ROOT, board, board_with_linux
from consort.board.boards import board_names
from consort.commands.board_demo import parts
from effort import PATIENCE


def test_each_emulated_system_of_an_example_is_one_part_of_the_demo() -> None:
    found = [part for name in ("servo", "drive") for part in parts(ROOT / "examples" / name)]
    assert len({part.key for part in found}) == len(found)
    titles = [part.title for part in found]
    assert "drive on riscv-virt: RV64" in titles
    assert "drive on zynqmp: Cortex-A53, second Cortex-A53" in titles
    assert "servo on versal: master Cortex-R5F, worker Cortex-A72 under PREEMPT_RT Linux" in titles


def test_the_drive_is_shown_on_every_board() -> None:
    shown = {part.where.board.name for part in parts(ROOT / "examples" / "drive")}
    assert shown == set(board_names())


@pytest.mark.slow
def test_demo_prints_one_table_and_writes_one_report(tmp_path: Path) -> None:
    for name in board_names():
        board(name)
    board_with_linux("versal")
    line = [str(CONSORT), "board", "demo", "--jobs", "200", "--messages", "1000", "--root", str(tmp_path)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=3 * PATIENCE)
    assert done.returncode == 0, done.stderr
    assert "all held" in done.stdout and "PREEMPT_RT" in done.stdout
    assert all(f"drive on {name}: " in done.stdout for name in board_names())
    (run,) = [p for p in tmp_path.iterdir() if not p.name.startswith(".")]
    assert (run / "report.html").is_file()
    # No figure of an emulator is called measured.
    assert "measured" not in done.stdout
