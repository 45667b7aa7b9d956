# SPDX-License-Identifier: Apache-2.0
"""The boards' demo: one table, one report, everything held."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from board_support import CONSORT, board, board_with_linux


@pytest.mark.slow
def test_demo_prints_one_table_and_writes_one_report(tmp_path: Path) -> None:
    board_with_linux("versal")
    board("mps2")
    line = [str(CONSORT), "board", "demo", "--jobs", "200", "--messages", "1000", "--root", str(tmp_path)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    assert "all held" in done.stdout and "PREEMPT_RT" in done.stdout
    (run,) = [p for p in tmp_path.iterdir() if not p.name.startswith(".")]
    assert (run / "report.html").is_file()
    # No figure of an emulator is called measured.
    assert "measured" not in done.stdout
