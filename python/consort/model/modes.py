# SPDX-License-Identifier: Apache-2.0
"""A task in a mode: its description with the mode's changes, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# A task has one of them.
INTERVALS = frozenset({"period", "min_interarrival"})
# Keys of a task whose master sends its inputs to a worker, and of no other.
OFFLOADED_ONLY = frozenset({"master", "dispatch", "restart_worker", "on_miss"})


def overridden(task: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """A task with the changes of a mode; keys that the changes make meaningless go."""
    gone: frozenset[str] = frozenset()
    if INTERVALS & changes.keys():
        gone |= INTERVALS
    if "min_interarrival" in changes:
        gone |= {"offset"}
    if "period" in changes:
        gone |= {"arrival"}
    if changes.get("execution") in ("offloaded", "three-phase"):
        gone |= {"preemption_threshold"}
    if changes.get("execution") in ("local", "three-phase"):
        gone |= OFFLOADED_ONLY
    return {**{key: value for key, value in task.items() if key not in gone}, **changes}


def offloaded_anywhere(task: str, data: Mapping[str, Any]) -> bool:
    """True if a task of a description, as plain data, is offloaded: as it stands, or in one of the modes."""
    overrides = (mode.get("overrides", {}).get(task, {}) for mode in data.get("modes", {}).values())
    entries = (data["tasks"].get(task, {}), *overrides)
    return any(entry.get("execution") == "offloaded" for entry in entries)
