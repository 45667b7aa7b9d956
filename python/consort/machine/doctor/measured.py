# SPDX-License-Identifier: Apache-2.0
"""The memory of this machine, and what a measurement of its threads says of it."""

from __future__ import annotations

import math
import re
from typing import Any

from consort.machine.doctor.machine import CAP_IPC_LOCK, Finding, Machine

# One period at 20 kHz, the servo example's rate: a wake-up later than that has missed its whole job.
PERIOD_NS = 50_000
# Later than this is many periods at once.
LONG_US = 1000


def hypervisor(machine: Machine) -> Finding:
    title = "Virtual machine"
    sources = ("Linux Documentation/virt/kvm", "man 1 systemd-detect-virt")
    virtual = machine.virtual
    if virtual is None:
        return Finding("hypervisor", title, "unknown", "the kernel does not say", sources=sources)
    if not virtual:
        return Finding("hypervisor", title, "ok", "no hypervisor seen", sources=sources)
    clocks = machine.read("sys/devices/system/clocksource/clocksource0/available_clocksource") or ""
    name = (
        machine.read("sys/hypervisor/type")
        or machine.read("sys/class/dmi/id/sys_vendor")
        or ("KVM" if "kvm-clock" in clocks else "of unknown kind")
    )
    return Finding(
        "hypervisor",
        title,
        "warn",
        f"a hypervisor is beneath ({name})",
        "the host may stop or move a virtual processor at any time, unseen from here; an idle processor's "
        "timers and inter-processor interrupts go through the host",
        "measure on bare metal; or pin the virtual processors to isolated host processors "
        "(libvirt: <vcpupin>, <emulatorpin>; QEMU: -overcommit cpu-pm=on)",
        sources,
    )


def steal(before: dict[str, int] | None, after: dict[str, int] | None) -> Finding:
    title = "Steal time"
    sources = ("man 5 proc_stat: steal",)
    if before is None or after is None:
        return Finding("steal", title, "unknown", "not measured", sources=sources)
    total = sum(after.values()) - sum(before.values())
    stolen = after["steal"] - before["steal"]
    if total <= 0:
        return Finding("steal", title, "unknown", "the kernel's counters did not move", sources=sources)
    share = 100.0 * stolen / total
    found = (
        f"{share:.2f} % ({stolen} of {total} clock ticks, measured; {after['steal']} ticks since the start)"
    )
    figures = {"percent": share}
    cost = (
        f"in that time ({share:.2f} % of all, measured) a runnable virtual processor waited for a host "
        f"processor, in "
        "pieces as long as the host's scheduler chose"
    )
    remedy = "pin and isolate the virtual processors on the host, or use a machine with processors of its own"
    if share == 0:
        return Finding("steal", title, "ok", found, sources=sources, figures=figures)
    return Finding("steal", title, "bad" if share >= 1 else "warn", found, cost, remedy, sources, figures)


def wakeup(result: dict[str, Any] | str | None) -> Finding:
    title = "Wake-up latency"
    sources = ("man 2 clock_nanosleep", "rt-tests: cyclictest")
    series = _series(result, "wakeup")
    if isinstance(series, str):
        return Finding("wakeup", title, "unknown", f"not measured: {series}", sources=sources)
    names = ("min", "median", "p99", "p999", "max")
    figures = {f"{name}_us": series[name] / 1e6 for name in names} | {"n": float(series["n"])}
    shown = ", ".join(f"{name} {series[name] / 1e6:.1f}" for name in names)
    found = f"{shown} µs (measured, n = {series['n']}, {_where(result, series)})"
    if series["max"] <= PERIOD_NS * 1000:
        return Finding("wakeup", title, "ok", found, sources=sources, figures=figures)
    margin = math.ceil(series["max"] / 1e6)
    return Finding(
        "wakeup",
        title,
        "bad" if margin > LONG_US else "warn",
        found,
        f"the latest release came {margin} µs late (measured): more than one period at 20 kHz",
        f"follow the remedies above; or time_base: spin, or hybrid with a timer_lateness above {margin} µs",
        sources,
        figures,
    )


def busy(result: dict[str, Any] | str | None) -> Finding:
    title = "What stops a busy thread"
    sources = ("ports/linux/include/consort/linux/disturbance.hpp",)
    series = _series(result, "busy")
    if isinstance(series, str):
        return Finding("busy", title, "unknown", f"not measured: {series}", sources=sources)
    stopped, interrupted = series["stopped"], series["interrupted"]
    seconds = series["lasted"] / 1e12
    figures = {"seconds": seconds}
    for name, part in (("stopped", stopped), ("interrupted", interrupted)):
        figures |= {f"{name}_n": float(part["n"]), f"{name}_longest_us": part["longest"] / 1e6}
    found = (
        f"throttled or preempted {_times(stopped)}; by interrupts or the hypervisor {_times(interrupted)} "
        f"(measured in {seconds:.1f} s of spinning, gaps above {series['threshold_ns'] / 1e3:.0f} µs, "
        f"{_where(result, series)})"
    )
    longest_us = max(stopped["longest"], interrupted["longest"]) / 1e6
    if longest_us * 1e3 <= PERIOD_NS:
        # The kernel throttles once a second: a shorter look cannot see it.
        short = seconds < 1.05
        text = f"{found}; too short to see throttling, which comes once a second" if short else found
        return Finding("busy", title, "unknown" if short else "ok", text, sources=sources, figures=figures)
    return Finding(
        "busy",
        title,
        "bad" if longest_us > LONG_US else "warn",
        found,
        f"a job that is due in the longest of them starts {longest_us:.0f} µs late (measured)",
        "follow the remedies above: throttling and preemption are the kernel's settings and other tasks', "
        "interrupts are their affinities; what is left is the host's",
        sources,
        figures,
    )


