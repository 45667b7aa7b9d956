# SPDX-License-Identifier: Apache-2.0
"""Hand-overs with a rule changed, each of which the exploration must find."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from effort import PATIENCE

ROOT = Path(__file__).parents[2]
HEADER = "include/consort/migrate/hand_over.hpp"
MUTANTS = {
    "a checkpoint overwrites the one before": (
        "slot(self_, number_ + 1)",
        "slot(self_, number_)",
    ),
    "both sides take themselves for the owner": (
        "at_ = owner() == self_ ? 2 : 0;",
        "at_ = 2;",
    ),
    "an old checkpoint is taken": (
        "(last_[1] - last_[0]) > 0 ? 1 : 0;",
        "(last_[1] - last_[0]) > 0 ? 0 : 1;",
    ),
    "what was given away is run on": (
        "++given_[self_]);\n        at_ = 0;",
        "++given_[self_]);",
    ),
    "a task is given away before its state is saved": (
        "        if (saved_ < size()) {\n",
        "        if (saved_ < size()) {\n            memory.store(gave(self_), given_[self_] + 1);\n",
    ),
    "a job is committed before its state is whole": (
        "if (saved_ < size()) {",
        "if (saved_ + 1 < size()) {",
    ),
}


@pytest.mark.representative
@pytest.mark.parametrize("name", MUTANTS)
def test_its_rule_stands_in_one_place(name: str) -> None:
    assert (ROOT / HEADER).read_text().count(MUTANTS[name][0]) == 1


@pytest.mark.representative
@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_every_changed_rule_is_found(tmp_path: Path, name: str) -> None:
    shutil.copytree(ROOT / "include", tmp_path / "include")
    header = tmp_path / HEADER
    header.write_text(header.read_text().replace(*MUTANTS[name]))
    program = tmp_path / "explore"
    compiler = os.environ.get("CXX", "g++")
    options = ["-std=c++20", "-O1", f"-I{tmp_path / 'include'}", str(ROOT / "tests/migrate/explore.cpp")]
    subprocess.run([compiler, *options, "-o", str(program)], check=True)
    ended = subprocess.run([program, "2", "10000"], capture_output=True, timeout=PATIENCE, check=False)
    assert ended.returncode != 0
