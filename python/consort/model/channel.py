# SPDX-License-Identifier: Apache-2.0
"""Channels between tasks, and chains of tasks that they join."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, PlainValidator, Strict
from pydantic_core import PydanticCustomError

from consort.base.files import LARGEST_MODEL, is_file, read_bytes
from consort.model.base import Described, MemoryName, Name, kind_of
from consort.model.quantities import Duration, Size

Execution = Literal["local", "offloaded", "three-phase"]
Policy = Literal["fixed-priority", "fixed-priority-non-preemptive", "edf", "three-phase"]
Arbitration = Literal["tdma", "round-robin"]
ChannelKind = Literal["periodic", "sporadic", "queue", "subscription"]
Implementation = Literal["mailbox", "double-buffer", "snapshot", "queue"]
Communication = Literal["implicit", "let"]
OnMiss = Literal["hold-last-output", "local-fallback", "stop"]
TimeBase = Literal["spin", "sleep", "hybrid"]
Wait = Literal["spin", "sleep"]
Service = Literal["priority", "fifo"]
SupplyKind = Literal["periodic-server", "tdma"]
Interference = Literal["stream", "loopback-copy", "stress-ng"]
Configuration = Literal["local-off", "local-on", "offloaded-off", "offloaded-on"]


@dataclass(frozen=True)
class Semantics:
    """A channel's behaviour, in analysis, simulation and execution. A block can be read once it is
    written."""

    read: Literal["oldest", "newest"]
    """Which block a job gets: the oldest, which leaves the channel, or the newest. One a job; where there is
    no new one its member keeps its value."""
    full: Literal["dropped", "replaces"]
    """A block that finds no room is dropped, and counted; or it takes the place of an older one."""


# By what holds the blocks; `versions` is what holds those of logical execution time.
SEMANTICS: Mapping[str, Semantics] = {
    "mailbox": Semantics("oldest", "dropped"),
    "queue": Semantics("oldest", "dropped"),
    "snapshot": Semantics("newest", "replaces"),
    "double-buffer": Semantics("newest", "replaces"),
    "versions": Semantics("newest", "replaces"),
}
# Where the channels of offloaded tasks lie if nothing is said, on platforms that have it.
DEFAULT_MEMORY = "shm"
# In place of a step: a function that executes for the task's execution time and passes numbered blocks.
STAND_IN: Literal["stand-in"] = "stand-in"
CONFIGURATIONS: tuple[Configuration, ...] = get_args(Configuration)


def _flow(value: Any) -> int | str:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if isinstance(value, str) and value:
        return value
    text = f"{kind_of(value)} is not a flow; write the flow's number, or a text that its name begins with"
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


COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
QUOTED_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"\n]+)"', re.MULTILINE)
# A `Messages` is all that came since the load before.
SEVERAL = re.compile(r"\b(Batch|Messages)\s*<")


def takes_several(header: Path) -> bool:
    """True if a step's header, or one that it includes by a path in quotes, has a `consort::Batch<T, N>` or
    a `consort::spm::Messages`.

    How many blocks the step takes, only its types say.
    """
    unread = [header]
    seen: set[Path] = set()
    while unread:
        file = unread.pop()
        # The text of an include may be anything.
        if not is_file(file) or (place := file.resolve()) in seen:
            continue
        seen.add(place)
        written = read_bytes(place, LARGEST_MODEL, "header").decode("utf-8", "replace")
        text = COMMENT.sub(" ", written)
        if SEVERAL.search(text):
            return True
        unread += [place.parent / name for name in QUOTED_INCLUDE.findall(text)]
    return False
