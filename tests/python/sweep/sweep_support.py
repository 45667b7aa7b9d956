# SPDX-License-Identifier: Apache-2.0
"""A small sweep, and Dask processes that tests end."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from effort import wait_for

CONSORT = Path(sys.executable).with_name("consort")
SMALL = """\
sweep: 1
seed: 7
sets: 300
block: 100
task_sets:
  tasks: [3, 6]
  utilisation: [0.7, 0.9, 1.0]
  slot: [100us, 200us]
analyses: [fixed-priority, edf, three-phase]
plots:
  share: {x: utilisation, y: share, where: {tasks: 6}}
"""


def children(pid: int) -> list[int]:
    """The worker processes that a process has started."""
    out = subprocess.run(
        ["pgrep", "-P", str(pid), "-f", "spawn_main"], capture_output=True, text=True, check=False
    )
    return [int(line) for line in out.stdout.split()]


@contextlib.contextmanager
def dask_cluster(folder: Path, workers: int = 2) -> Iterator[str]:
    """A scheduler and its workers as processes of their own; yields the scheduler's address."""
    file = folder / "scheduler.json"
    started = []

    def start(*arguments: str) -> None:
        command = [sys.executable, "-m", *arguments]
        started.append(
            subprocess.Popen(
                command,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd=folder,
            )
        )

    def address() -> str | None:
        try:
            return json.loads(file.read_text())["address"]
        except (OSError, ValueError):
            return None

    try:
        start(
            "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)
        )
        found = wait_for("the scheduler", address)
        for _ in range(workers):
            start("distributed.cli.dask_worker", found, "--nthreads", "1", "--no-dashboard")
        yield found
    finally:
        for process in started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class Proxy:
    """Lies between a client and a scheduler; its connections can be cut."""

    def __init__(self, address: str) -> None:
        host, _, port = address.removeprefix("tcp://").partition(":")
        self.to = (host, int(port))
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self.listener.getsockname()[1]}"
        self.connections: list[socket.socket] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                here, _ = self.listener.accept()
            except OSError:
                return
            there = socket.create_connection(self.to)
            self.connections += [here, there]
            for a, b in ((here, there), (there, here)):
                threading.Thread(target=self._pump, args=(a, b), daemon=True).start()

    @staticmethod
    def _pump(a: socket.socket, b: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := a.recv(65536):
                b.sendall(data)
        for end in (a, b):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        for end in self.connections:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.listener.close()
        self.cut()
