# SPDX-License-Identifier: Apache-2.0
"""What a plan says of caches and memory accesses: plain, frozen data."""

from __future__ import annotations

from dataclasses import dataclass

from consort.model import Duration
from consort.model.description import Replacement


@dataclass(frozen=True)
class PlannedCache:
    """The cache of a core whose tasks say which of its sets they use."""

    replacement: Replacement
    ways: int
    block_ps: int

    @property
    def per_set_ps(self) -> int:
        """What a job loads again at most of a set in which it lost something."""
        return self.ways * self.block_ps


@dataclass(frozen=True)
class PlannedBandwidth:
    """A core's budget of memory accesses in each period, and what one access takes [ps]."""

    budget: int
    period_ps: int
    shortest_ps: int
    longest_ps: int

    def __str__(self) -> str:
        return f"{self.budget} accesses in each {Duration(self.period_ps)}"


@dataclass(frozen=True)
class PlannedCacheSets:
    """The sets of its core's cache that a task touches, and those in which it uses a block again."""

    evicting: tuple[int, ...]
    useful: tuple[int, ...]
