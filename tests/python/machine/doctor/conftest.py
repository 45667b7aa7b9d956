# SPDX-License-Identifier: Apache-2.0
"""Made-up machines: file trees below a temporary folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

# A machine on which nothing is wrong; tests change single files of it.
READY = {
    "proc/version": "Linux version 6.1.0-18-rt-amd64 (x) #1 SMP PREEMPT_RT Debian 6.1.76-1 (2024-02-01)",
    "proc/cmdline": "root=/dev/sda1 isolcpus=managed_irq,domain,2-3 nohz_full=2-3 rcu_nocbs=2-3",
    "proc/cpuinfo": "model name\t: A Processor\nflags\t\t: fpu tsc constant_tsc nonstop_tsc\n",
    "proc/stat": "cpu  10 0 10 100 0 0 0 0 0 0\ncpu0 10 0 10 100 0 0 0 0 0 0\n",
    "proc/swaps": "Filename\tType\tSize\tUsed\tPriority\n",
    "proc/meminfo": "MemTotal: 100 kB\nHugePages_Total: 128\nHugePages_Free: 100\nHugepagesize:  2048 kB\n",
    "proc/self/status": "CapEff:\t000001ffffffffff\nCpus_allowed_list:\t0-1\n",
    "proc/self/limits": "Max locked memory         unlimited            unlimited            bytes\n"
    "Max realtime priority     99                   99\n",
    "proc/sys/kernel/sched_rt_runtime_us": "-1",
    "proc/sys/kernel/sched_rt_period_us": "1000000",
    "proc/sys/kernel/timer_migration": "0",
    "proc/irq/24/smp_affinity_list": "0-3",
    "proc/irq/24/effective_affinity_list": "0",
    "sys/kernel/realtime": "1",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
    "sys/devices/system/cpu/online": "0-3",
    "sys/devices/system/cpu/isolated": "2-3",
    "sys/devices/system/cpu/nohz_full": "2-3",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
    "sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet acpi_pm",
    "dev/cpu_dma_latency": "",
}
for cpu in range(4):
    folder = f"sys/devices/system/cpu/cpu{cpu}"
    READY[f"{folder}/topology/thread_siblings_list"] = str(cpu)
    READY[f"{folder}/cpufreq/scaling_governor"] = "performance"
    READY[f"{folder}/cpuidle/state0/name"] = "POLL"
    READY[f"{folder}/cpuidle/state0/latency"] = "0"
    READY[f"{folder}/cpuidle/state1/name"] = "C6"
    READY[f"{folder}/cpuidle/state1/latency"] = "133"

MakeTree = Callable[..., Path]


@pytest.fixture
def make_tree(tmp_path: Path) -> MakeTree:
    """Writes the ready machine with changes: path -> text, or None to leave the file out."""

    def make(changes: dict[str, str | None] | None = None) -> Path:
        for path, text in (READY | (changes or {})).items():
            if text is not None:
                file = tmp_path / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
        return tmp_path

    return make
