# SPDX-License-Identifier: Apache-2.0
"""The stated bounds of accesses that cannot be carried out, as checks of what the harness counted."""

from __future__ import annotations

SLVERR = 2
DECERR = 3


def refused_at_once(fault: dict[str, int], response: int) -> None:
    """With this response within 8 cycles, and nothing on the link."""
    assert fault["resp"] == response
    assert fault["cycles"] <= 8
    assert fault["beats"] == 0


def ended_in_time(cut: dict[str, int], errors: int) -> None:
    """More than that end with SLVERR, all in the programmed time and two cycles for each beat of answers."""
    assert errors < cut["errors"] <= cut["outstanding"]
    assert cut["longest"] <= cut["down_after"] + 2048
