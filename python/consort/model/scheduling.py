# SPDX-License-Identifier: Apache-2.0
"""The scheduling of a core, and the supply that its tasks get."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, PlainSerializer, PlainValidator
from pydantic_core import PydanticCustomError

from consort.model.base import Described
from consort.model.figures import DurationFigure, Sourced
from consort.model.kinds import (
    Arbitration,
    Policy,
    Service,
    SupplyKind,
    Wait,
)
from consort.model.quantities import Duration
from consort.model.sharing import Bandwidth, Cache
from consort.model.textvalue import WrongValue


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
