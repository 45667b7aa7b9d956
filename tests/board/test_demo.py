# SPDX-License-Identifier: Apache-2.0
"""The boards' demo: one table, one report, everything held."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from board_support import CONSORT, ROOT, board, board_with_linux
from consort.board.demo import parts


def test_each_emulated_system_of_an_example_is_one_part_of_the_demo() -> None:
    found = [part for name in ("servo", "drive") for part in parts(ROOT / "examples" / name)]
    assert len({part.key for part in found}) == len(found)
    titles = [part.title for part in found]
    assert {"drive: RV64", "drive: Cortex-A72", "drive: Cortex-M4F"} <= set(titles)
    assert "servo: master Cortex-R5F, worker Cortex-A72 under PREEMPT_RT Linux" in titles


@pytest.mark.slow
def test_demo_prints_one_table_and_writes_one_report(tmp_path: Path) -> None:
    board_with_linux("versal")
    board("mps2")
    board("riscv-virt")
    line = [str(CONSORT), "board", "demo", "--jobs", "200", "--messages", "1000", "--root", str(tmp_path)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    assert "all held" in done.stdout and "PREEMPT_RT" in done.stdout
    assert all(f"drive: {core}" in done.stdout for core in ("RV64", "Cortex-A72", "Cortex-M4F"))
    (run,) = [p for p in tmp_path.iterdir() if not p.name.startswith(".")]
    assert (run / "report.html").is_file()
    # No figure of an emulator is called measured.
    assert "measured" not in done.stdout
