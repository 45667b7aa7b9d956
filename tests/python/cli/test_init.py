# SPDX-License-Identifier: Apache-2.0
"""`consort init`: what it writes is a whole application, and what is there already is never touched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from effort import PATIENCE, VERDICTS

CONSORT = Path(sys.executable).with_name("consort")
FILES = {"system.yaml", "step.hpp", "inputs.py"}


def consort(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(CONSORT), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, "CONSORT_RUNS": str(folder / "runs")},
    )


def refused(ended: subprocess.CompletedProcess[str], words: str) -> None:
    assert (ended.returncode, ended.stdout) == (2, "")
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_skeleton_is_right_for_every_target(tmp_path: Path) -> None:
    made = consort(tmp_path, "init", "a folder/deeper")
    assert made.returncode == 0, made.stderr
    folder = tmp_path / "a folder" / "deeper"
    assert {path.name for path in folder.iterdir()} == FILES
    assert "cd 'a folder/deeper' && consort run system.yaml" in made.stdout
    for target in ("linux", "virtual", "analysis"):
        checked = consort(folder, "check", "system.yaml", "--for", target)
        assert checked.returncode == 0, checked.stderr
        assert consort(folder, "plan", "system.yaml", "--for", target).returncode == 0
    assert consort(folder, "analyze", "system.yaml").returncode == 0
    assert consort(folder, "simulate", "system.yaml", "--no-record").returncode == 0


def test_the_current_folder_is_the_default_and_a_fresh_repository_is_empty(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    made = consort(tmp_path, "init")
    assert made.returncode == 0, made.stderr
    assert {path.name for path in tmp_path.iterdir()} == {".git", *FILES}
    assert "next: consort run system.yaml" in made.stdout


@pytest.mark.parametrize("there", ["notes.txt", ".hidden", "step.hpp"])
def test_a_folder_that_is_not_empty_is_refused_and_stays_as_it_is(tmp_path: Path, there: str) -> None:
    (tmp_path / there).write_text("mine", encoding="utf-8")
    refused(consort(tmp_path, "init"), f"not empty (it has '{there}')")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(there, "mine")]


def test_a_second_time_is_refused(tmp_path: Path) -> None:
    assert consort(tmp_path, "init", "mine").returncode == 0
    refused(consort(tmp_path, "init", "mine"), "not empty")


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    refused(consort(tmp_path, "init", "file"), "file: is a file")
    refused(consort(tmp_path, "init", "file/below"), "cannot be written")


@pytest.mark.slow
def test_the_skeleton_runs(tmp_path: Path) -> None:
    assert consort(tmp_path, "init", "mine").returncode == 0
    ran = consort(tmp_path / "mine", "run", "system.yaml", "--iterations", "100", "--json")
    # The machine's disturbances are not the skeleton's doing.
    assert ran.returncode in VERDICTS, ran.stderr
    (configuration,) = json.loads(ran.stdout)["configurations"]
    (task,) = configuration["verdict"]["tasks"]
    assert (task["planned"], task["released"]) == (100, 100)
    assert configuration["counters"]["records_lost"] == 0
    outputs = [reason for reason in configuration["verdict"]["reasons"] if "outputs" in reason]
    assert not outputs, outputs
