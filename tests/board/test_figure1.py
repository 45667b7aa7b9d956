# SPDX-License-Identifier: Apache-2.0
"""The architecture of Orciari et al., Fig. 1, on unlike processors: bounded, and run in exact time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from board_support import board
from consort import simulate
from consort.analysis.system import analyze_system
from consort.model import load_system
from effort import PATIENCE

DRIVE = Path(__file__).parents[2] / "examples/drive"
FIGURE1 = DRIVE / "figure1.yaml"
# On the board that the paper has: Cortex-M4 and Cortex-A7.
BOTH = [FIGURE1, DRIVE / "figure1-stm32mp157.yaml"]
CONSORT = Path(sys.executable).with_name("consort")


def held(file: Path, tmp_path: Path, *options: str) -> dict[str, object]:
    """The one configuration of a run, which has to hold."""
    line = [CONSORT, "run", file, "--root", tmp_path, "--json", *options]
    done = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(done.stdout)["configurations"]
    assert run["verdict"]["ok"] == "held"
    assert [task["released"] for task in run["verdict"]["tasks"]] == [1608, 5, 4]
    # Both chains were seen whole, and each has a bound.
    chains = [row for row in run["verdict"]["rows"] if row["kind"] == "chain"]
    assert {row["subject"] for row in chains} == {"command", "diagnosis"}
    assert all(row["bound"] is not None and row["count"] > 0 for row in chains)
    return run


@pytest.mark.representative
@pytest.mark.parametrize("file", BOTH, ids=lambda file: file.stem)
def test_every_deadline_and_chain_has_a_bound_that_holds(file: Path) -> None:
    found = list(analyze_system(load_system(file)))
    limited = {bound.task: bound for bound in found if bound.deadline is not None}
    assert limited.keys() >= {"servo", "hmi", "monitor", "command", "diagnosis"}
    assert all(bound.schedulable for bound in limited.values())


@pytest.mark.representative
@pytest.mark.parametrize("file", BOTH, ids=lambda file: file.stem)
def test_the_drive_holds_in_the_simulator(file: Path, tmp_path: Path) -> None:
    run = simulate(load_system(file), "200ms", root=tmp_path)
    assert run.held
    assert all(row["count"] for row in run.configurations[0]["verdict"]["rows"] if row["kind"] == "chain")


@pytest.mark.parametrize(
    "file", [pytest.param(FIGURE1, marks=pytest.mark.representative), BOTH[1]], ids=lambda file: file.stem
)
def test_the_drive_holds_in_exact_time(file: Path, tmp_path: Path) -> None:
    held(file, tmp_path, "--for", "virtual")


@pytest.mark.slow
def test_the_drive_holds_on_emulated_cores(tmp_path: Path) -> None:
    board("versal")
    held(FIGURE1, tmp_path, "--counted")
