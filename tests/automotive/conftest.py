# SPDX-License-Identifier: Apache-2.0
"""The kernels of examples/automotive, compiled once, and a way to run one of them on NumPy records."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "automotive"


@pytest.fixture(scope="session")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("automotive") / "probe"
    compiler = os.environ.get("CXX", "g++")
    flags = [
        "-std=c++20",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-I",
        str(ROOT / "include"),
        "-I",
        str(EXAMPLE),
    ]
    subprocess.run([compiler, *flags, str(EXAMPLE / "probe.cpp"), "-o", str(program)], check=True)
    return program


class Kernel:
    """One kernel: its constants, and its outputs for a run of jobs."""

    def __init__(self, program: Path, name: str) -> None:
        self.program, self.name = program, name

    def _call(self, what: str, data: bytes = b"") -> bytes:
        return subprocess.run(
            [self.program, self.name, what], input=data, stdout=subprocess.PIPE, check=True
        ).stdout

    def constants(self, dtype: np.dtype) -> np.ndarray:
        found = np.frombuffer(self._call("constants"), dtype)
        assert found.shape == (1,), f"the layout of {self.name}'s constants is another one"
        return found[0]

    def run(self, jobs: np.ndarray, dtype: np.dtype) -> np.ndarray:
        found = np.frombuffer(self._call("run", jobs.tobytes()), dtype)
        assert found.shape == jobs.shape, f"the layout of {self.name}'s inputs or outputs is another one"
        return found


@pytest.fixture
def kernel(probe: Path) -> Callable[[str], Kernel]:
    return lambda name: Kernel(probe, name)
