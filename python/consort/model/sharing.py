# SPDX-License-Identifier: Apache-2.0
"""Resources that tasks and cores share: resources, caches, the way to memory, accelerators."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, PlainSerializer, PlainValidator, Strict
from pydantic_core import PydanticCustomError

from consort.model.base import CoreName, Described, MemoryName, Name, WrongValue
from consort.model.channel import (
    Arbitration,
    Policy,
    Service,
    SupplyKind,
    Wait,
)
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


def _slot(value: Any) -> Duration | Literal["auto"]:
    if value == "auto":
        return "auto"
    try:
        return Duration.from_yaml(value)
    except WrongValue as error:
        text = f"{error}, or auto"
        raise PydanticCustomError("consort_value", "{text}", {"text": text}) from None


Slot = Annotated[
    Duration | Literal["auto"],
    PlainValidator(_slot, json_schema_input_type=Duration | Literal["auto"]),
    PlainSerializer(str, return_type=str),
]


class Supply(Described):
    """A hypervisor's supply to a core: a budget in each period."""

    kind: SupplyKind = Field(
        description="periodic-server: the budget comes anywhere in each period; tdma: at one place of all."
    )
    budget: Duration = Field(
        description="The core's share of each period for its tasks, the hypervisor's switches not counted.",
        examples=["2ms"],
    )
    period: Duration = Field(description="In each of these the core has its budget once.", examples=["5ms"])


class Scheduling(Sourced):
    """The scheduling of a core, or of each core of a group."""

    counts: ClassVar[bool] = False

    policy: Policy = Field(default="fixed-priority", description="Which ready job a core executes.")
    context_switch: DurationFigure | None = Field(
        default=None,
        description="The cost of a context switch; without it the platform's figure, or nothing.",
    )
    cache_reload: DurationFigure | None = Field(
        default=None,
        description="The longest by which a job executes longer each time it was preempted, since it loads"
        " again what its core's caches lost. Without it the wcet of each task holds it.",
        examples=["12us"],
    )
    cache: Cache | None = Field(
        default=None,
        description="Instead of cache_reload: the core's cache, whose sets the tasks say that they use.",
        examples=["{replacement: lru, ways: 2, block: 100ns}"],
    )
    bandwidth: Bandwidth | None = Field(
        default=None,
        description="The core's budget of memory accesses, where a regulator enforces one.",
        examples=["{budget: 1000, period: 1ms, shortest: 40ns, longest: 200ns}"],
    )
    slot: Slot | None = Field(
        default=None,
        description="The TDMA slot of three-phase cores; auto: as short as the largest load and unload"
        " allow.",
        examples=["432us"],
    )
    arbitration: Arbitration | None = Field(
        default=None,
        description="How three-phase cores share the DMA engine; without it tdma, a slot each in turn.",
    )
    wait: Wait | None = Field(
        default=None,
        description="A master's wait while an offloaded job is away: spin keeps looking for the answer,"
        " sleep lets the core run other jobs. Without it spin.",
    )
    service: Service | None = Field(
        default=None,
        description="Which request a worker serves of those it finds: that of the most urgent task"
        " (priority), or the oldest one (fifo). Without it priority.",
    )
    supply: Supply | None = Field(
        default=None,
        description="The supply that a hypervisor gives the core, where that is not all of its time. Only of"
        " cores that execute local tasks.",
        examples=["{kind: tdma, budget: 2ms, period: 5ms}"],
    )


Sharing = Literal["fixed-priority", "tdma", "budget"]


class Operation(Sourced):
    """An operation that an accelerator does for a request."""

    wcet: DurationFigure | None = Field(
        default=None,
        description="How long the accelerator is busy with it at most, the choice of the next request with"
        " it; reading the request and writing the answer are counted apart.",
        examples=["200us"],
    )
    bcet: DurationFigure | None = Field(
        default=None, description="The least that it is busy with it; without it the wcet."
    )
    request: Size | None = Field(
        default=None, description="The largest request; one that is larger is refused.", examples=["4KiB"]
    )
    answer: Size | None = Field(default=None, description="The answer.", examples=["4KiB"])


class Client(Described):
    """One task's share of an accelerator."""

    priority: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)] | None = Field(
        default=None,
        description="The larger, the more urgent, among the accelerator's clients. Not under tdma.",
        examples=["10"],
    )
    slot: Duration | None = Field(
        default=None,
        description="Under tdma: its part of each round. The slots follow one another in the order of the"
        " clients; a request begins only where all of it fits.",
        examples=["500us"],
    )
    budget: Duration | None = Field(
        default=None, description="Under budget: what its requests may take of each period.", examples=["1ms"]
    )
    period: Duration | None = Field(
        default=None,
        description="Under budget: at each multiple of it, from the start on, the budget is full again.",
        examples=["10ms"],
    )


class Accelerator(Sourced):
    """A core that serves requests of tasks on other cores, and does nothing else."""

    counts: ClassVar[bool] = False

    on: CoreName = Field(description="The core that serves.", examples=["worker-0"])
    arbitration: Sharing = Field(
        description="Which request begins next; none is interrupted. fixed-priority: the most urgent. tdma:"
        " of the client whose slot it is. budget: the most urgent that has enough left of its budget."
    )
    memory: MemoryName | None = Field(
        default=None,
        description="Where requests and answers lie; without it in shm, on platforms that have it.",
    )
    operations: Annotated[dict[Name, Operation], Field(min_length=1)] = Field(
        description="Operations, by name.",
        examples=["{convolve: {wcet: 200us, request: 4KiB, answer: 4KiB}}"],
    )
    clients: Annotated[dict[Name, Client], Field(min_length=1)] = Field(
        description="The tasks that ask it, and what each is given.", examples=["{vision: {priority: 2}}"]
    )


class Asked(Described):
    """A request of a task's jobs to an accelerator."""

    accelerator: Name = Field(description="Which.", examples=["convolver"])
    operation: Name = Field(description="The operation.", examples=["convolve"])
    times: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=1, description="How often a job asks for it at most."
    )


Requests = Annotated[tuple[Asked, ...], Strict(False)]
