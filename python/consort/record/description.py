# SPDX-License-Identifier: Apache-2.0
"""A recording's description of the system that ran: its tasks, cores, channels and chains (manifest
`config`).

All times are those of the clock that the system ran on: with a time scale they are the stretched ones, but
for WCETs, since no execution is stretched.
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from consort.errors import BadInput

Nanoseconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Part(BaseModel):
    """Further keys are allowed: a target records what else it knows of its parts."""

    model_config = ConfigDict(extra="allow", frozen=True)


class CoreFacts(_Part):
    name: str
    cpu: int | None = None
    policy: str | None = None
    wait: str | None = None
    time_base: str | None = None


class TaskFacts(_Part):
    """A task as it ran. `period_ns` is None where nothing but an arrival releases it."""

    name: str
    core: str
    worker: str | None = None
    execution: str = "local"
    period_ns: Nanoseconds | None = None
    deadline_ns: Nanoseconds | None = None
    offset_ns: Nanoseconds = 0
    jitter_ns: Nanoseconds = 0
    rank: int | None = None
    on_miss: str | None = None
    communication: str = "implicit"
    step: str | None = None
    wcet_ns: Nanoseconds | None = None


class ChannelFacts(_Part):
    name: str
    implementation: str = ""
    writer: str | None = None
    readers: tuple[str, ...] = ()
    communication: str = "implicit"
    link: str | None = None
    """That carries its blocks."""


class ChainFacts(_Part):
    """`path` names tasks; devices and channels between them may stand in it, too. None: nothing required."""

    name: str
    path: tuple[str, ...]
    communication: str | None = None
    reaction_ns: Nanoseconds | None = None
    age_ns: Nanoseconds | None = None


class Described(_Part):
    """The system of one configuration of a run."""

    target: str = ""
    configuration: str = ""
    time_scale: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1
    duration_ns: Nanoseconds | None = None
    cores: tuple[CoreFacts, ...] = ()
    links: tuple[str, ...] = ()
    tasks: Annotated[tuple[TaskFacts, ...], Field(min_length=1)]
    channels: tuple[ChannelFacts, ...] = ()
    chains: tuple[ChainFacts, ...] = ()
    stays: tuple[tuple[int, int], ...] = ()
    """Where the recording is of one mode of several: when [ticks] each stay in it began and ended."""

    @property
    def task_names(self) -> list[str]:
        return [task.name for task in self.tasks]

    @property
    def core_names(self) -> list[str]:
        return [core.name for core in self.cores]

    @property
    def channel_names(self) -> list[str]:
        return [channel.name for channel in self.channels]

    def task(self, name: str) -> TaskFacts:
        return next(task for task in self.tasks if task.name == name)


def described(config: Any, *, file: object = None) -> Described | None:
    """The system that a manifest's `config` describes; None for recordings of programs without tasks.

    `BadInput` names the key that is wrong.
    """
    if not isinstance(config, dict) or not {"tasks", "cores"} <= config.keys():
        return None
    try:
        found = Described.model_validate(config)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(["config", *(str(part) for part in first["loc"])])
        raise BadInput(first["msg"], file=str(file) if file else None, field=where) from None
    for what, names in (
        ("tasks", found.task_names),
        ("cores", found.core_names),
        ("channels", found.channel_names),
    ):
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise BadInput(
                f"{', '.join(sorted(twice))} is listed twice", file=str(file) if file else None, field=what
            )
    return found
