# SPDX-License-Identifier: Apache-2.0
"""Interference: what keeps the machine busy beside the application, for as long as a configuration runs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from consort.errors import EnvironmentLacks
from consort.runner.build import FLAGS, compiler, include_folders
from consort.source import cache_folder, cpp_tree


@dataclass
class Interference:
    """What is running: its raw folder (complete after the block ends) and what could not be had."""

    raw: Path | None = None
    notes: list[str] = field(default_factory=list)


def interference_program() -> Path:
    """The program of ports/linux/tools/interference.cpp, built if it is not in the cache."""
    source = cpp_tree() / "ports" / "linux" / "tools" / "interference.cpp"
    newest = max(p.stat().st_mtime_ns for folder in include_folders() for p in folder.rglob("*.hpp"))
    key = f"{max(newest, source.stat().st_mtime_ns):x}"
    program = cache_folder() / "programs" / f"interference-{key}" / "consort-interference"
    if program.is_file():
        return program
    program.parent.mkdir(parents=True, exist_ok=True)
    staged = program.with_name(f".staged-{os.getpid()}")
    command = [
        compiler(),
        *FLAGS,
        "-O3",
        *(f"-I{f}" for f in include_folders()),
        str(source),
        "-o",
        str(staged),
        "-pthread",
    ]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise EnvironmentLacks(
            f"the interference program does not build: {result.stderr.strip()[-500:]}",
            "check the compiler, or leave interference out",
        )
    staged.replace(program)
    return program


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
                            str(interference_program()),
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
