# SPDX-License-Identifier: Apache-2.0
"""Programs with swap on this machine: on a file, or on compressed memory (zram).

The swap is the whole machine's while a program runs, but only that program is short of memory: it runs in a
memory control group (version 1 or 2) of its own, and the limit is the group's. It needs root.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from consort.base.errors import EnvironmentLacks

from consort_remote_bench.remote_programs import Workload

GROUPS, ZRAM = Path("/sys/fs/cgroup"), Path("/sys/class/zram-control")
FILE, COMPRESSED = "swap on a file", "swap on zram"
# Room for the largest working set.
SWAP = 512 << 20
PATIENCE = 1800.0
# The kernel now and then finds no memory in a small group although there is swap, and ends the program.
ATTEMPTS = 3


def measured(workload: Workload, way: str, shares: tuple[int, ...]) -> dict[int, dict[str, Any]]:
    """The program's output, by the share (percent) of its set that is here, with the pages swapped in.

    Each has what the program has beside its set, which its group shows in a run without a limit.
    Raises EnvironmentLacks where there can be no such swap or group.
    """
    found: dict[int, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="consort-") as folder, _swap(way):
        command = workload.command(str(Path(folder) / "program"))
        whole, peak = _in_group(command, None)
        beside = max(0, peak - int(whole["set"]))
        for share in shares:
            before = _swapped_in()
            found[share], _ = _in_group(command, beside + int(whole["set"]) * share // 100)
            found[share]["swapped_in"] = _swapped_in() - before
    return found


def _in_group(command: list[str], limit: int | None) -> tuple[dict[str, Any], int]:
    """The command's output in a group with so many bytes, and the most that the group ever had."""
    for _ in range(ATTEMPTS):
        with _group() as (folder, names):
            if limit is not None:
                (folder / names[0]).write_text(str(limit))
            enter = ["/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', str(folder / "cgroup.procs")]
            done = subprocess.run([*enter, *command], capture_output=True, text=True, timeout=PATIENCE)
            peak = int((folder / names[1]).read_text())
        if done.returncode != -signal.SIGKILL:
            break
    if not done.stdout.startswith("{"):
        raise EnvironmentLacks(
            f"{Path(command[0]).name} with {limit} bytes and swap ended with {done.returncode}: "
            f"{done.stderr.strip()[-200:] or 'it printed nothing'}",
            "the kernel's log says whether it found no memory",
        )
    said: dict[str, Any] = json.loads(done.stdout)
    return said, peak


@contextmanager
def _group() -> Iterator[tuple[Path, tuple[str, str]]]:
    """A new control group, and the names of the files of its limit and of its peak."""
    instead = "run as root where memory control groups can be made"
    first = GROUPS / "memory"
    names = ("memory.limit_in_bytes", "memory.max_usage_in_bytes")
    try:
        if (first / names[0]).exists():
            parent = first
        else:
            parent, names = GROUPS, ("memory.max", "memory.peak")
            (parent / "cgroup.subtree_control").write_text("+memory")
        folder = Path(tempfile.mkdtemp(prefix="consort-bench-", dir=parent))
    except OSError as error:
        raise EnvironmentLacks(f"no memory control group: {error}", instead) from error
    try:
        if not (folder / names[1]).exists():
            raise EnvironmentLacks(f"control groups without {names[1]}", "Linux 5.19 or later has it")
        yield folder, names
    finally:
        folder.rmdir()


@contextmanager
def _swap(way: str) -> Iterator[None]:
    """Swap of SWAP bytes, above any other's priority; gone afterwards."""
    if os.geteuid() != 0:
        raise EnvironmentLacks("only root may add swap", "run as root")
    device = _file if way == FILE else _compressed
    with device() as path:
        _need("mkswap", str(path))
        _need("swapon", "--priority", "32767", str(path))
        try:
            yield
        finally:
            _need("swapoff", str(path))


@contextmanager
def _file() -> Iterator[Path]:
    # Where /tmp is memory, it can't hold swap.
    with tempfile.TemporaryDirectory(prefix="consort-swap-", dir="/var/tmp") as folder:
        path = Path(folder) / "swap"
        path.touch(0o600)
        with path.open("wb") as file:
            for _ in range(SWAP >> 20):  # a file with holes cannot be swap
                file.write(bytes(1 << 20))
            os.fsync(file.fileno())
        yield path


@contextmanager
def _compressed() -> Iterator[Path]:
    try:
        number = int((ZRAM / "hot_add").read_text())
    except OSError as error:
        raise EnvironmentLacks(f"no zram: {error}", "load the kernel's module zram") from error
    try:
        Path(f"/sys/block/zram{number}/disksize").write_text(str(SWAP))
        yield Path(f"/dev/zram{number}")
    finally:
        (ZRAM / "hot_remove").write_text(str(number))


def _need(name: str, *arguments: str) -> None:
    program = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if program is None:
        raise EnvironmentLacks(f"no {name}", "install it: apt-get install util-linux")
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise EnvironmentLacks(f"{name}: {done.stderr.strip()}", "the file system or the kernel has no swap")


def _swapped_in() -> int:
    """Pages that this machine has swapped in since it started."""
    lines = Path("/proc/vmstat").read_text(encoding="ascii").splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("pswpin ")))
