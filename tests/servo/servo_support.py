# SPDX-License-Identifier: Apache-2.0
"""The location of the example, and the compilation of its C++ for tests."""

from __future__ import annotations

import subprocess
from pathlib import Path

SERVO = Path(__file__).resolve().parents[2] / "examples" / "servo"
FLAGS = ["-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"]


def compile_program(compiler: list[str], source: Path, target: Path, *flags: str) -> Path:
    command = [*compiler, *FLAGS, *flags, str(source), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target
