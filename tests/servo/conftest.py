# SPDX-License-Identifier: Apache-2.0
"""Makes the example's modules importable and builds its C++ programs once a session."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from servo_support import SERVO, compile_program

sys.path.insert(0, str(SERVO))


@pytest.fixture(scope="session")
def native() -> list[str]:
    compiler = shlex.split(os.environ.get("CXX", "g++"))
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"no C++ compiler {compiler[0]!r}: install g++ or set CXX")
    return compiler


@pytest.fixture(scope="session")
def replay_program(native: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_program(native, SERVO / "replay.cpp", tmp_path_factory.mktemp("replay") / "replay")
