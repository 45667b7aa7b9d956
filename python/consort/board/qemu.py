# SPDX-License-Identifier: Apache-2.0
"""QEMU: where it is, whether it is new enough, and the command line that starts a board."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from consort.base.errors import EnvironmentLacks
from consort.board.description import BoardSpec, Emulator

# The oldest version that the boards were seen to work with; older ones lack the reset control that starts an
# R5F.
OLDEST = (7, 2)


def find(emulator: Emulator) -> Path:
    """A board's QEMU program, new enough; `EnvironmentLacks` says what to install."""
    name, package = emulator.program, emulator.package
    found = shutil.which(name)
    if found is None:
        raise EnvironmentLacks(f"no {name} was found", f"install it: apt-get install {package}")
    done = subprocess.run([found, "--version"], capture_output=True, text=True)
    match = re.search(r"version (\d+)\.(\d+)", done.stdout)
    if done.returncode != 0 or match is None:
        raise EnvironmentLacks(
            f"{found} does not say its version ({(done.stderr or done.stdout).strip()[:200]})",
            f"install it again: apt-get install --reinstall {package}",
        )
    version = (int(match[1]), int(match[2]))
    if version < OLDEST:
        raise EnvironmentLacks(
            f"{found} is version {match[1]}.{match[2]}; {OLDEST[0]}.{OLDEST[1]} or newer is needed",
            f"install a newer {package}",
        )
    return Path(found)


def version(program: Path) -> str:
    """The version as QEMU writes it, for a run's record."""
    return subprocess.run([str(program), "--version"], capture_output=True, text=True).stdout.splitlines()[0]


def quoted(path: Path) -> str:
    """A path within a list of options (a=b,c=d), where a comma ends a value and two are one."""
    return str(path).replace(",", ",,")


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
    semihosting: bool = False,
) -> list[str]:
    """The command line that starts the board. `counted`: time is instructions executed, one in 2 to the
    `shift` nanoseconds.

    `threads`: each core in a thread of its own; else they take turns, one handing over where it waits.
    `lines`: options for what the board's controllers are connected to.
    `serial`: what a core's UART is connected to, instead of a file for its console.
    `semihosting`: programs of the board may open files of this machine.
    `linux`: options that boot Linux; images are then put into memory by who started the board, once it is up.
    """
    line = [str(program), "-M", f"{board.emulator.machine},memory-backend=memory"]
    line += [
        "-object",
        f"memory-backend-file,id=memory,size={board.memory_bytes},share=on,mem-path={quoted(memory)}",
    ]
    if board.emulator.takes_size:
        line += ["-m", f"{board.memory_bytes >> 20}M"]
    line += ["-nodefaults", "-display", "none", "-monitor", "none"]
    for core in board.cores:
        line += [
            "-chardev",
            (serial or {}).get(core.name, f"file,path={quoted(consoles[core.name])}") + f",id={core.name}",
            "-serial",
            f"chardev:{core.name}",
        ]
        if core.name in images and not linux:
            start = f",cpu-num={core.starts_on_cpu}" if core.starts else ""
            line += ["-device", f"loader,file={quoted(images[core.name])}{start}"]
    line += linux or board.emulator.options
    line += lines
    if semihosting:
        line += ["-semihosting-config", "enable=on,target=native"]
    # A spinning core must not starve the others: with instruction counting they take turns.
    if counted:
        line += ["-icount", f"shift={shift},sleep=off"]
    else:
        line += ["-accel", f"tcg,thread={'multi' if threads else 'single'}"]
    line += ["-chardev", f"socket,id=gdb,path={quoted(gdb)},server=on,wait=off", "-gdb", "chardev:gdb"]
    return line
