# SPDX-License-Identifier: Apache-2.0
"""Beats of 128 bits that a burst of b data beats takes on the link, both directions together, by formula."""

from __future__ import annotations


def b2b(burst: int) -> tuple[int, int]:
    """Table I, b2b: beats of a write with its acknowledgement, and of a read."""
    return 2 * burst + 2, 2 * burst + 1


def pipelined(burst: int) -> tuple[int, int]:
    """Table I, pipelined: as printed, odd and even bursts apart."""
    if burst % 2:
        return 3 * (burst + 1) // 2 + 2, 3 * (burst + 1) // 2 + 1
    return 3 * burst // 2 + 3, 3 * burst // 2 + 2


def pipelined_without_fill(burst: int) -> tuple[int, int]:
    """Pipelined, without the beat that Table I counts for the pipeline's fill."""
    data = (3 * burst + 1) // 2
    return data + 2, data + 1


def utilisation(burst: int, write_beats: float, read_beats: float) -> float:
    """The share of the link's beats that is payload: mean of a write's and a read's, as Figure 7 has it."""
    return (burst / write_beats + burst / read_beats) / 2
