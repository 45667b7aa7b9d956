# SPDX-License-Identifier: Apache-2.0
"""The devices of a plan that are only described and write channels, for tasks without steps: one process of
this machine, in the board's time, writes their numbered blocks (consort/bare/devices.hpp)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.board.recorded import in_nanoseconds, read_ring
from consort.plan import Plan, PlannedChannel
from consort.plan.recorded import carried

TITLE = "devices"
# The process that plays it: its kind (process.py), and its clock, which counts nanoseconds.
KIND, HERTZ = "x86-64", 10**9


def written(plan: Plan) -> list[PlannedChannel]:
    """The channels that such devices write."""
    return [channel for channel in carried(plan) if channel.writer not in plan.tasks]


def periods_ns(plan: Plan) -> list[int]:
    return [channel.messages_apart_ps // 1000 for channel in written(plan)]


def blocks_of(plan: Plan, duration_ps: int) -> int:
    """The number of blocks that all of them write."""
    return sum(-(-duration_ps // 1000 // period) for period in periods_ns(plan))


def ring_capacity(plan: Plan, duration_ps: int, record: Mapping[str, Any]) -> int:
    """The capacity of their record: a power of two, and more than all operations take."""
    each = record["head"]["bytes"] + record["operation"]["bytes"]
    return int(1 << max(12, (blocks_of(plan, duration_ps) * each + 1024).bit_length()))


def operations(
    ring: bytes, record: Mapping[str, Any], results: list[int], begin: int
) -> tuple[NDArray[Any], int]:
    """The operations that a process with these results wrote, in nanoseconds, and the number of lost
    records."""
    _, moved, _, _ = read_ring(ring, record, np.dtype("<u8"))
    lost = int.from_bytes(ring[record["ring"]["lost"] :][:4], "little")
    return in_nanoseconds(moved, HERTZ, results[2] | results[3] << 32, begin), lost


def notes(plan: Plan) -> Iterator[str]:
    """Notes on device processes for a run's reader."""
    for channel, period in zip(written(plan), periods_ns(plan), strict=True):
        yield (
            f"{channel.writer} is only described: a process in the board's time writes a numbered block to"
            f" {channel.name} every {period / 1000:g} us"
        )
