# SPDX-License-Identifier: Apache-2.0
"""Runs that cannot be, through the user (exit status 2) or the machine (3), and why."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from run_support import LOCAL, both, consort, describe, names

pytestmark = pytest.mark.realtime

LOCALLY = both(**LOCAL)


def refused(description: Path, status: int, *arguments: Any, **options: Any) -> str:
    """The one message of a run that was refused; it left nothing behind."""
    ended = consort("run", description, "--ordinary", *arguments, **options)
    assert ended.returncode == status, ended.stdout + ended.stderr
    assert ended.stdout == ""
    assert "Traceback" not in ended.stderr
    assert ended.stderr.startswith("consort: ")
    return ended.stderr


@pytest.fixture(autouse=True)
def nothing_recorded(runs: Path) -> Iterator[None]:
    yield
    assert not runs.is_dir() or list(runs.iterdir()) == []


def test_a_step_that_does_not_compile(tmp_path: Path) -> None:
    description = describe(tmp_path / "digest", LOCALLY)
    step = tmp_path / "digest" / "step.hpp"
    step.write_text(
        step.read_text(encoding="utf-8").replace("state.count += 1", "state.cuont += 1"), encoding="utf-8"
    )
    words = refused(description, 2)
    assert f"{step}:" in words and "does not compile: " in words
    assert "cuont" in words
    assert words.count("\n") == 1, "the first error only"


def test_a_step_of_another_form(tmp_path: Path) -> None:
    description = describe(tmp_path / "digest", LOCALLY)
    (tmp_path / "digest" / "step.hpp").write_text(
        "#pragma once\nnamespace digest { inline int step(int x) { return x; } }\n", encoding="utf-8"
    )
    words = refused(description, 2)
    assert re.search(r"system.yaml:\d+:\d+: tasks.\w+.step: does not compile: ", words)


def test_types_that_are_not_the_steps(tmp_path: Path) -> None:
    types = {"in": "digest::In", "state": "digest::State", "out": "digest::State"}
    words = refused(describe(tmp_path / "digest", both(types=types, **LOCAL)), 2)
    assert "types.out: digest::State is not the type that the step takes" in words


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("raises", "digest.py:45: raises raised RuntimeError: no model for these inputs"),
        ("short", "digest.py: short returned 63 rows for 64 inputs; return one for each"),
        ("misnamed", "digest.py: misnamed returned rows with the members hash, total"),
        ("inputs", ": inputs raised "),
    ],
)
def test_golden_functions(tmp_path: Path, function: str, message: str) -> None:
    golden = {"function": f"digest.py::{function}"}
    assert message in refused(describe(tmp_path / "digest", both(golden=golden, **LOCAL)), 2)


def test_inputs_without_a_member(tmp_path: Path) -> None:
    columns = {"row": "row"}
    given = {"file": "data.csv", "time": "t", "time_unit": "ms", "columns": columns}
    description = describe(tmp_path / "digest", both(input=given, golden=None, **LOCAL))
    (tmp_path / "digest" / "data.csv").write_text("t,row\n0,0\n2,1\n4,2\n", encoding="utf-8")
    words = refused(description, 2)
    found = re.fullmatch(rf"consort: {re.escape(str(description))}:(\d+):\d+: (.*)\n", words)
    assert found and found[2] == (
        "tasks.digest.input.columns: the input type's member 'value' has no column; add it under 'columns'"
    )
    assert "columns" in description.read_text(encoding="utf-8").splitlines()[int(found[1]) - 1]


def test_inputs_of_another_type(tmp_path: Path) -> None:
    description = describe(tmp_path / "digest", both(input={"function": "digest.py::none"}, **LOCAL))
    module = tmp_path / "digest" / "digest.py"
    text = module.read_text(encoding="utf-8")
    module.write_text(text + "\n\ndef none(dtype):\n    return np.zeros(3)\n", encoding="utf-8")
    assert "none returned float64 of shape (3,); it must be a non-empty" in refused(description, 2)


def test_a_cpu_that_is_not_there(tmp_path: Path) -> None:
    words = refused(describe(tmp_path / "digest", LOCALLY, cpus={"master-0": 4095}), 2)
    assert "run.cpus.master-0: CPU 4095 is not usable here; usable are " in words


def test_no_compiler(tmp_path: Path) -> None:
    description = describe(tmp_path / "digest", LOCALLY)
    empty = tmp_path / "bin"
    empty.mkdir()
    words = refused(description, 3, env={**os.environ, "PATH": str(empty)})
    assert words == "consort: no C++ compiler was found; install one: apt-get install g++\n"
    words = refused(description, 3, env={**os.environ, "CXX": "no-such-compiler"})
    assert "that $CXX names was not found: no-such-compiler; correct $CXX, or unset it" in words


def test_runs_that_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    description = describe(tmp_path / "digest", LOCALLY)
    words = refused(description, 2, "--root", file / "runs")
    assert f"{file / 'runs'}: runs cannot lie here: Not a directory" in words
    assert f"{file} is a file; " in refused(description, 2, "--root", file)


def test_a_name_that_is_none(tmp_path: Path) -> None:
    words = refused(describe(tmp_path / "digest", LOCALLY), 2, "--name", "a/b")
    assert "'a/b' is not a name for a run" in words


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(folder)], capture_output=True, text=True
    )
    if mounted.returncode != 0:
        pytest.skip(f"a small disk cannot be made here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("filled", [0, 300, 600, 850, 1020])
def test_a_disk_that_gets_full(tmp_path: Path, small_disk: Path, filled: int) -> None:
    """Inputs, recording, tables or report do not fit: whichever it is, the run is absent, not half there."""
    (small_disk / "ballast").write_bytes(bytes(1024 * filled))
    description = describe(tmp_path / "digest", both(period="10us", deadline="10us", **LOCAL))
    words = refused(description, 3, "--root", small_disk, "--iterations", 20_000, "--only", "local-off")
    assert "no space left on device" in words.lower()
    assert sorted(names(small_disk)) == ["ballast"]


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    description = describe(tmp_path / "digest", LOCALLY)
    environment = {**os.environ, "CONSORT_CACHE": str(file / "cache")}
    assert f"{file / 'cache'}" in refused(description, 3, env=environment)


@pytest.mark.parametrize(
    ("tasks", "arguments", "message"),
    [
        (LOCALLY, ("--kill-worker-at", "100ms"), "--kill-worker-at: no task is offloaded"),
        (LOCALLY, ("--stop-worker-for", "5ms"), "--stop-worker-for: no task is offloaded"),
        (both(), ("--kill-worker-at", "100ms", "--only", "local-off"), "local-off has no worker"),
        (both(), ("--kill-worker-at", "2s", "--duration", "1s"), "the run is over after 1s"),
    ],
)
def test_faults_of_workers_that_are_not_there(
    tmp_path: Path, tasks: Any, arguments: tuple[str, ...], message: str
) -> None:
    assert message in refused(describe(tmp_path / "digest", tasks), 2, *arguments)


def test_a_configuration_that_is_named_twice_is_refused_before_any_runs(tmp_path: Path) -> None:
    description = tmp_path / "s.yaml"
    description.write_text(
        "consort: 1\nassumed: x\nplatform: linux-host\nscheduling: {master: {context_switch: 0us}}\n"
        "tasks: {a: {period: 20ms, wcet: 1ms, on: master-0, step: stand-in}}\nrun: {iterations: 10}\n",
        encoding="utf-8",
    )
    words = refused(description, 2, "--only", "local-off", "--only", "local-off")
    assert "--only: local-off is given twice" in words
