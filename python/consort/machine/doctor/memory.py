# SPDX-License-Identifier: Apache-2.0
"""Checks of memory: the amount that can be locked, and features that move a program's pages."""

from __future__ import annotations

import math
import re

from consort.machine.doctor.machine import CAP_IPC_LOCK, Finding, Machine

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
