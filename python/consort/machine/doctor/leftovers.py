# SPDX-License-Identifier: Apache-2.0
"""Checks for leftovers of an earlier run."""

from __future__ import annotations

from consort.machine.doctor.finding import Finding
from consort.machine.doctor.machine import Machine
from consort.machine.prepare import left_over


def preparation(machine: Machine) -> Finding:
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
