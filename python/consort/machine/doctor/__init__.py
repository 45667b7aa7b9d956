# SPDX-License-Identifier: Apache-2.0
"""Examines a machine's readiness for real time: each finding, its cost, the remedy."""

from __future__ import annotations

from consort.machine.doctor import kernel, measured, processors
from consort.machine.doctor.machine import Finding, Machine, Status
from consort.machine.prepare import left_over

__all__ = ["Finding", "Machine", "Status", "examine", "ready"]


def examine(machine: Machine) -> list[Finding]:
    """All findings, the measured ones last. Takes as long as the machine's measuring interval."""
    checks = (
        *processors.CHECKS,
        *kernel.CHECKS,
        *processors.POWER_CHECKS,
        *measured.CHECKS,
        _preparation,
        measured.hypervisor,
    )
    findings = [check(machine) for check in checks]
    before = machine.processor_times()
    result = (
        machine.probe(machine.seconds, (machine.candidates or [0])[0]) if machine.probe is not None else None
    )
    # The probe's own interval serves for the steal time too; without one there is a plain wait.
    if machine.pause is not None and not isinstance(result, dict):
        machine.pause(machine.seconds)
    after = machine.processor_times() if machine.pause is not None or isinstance(result, dict) else None
    return [*findings, measured.steal(before, after), measured.wakeup(result), measured.busy(result)]


def ready(findings: list[Finding]) -> bool:
    """No finding is bad. Unknown ones do not count against the machine: they are shown."""
    return all(finding.status != "bad" for finding in findings)


def _preparation(machine: Machine) -> Finding:
    title = "Settings of earlier runs"
    if not (machine.root / "proc").is_dir():
        return Finding("left_over", title, "unknown", "there is no /proc")
    count = left_over(machine.root)
    if count == 0:
        return Finding("left_over", title, "ok", "all restored")
    return Finding(
        "left_over",
        title,
        "warn",
        f"{count} settings that a run with --prepare had set; its watchdog was killed",
        "the kernel's limits, interrupts and other tasks stay as that run needed them",
        "the next consort run --prepare restores them first; a reboot does, too",
    )
