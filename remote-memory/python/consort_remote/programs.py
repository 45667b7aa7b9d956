# SPDX-License-Identifier: Apache-2.0
"""Programs that `consort remote run` started: their attached segments, and orders while they run."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path

from consort.base.errors import BadInput, EnvironmentLacks, SystemFails
from consort.base.runtime import expect_own_peer, runtime_folder, socket_path

from consort_remote.pager import Attachment

# Pages of a large segment come home at some 10^5 a second.
PATIENCE_S = 600.0


@dataclass(frozen=True)
class Attached:
    """A segment of a running program. Sizes in bytes; `used` is what blocks of it take."""

    number: int
    size: int
    used: int
    state: str
    """`attached`, or `lost`: its server is."""


def control_of(pid: int) -> Path:
    """The socket on which the program of this number takes orders."""
    return socket_path(runtime_folder("programs") / f"{pid}.socket")


def attach(pid: int, wanted: Attachment) -> int:
    """Attaches a segment while the program runs; its number."""
    return int(_order(pid, f"attach\t{wanted.row()}"))


def detach(pid: int, number: int, *, home: bool) -> str:
    """Detaches it; what was done, in words. `home`: pages in use come home first, else they are a reason to
    refuse (`BadInput`)."""
    return _order(pid, f"{'home' if home else 'detach'}\t{number}")


def attached(pid: int) -> list[Attached]:
    """The attached segments."""
    rows = [line.split("\t") for line in _order(pid, "list").splitlines()]
    return [Attached(int(row[0]), int(row[1]), int(row[2]), row[3]) for row in rows]


def _order(pid: int, order: str) -> str:
    path = control_of(pid)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.settimeout(PATIENCE_S)
        try:
            connection.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            path.unlink(missing_ok=True)
            raise BadInput(
                f"{pid} is not a program that `consort remote run` started and that runs", field="--program"
            ) from None
        expect_own_peer(connection)
        try:
            connection.send(order.encode())
            answer = connection.recv(1 << 16).decode()
        except OSError as error:
            raise SystemFails(f"the program {pid} does not answer: {error}") from error
    kind, _, rest = answer.partition("\t")
    if kind == "ok":
        return rest
    if not answer:
        raise SystemFails(f"the program {pid} ended meanwhile")
    status, _, words = rest.partition("\t")
    if status == "3":
        raise EnvironmentLacks(words, "see what the program says on standard error")
    raise BadInput(words)
