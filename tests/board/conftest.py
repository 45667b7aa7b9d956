# SPDX-License-Identifier: Apache-2.0
"""Boards of a test run live in a folder of their own, so that the user's are not seen."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from consort.board import image


@pytest.fixture(autouse=True)
def boards_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    # In memory as the default is, and short: a socket's path has at most 107 characters.
    base = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(prefix="ct-", dir=base) as folder:
        monkeypatch.setenv("CONSORT_BOARDS", folder)
        yield Path(folder)
        assert list(Path(folder).iterdir()) == [], "a board left something behind"


@pytest.fixture(autouse=True, scope="session")
def each_source_is_preprocessed_once() -> Iterator[None]:
    """Caches preprocessed sources, which every build looks at anew; no header changes while tests run."""
    known: dict[tuple[object, ...], subprocess.CompletedProcess[str]] = {}
    ask = image.run_tool

    def run_tool(command: Sequence[str], scratch: Path) -> subprocess.CompletedProcess[str]:
        if command[1] != "--version" and "-E" not in command:
            return ask(command, scratch)
        source = Path(command[-1])
        key = (os.environ["PATH"], *command, source.read_bytes() if source.is_file() else b"")
        if key not in known:
            known[key] = ask(command, scratch)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(image, "run_tool", run_tool)
        yield