def _series(result: dict[str, Any] | str | None, name: str) -> dict[str, Any] | str:
    """The series of the one CPU that was probed, or why there is none."""
    if not isinstance(result, dict):
        return result or "this machine is not the one being looked at"
    series: dict[str, Any] = result[name][0]
    return str(series["refused"]) if "refused" in series else series


def _where(result: dict[str, Any] | str | None, series: dict[str, Any]) -> str:
    policy = result["policy"] if isinstance(result, dict) else ""
    return f"{policy} on processor {series['cpu']}"


def _times(part: dict[str, Any]) -> str:
    if part["n"] == 0:
        return "never"
    times = "once" if part["n"] == 1 else f"{part['n']} times"
    return f"{times}, longest {part['longest'] / 1e6:.0f} µs"


# The memory that a full run of the servo example locks: 2 million rows of 80 bytes, and the program itself.
ENOUGH_BYTES = 512 << 20


def _mebibytes(limit: float | None) -> str:
    return "unlimited" if limit == math.inf else f"{(limit or 0) / 2**20:g} MiB"


def lock_limit(machine: Machine) -> Finding:
    sources = ("man 2 mlockall", "man 5 limits.conf")
    title = "Locked memory"
    limit, free = machine.limit("Max locked memory"), machine.capability(CAP_IPC_LOCK)
    if limit is None and free is None:
        return Finding("memlock", title, "unknown", "the kernel does not say", sources=sources)
    if free or (limit or 0) >= ENOUGH_BYTES:
        found = "without limit (CAP_IPC_LOCK)" if free else f"limit {_mebibytes(limit)}"
        return Finding("memlock", title, "ok", found, sources=sources)
    return Finding(
        "memlock",
        title,
        "bad",
        f"limit {_mebibytes(limit)} and no CAP_IPC_LOCK",
        "memory that is not locked may be written out or dropped: the next access is a page fault, up to a "
        "disk access",
        "in /etc/security/limits.conf: <user> - memlock unlimited; in a container: --cap-add IPC_LOCK "
        "--ulimit memlock=-1",
        sources,
    )


def transparent_huge_pages(machine: Machine) -> Finding:
    text = machine.read("sys/kernel/mm/transparent_hugepage/enabled")
    sources = ("Linux Documentation/admin-guide/mm/transhuge.rst",)
    title = "Transparent huge pages"
    if text is None:
        return Finding("thp", title, "unknown", "the kernel does not say, or has none", sources=sources)
    chosen = re.search(r"\[(\w+)\]", text)
    mode = chosen.group(1) if chosen else text
    if mode in {"madvise", "never"}:
        return Finding("thp", title, "ok", mode, sources=sources)
    return Finding(
        "thp",
        title,
        "warn",
        mode,
        "khugepaged gathers pages of any process: it takes locks and processor time, and invalidates address "
        "translations on the processors that run the process",
        "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled; kernel parameter: "
        "transparent_hugepage=madvise",
        sources,
    )


def huge_pages(machine: Machine) -> Finding:
    meminfo = dict(re.findall(r"^(\w+):\s+(\d+)", machine.read("proc/meminfo") or "", re.MULTILINE))
    sources = ("Linux Documentation/admin-guide/mm/hugetlbpage.rst",)
    title = "Reserved huge pages"
    if "HugePages_Total" not in meminfo:
        return Finding("huge_pages", title, "unknown", "the kernel has none", sources=sources)
    total, free = int(meminfo["HugePages_Total"]), int(meminfo.get("HugePages_Free", "0"))
    found = f"{free} of {total} free, {int(meminfo.get('Hugepagesize', '0')) // 1024} MiB each"
    if free > 0:
        return Finding("huge_pages", title, "ok", found, sources=sources)
    return Finding(
        "huge_pages",
        title,
        "warn",
        found,
        "the record and large inputs span thousands of small pages: their address translations miss while "
        "streaming",
        "sysctl -w vm.nr_hugepages=128",
        sources,
    )


def swap(machine: Machine) -> Finding:
    text = machine.read("proc/swaps")
    sources = ("man 8 swapoff",)
    if text is None:
        return Finding("swap", "Swap", "unknown", "/proc/swaps cannot be read", sources=sources)
    areas = [line.split()[0] for line in text.splitlines()[1:] if line.split()]
    if not areas:
        return Finding("swap", "Swap", "ok", "none", sources=sources)
    return Finding(
        "swap",
        "Swap",
        "warn",
        ", ".join(areas),
        "pages of programs that are not locked are written out; their next access is a disk access, and the "
        "disk's "
        "interrupts disturb the others",
        "swapoff -a",
        sources,
    )


CHECKS = (lock_limit, transparent_huge_pages, huge_pages, swap)
