# SPDX-License-Identifier: Apache-2.0
"""A section of a job, as the analyses of resources take it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Held:
    """A section of a job: how long it holds a resource, and how urgent it is meanwhile."""

    task: str
    rank: int
    """0 is the most urgent; under earliest deadline first the relative deadline."""
    resource: str
    length: int
    ceiling: int
    """The rank of the most urgent task that uses it: that of the holder, or the most urgent it inherits."""
    times: int = 1
    inherits: bool = False
