# SPDX-License-Identifier: Apache-2.0
"""Servers of remote memory that a run is given, for the memories in which states of its tasks lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from consort.errors import BadInput
from consort.model.problems import nearest
from consort.plan import Plan
from consort.remote.pager import key_of, socket_of

OPTION = "--remote"


@dataclass(frozen=True)
class Server:
    """Where a segment is attached: HOST:PORT or the path of a socket, and the file of its key."""

    address: str
    key: Path


def parse_servers(texts: Sequence[str]) -> dict[str, Server]:
    """Of `MEMORY=WHERE[,key=FILE]`: the server of each memory. `BadInput` where one is none of that."""
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


def check_servers(plan: Plan, given: Mapping[str, Server]) -> None:
    """`BadInput` where a server is given for a memory in which no state lies."""
    used = dict.fromkeys(t.remote_state.memory for t in plan.tasks.values() if t.remote_state is not None)
    for memory in given:
        if memory not in used:
            text = f"no task's state lies in {memory!r}; {nearest(memory, used, 'memories with states')}"
            raise BadInput(text, file=plan.system.file, field=OPTION)
