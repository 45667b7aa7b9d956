# SPDX-License-Identifier: Apache-2.0
"""Settings of a machine that a run may change for its duration: each one's present value and the wanted one.

Nothing here writes. Every source looks at one kind of setting and yields a `Setting` for each one to change,
or a `Refusal` that says why one cannot be changed. A setting that already is as wanted yields nothing.
"""

from __future__ import annotations

import dataclasses
import errno
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from consort.base.environment import show_cpus
from consort.machine.prepare import watchdog

# include/linux/sched.h
PF_NO_SETAFFINITY = 0x0400_0000
# Threads that init and kthreadd start later inherit their CPUs and would keep them after the run.
LEFT_ALONE = (1, 2)
NO_CPU_LEFT = "the run uses every CPU: none is left for other work"


@dataclasses.dataclass(frozen=True)
class Target:
    """A machine to prepare: the CPUs of the run, those for everything else, and the root of its files."""

    cpus: frozenset[int]
    housekeeping: frozenset[int]
    root: Path = Path("/")

    def confined(self, now: set[int]) -> set[int] | None:
        """The CPUs that something is to have which has `now`; None where it may stay as it is."""
        if not self.housekeeping or not now & self.cpus or now <= self.housekeeping:
            return None
        return now & self.housekeeping or set(self.housekeeping)


@dataclasses.dataclass(frozen=True)
class Setting:
    """One value to change. `entry` is what the watchdog keeps of it; `group` names settings of its kind."""

    group: str
    what: str
    entry: watchdog.Entry

    @property
    def before(self) -> str:
        return str(self.entry["from"])

    @property
    def after(self) -> str:
        return str(self.entry["to"])


@dataclasses.dataclass(frozen=True)
class Refusal:
    """Something that was not set, and why."""

    group: str
    what: str
    why: str


Found = Iterator[Setting | Refusal]
Source = Callable[[Target], Found]


def why_refused(error: OSError, path: str = "") -> str:
    """An error of the kernel in words. Root is refused debugfs for one reason only."""
    text = error.strerror or str(error)
    if error.errno == errno.EPERM and path.startswith("sys/kernel/debug/"):
        return f"unavailable: lockdown ({text})"
    return text


def _file(target: Target, group: str, path: str, wanted: str, kind: str = "text", what: str = "") -> Found:
    """A file that is to hold `wanted`; nothing where there is no such file."""
    entry = {"kind": kind, "path": path}
    try:
        now = watchdog.read_value(target.root, entry)
    except FileNotFoundError:
        return
    except OSError as error:
        yield Refusal(group, what or group, why_refused(error, path))
        return
    if not watchdog.equal(kind, now, wanted):
        yield Setting(group, what or group, {**entry, "from": now, "to": wanted})


def rt_throttling(target: Target) -> Found:
    """Real-time threads may use all of the time, not 950 ms of each second."""
    yield from _file(target, "sched_rt_runtime_us", "proc/sys/kernel/sched_rt_runtime_us", "-1")


def fair_server(target: Target) -> Found:
    """No time is kept for ordinary tasks on the run's CPUs (Linux 6.12 and later)."""
    folder = "sys/kernel/debug/sched/fair_server"
    version = re.match(r"Linux version (\d+)\.(\d+)", _text(target, "proc/version"))
    if version is None or (int(version[1]), int(version[2])) < (6, 12):
        return
    try:
        list((target.root / folder).iterdir())
    except FileNotFoundError:
        yield Refusal(
            "fair_server", "fair_server", "unavailable: debugfs is not mounted on /sys/kernel/debug"
        )
        return
    except OSError as error:
        yield Refusal("fair_server", "fair_server", why_refused(error, folder))
        return
    for cpu in sorted(target.cpus):
        yield from _file(target, "fair_server", f"{folder}/cpu{cpu}/runtime", "0", what=f"cpu{cpu}")


def timer_migration(target: Target) -> Found:
    """Timers of idle CPUs stay where they are."""
    yield from _file(target, "timer_migration", "proc/sys/kernel/timer_migration", "0")


