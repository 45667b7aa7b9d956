# SPDX-License-Identifier: Apache-2.0
"""A section of a job, as the analyses of resources take it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Held:
    """A section of a job: how long it holds a resource, and the urgency that it has meanwhile."""

    task: str
    urgency: int
    """The larger, the more urgent; under earliest deadline first the relative deadline, negated."""
    resource: str
    length: int
    ceiling: int
    """The urgency of the most urgent task that uses it: that of the holder, or the highest it inherits."""
    times: int = 1
    inherits: bool = False
