# SPDX-License-Identifier: Apache-2.0
"""Costs of 0, said to be so: for tests whose subject is something else."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

NO_SWITCH = {
    key: {"value": "0ns", "assumed": "none in this test"} for key in ("context_switch", "timer_lateness")
}
MEMORY: dict[str, Any] = {
    "kind": "sram",
    "access": {"base": "0ns", "per_byte": "0ns", "assumed": "none in this test"},
}


def signals(*kinds: str) -> dict[str, Any]:
    """Exchanges in which a signal between any two kinds of processor takes no time."""
    nothing = {"max": "0ns", "assumed": "none in this test"}
    return {f"{a}-{b}": {"from": a, "to": b, **nothing} for a in kinds for b in kinds}


def channels(tasks: dict[str, dict[str, Any]], given: dict[str, Any] | None = None) -> dict[str, Any]:
    """The channels of a description; an offloaded task without any has two in the memory `free`."""
    made = {
        f"{name}.{end}": {"memory": "free", "size": "4B"}
        for name, task in tasks.items()
        if task.get("execution") == "offloaded"
        for end in ("in", "out")
    }
    return made | (given or {})


def ways(*path: str) -> dict[str, Any]:
    """Channels that lead from each task of a chain to its next, and cost nothing."""
    return {
        f"{a}-{b}": {"kind": "sporadic", "from": a, "to": [b], "size": "4B", "memory": "free"}
        for a, b in pairwise(path)
    }
