# SPDX-License-Identifier: Apache-2.0
"""Segments that come and go under threads that allocate: nothing is lost, and nobody dies."""

from __future__ import annotations

from pathlib import Path

import pytest
from attaching import stress
from remote_server import RemoteServer

# More than a program has places for: what was brought home and freed since takes none.
ATTACHED = 150


@pytest.mark.parametrize("faults", ["handler", "in-thread"])
def test_segments_come_and_go_under_threads(server: RemoteServer, tmp_path: Path, faults: str) -> None:
    found = stress(server, tmp_path, ATTACHED, faults)
    assert found["wrong"] == 0
    assert found["home"] > 0 and found["made"] > 0
