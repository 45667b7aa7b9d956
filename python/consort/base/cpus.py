# SPDX-License-Identifier: Apache-2.0
"""Sets of CPUs, in the kernel's list form (0-3,8), and those that this process may use."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

# CPUs that a description of a machine without a platform may have.
MOST_CPUS = 1024


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


SYSTEM = Path("/sys/devices/system/cpu")


def usable_cpus(system: Path = SYSTEM) -> list[int]:
    """The CPUs that this thread may be put on: isolated ones first, CPU 0 (which takes most interrupts) last.

    Linux takes isolated CPUs out of everybody's mask, yet whoever asks for one gets it. Those of a mask that
    the user narrowed are all that there is (as in linux/cpus.hpp).
    """
    try:
        isolated = set(parse_cpus((system / "isolated").read_text(encoding="ascii")))
    except (OSError, ValueError):
        isolated = set()
    mask = os.sched_getaffinity(0)
    if isolated:
        widest = widest_mask(system)
        mask = widest if mask == widest - isolated else mask
    return sorted(mask, key=lambda cpu: (cpu not in isolated, cpu == 0, cpu))


def widest_mask(system: Path = SYSTEM) -> set[int]:
    """The CPUs that the kernel gives to who asks for all that are online.

    A thread of its own asks: its mask goes with it.
    """
    found: set[int] = set()
    try:
        online = parse_cpus((system / "online").read_text(encoding="ascii"))
    except (OSError, ValueError):
        online = list(range(os.cpu_count() or 1))

    def ask() -> None:
        with suppress(OSError):
            os.sched_setaffinity(0, online)
        found.update(os.sched_getaffinity(0))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return found
