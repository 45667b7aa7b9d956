# SPDX-License-Identifier: Apache-2.0
"""QEMU's machine protocol (QMP): commands to a virtual machine that runs, and its events.

The library qemu.qmp is not used: parts of it are GPL-2.0-only.
"""

from __future__ import annotations

import json
import socket
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from consort.base.errors import BadInput, EnvironmentLacks, SystemFails

# The patience with QEMU itself, which answers at once unless the machine is starved.
ANSWER_S = 60.0
GREETING_S = 5.0
OPEN_ONE = "start the machine with -qmp unix:SOCKET,server=on,wait=off"


class Refused(SystemFails):
    """QEMU answered a command with an error; the text is QEMU's. `kind` is its class, as `DeviceNotFound`."""

    def __init__(self, words: str, kind: str = "GenericError") -> None:
        super().__init__(words)
        self.kind = kind


class Monitor:
    """A connection to a machine's monitor. Another client has to wait until it is closed."""

    def __init__(self, path: Path, greeting_s: float = GREETING_S) -> None:
        self.path = path
        self.events: deque[dict[str, Any]] = deque()
        self._buffer = b""
        self._connection = _connected(path)
        try:
            greeting = self._line(time.monotonic() + greeting_s)
            if greeting is None or "QMP" not in greeting:
                raise BadInput(
                    f"{path} does not greet as a QMP monitor does, or another client holds it; give the "
                    "machine a monitor for this client: -qmp unix:SOCKET,server=on,wait=off",
                    field="--qmp",
                )
            version = greeting["QMP"]["version"]["qemu"]
            self.version = f"{version['major']}.{version['minor']}.{version['micro']}"
            self.ask("qmp_capabilities")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def ask(
        self, command: str, arguments: dict[str, Any] | None = None, descriptors: Sequence[int] = ()
    ) -> Any:
        """The command's result; `Refused` if QEMU answers with an error. Events that come before the answer
        are kept for `event`."""
        order: dict[str, Any] = {"execute": command}
        if arguments:
            order["arguments"] = arguments
        deadline = time.monotonic() + ANSWER_S
        data = json.dumps(order).encode() + b"\n"
        try:
            self._connection.settimeout(ANSWER_S)
            if descriptors:
                data = data[socket.send_fds(self._connection, [data], descriptors) :]
            self._connection.sendall(data)
        except OSError as error:
            raise SystemFails(f"the machine at {self.path} ended meanwhile ({error})") from error
        while True:
            said = self._line(deadline)
            if said is None:
                raise SystemFails(f"the machine at {self.path} did not answer {command} in {ANSWER_S:g} s")
            if "event" in said:
                self.events.append(said)
            elif "error" in said:
                raise Refused(said["error"]["desc"], said["error"]["class"])
            elif "return" in said:
                return said["return"]

    def event(self, deadline: float) -> dict[str, Any] | None:
        """The next event; None where none comes before `deadline` (of `time.monotonic`)."""
        if self.events:
            return self.events.popleft()
        while True:
            said = self._line(deadline)
            if said is None or "event" in said:
                return said

    def _line(self, deadline: float) -> dict[str, Any] | None:
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            self._connection.settimeout(left)
            try:
                data = self._connection.recv(1 << 16)
            except TimeoutError:
                return None
            except OSError as error:
                raise SystemFails(f"the machine at {self.path} ended meanwhile ({error})") from error
            if not data:
                raise SystemFails(f"the machine at {self.path} ended meanwhile")
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            said = json.loads(line)
        except ValueError:
            said = None
        if not isinstance(said, dict):
            raise BadInput(f"{self.path} is not a QMP monitor: it says {line[:60]!r}", field="--qmp")
        return said


def _connected(path: Path) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.settimeout(GREETING_S)
        made.connect(str(path))
    except OSError as error:
        made.close()
        if isinstance(error, ConnectionRefusedError) and path.is_socket():
            raise EnvironmentLacks(f"no QEMU listens at {path} any more", OPEN_ONE) from None
        if isinstance(error, PermissionError):
            raise EnvironmentLacks(f"{path} is another user's", "run this as that user") from None
        why = "is not a socket" if path.exists() else "is not there"
        raise BadInput(f"{path} {why}; {OPEN_ONE}", field="--qmp") from None
    return made
