# SPDX-License-Identifier: Apache-2.0
"""Machines whose settings are plain files, and tasks that the tests start themselves."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prepare_support import FILES


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """The root of the made-up machine; it has no tasks."""
    for path, text in FILES.items():
        file = tmp_path / "root" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    (tmp_path / "root" / "run").mkdir()
    return tmp_path / "root"


@pytest.fixture
def sleeper() -> Iterator[Callable[[], int]]:
    """Starts processes that sleep; they are ended after the test."""
    processes: list[subprocess.Popen[bytes]] = []

    def start() -> int:
        processes.append(subprocess.Popen(["sleep", "600"]))
        return processes[-1].pid

    yield start
    for process in processes:
        process.kill()
        process.wait()


@pytest.fixture
def two_cpus() -> tuple[int, int]:
    """Two CPUs of this machine that this process may use."""
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        pytest.skip("this process may use one CPU only")
    return usable[0], usable[1]
