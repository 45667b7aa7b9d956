# SPDX-License-Identifier: Apache-2.0
"""The servers in whose memory states of a run's tasks lie: given ones, or one of the run's own."""

from __future__ import annotations

import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from consort.base.children import Child
from consort.base.errors import BadInput, EnvironmentLacks
from consort.base.owned import temporary_folder
from consort.base.packages import OPTION, PAGE, Server, remote_memory
from consort.base.runtime import socket_path
from consort.base.toolchain.compiler import tool
from consort.model.quantities import Size
from consort.plan import Plan


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
    with temporary_folder("interference", folder.parent) as scratch:
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
                    process.wait(timeout=END_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


# So long a process that was asked to end may take [s].
END_S = 20.0


@contextmanager
def serving(
    plan: Plan, described: Mapping[str, Any], given: Mapping[str, Server]
) -> Iterator[dict[str, Server]]:
    """The server of each memory in which states lie while the block runs; those not given are one process of
    this run, which ends with it."""
    sizes = _sizes(plan, described)
    own = {memory: size for memory, size in sizes.items() if memory not in given}
    servers = {memory: given[memory] for memory in sizes if memory in given}
    if not own:
        yield servers
        return
    with temporary_folder("far") as made:
        folder = Path(made)
        key = folder / "key"
        key.touch(0o600)
        key.write_text(secrets.token_hex(32) + "\n", encoding="utf-8")
        socket = socket_path(folder / "socket")
        command = remote_memory().own_server(sum(own.values()), socket, key)
        process = subprocess.Popen(
            [*dying_with_us(), *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            assert process.stdout is not None
            if not Child(process).read_line(process.stdout.fileno()).startswith(b"ready"):
                _, words = process.communicate()
                raise EnvironmentLacks(
                    f"the server of remote memory does not start: {words.decode(errors='replace').strip()}",
                    f"give one that runs: {OPTION} {next(iter(own))}=HOST:PORT,key=FILE",
                )
            yield servers | dict.fromkeys(own, Server(str(socket), key))
        finally:
            process.terminate()
            try:
                process.communicate(timeout=END_S)
            except subprocess.TimeoutExpired:
                # Stopped, perhaps: then it is not even asked.
                process.kill()
                process.communicate()


def _sizes(plan: Plan, described: Mapping[str, Any]) -> dict[str, int]:
    """The bytes that states take in each memory. `BadInput` where that is more than it has."""
    bytes_of = {task["name"]: int(task["state"]["bytes"]) for task in described["tasks"]}
    sizes: dict[str, int] = {}
    for name, task in plan.tasks.items():
        if task.remote_state is not None:
            memory = task.remote_state.memory
            sizes[memory] = sizes.get(memory, 0) + max(1, -(-bytes_of[name] // PAGE)) * PAGE
            size = plan.platform.memories[memory].size
            if size is not None and sizes[memory] > size.value.bytes:
                text = (
                    f"the states in {memory!r} take {Size.spelled(sizes[memory])}, with this one, and it has"
                    f" {size.value}; make one smaller, or name another memory"
                )
                raise BadInput(text, file=plan.file, field=f"tasks.{name}.remote_state.memory")
    return sizes
