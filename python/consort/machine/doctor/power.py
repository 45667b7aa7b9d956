# SPDX-License-Identifier: Apache-2.0
"""Checks of power management: frequencies and idle states."""

from __future__ import annotations

from consort.machine.doctor.finding import Finding
from consort.machine.doctor.machine import Machine


def governor(machine: Machine) -> Finding:
    sources = ("Linux Documentation/admin-guide/pm/cpufreq.rst",)
    title = "Frequency governor"
    governors = {
        machine.read(machine.relative(p)) or "?"
        for p in machine.glob("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")
    }
    if not governors:
        note = "; the host sets the frequency unseen" if machine.virtual else ""
        return Finding(
            "governor", title, "unknown", f"the kernel does not scale frequencies here{note}", sources=sources
        )
    if governors == {"performance"}:
        return Finding("governor", title, "ok", "performance on every processor", sources=sources)
    return Finding(
        "governor",
        title,
        "warn",
        ", ".join(sorted(governors)),
        "the frequency follows the load with a delay: a job after a pause computes at the low frequency, and "
        "computing times spread by the ratio of the frequencies",
        "cpupower frequency-set -g performance",
        sources,
    )


def idle_states(machine: Machine) -> Finding:
    sources = (
        "Linux Documentation/admin-guide/pm/cpuidle.rst",
        "Linux Documentation/power/pm_qos_interface.rst: /dev/cpu_dma_latency",
    )
    title = "Idle states"
    deepest: tuple[int, str] = (-1, "")
    for folder in machine.glob("sys/devices/system/cpu/cpu[0-9]*/cpuidle/state[0-9]*"):
        base = machine.relative(folder)
        latency = machine.number(f"{base}/latency")
        if latency is not None and machine.number(f"{base}/disable") != 1:
            deepest = max(deepest, (latency, machine.read(f"{base}/name") or folder.name))
    device = (machine.root / "dev/cpu_dma_latency").exists()
    writable = device and machine.writable("dev/cpu_dma_latency")
    access = "writable" if writable else ("not writable" if device else "absent")
    if deepest[0] < 0:
        return Finding(
            "idle_states", title, "unknown", f"not listed; /dev/cpu_dma_latency is {access}", sources=sources
        )
    found = f"deepest: {deepest[1]}, exit latency {deepest[0]} µs; /dev/cpu_dma_latency is {access}"
    figures = {"exit_latency_us": float(deepest[0])}
    host = " (a virtual machine that idles leaves to its host, which adds its own states and wake-up)"
    cost = (
        f"a wake-up from the deepest state takes {deepest[0]} µs longer (published by the idle driver)"
        f"{host if machine.virtual else ''}"
    )
    if writable or deepest[0] <= 2:
        return Finding(
            "idle_states",
            title,
            "ok",
            found,
            f"none while Consort holds /dev/cpu_dma_latency at 0; else {cost}" if writable else "",
            "",
            sources,
            figures,
        )
    return Finding(
        "idle_states",
        title,
        "warn",
        found,
        cost,
        "run as root, or let the user write the device: a udev rule "
        '\'KERNEL=="cpu_dma_latency", GROUP="realtime", MODE="0660"\'; or kernel parameter: cpuidle.off=1',
        sources,
        figures,
    )


CHECKS = (governor, idle_states)
