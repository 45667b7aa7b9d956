# SPDX-License-Identifier: Apache-2.0
"""Boards of a test run live in a folder of their own, so that the user's are not seen."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def boards_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    # In memory as the default is, and short: a socket's path has at most 107 characters.
    base = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(prefix="ct-", dir=base) as folder:
        monkeypatch.setenv("CONSORT_BOARDS", folder)
        yield Path(folder)
        assert list(Path(folder).iterdir()) == [], "a board left something behind"
