# SPDX-License-Identifier: Apache-2.0
"""Resources that tasks and cores share, and their costs: resources, caches, and the way to memory."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, Strict

from consort.model.base import Described, MemoryName
from consort.model.figures import DurationFigure, Sourced
from consort.model.quantities import Duration, Size

Locking = Literal["priority-ceiling", "priority-inheritance"]
Replacement = Literal["direct-mapped", "lru"]
CacheSet = Annotated[int, Field(ge=0, le=65535)]


class Section(Sourced):
    """A critical section: the hold of a resource by a task's jobs."""

    length: DurationFigure = Field(
        description="The longest that a job holds it at a time, from taking it to giving it back; part of the"
        " wcet.",
        examples=["20us"],
    )
    times: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=1, description="How often a job takes it at most."
    )


class Accesses(Sourced):
    """The number of a job's accesses to memory that cores share."""

    most: Annotated[int, Field(ge=0, le=2**40)] = Field(
        description="At most, misses, write-backs and those of its dispatch included.", examples=["1200"]
    )


class RemoteState(Sourced):
    """The place of a task's state that is paged from remote memory."""

    memory: MemoryName = Field(description="A memory of kind remote.", examples=["far"])
    cache: Size = Field(
        default=Size(1 << 20), description="How much of the state lies in local memory at most, from 1MiB on."
    )
    prefetch: Annotated[int, Field(ge=1, le=64)] = Field(
        default=1, description="How many pages of 4KiB one fault brings at most."
    )
    faults: Annotated[int, Field(ge=0, le=2**20)] | None = Field(
        default=None,
        description="How many faults a job has at most: accesses to pages that are not in the cache, and"
        " first writes to pages that are.",
        examples=["12"],
    )


class Bandwidth(Sourced):
    """A regulator of a core's memory accesses: a budget of accesses in each period, then a stall."""

    counts: ClassVar[bool] = False

    budget: Annotated[int, Field(ge=1, le=2**40)] = Field(
        description="Accesses in a period, with those that the regulator lets through before it stops the"
        " core.",
        examples=["1000"],
    )
    period: Duration = Field(description="From one replenishment to the next.", examples=["1ms"])
    shortest: DurationFigure = Field(
        description="The shortest time of an access when nothing else accesses memory.", examples=["40ns"]
    )
    longest: DurationFigure = Field(
        description="The longest, when nothing else accesses memory.", examples=["200ns"]
    )


class CacheSets(Sourced):
    """The sets of its core's cache that a task uses, as a program analysis of its binary finds them."""

    counts: ClassVar[bool] = False

    evicting: Annotated[tuple[CacheSet, ...], Strict(False)] = Field(
        description="The sets that a job accesses: there it evicts what others have (ECB).",
        examples=["[0, 1, 2]"],
    )
    useful: Annotated[tuple[CacheSet, ...], Strict(False)] = Field(
        description="Those of them in which it may use a block again that it has there already (UCB).",
        examples=["[1]"],
    )


class Cache(Sourced):
    """The cache of a core, as far as what preempted jobs lose of it can be bounded by sets."""

    replacement: Replacement = Field(
        description="direct-mapped, or lru. By sets nothing is bounded for FIFO, pseudo-LRU and random"
        " replacement: write 'cache_reload' for those.",
    )
    ways: Annotated[int, Field(ge=1, le=64)] = Field(
        default=1, description="Blocks of a set, one of a direct-mapped cache."
    )
    block: DurationFigure = Field(
        description="The longest that it takes to load one block again.", examples=["100ns"]
    )


class Resource(Described):
    """A resource that tasks of one core use one at a time: a device, or data that no channel carries."""

    protocol: Locking = Field(
        description="priority-ceiling: a job that holds it has the priority of its most urgent user."
        " priority-inheritance: that of the most urgent job that waits for it.",
    )
