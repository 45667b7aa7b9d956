# SPDX-License-Identifier: Apache-2.0
"""Channels between tasks, and chains of tasks that they join."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, PlainValidator, Strict
from pydantic_core import PydanticCustomError

from consort.model.base import Described, MemoryName, Name
from consort.model.kinds import (
    ChannelKind,
    Communication,
    Implementation,
)
from consort.model.quantities import Duration, Size
from consort.model.textvalue import kind_of


def _flow(value: Any) -> int | str:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if isinstance(value, str) and value:
        return value
    text = f"{kind_of(value)} is no flow; write the flow's number, or a text that its name begins with"
    raise PydanticCustomError("consort_value", "{text}", {"text": text})


Flow = Annotated[int | str, PlainValidator(_flow, json_schema_input_type=int | str)]

Names = Annotated[tuple[Name, ...], Strict(False)]


class Channel(Described):
    """A way of data from a task or a device to tasks."""

    kind: ChannelKind = Field(
        default="periodic",
        description="periodic: a block for each job. sporadic: the latest of blocks that come now and then."
        " queue: every block, in order. subscription: the part of a device's flow that a task asked for.",
        examples=["periodic"],
    )
    from_: Name | None = Field(
        default=None,
        alias="from",
        description="The task or device that writes it; or the task says so under 'writes'.",
        examples=["sensor"],
    )
    to: Names = Field(
        default=(),
        description="The tasks or devices that read it; or a task says so under 'reads'.",
        examples=["[servo]"],
    )
    memory: MemoryName | None = Field(
        default=None,
        description="The memory of the platform that holds the channel, or the link that carries it; without"
        " it shm, if there is one.",
        examples=["shm"],
    )
    size: Size | None = Field(default=None, description="One block.")
    implementation: Implementation | None = Field(
        default=None,
        description="The kind of buffer; without it a mailbox (periodic), a snapshot (sporadic) or a queue.",
    )
    capacity: Annotated[int, Field(ge=1, le=2**24)] | None = Field(
        default=None, description="Blocks that a queue holds."
    )
    communication: Communication | None = Field(
        default=None,
        description="As in chains. Without it let where every chain through the channel is let, else"
        " implicit; with it all chains through the channel must be so.",
        examples=["let"],
    )
    flow: Flow | None = Field(
        default=None,
        description="For a subscription: the flow's number, or a text that its name begins with.",
        examples=["17"],
    )
    min_interarrival: Duration | None = Field(
        default=None,
        description="For a subscription: the shortest time from one message of the flow to the next. A run on"
        " a board sends them at this distance.",
        examples=["10ms"],
    )

    @property
    def implemented_by(self) -> Implementation:
        """The implementation that holds the blocks."""
        if self.implementation is not None:
            return self.implementation
        defaults: dict[ChannelKind, Implementation] = {"periodic": "mailbox", "sporadic": "snapshot"}
        return defaults.get(self.kind, "queue")


class Chain(Described):
    """A cause-effect chain: what a stimulus of its first task becomes at its last."""

    path: Annotated[Names, Field(min_length=1)] = Field(
        description="The tasks, from cause to effect.", examples=["[sample, servo, actuate]"]
    )
    reaction: Duration | None = Field(
        default=None, description="The longest reaction time that is allowed: from a stimulus to its effect."
    )
    age: Duration | None = Field(
        default=None, description="The oldest that the data behind an output may become."
    )
    communication: Communication = Field(
        default="implicit",
        description="implicit: read at a job's start, written at its end. let: logical execution time, read"
        " at the release, written at the deadline.",
    )
