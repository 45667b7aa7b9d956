# SPDX-License-Identifier: Apache-2.0
"""A made-up machine of four CPUs: its settings as they are, and as they are wanted for CPUs 2 and 3."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from effort import PATIENCE

FILES = {
    "proc/version": "Linux version 6.18.0 #1 SMP PREEMPT_RT",
    "proc/sys/kernel/random/boot_id": "0f0f",
    "proc/sys/kernel/sched_rt_runtime_us": "950000",
    "proc/sys/kernel/timer_migration": "1",
    "proc/irq/default_smp_affinity": "f",
    "proc/irq/24/smp_affinity_list": "0-3",
    "proc/irq/25/smp_affinity_list": "3",
    "proc/irq/26/smp_affinity_list": "0",
    "sys/devices/system/cpu/online": "0-3",
    "sys/devices/virtual/workqueue/cpumask": "f",
    "sys/devices/system/cpu/cpu2/cpufreq/scaling_available_governors": "performance powersave",
    "sys/devices/system/cpu/cpu2/cpufreq/scaling_governor": "powersave",
    "sys/kernel/debug/sched/fair_server/cpu2/runtime": "50000000",
    "sys/kernel/debug/sched/fair_server/cpu3/runtime": "50000000",
}
WANTED = {
    "proc/sys/kernel/sched_rt_runtime_us": "-1",
    "proc/sys/kernel/timer_migration": "0",
    "proc/irq/default_smp_affinity": "3",
    "proc/irq/24/smp_affinity_list": "0-1",
    "proc/irq/25/smp_affinity_list": "0-1",
    "sys/devices/virtual/workqueue/cpumask": "3",
    "sys/devices/system/cpu/cpu2/cpufreq/scaling_governor": "performance",
    "sys/kernel/debug/sched/fair_server/cpu2/runtime": "0",
    "sys/kernel/debug/sched/fair_server/cpu3/runtime": "0",
}


def values(root: Path) -> dict[str, str]:
    return {path: (root / path).read_text().strip() for path in FILES}


def until(condition: Callable[[], bool]) -> bool:
    """Waits for what another process does; the time limit only ends a test that has failed."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def list_task(root: Path, pid: int) -> None:
    """Lets the made-up machine have a task of this one."""
    folder = root / "proc" / str(pid) / "task" / str(pid)
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(f"/proc/{pid}/task/{pid}/stat", folder / "stat")
