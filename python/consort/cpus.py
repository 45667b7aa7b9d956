# SPDX-License-Identifier: Apache-2.0
"""Sets of CPUs, in the kernel's list form (0-3,8), and those that this process may use."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def parse_cpus(text: str) -> list[int]:
    """The CPUs of a list, ascending; empty for an empty text. Raises ValueError for anything else."""
    cpus: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        cpus.update(range(int(first), int(last or first) + 1))
    return sorted(cpus)


def show_cpus(cpus: Iterable[int]) -> str:
    """The shortest list."""
    runs: list[list[int]] = []
    for cpu in sorted(cpus):
        if runs and cpu == runs[-1][-1] + 1:
            runs[-1].append(cpu)
        else:
            runs.append([cpu])
    return ",".join(str(r[0]) if len(r) == 1 else f"{r[0]}-{r[-1]}" for r in runs)


def usable_cpus() -> list[int]:
    """The CPUs that this process may use: isolated ones first, CPU 0 (which takes most interrupts) last."""
    try:
        text = Path("/sys/devices/system/cpu/isolated").read_text(encoding="ascii")
        isolated = parse_cpus(text)
    except (OSError, ValueError):
        isolated = []
    return sorted(os.sched_getaffinity(0), key=lambda cpu: (cpu not in isolated, cpu == 0, cpu))
