# SPDX-License-Identifier: Apache-2.0
"""Interference: load on the machine beside the application, for as long as a configuration runs."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from consort.base.toolchain.compiler import tool


@dataclass
class Interference:
    """Running interference: its raw folder (complete after the block ends) and what could not be had."""

    raw: Path | None = None
    notes: list[str] = field(default_factory=list)


def dying_with_us() -> list[str]:
    """Before a command: the kernel ends it when this process is killed (util-linux; without it nothing)."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "TERM", "--"] if setpriv is not None else []


@contextmanager
def interfering(
    sources: Sequence[str], cpus: Sequence[int], seconds: float, folder: Path
) -> Iterator[Interference]:
    """Runs the named sources (stream, loopback-copy, stress-ng) on `cpus` while the block runs.

    All end with the block or with this process, and by themselves after `seconds`. `folder` is made, and
    keeps the recording of what was achieved.
    """
    running: list[subprocess.Popen[bytes]] = []
    state = Interference()
    cpu_list = ",".join(map(str, cpus))
    with tempfile.TemporaryDirectory(prefix="interference-", dir=folder.parent) as scratch:
        try:
            own = [f"--{name}" for name in sources if name in ("stream", "loopback-copy")]
            if own:
                raw = folder
                raw.mkdir()
                state.raw = raw
                running.append(
                    subprocess.Popen(
                        [
                            str(tool("interference")),
                            *own,
                            "--cpus",
                            cpu_list,
                            "--seconds",
                            f"{seconds:.3f}",
                            "--raw",
                            str(raw),
                            "--scratch",
                            scratch,
                        ],
                        stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL,
                    )
                )
            if "stress-ng" in sources:
                stress = shutil.which("stress-ng")
                if stress is None:
                    state.notes.append("stress-ng is not installed (apt-get install stress-ng): left out")
                else:
                    running.append(
                        subprocess.Popen(
                            [
                                *dying_with_us(),
                                stress,
                                "--quiet",
                                "--vm",
                                "1",
                                "--vm-bytes",
                                "64M",
                                "--cache",
                                "1",
                                "--taskset",
                                cpu_list,
                                "--timeout",
                                f"{max(1, int(seconds))}s",
                                "--temp-path",
                                scratch,
                            ],
                            stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL,
                        )
                    )
            if running:
                # Buffers filled and sockets connected before the first release.
                time.sleep(0.7)
            yield state
        finally:
            for process in running:
                process.send_signal(signal.SIGTERM)
            for process in running:
                try:
                    process.wait(timeout=20)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
