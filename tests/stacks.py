# SPDX-License-Identifier: Apache-2.0
"""Processes below another one: their age, their CPU time, and where they stand when they hang.

Standard library only: tools/run_tests.py reads it before there is an environment.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Process:
    """One process of /proc. `cpu_s` counts its threads and the children that it has waited for."""

    pid: int
    parent: int
    started_s: float  # since the boot
    cpu_s: float
    command: str

    @property
    def age_s(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME) - self.started_s


def process(pid: int) -> Process | None:
    """The process; None where it has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return None
    name, fields = stat[stat.index("(") + 1 : stat.rindex(")")], stat[stat.rindex(")") + 2 :].split()
    cpu_s = sum(int(fields[i]) for i in (11, 12, 13, 14)) / TICKS
    return Process(pid, int(fields[1]), int(fields[19]) / TICKS, cpu_s, command.strip() or f"[{name}]")


def below(root: int) -> list[Process]:
    """The living descendants of a process, parents first."""
    children: dict[int, list[Process]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (found := process(int(entry.name))) is not None:
            children.setdefault(found.parent, []).append(found)
    found, queue = [], [root]
    while queue:
        own = children.get(queue.pop(0), [])
        found += own
        queue += [each.pid for each in own]
    return found


def standing(of: Process) -> str:
    """The position of each thread of a process: in the kernel, and by gdb where there is one."""
    lines = [f"--- {of.pid}, {of.age_s:.0f} s old, {of.cpu_s:.1f} s of CPU: {of.command[:300]}"]
    for thread in sorted(Path(f"/proc/{of.pid}/task").glob("*")):
        for name in ("wchan", "stack"):
            try:
                text = (thread / name).read_text(encoding="utf-8", errors="replace").strip()
            except OSError:
                continue
            lines.append(f"thread {thread.name} {name}: {text}")
    debugger = shutil.which("gdb") or shutil.which("gdb-multiarch")
    if debugger is not None:
        command = [debugger, "-p", str(of.pid), "-batch", "-nx", "-ex", "set pagination off"]
        try:
            seen = subprocess.run(
                [*command, "-ex", "thread apply all backtrace 30"],
                capture_output=True,
                text=True,
                timeout=60,
            )
            lines.append(seen.stdout[-20000:])
        except subprocess.TimeoutExpired:
            lines.append(f"{debugger} did not attach within 60 s")
    return "\n".join(lines)


def all_standing(root: int) -> str:
    """The positions of a process and all below it."""
    own = process(root)
    return "\n".join(standing(each) for each in ([own] if own else []) + below(root))
