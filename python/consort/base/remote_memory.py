# SPDX-License-Identifier: Apache-2.0
"""Remote memory as runs and probes see it. What serves it is the distribution consort-remote, a plug-in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Protocol, cast

from consort.base.errors import EnvironmentLacks

OPTION = "--remote"
# States take whole pages [bytes].
PAGE = 4096
GROUP = "consort.remote_memory"


@dataclass(frozen=True)
class Server:
    """The address of a segment's server: HOST:PORT or the path of a socket, and the file of its key."""

    address: str
    key: Path


class RemoteMemory(Protocol):
    """All that Consort takes of the plug-in."""

    def parse_servers(self, texts: Sequence[str]) -> dict[str, Server]:
        """Parses `MEMORY=WHERE[,key=FILE]` into the server of each memory. `BadInput` where one is none of
        that."""

    def own_server(self, size: int, socket: Path, key: Path) -> list[str]:
        """The command of a server of `size` bytes for this machine, which says `ready` when it is."""

    def state_library(self) -> Path:
        """The library to link with programs whose tasks have their state in remote memory."""

    def measure_faults(self, server: Server, cpu: int, *, samples: int) -> dict[str, Any]:
        """Times of faults of a thread on `cpu` while its cache evicted."""


def remote_memory() -> RemoteMemory:
    """The plug-in; `EnvironmentLacks` where it is not installed."""
    for point in entry_points(group=GROUP):
        return cast(RemoteMemory, point.load())
    raise EnvironmentLacks("this needs remote memory, which is not installed", "pip install consort-remote")


def parse_servers(texts: Sequence[str]) -> dict[str, Server]:
    """The servers that an option names; without any the plug-in is not needed."""
    return remote_memory().parse_servers(texts) if texts else {}
