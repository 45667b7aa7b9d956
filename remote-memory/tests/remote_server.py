# SPDX-License-Identifier: Apache-2.0
"""A server of remote memory for tests, with a folder and a key of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from effort import PATIENCE

CONSORT = Path(sys.executable).with_name("consort")
# A program runs until its server is gone: one that other work keeps from answering is not given up.
RUN = ("remote", "run", "--patience", f"{PATIENCE}s")


@dataclass(frozen=True)
class RemoteServer:
    """A server named `memory`, on this machine and over TCP. `variables` find it and its key."""

    place: Path
    port: str
    consort: Path = CONSORT
    pid: int = 0

    @property
    def key(self) -> Path:
        return self.place / "consort" / "memory" / "memory.key"

    @property
    def variables(self) -> dict[str, str]:
        return os.environ | {"XDG_RUNTIME_DIR": str(self.place)}

    def remote(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """`consort remote ARGUMENTS`, with what it printed; `run` with the patience of tests."""
        words = [*RUN, *arguments[1:]] if arguments[0] == "run" else ["remote", *arguments]
        return subprocess.run(
            [str(self.consort), *words],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env=self.variables | variables,
        )


@contextmanager
def serving(place: Path, size: str = "256MiB", more: Sequence[str] = ()) -> Iterator[RemoteServer]:
    """So much memory while the block runs; `place` becomes a folder of this user alone."""
    place.chmod(0o700)
    command = [str(CONSORT), "remote", "serve", "--size", size, "--listen", "127.0.0.1:0", *more]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {"XDG_RUNTIME_DIR": str(place)}
    )
    assert process.stdout is not None
    with process, process.stdout:
        ready = next(line for line in process.stdout if line.startswith("ready "))
        try:
            yield RemoteServer(place, ready.split()[1], pid=process.pid)
        finally:
            process.terminate()
