# SPDX-License-Identifier: Apache-2.0
"""QEMU: where it is, whether it is new enough, and the command line that starts a board."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from consort.board.boards import BoardSpec
from consort.errors import EnvironmentLacks

# What the boards were seen to work with; older versions lack the reset control of the Versal's R5F.
OLDEST = (7, 2)
PACKAGES = {"qemu-system-aarch64": "qemu-system-arm", "qemu-system-arm": "qemu-system-arm"}


def find(name: str) -> Path:
    """The QEMU program of that name, new enough; `EnvironmentLacks` says what to install."""
    found = shutil.which(name)
    if found is None:
        raise EnvironmentLacks(f"no {name} was found", f"install it: apt-get install {PACKAGES[name]}")
    done = subprocess.run([found, "--version"], capture_output=True, text=True)
    match = re.search(r"version (\d+)\.(\d+)", done.stdout)
    if done.returncode != 0 or match is None:
        raise EnvironmentLacks(
            f"{found} does not say its version ({(done.stderr or done.stdout).strip()[:200]})",
            f"install it again: apt-get install --reinstall {PACKAGES[name]}",
        )
    version = (int(match[1]), int(match[2]))
    if version < OLDEST:
        raise EnvironmentLacks(
            f"{found} is version {match[1]}.{match[2]}; {OLDEST[0]}.{OLDEST[1]} or newer is needed",
            f"install a newer {PACKAGES[name]}",
        )
    return Path(found)


def version(program: Path) -> str:
    """The version as QEMU writes it, for a run's record."""
    return subprocess.run([str(program), "--version"], capture_output=True, text=True).stdout.splitlines()[0]


def command_line(
    program: Path,
    board: BoardSpec,
    memory: Path,
    images: Mapping[str, Path],
    consoles: Mapping[str, Path],
    gdb: Path,
    *,
    counted: bool,
    threads: bool,
    shift: int = 0,
    linux: Sequence[str] = (),
    lines: Sequence[str] = (),
    serial: Mapping[str, str] | None = None,
) -> list[str]:
    """What starts the board. `counted`: time is instructions executed, one in 2 to the `shift` nanoseconds.

    `threads`: each core in a thread of its own; else they take turns, one handing over where it waits.
    `lines`: options for what the board's controllers are connected to.
    `serial`: what a core's UART is connected to, instead of a file for its console.
    `linux`: options that boot Linux; images are then put into memory by who started the board, once it is up.
    """
    line = [str(program), "-M", f"{board.machine},memory-backend=ddr"]
    line += ["-object", f"memory-backend-file,id=ddr,size={board.memory_bytes},share=on,mem-path={memory}"]
    if board.sized:
        line += ["-m", f"{board.memory_bytes >> 20}M"]
    line += ["-nodefaults", "-display", "none", "-monitor", "none"]
    for core in board.cores:
        line += [
            "-chardev",
            (serial or {}).get(core.name, f"file,path={consoles[core.name]}") + f",id={core.name}",
            "-serial",
            f"chardev:{core.name}",
        ]
        if core.name in images and not linux:
            start = "" if core.starts is None else f",cpu-num={core.starts}"
            line += ["-device", f"loader,file={images[core.name]}{start}"]
    line += linux or board.options
    line += lines
    # A spinning core must not starve the others: with instruction counting they take turns.
    if counted:
        line += ["-icount", f"shift={shift},sleep=off"]
    else:
        line += ["-accel", f"tcg,thread={'multi' if threads else 'single'}"]
    line += ["-chardev", f"socket,id=gdb,path={gdb},server=on,wait=off", "-gdb", "chardev:gdb"]
    return line
