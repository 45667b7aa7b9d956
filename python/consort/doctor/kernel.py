# SPDX-License-Identifier: Apache-2.0
"""Checks of the kernel: preemption, throttling, clocks."""

from __future__ import annotations

from consort.doctor.finding import Finding
from consort.doctor.machine import CAP_SYS_NICE, Machine
from consort.doctor.processors import PARAMETERS


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


def throttling(machine: Machine) -> Finding:
    sources = (
        "Linux Documentation/scheduler/sched-rt-group.rst",
        "Linux kernel/sched/deadline.c: the fair server",
    )
    title = "Real-time throttling"
    runtime = machine.number("proc/sys/kernel/sched_rt_runtime_us")
    period = machine.number("proc/sys/kernel/sched_rt_period_us")
    if runtime is None or period is None or period <= 0:
        return Finding("rt_throttling", title, "unknown", "the kernel does not tell", sources=sources)
    cpu = machine.candidates[0] if machine.candidates else 0
    server = _fair_server(machine)
    if server is not None:
        share_us, period_us, known = server
        text = f"fair server: {share_us:.0f} µs in every {period_us:.0f} µs for ordinary tasks ({known})"
        figures = {"stall_us": share_us, "period_us": period_us}
        if share_us == 0:
            return _unprotected(f"{text}: off", sources, figures)
        return Finding(
            "rt_throttling",
            title,
            "warn",
            text,
            f"a busy real-time thread is held off for up to {share_us:.0f} µs in each {period_us:.0f} µs "
            f"while an "
            "ordinary task waits for its processor (counted from the settings); an isolated processor has "
            "none waiting",
            f"keep ordinary tasks off: kernel parameter isolcpus=…; or echo 0 > "
            f"/sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime, "
            "only with a watchdog above the real-time threads (consort's runs have one)",
            sources,
            figures,
        )
    if runtime < 0 or runtime >= period:
        return _unprotected("off", sources, {})
    stall = period - runtime
    return Finding(
        "rt_throttling",
        title,
        "warn",
        f"on: real-time threads get {runtime} µs of every {period} µs",
        f"a thread that spins without sleeping is stopped for up to {stall} µs in each {period} µs (counted "
        f"from the "
        "settings)",
        "sysctl -w kernel.sched_rt_runtime_us=-1, only with a watchdog above the real-time threads "
        "(consort's runs "
        "have one)",
        sources,
        {"stall_us": float(stall), "period_us": float(period)},
    )


def _unprotected(text: str, sources: tuple[str, ...], figures: dict[str, float]) -> Finding:
    return Finding(
        "rt_throttling",
        "Real-time throttling",
        "warn",
        text,
        "no stall for busy real-time threads; but any of them that never sleeps can lock up its processor "
        "for good",
        "run real-time programs under a watchdog of higher priority (consort's runs have one), or: "
        "sysctl -w kernel.sched_rt_runtime_us=950000",
        sources,
        figures,
    )


def _fair_server(machine: Machine) -> tuple[float, float, str] | None:
    """Run time and period in µs and how they are known, where there is a fair server (from 6.12 on)."""
    cpu = machine.candidates[0] if machine.candidates else 0
    base = f"sys/kernel/debug/sched/fair_server/cpu{cpu}"
    runtime, period = machine.number(f"{base}/runtime"), machine.number(f"{base}/period")
    if runtime is not None and period is not None:
        return runtime / 1e3, period / 1e3, f"processor {cpu}"
    version = machine.kernel
    if version is not None and version >= (6, 12):
        return (
            50_000.0,
            1_000_000.0,
            f"the default of Linux {version[0]}.{version[1]}; debugfs does not show it",
        )
    return None


def permission(machine: Machine) -> Finding:
    sources = ("man 7 sched", "man 5 limits.conf")
    title = "Permission for SCHED_FIFO"
    mend = (
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
            mend = "sysctl -w kernel.sched_rt_runtime_us=950000"
        elif machine.capability(CAP_SYS_NICE):
            mend = (
                "give the control group real-time time: echo 950000 > "
                "/sys/fs/cgroup/cpu/<group>/cpu.rt_runtime_us"
            )
        return Finding("sched_fifo", title, "bad", f"refused (tried): {refusal}", cost, mend, sources)
    allowed, limit = machine.capability(CAP_SYS_NICE), machine.limit("Max realtime priority")
    if allowed is None and limit is None:
        return Finding("sched_fifo", title, "unknown", "neither tried nor told", sources=sources)
    if allowed or (limit or 0) > 0:
        return Finding(
            "sched_fifo", title, "ok", "granted (by capability or limit, not tried)", sources=sources
        )
    return Finding("sched_fifo", title, "bad", "no capability, and the limit is 0", cost, mend, sources)


def clocksource(machine: Machine) -> Finding:
    base = "sys/devices/system/clocksource/clocksource0"
    current = machine.read(f"{base}/current_clocksource")
    sources = ("Linux Documentation/timers/timekeeping.rst", f"{PARAMETERS}: clocksource, tsc")
    title = "Clock source"
    if current is None:
        return Finding("clocksource", title, "unknown", "the kernel does not tell", sources=sources)
    if current in {"tsc", "arch_sys_counter", "riscv_clocksource"}:
        return Finding("clocksource", title, "ok", current, sources=sources)
    if current in {"kvm-clock", "hyperv_clocksource_tsc_page"}:
        return Finding(
            "clocksource",
            title,
            "warn",
            current,
            "a paravirtual clock: read without leaving the machine, but rescaled by the host at its will",
            "where the processor's flags show nonstop_tsc: echo tsc > "
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
            sources,
        )
    return Finding(
        "clocksource",
        title,
        "bad",
        f"{current} (available: {machine.read(f'{base}/available_clocksource') or 'not told'})",
        "every reading of the time is an access to a device instead of a register, and on a virtual machine "
        "an exit",
        "find out why the kernel gave up the better one: dmesg | grep -i -e tsc -e clocksource; kernel "
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
        return Finding("timer_migration", title, "unknown", "the kernel does not tell", sources=sources)
    if value == 0:
        return Finding("timer_migration", title, "ok", "off", sources=sources)
    return Finding(
        "timer_migration",
        title,
        "warn",
        "on",
        "timers of idle processors are handled by busy ones: a real-time thread's processor may serve a "
        "stranger's",
        "sysctl -w kernel.timer_migration=0",
        sources,
    )


CHECKS = (preemption, throttling, permission, clocksource, counter, timer_migration)
