# SPDX-License-Identifier: Apache-2.0
"""Accelerators that tasks of several cores ask, one request at a time, and wait for."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, Strict

from consort.model.base import CoreName, Described, MemoryName, Name
from consort.model.figures import DurationFigure, Sourced
from consort.model.quantities import Duration, Size

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
