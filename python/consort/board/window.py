# SPDX-License-Identifier: Apache-2.0
"""The shared window of a run: its layout, and the length of its channels' region."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from consort.plan import Plan

# Offset in the window behind the control blocks.
DATA = 0x20000
ALIGNMENT = 64
# The bytes of a region: its header, one worker's control, and a task's channels beside their values; more
# than they need, and the core that makes the region says where it is not enough.
REGION_BYTES, WORKER_BYTES, TASK_BYTES = 4096, 512, 4096
# How often a region may hold a value or its description: a state in two snapshots of four places each.
COPIES, LEAF_BYTES = 8, 64
# A channel's entry in the region, and what its blocks have beside their values.
OBJECT_BYTES, NUMBERED_LEAVES = 512, 4


class WindowIsFull(Exception):
    """Inputs and record of a run find no room."""


class Window:
    """Places things in the shared window, one behind the other."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.at = DATA
        self.contents: dict[int, bytes] = {}

    def reserve(self, count: int) -> int:
        where = self.at
        self.at = up(where + count, ALIGNMENT)
        if self.at > self.room:
            raise WindowIsFull
        return where

    def put(self, content: bytes) -> int:
        where = self.reserve(len(content))
        self.contents[where] = content
        return where


def region_bytes(plan: Plan, described: Mapping[str, Any]) -> int:
    """Room for the plan's channels and those of the offloaded tasks."""
    found = REGION_BYTES + WORKER_BYTES * len(plan.workers)
    for known in described["tasks"]:
        if plan.tasks[known["name"]].worker is not None:
            parts = [known[part] for part in ("in", "out", "state")]
            values = sum(up(part["bytes"], ALIGNMENT) + ALIGNMENT for part in parts)
            leaves = sum(len(part["members"]) for part in parts)
            found += TASK_BYTES + COPIES * values + 2 * LEAF_BYTES * leaves
    for known in described["channels"]:
        # Where sides share no lines, words that lie together on this machine lie apart.
        leaves = len(known["block"]["members"]) + NUMBERED_LEAVES
        found += 2 * known["region_bytes"] + OBJECT_BYTES + LEAF_BYTES * leaves
    return up(found, ALIGNMENT)


def up(count: int, to: int) -> int:
    return (count + to - 1) // to * to
