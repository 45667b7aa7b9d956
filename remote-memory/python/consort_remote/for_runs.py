# SPDX-License-Identifier: Apache-2.0
"""Servers of remote memory that a run is given, for the memories in which states of its tasks lie."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from consort.base.errors import BadInput
from consort.base.packages import OPTION, Server

from consort_remote.pager import key_of, socket_of


def parse_servers(texts: Sequence[str]) -> dict[str, Server]:
    """Parses `MEMORY=WHERE[,key=FILE]` into the server of each memory. `BadInput` where one is none of
    that."""
    found: dict[str, Server] = {}
    for text in texts:
        memory, equals, where = text.partition("=")
        where, comma, rest = where.partition(",")
        if not equals or not memory or not where or memory in found:
            raise BadInput(
                f"{text!r}: MEMORY=HOST:PORT,key=FILE or MEMORY=NAME is expected, once for each memory",
                field=OPTION,
            )
        if comma and not rest.startswith("key="):
            raise BadInput(f"{rest!r}: key=FILE is expected", field=OPTION)
        if ":" in where and not comma:
            raise BadInput(f"over TCP the server's key is needed: {text},key=FILE", field=OPTION)
        key = Path(rest.removeprefix("key=")).absolute() if comma else key_of(where)
        if not key.is_file():
            raise BadInput(f"there is no key {key}; `consort remote serve` makes one", field=OPTION)
        found[memory] = Server(where if ":" in where else str(socket_of(where)), key)
    return found
