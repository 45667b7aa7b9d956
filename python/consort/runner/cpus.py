# SPDX-License-Identifier: Apache-2.0
"""Which CPU each core of a system is mapped to."""

from __future__ import annotations

import os
from pathlib import Path

from consort.errors import BadInput, EnvironmentLacks
from consort.model import System


def usable_cpus() -> list[int]:
    """The CPUs that this process may use: isolated ones first, CPU 0 (which takes most interrupts) last."""
    try:
        text = Path("/sys/devices/system/cpu/isolated").read_text(encoding="ascii").strip()
    except OSError:
        text = ""
    isolated = parse_cpu_list(text)
    return sorted(os.sched_getaffinity(0), key=lambda cpu: (cpu not in isolated, cpu == 0, cpu))


def parse_cpu_list(text: str) -> set[int]:
    """The kernel's list form, such as 0,2-4."""
    cpus: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        cpus.update(range(int(first), int(last or first) + 1))
    return cpus


def place(system: System, cores: list[str]) -> dict[str, int]:
    """A CPU for each of `cores`: as the description says, else one of its own. Workers choose first."""
    usable = usable_cpus()
    given = {core: cpu for core, cpu in system.run.cpus.items() if core in cores}
    for core, cpu in given.items():
        if cpu not in usable:
            raise BadInput(
                f"CPU {cpu} is not usable here; usable are {', '.join(map(str, sorted(usable)))}",
                file=system.file,
                field=f"run.cpus.{core}",
            )
    free = [cpu for cpu in usable if cpu not in given.values()]
    if len(cores) - len(given) > len(free):
        raise EnvironmentLacks(
            f"the system uses {len(cores)} cores, each on a CPU of its own,"
            f" and {len(usable)} CPUs are usable here",
            "run it on a machine with more CPUs, widen the affinity mask, or place more tasks on one worker",
        )
    workers = set(system.workers())
    placed = dict(given)
    for core in sorted((c for c in cores if c not in given), key=lambda c: c not in workers):
        placed[core] = free.pop(0)
    return placed
