# SPDX-License-Identifier: Apache-2.0
"""Each test has its own runs and temporary files.

Programs stay in the user's cache: they lie there by the hash of all that they are made of, so that a test
gets what it would have built, and the executive is compiled once and not once a session.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from consort.run import process
from effort import own_time


@pytest.fixture(scope="session", autouse=True)
def compiler() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("CXX", raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def short_watch() -> Iterator[None]:
    """A run of a test is shorter than a second: to watch the machine for two after it says no more."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "SHORTEST", 0.5)
        yield


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """$TMPDIR of the test: whatever a run needs there, nothing may be left."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield folder
    assert sorted(folder.iterdir()) == []


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "runs"
    monkeypatch.setenv("CONSORT_RUNS", str(folder))
    return folder


@pytest.fixture
def two_cpus() -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("an offloaded task needs two CPUs")


@pytest.fixture
def alone() -> Iterator[None]:
    """Has the machine alone, of what the helpers do not begin."""
    with own_time():
        yield
