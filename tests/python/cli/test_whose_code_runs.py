# SPDX-License-Identifier: Apache-2.0
"""A description names code: its steps, inputs.py, golden.py. `run` runs it; looking at it does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from effort import PATIENCE

CONSORT = Path(sys.executable).with_name("consort")
COMPILERS = ("g++", "c++", "clang++", "cc", "gcc")

SYSTEM = """\
consort: 1
platform: linux-host
tasks:
  servo:
    step: step.hpp::servo::step
    period: 10ms
    wcet: {host: 1ms}
    on: worker-0
    input: {function: inputs.py::inputs}
    golden: {function: golden.py::golden, tolerance: {command: 0ulp}}
run:
  iterations: 10
"""


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder whose every piece of code leaves a mark, and compilers that do."""
    mark = tmp_path / "marks"
    mark.mkdir()
    code = f"import pathlib\npathlib.Path({str(mark / 'NAME')!r}).write_text('ran')\n"
    for name, body in (
        ("inputs", "def inputs(dtype):\n    return []\n"),
        ("golden", "def golden(i):\n    return i\n"),
    ):
        (tmp_path / f"{name}.py").write_text(code.replace("NAME", name) + body, encoding="utf-8")
    # Python itself would run these from the current folder.
    for name in ("sitecustomize", "usercustomize", "numpy", "consort", "conftest"):
        (tmp_path / f"{name}.py").write_text(code.replace("NAME", name), encoding="utf-8")
    (tmp_path / "step.hpp").write_text("namespace servo {}\n", encoding="utf-8")
    (tmp_path / "system.yaml").write_text(SYSTEM, encoding="utf-8")
    tools = tmp_path / "tools"
    tools.mkdir()
    # A record says which compiler there is; that compiles nothing.
    for name in COMPILERS:
        script = (
            f"#!/bin/sh\ncase $1 in --version) exit 0;; esac\ntouch {mark / name.replace('+', 'x')}\nexit 1\n"
        )
        (tools / name).write_text(script, encoding="utf-8")
        (tools / name).chmod(0o755)
    return tmp_path


def consort(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{folder / 'tools'}:{os.environ['PATH']}"}
    environment |= {"CONSORT_CACHE": str(folder / "cache"), "CXX": str(folder / "tools" / "g++")}
    return subprocess.run(
        [str(CONSORT), *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=folder,
        env=environment,
    )


def marks(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "marks").iterdir())


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "system.yaml"],
        ["analyze", "system.yaml"],
        ["simulate", "system.yaml", "--root", "runs"],
        ["show", "system.yaml", "-o", "system.svg"],
        ["plan", "system.yaml"],
        ["export", "--to", "amalthea", "system.yaml", "-o", "x.amxmi"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_looking_at_a_description_runs_none_of_its_code(hostile: Path, arguments: list[str]) -> None:
    done = consort(hostile, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    assert marks(hostile) == []


def test_running_it_does(hostile: Path) -> None:
    """Otherwise the marks would show nothing."""
    consort(hostile, "run", "system.yaml", "--root", "runs")
    assert marks(hostile) != []


def test_the_help_of_run_says_so(tmp_path: Path) -> None:
    said = " ".join(consort(tmp_path, "run", "--help").stdout.split())
    assert "builds and runs the description's own code" in said
