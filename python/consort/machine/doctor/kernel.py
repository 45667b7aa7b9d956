# SPDX-License-Identifier: Apache-2.0
"""Checks of the kernel: preemption, throttling, clocks."""

from __future__ import annotations

from consort.machine.doctor.machine import CAP_SYS_NICE, Finding, Machine
from consort.machine.doctor.processors import PARAMETERS


def preemption(machine: Machine) -> Finding:
    sources = ("Linux Documentation/core-api/real-time/theory.rst",)
    version = machine.read("proc/version")
    if version is None:
        return Finding("preempt_rt", "PREEMPT_RT", "unknown", "/proc/version cannot be read", sources=sources)
    if machine.read("sys/kernel/realtime") == "1" or "PREEMPT_RT" in version:
        return Finding("preempt_rt", "PREEMPT_RT", "ok", "a PREEMPT_RT kernel", sources=sources)
    model = next(
        (m for m in ("PREEMPT_DYNAMIC", "PREEMPT_LAZY", "PREEMPT") if m in version.split()), "no preemption"
    )
    return Finding(
        "preempt_rt",
        "PREEMPT_RT",
        "warn",
        f"not a PREEMPT_RT kernel ({model})",
        "soft interrupts, interrupt handlers and sections under spin locks delay a wake-up for as long as "
        "they last, "
        "without a bound; a thread that spins on an isolated processor is not affected",
        "install a PREEMPT_RT kernel (Debian: apt install linux-image-rt-amd64)",
        sources,
    )


# A busy thread that is held off for longer than this has missed many periods at once.
LONG_STALL_US = 1000


def throttling(machine: Machine) -> Finding:
    sources = (
        "Linux Documentation/scheduler/sched-rt-group.rst",
        "Linux kernel/sched/rt.c: sched_rt_runtime_exceeded",
    )
    title = "Real-time throttling"
    runtime = machine.number("proc/sys/kernel/sched_rt_runtime_us")
    period = machine.number("proc/sys/kernel/sched_rt_period_us")
    if runtime is None or period is None or period <= 0:
        return Finding("rt_throttling", title, "unknown", "the kernel does not say", sources=sources)
    if runtime < 0 or runtime >= period:
        return Finding(
            "rt_throttling",
            title,
            "ok",
            "off: a busy real-time thread is never held off. One that never sleeps can lock its processor "
            "up; consort's runs have a watchdog against that",
            sources=sources,
        )
    stall = period - runtime
    found = f"on: real-time threads get {runtime} µs of every {period} µs"
    figures = {"stall_us": float(stall), "period_us": float(period)}
    # From 6.12 on only kernels with real-time group scheduling have it; the others have the fair server.
    grouped = machine.configured("CONFIG_RT_GROUP_SCHED")
    if machine.kernel is not None and machine.kernel >= (6, 12) and grouped is False:
        text = f"{found}; without effect in this kernel, which has the fair server instead"
        return Finding("rt_throttling", title, "ok", text, sources=sources, figures=figures)
    return Finding(
        "rt_throttling",
        title,
        "bad" if stall >= LONG_STALL_US else "warn",
        found,
        f"a thread that spins without sleeping is stopped for {stall} µs in each {period} µs (counted from "
        "the settings), on an isolated processor too",
        "consort run --prepare sets it for the duration of a run; or sysctl -w "
        "kernel.sched_rt_runtime_us=-1, only with a watchdog above the real-time threads (consort's runs "
        "have one)",
        sources,
        figures,
    )


def fair_server(machine: Machine) -> Finding:
    sources = ("Linux kernel/sched/deadline.c: the fair server", "Linux kernel/sched/debug.c")
    title = "Fair server"
    version = machine.kernel
    if version is None:
        return Finding("fair_server", title, "unknown", "the kernel does not say", sources=sources)
    if version < (6, 12):
        text = f"none in Linux {version[0]}.{version[1]}"
        return Finding("fair_server", title, "ok", text, sources=sources)
    cpu = machine.candidates[0] if machine.candidates else 0
    base = f"sys/kernel/debug/sched/fair_server/cpu{cpu}"
    runtime, period = machine.number(f"{base}/runtime"), machine.number(f"{base}/period")
    if runtime is not None and period is not None:
        share, every, known = runtime / 1e3, period / 1e3, f"processor {cpu}"
    else:
        share, every = 50_000.0, 1_000_000.0
        known = f"the default of Linux {version[0]}.{version[1]}; debugfs does not show it"
    found = f"{share:.0f} µs in every {every:.0f} µs for ordinary tasks ({known})"
    figures = {"stall_us": share, "period_us": every}
    if share == 0:
        return Finding("fair_server", title, "ok", f"off ({known})", sources=sources, figures=figures)
    if machine.isolated:
        text = f"{found}; without effect on isolated processors, where no ordinary task waits"
        return Finding("fair_server", title, "ok", text, sources=sources, figures=figures)
    return Finding(
        "fair_server",
        title,
        "bad" if share >= LONG_STALL_US else "warn",
        found,
        f"a busy real-time thread is held off for up to {share:.0f} µs in each {every:.0f} µs while an "
        "ordinary task waits for its processor (counted from the settings)",
        f"keep ordinary tasks off: kernel parameter isolcpus=…; or consort run --prepare, which also sets "
        f"the server where the kernel allows it (echo 0 > {'/' + base}/runtime; refused under lockdown)",
        sources,
        figures,
    )


