# SPDX-License-Identifier: Apache-2.0
"""The plug-in of remote memory for Consort: `consort.base.packages.RemoteMemory`."""

from __future__ import annotations

from pathlib import Path

from consort_remote.faults import measure_faults
from consort_remote.for_runs import parse_servers
from consort_remote.pager import serve_command
from consort_remote.toolchain import remote_part

__all__ = ["measure_faults", "own_server", "parse_servers", "state_library"]


def own_server(size: int, socket: Path, key: Path) -> list[str]:
    """The command of a server of `size` bytes for this machine, which says `ready` when it is."""
    return serve_command(size, socket, key, None, 0, False)


def state_library() -> Path:
    """The library to link with programs whose tasks have their state in remote memory."""
    return remote_part("state")
