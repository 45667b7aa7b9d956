# SPDX-License-Identifier: Apache-2.0
"""Checks of the processors: how many, how free of other work, how shared, how fast, how idle."""

from __future__ import annotations

import re

from consort.base.environment import parse_cpus, show_cpus
from consort.machine.doctor.machine import Finding, Machine

PARAMETERS = "Linux Documentation/admin-guide/kernel-parameters.txt"


def wanted(machine: Machine) -> str:
    """The processors that the advice is about, in list form."""
    return show_cpus(machine.candidates)


def cores(machine: Machine) -> Finding:
    found = re.search(r"^Cpus_allowed_list:\s*(\S+)$", machine.read("proc/self/status") or "", re.MULTILINE)
    online = machine.online
    try:
        allowed = sorted(set(parse_cpus(found.group(1))) & set(online)) if found else online
    except ValueError:
        allowed = online
    text = f"{len(online)} online ({show_cpus(online)}), {len(allowed)} usable by this process"
    if not online:
        return Finding("cores", "Processors", "unknown", "the kernel does not list them")
    if len(set(allowed) | set(machine.isolated)) < 2:
        return Finding(
            "cores",
            "Processors",
            "bad",
            text,
            "master and worker take turns on one processor: every message waits for the scheduler",
            "give this process (or virtual machine) at least two processors: taskset -cp 0-1 $$",
            ("man 1 taskset",),
        )
    if len(online) < 3:
        return Finding(
            "cores",
            "Processors",
            "warn",
            text,
            "with master and worker on both, the kernel's own work and everything else can only run in "
            "their place",
            "use a machine with at least three processors, so that one is left to everything else",
        )
    return Finding("cores", "Processors", "ok", text)


def isolation(machine: Machine) -> Finding:
    sources = (
        f"{PARAMETERS}: isolcpus",
        "Linux Documentation/admin-guide/cgroup-v2.rst: cpuset.cpus.partition",
    )
    if machine.isolated:
        return Finding(
            "isolation",
            "Isolated processors",
            "ok",
            f"isolated: {show_cpus(machine.isolated)}",
            sources=sources,
        )
    return Finding(
        "isolation",
        "Isolated processors",
        "warn",
        "none",
        "the scheduler places other tasks and movable kernel work on every processor; each costs a "
        "real-time thread "
        "its caches, and kernel threads of higher priority their run time",
        f"kernel parameter: isolcpus=managed_irq,domain,{wanted(machine)}",
        sources,
    )


def full_dynticks(machine: Machine) -> Finding:
    full = machine.cpus("sys/devices/system/cpu/nohz_full")
    missing = [cpu for cpu in machine.candidates if cpu not in full]
    sources = ("Linux Documentation/timers/no_hz.rst", f"{PARAMETERS}: nohz_full, rcu_nocbs")
    callbacks = machine.parameters.get("rcu_nocbs")
    offloaded = callbacks or ("as nohz_full" if full else "none")
    found = f"nohz_full: {show_cpus(full) or 'none'}, rcu_nocbs: {offloaded}"
    if not machine.online:
        return Finding("nohz_full", "Timer tick and RCU callbacks", "unknown", "no processor is listed")
    if not missing:
        return Finding("nohz_full", "Timer tick and RCU callbacks", "ok", found, sources=sources)
    return Finding(
        "nohz_full",
        "Timer tick and RCU callbacks",
        "warn",
        found,
        "the scheduler's tick interrupts a busy thread CONFIG_HZ times a second, and RCU callbacks run on "
        "the "
        "processor that queued them",
        f"kernel parameters (kernel built with CONFIG_NO_HZ_FULL): nohz_full={wanted(machine)} "
        f"rcu_nocbs={wanted(machine)}",
        sources,
    )


def interrupts(machine: Machine) -> Finding:
    sources = ("Linux Documentation/core-api/irq/irq-affinity.rst",)
    numbered = [p for p in machine.glob("proc/irq/[0-9]*") if p.name.isdigit()]
    candidates = set(machine.candidates)
    here: list[str] = []
    for folder in numbered:
        base = machine.relative(folder)
        # Where the interrupt really goes, which is narrower than where it may go.
        cpus = machine.cpus(f"{base}/effective_affinity_list") or machine.cpus(f"{base}/smp_affinity_list")
        if candidates & set(cpus):
            here.append(folder.name)
    if not numbered:
        return Finding(
            "interrupts",
            "Interrupt affinity",
            "unknown",
            "the kernel does not list interrupts",
            sources=sources,
        )
    balancer = (machine.root / "run/irqbalance").exists()
    found = f"{len(here)} of {len(numbered)} device interrupts go to processors {wanted(machine)}"
    found += "; irqbalance is running" if balancer else ""
    if not here and not balancer:
        return Finding("interrupts", "Interrupt affinity", "ok", found, sources=sources)
    others = [cpu for cpu in machine.online if cpu not in candidates] or machine.online[:1]
    remedy = (
        "consort run --prepare does it for the duration of a run; or "
        f"for i in {' '.join(sorted(here, key=int))}; do echo {show_cpus(others)} > "
        f"/proc/irq/$i/smp_affinity_list; "
        f"done; kernel parameter: irqaffinity={show_cpus(others)}"
    )
    if balancer:
        remedy = f"systemctl disable --now irqbalance; {remedy}"
    return Finding(
        "interrupts",
        "Interrupt affinity",
        "warn",
        found,
        "each interrupt takes the processor for its handler and for the soft interrupts it raises (network, "
        "block "
        "devices), whatever the thread's priority",
        remedy,
        sources,
    )


def siblings(machine: Machine) -> Finding:
    sources = ("Linux Documentation/ABI/testing/sysfs-devices-system-cpu: smt/control",)
    shared: set[str] = set()
    known = False
    for cpu in machine.online:
        threads = machine.cpus(f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        known = known or bool(threads)
        if len(threads) > 1:
            shared.add(show_cpus(threads))
    if not known:
        return Finding("smt", "Hardware threads", "unknown", "the kernel does not say", sources=sources)
    if not shared:
        note = "; a hypervisor may hide that they do" if machine.virtual else ""
        return Finding(
            "smt", "Hardware threads", "ok", f"no two processors share a core{note}", sources=sources
        )
    return Finding(
        "smt",
        "Hardware threads",
        "warn",
        f"processors that share a core: {'; '.join(sorted(shared))}",
        "a sibling's work takes execution units and first-level cache from a real-time thread, which then "
        "computes for longer",
        "echo off > /sys/devices/system/cpu/smt/control, or kernel parameter: nosmt",
        sources,
    )


CHECKS = (cores, isolation, full_dynticks, interrupts, siblings)


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


POWER_CHECKS = (governor, idle_states)