def permission(machine: Machine) -> Finding:
    sources = ("man 7 sched", "man 5 limits.conf")
    title = "Permission for SCHED_FIFO"
    remedy = (
        "run as root, or in /etc/security/limits.conf: <user> - rtprio 99; in a container: --cap-add SYS_NICE"
    )
    cost = (
        "threads stay in the ordinary class: any other task may take their processor for milliseconds at a "
        "time"
    )
    if machine.fifo is not None:
        refusal = machine.fifo()
        if refusal is None:
            return Finding("sched_fifo", title, "ok", "granted (tried)", sources=sources)
        if machine.number("proc/sys/kernel/sched_rt_runtime_us") == 0:
            remedy = "sysctl -w kernel.sched_rt_runtime_us=950000"
        elif machine.capability(CAP_SYS_NICE):
            remedy = (
                "give the control group real-time time: echo 950000 > "
                "/sys/fs/cgroup/cpu/<group>/cpu.rt_runtime_us"
            )
        return Finding("sched_fifo", title, "bad", f"refused (tried): {refusal}", cost, remedy, sources)
    allowed, limit = machine.capability(CAP_SYS_NICE), machine.limit("Max realtime priority")
    if allowed is None and limit is None:
        return Finding("sched_fifo", title, "unknown", "neither tried nor known", sources=sources)
    if allowed or (limit or 0) > 0:
        return Finding(
            "sched_fifo", title, "ok", "granted (by capability or limit, not tried)", sources=sources
        )
    return Finding("sched_fifo", title, "bad", "no capability, and the limit is 0", cost, remedy, sources)


def clocksource(machine: Machine) -> Finding:
    base = "sys/devices/system/clocksource/clocksource0"
    current = machine.read(f"{base}/current_clocksource")
    sources = ("Linux Documentation/timers/timekeeping.rst", f"{PARAMETERS}: clocksource, tsc")
    title = "Clock source"
    if current is None:
        return Finding("clocksource", title, "unknown", "the kernel does not say", sources=sources)
    if current in {"tsc", "arch_sys_counter", "riscv_clocksource"}:
        return Finding("clocksource", title, "ok", current, sources=sources)
    if current in {"kvm-clock", "hyperv_clocksource_tsc_page"}:
        return Finding(
            "clocksource",
            title,
            "warn",
            current,
            "a paravirtual clock: cheap to read, but the host may change its rate",
            "where the processor's flags show nonstop_tsc: echo tsc > "
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
            sources,
        )
    return Finding(
        "clocksource",
        title,
        "bad",
        f"{current} (available: {machine.read(f'{base}/available_clocksource') or 'not listed'})",
        "every reading of the time is an access to a device instead of a register, and on a virtual machine "
        "an exit",
        "find out why the kernel rejected the better one: dmesg | grep -i -e tsc -e clocksource; kernel "
        "parameter: "
        "tsc=reliable where it is known to be synchronised",
        sources,
    )


def counter(machine: Machine) -> Finding:
    title = "Invariant time-stamp counter"
    flags = machine.flags
    sources = ("Intel SDM volume 3, section 18.17.1 (invariant TSC)",)
    if flags is None:
        return Finding(
            "invariant_tsc",
            title,
            "unknown",
            "no x86 flags; other architectures' timers are constant by definition",
        )
    missing = [flag for flag in ("constant_tsc", "nonstop_tsc") if flag not in flags]
    if not missing:
        return Finding("invariant_tsc", title, "ok", "constant_tsc and nonstop_tsc", sources=sources)
    return Finding(
        "invariant_tsc",
        title,
        "warn",
        f"missing: {', '.join(missing)}",
        "Consort then reads the time by CLOCK_MONOTONIC_RAW, which costs more and resolves less than the "
        "counter",
        "on a virtual machine let the host pass the flag on (QEMU: -cpu host,+invtsc)",
        sources,
    )


def timer_migration(machine: Machine) -> Finding:
    value = machine.number("proc/sys/kernel/timer_migration")
    sources = ("Linux Documentation/admin-guide/sysctl/kernel.rst", "Linux kernel/time/timer_migration.c")
    title = "Timer migration"
    if value is None:
        return Finding("timer_migration", title, "unknown", "the kernel does not say", sources=sources)
    if value == 0:
        return Finding("timer_migration", title, "ok", "off", sources=sources)
    return Finding(
        "timer_migration",
        title,
        "warn",
        "on",
        "busy processors handle the timers of idle ones: a real-time thread's processor may have to handle "
        "other programs' timers",
        "consort run --prepare sets it for the duration of a run; or sysctl -w kernel.timer_migration=0",
        sources,
    )


CHECKS = (preemption, throttling, fair_server, permission, clocksource, counter, timer_migration)
