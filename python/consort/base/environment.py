# SPDX-License-Identifier: Apache-2.0
"""The environment that a run was measured in. Whatever cannot be found out is null; nothing here fails."""

from __future__ import annotations

import os
import platform
import re
import shlex
import subprocess
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from consort import __version__

# The kernel parameters that bear on real time. All others are left out: they name disks, consoles and
# addresses of one host, which belong in no report.
REAL_TIME_PARAMETERS = frozenset(
    (
        "clocksource",
        "cpuidle.off",
        "cpuidle_haltpoll.force",
        "default_hugepagesz",
        "haltpoll.guest_halt_poll_ns",
        "hugepages",
        "hugepagesz",
        "idle",
        "intel_idle.max_cstate",
        "intel_pstate",
        "amd_pstate",
        "irqaffinity",
        "isolcpus",
        "kthread_cpus",
        "maxcpus",
        "mce",
        "mitigations",
        "nmi_watchdog",
        "nohlt",
        "nohz",
        "nohz_full",
        "nosmt",
        "nosoftlockup",
        "nowatchdog",
        "nr_cpus",
        "preempt",
        "processor.max_cstate",
        "rcu_nocb_poll",
        "rcu_nocbs",
        "rcupdate.rcu_cpu_stall_cputime",
        "rcupdate.rcu_expedited",
        "rcutree.kthread_prio",
        "skew_tick",
        "threadirqs",
        "transparent_hugepage",
        "tsc",
    )
)


def environment(source: str | Path | None = None) -> dict[str, Any]:
    """Kernel, processor, tools and state of the sources in `source` (default: the current folder)."""
    cpu = Path("/sys/devices/system/cpu")
    cpuinfo = _read(Path("/proc/cpuinfo")) or ""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "kernel": platform.release() or None,
        "kernel_version": platform.version() or None,
        "preemption": _preemption(),
        "cmdline": real_time_parameters(_read(Path("/proc/cmdline")) or ""),
        "machine": platform.machine() or None,
        "cpu": _cpu_model(cpuinfo),
        "cpus": os.cpu_count(),
        "governor": _governors(cpu),
        "isolated": _read(cpu / "isolated"),
        "nohz_full": _read(cpu / "nohz_full"),
        "smt": _read(cpu / "smt/control"),
        "hypervisor": under_hypervisor(),
        "clocksource": _read(cpu.parent / "clocksource/clocksource0/current_clocksource"),
        "transparent_hugepage": _chosen(_read(Path("/sys/kernel/mm/transparent_hugepage/enabled"))),
        **throttling(),
        "compiler": _first_line([*_split(os.environ.get("CXX", "c++")), "--version"]),
        "python": platform.python_version(),
        "consort": __version__,
        "git": _git(Path(source or ".")),
    }


def throttling() -> dict[str, int | None]:
    """This kernel's throttling of real-time threads: they may run for the runtime of each period; -1: all."""
    kernel = Path("/proc/sys/kernel")
    return {
        f"rt_{name}_us": _integer(_read(kernel / f"sched_rt_{name}_us")) for name in ("runtime", "period")
    }


def throttled_ns(throttling: Mapping[str, Any]) -> tuple[int, int] | None:
    """The least and the longest stretch without processor that such throttling makes [ns].

    `throttling`: as `throttling()` gives it, or a record's environment. None: the kernel does not throttle.
    """
    runtime, period = throttling.get("rt_runtime_us"), throttling.get("rt_period_us")
    if runtime is None or period is None or runtime < 0 or runtime >= period:
        return None
    pause = int(period - runtime) * 1000
    return pause * 4 // 5, pause * 5 // 4


def real_time_parameters(cmdline: str) -> list[str]:
    """The kernel parameters that bear on real time; what stands after ` -- ` is init's own."""
    kernel = re.split(r"(?:^|\s)--(?:\s|$)", cmdline, maxsplit=1)[0]
    return [word for word in kernel.split() if word.split("=", 1)[0] in REAL_TIME_PARAMETERS]


def _read(path: Path) -> str | None:
    try:
        # An empty file (no isolated cores) is an answer; a missing one is not.
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _integer(text: str | None) -> int | None:
    try:
        return int(text) if text is not None else None
    except ValueError:
        return None


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command) or ["c++"]
    except ValueError:
        return ["c++"]


def _chosen(text: str | None) -> str | None:
    """The bracketed one of a sysfs list of choices: `always [madvise] never`."""
    found = re.search(r"\[(\S+)\]", text or "")
    return found.group(1) if found else text


def _run(arguments: list[str], cwd: Path | None = None) -> str | None:
    try:
        done = subprocess.run(
            arguments,
            cwd=cwd,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=10,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _first_line(arguments: list[str]) -> str | None:
    text = _run(arguments)
    return text.splitlines()[0] if text else None


def _cpu_model(cpuinfo: str) -> str | None:
    found = re.search(r"^(?:model name|Processor|cpu model|cpu)\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    if found:
        return found.group(1).strip()
    # Arm kernels give part numbers instead of a name.
    parts = re.findall(r"^CPU (implementer|part)\s*:\s*(\S+)$", cpuinfo, re.MULTILINE)
    return " ".join(f"{key} {value}" for key, value in dict(parts).items()) or None


def under_hypervisor() -> bool | None:
    """True if this machine is a guest of another; None if its processor does not say."""
    flags = re.search(r"^flags\s*:\s*(.+)$", _read(Path("/proc/cpuinfo")) or "", re.MULTILINE)
    return "hypervisor" in flags.group(1).split() if flags else None


def _governors(cpu: Path) -> list[str] | None:
    try:
        files = sorted(cpu.glob("cpu[0-9]*/cpufreq/scaling_governor"))
    except OSError:
        return None
    return sorted({text for file in files if (text := _read(file))}) or None


def _preemption() -> str | None:
    if _read(Path("/sys/kernel/realtime")) == "1":
        return "rt"
    dynamic = _chosen(_read(Path("/sys/kernel/debug/sched/preempt")))
    if dynamic:
        return dynamic
    for word in ("PREEMPT_RT", "PREEMPT_DYNAMIC", "PREEMPT"):
        if word in platform.version().split():
            return word
    return None


def _git(folder: Path) -> dict[str, Any] | None:
    if not folder.is_dir():
        return None
    commit = _run(["git", "rev-parse", "HEAD"], folder)
    if commit is None:
        return None
    changed = _run(["git", "status", "--porcelain", "--untracked-files=no"], folder)
    return {"commit": commit, "dirty": None if changed is None else bool(changed)}


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
