# SPDX-License-Identifier: Apache-2.0
"""A plan's resources, caches and memory accesses: plain, frozen data."""

from __future__ import annotations

from dataclasses import dataclass

from consort.model import Duration
from consort.model.sharing import Locking, Replacement


@dataclass(frozen=True)
class PlannedCache:
    """The cache of a core whose tasks say which of its sets they use."""

    replacement: Replacement
    ways: int
    block_ps: int

    @property
    def per_set_ps(self) -> int:
        """The longest reload by a job of a set in which it lost something."""
        return self.ways * self.block_ps


@dataclass(frozen=True)
class PlannedBandwidth:
    """A core's budget of memory accesses in each period, and what one access takes [ps]."""

    budget: int
    period_ps: int
    shortest_ps: int
    longest_ps: int

    @property
    def stall_ps(self) -> int:
        """The longest stall: an access that began in the period before may end as this one begins."""
        return max(0, self.period_ps - (self.budget - 1) * self.shortest_ps)

    def __str__(self) -> str:
        return f"{self.budget} accesses in each {Duration(self.period_ps)}"


@dataclass(frozen=True)
class PlannedCacheSets:
    """The sets of its core's cache that a task touches, and those in which it uses a block again."""

    evicting: tuple[int, ...]
    useful: tuple[int, ...]


@dataclass(frozen=True)
class PlannedSection:
    """A job's hold of a resource: at most so long at a time, at most so often."""

    resource: str
    length_ps: int
    times: int


@dataclass(frozen=True)
class PlannedResource:
    """A resource that tasks use one at a time."""

    protocol: Locking
    users: tuple[str, ...]
    """The most urgent first."""
    cores: tuple[str, ...]
    """Where its users are; there is a bound and a simulation only of one."""
    ceiling: int
    """The rank of its most urgent user, which a job has that holds it; or has at most, by inheritance."""

    @property
    def inherits(self) -> bool:
        """True if a job that holds it has the rank of the job that waits for it."""
        return self.protocol == "priority-inheritance"