def governor(target: Target) -> Found:
    """The run's CPUs keep their highest frequency."""
    for cpu in sorted(target.cpus):
        folder = f"sys/devices/system/cpu/cpu{cpu}/cpufreq"
        if "performance" in _text(target, f"{folder}/scaling_available_governors").split():
            path = f"{folder}/scaling_governor"
            yield from _file(target, "scaling_governor", path, "performance", what=f"cpu{cpu}")


def workqueues(target: Target) -> Found:
    """Unbound kernel work goes to the other CPUs."""
    yield from _confined_file(target, "workqueues", "sys/devices/virtual/workqueue/cpumask", "mask")


def interrupts(target: Target) -> Found:
    """Device interrupts, and those that are set up later, go to the other CPUs."""
    yield from _confined_file(target, "interrupts", "proc/irq/default_smp_affinity", "mask", "default")
    numbers = sorted(int(p.name) for p in (target.root / "proc/irq").glob("[0-9]*") if p.name.isdigit())
    for number in numbers:
        path = f"proc/irq/{number}/smp_affinity_list"
        yield from _confined_file(target, "interrupts", path, "list", str(number))


def tasks(target: Target) -> Found:
    """Kernel threads that may move, and every other task, go to the other CPUs."""
    if not target.housekeeping:
        yield Refusal("tasks", "tasks", NO_CPU_LEFT)
        return
    now = int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))
    for pid, tid in watchdog.tasks(target.root):
        if pid not in LEFT_ALONE:
            yield from _task(target, pid, tid, now)


def _task(target: Target, pid: int, tid: int, now: int) -> Found:
    try:
        name, fields = watchdog.stat_fields(target.root, pid, tid)
        flags, started = int(fields[6]), int(fields[19])
        cpus = os.sched_getaffinity(tid)
    except (OSError, ValueError, IndexError):
        return  # It has ended.
    wanted = target.confined(cpus)
    if wanted is None:
        return
    if flags & PF_NO_SETAFFINITY:
        yield Refusal("tasks", name, "the kernel binds it to its CPU")
        return
    entry = {"kind": "task", "pid": pid, "tid": tid, "started": started, "born_after": now}
    yield Setting("tasks", name, {**entry, "from": show_cpus(cpus), "to": show_cpus(wanted)})


def _confined_file(target: Target, group: str, path: str, kind: str, what: str = "") -> Found:
    parse = watchdog.parse_mask if kind == "mask" else watchdog.parse_list
    text = _text(target, path)
    try:
        now = parse(text) if text else set()
    except ValueError:
        yield Refusal(group, what or group, f"/{path} holds {text!r}, which is not a set of CPUs")
        return
    if now & target.cpus and not target.housekeeping:
        yield Refusal(group, what or group, NO_CPU_LEFT)
        return
    wanted = target.confined(now)
    if wanted is not None:
        spelt = show_mask(wanted) if kind == "mask" else show_cpus(wanted)
        yield from _file(target, group, path, spelt, kind, what)


def show_mask(cpus: Iterable[int]) -> str:
    """The kernel's mask form: hexadecimal, in groups of 32 bits."""
    digits = f"{sum(1 << cpu for cpu in cpus):x}"
    digits = digits.zfill(-(-len(digits) // 8) * 8) if len(digits) > 8 else digits
    return ",".join(digits[at : at + 8] for at in range(0, len(digits), 8))


def _text(target: Target, path: str) -> str:
    try:
        return (target.root / path).read_text(errors="replace").strip()
    except OSError:
        return ""


# In this order they are set, and restored: the one that can lock a machine up comes first.
SOURCES: tuple[Source, ...] = (
    rt_throttling,
    fair_server,
    timer_migration,
    governor,
    workqueues,
    interrupts,
    tasks,
)


def left_over(root: Path = Path("/")) -> int:
    """The number of settings that a killed watchdog left unrestored since this boot; 0 while one is at
    work."""
    entries = watchdog.load_state(root)
    try:
        holder = int((root / watchdog.LOCK).read_text())
        os.kill(holder, 0)
    except (OSError, ValueError):
        return len(entries)
    return 0
