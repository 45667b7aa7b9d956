# SPDX-License-Identifier: Apache-2.0
"""Builds the programs of bench/loopback once, and runs them for the tests."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from consort.base.errors import EnvironmentLacks
from consort_bench.pair import choose_cpus, program
from effort import PATIENCE

Run = Callable[..., tuple[subprocess.CompletedProcess[str], Path]]


@pytest.fixture(scope="session")
def programs() -> dict[str, Path]:
    try:
        choose_cpus()
    except EnvironmentLacks as error:
        pytest.skip(str(error))
    names = ("loopback", "one_way")
    with ThreadPoolExecutor() as pool:
        return dict(zip(names, pool.map(program, names), strict=True))


@pytest.fixture
def run_program(programs: dict[str, Path], tmp_path: Path) -> Run:
    """Runs a program with the arguments; returns how it ended, and the raw folder."""

    def run(name: str, *arguments: str) -> tuple[subprocess.CompletedProcess[str], Path]:
        raw = tmp_path / "raw"
        raw.mkdir()
        command = [str(programs[name]), "--raw", str(raw), "--seconds", str(PATIENCE), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE), raw

    return run
