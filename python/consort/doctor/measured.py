# SPDX-License-Identifier: Apache-2.0
"""Checks that measure: what a hypervisor takes, and how late a real-time thread wakes."""

from __future__ import annotations

import math
from typing import Any

from consort.doctor.finding import Finding
from consort.doctor.machine import Machine

# One period at 20 kHz, the servo example's rate: a wake-up later than that has missed its whole job.
PERIOD_NS = 50_000


def hypervisor(machine: Machine) -> Finding:
    title = "Virtual machine"
    sources = ("Linux Documentation/virt/kvm", "man 1 systemd-detect-virt")
    virtual = machine.virtual
    if virtual is None:
        return Finding("hypervisor", title, "unknown", "the kernel does not tell", sources=sources)
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
        "the host may stop or move a virtual processor at any time, unseen from here; timers and "
        "inter-processor "
        "interrupts of an idle processor leave to the host",
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
    mend = "pin and isolate the virtual processors on the host, or use a machine with processors of its own"
    if share == 0:
        return Finding("steal", title, "ok", found, sources=sources, figures=figures)
    return Finding("steal", title, "bad" if share >= 1 else "warn", found, cost, mend, sources, figures)


def wakeup(result: dict[str, Any] | str | None) -> Finding:
    title = "Wake-up latency"
    sources = ("man 2 clock_nanosleep", "rt-tests: cyclictest")
    build = "cmake -S . -B build && cmake --build build --target consort-wakeup-probe"
    if result is None or isinstance(result, str):
        reason = result or "this machine is not the one being looked at"
        return Finding(
            "wakeup", title, "unknown", f"not measured: {reason}", "", build if result else "", sources
        )
    realtime = result["realtime"]
    names = ("min", "median", "p99", "p999", "max")
    figures = {f"{name}_us": result[name] / 1e3 for name in names} | {"n": float(result["n"])}
    shown = ", ".join(f"{name} {result[name] / 1e3:.1f}" for name in names)
    found = f"{shown} µs (measured, n = {result['n']}, {realtime['policy']} on processor {realtime['cpu']})"
    if result["max"] <= PERIOD_NS:
        return Finding("wakeup", title, "ok", found, sources=sources, figures=figures)
    margin = math.ceil(result["max"] / 1e3)
    return Finding(
        "wakeup",
        title,
        "bad" if result["max"] > 20 * PERIOD_NS else "warn",
        found,
        f"the latest release came {margin} µs late (measured): more than one period at 20 kHz",
        f"mend the findings above; or time_base: spin, or hybrid with a margin above {margin} µs",
        sources,
        figures,
    )
