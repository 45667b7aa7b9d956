# SPDX-License-Identifier: Apache-2.0
"""Sweep files for tests, and the command."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from effort import PATIENCE
from sweep_support import CONSORT, SMALL


@pytest.fixture
def small(tmp_path: Path) -> Path:
    file = tmp_path / "small.yaml"
    file.write_text(SMALL)
    return file


@pytest.fixture
def consort(tmp_path: Path):
    def call(*arguments: object, timeout: float = PATIENCE) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [CONSORT, *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
            cwd=tmp_path,
        )

    return call
