# SPDX-License-Identifier: Apache-2.0
"""The simulated blocks as hardware that processes share: started, asked, ended."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from consort.base.children import Child
from consort.base.errors import BadInput, EnvironmentLacks, SystemFails
from consort.base.runtime import expect_own_peer, runtime_folder, socket_path
from consort.base.toolchain import builds

from consort_remote.build import simulation
from consort_remote.run import harness
from consort_remote.source import need_folder

# An access takes milliseconds; what takes this long is stuck.
PATIENCE_S = 60.0


def program(traced: bool = False) -> Path:
    """The program that holds the model, built where it is not up to date; `traced`: it can write waves."""
    need_folder("simulating the hardware")
    if traced and not Path("/usr/include/lz4.h").exists():
        raise EnvironmentLacks("liblz4-dev is not installed", "install it: apt-get install liblz4-dev")
    return simulation(
        "consort_remote_pair",
        harness("window.cpp"),
        options=("--trace-fst",) if traced else (),
        more=(harness("pair.vlt"),),
        defines=("-DWAVES",) if traced else (),
        libraries=("-llz4", "-lz") if traced else (),
    )


def folder() -> Path:
    """The folder of the state: of this user alone."""
    return runtime_folder("remote")


class Hardware:
    """A connection to the process that holds the model."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection

    def ask(self, order: str) -> str:
        """One order; SystemFails where the process ends over it."""
        try:
            self.connection.send(order.encode())
            answer = self.connection.recv(1 << 16).decode()
        except OSError as error:
            raise SystemFails(f"the simulated hardware does not answer: {error}") from error
        if not answer:
            raise SystemFails(f"the simulated hardware ended: {_last_words()}")
        return answer

    def expect(self, order: str) -> str:
        """The answer after `ok`; BadInput with the hardware's words otherwise."""
        answer = self.ask(order)
        if not answer.startswith("ok"):
            raise BadInput(answer.removeprefix("error "))
        return answer.removeprefix("ok").strip()

    def listing(self) -> dict[str, Any]:
        """Cycle, links, windows with their counters."""
        listed: dict[str, Any] = json.loads(self.ask("list"))
        return listed

    def hops(self) -> list[dict[str, Any]]:
        """Cycles of each hop of the last load and the last store that came to the memory."""
        listed: list[dict[str, Any]] = json.loads(self.ask("hops"))
        return listed


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Nobody else starts or ends the hardware meanwhile; see `builds.alone`."""
    with builds.alone(folder(), "the simulated hardware", does="starts or ends"):
        yield


def running() -> Hardware | None:
    """The hardware, None if there is none; removes leftovers of a crashed one."""
    path = socket_path(folder() / "hardware")
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.settimeout(PATIENCE_S)
    try:
        connection.connect(str(path))
    except FileNotFoundError:
        connection.close()
        return None
    except ConnectionRefusedError:
        connection.close()
        path.unlink(missing_ok=True)
        return None
    expect_own_peer(connection)
    return Hardware(connection)


def start(wave: Path | None) -> Hardware:
    """Starts the hardware with its links up; call it `alone`."""
    simulated = program(traced=wave is not None)
    words = [str(simulated), "serve", str(folder() / "hardware")]
    if wave is not None:
        words.append(str(wave.resolve()))
    with (folder() / "log").open("w") as log:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd="/",
            start_new_session=True,
        )
    assert process.stdout is not None
    with process.stdout:
        said = Child(process).read_line(process.stdout.fileno())
    hardware = running() if said == b"ready\n" else None
    if hardware is None:
        process.wait()
        raise SystemFails(f"the simulated hardware does not start: {_last_words()}")
    return hardware


def _last_words() -> str:
    try:
        return (folder() / "log").read_text(errors="replace").strip()[-500:] or "without a word"
    except OSError:
        return "without a word"
