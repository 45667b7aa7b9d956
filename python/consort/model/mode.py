# SPDX-License-Identifier: Apache-2.0
"""Modes: which tasks are active, and what differs of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, Strict

from consort.model.base import CoreName, Described, Name, NameOf, NonEmpty
from consort.model.channel import (
    Configuration,
    Execution,
    Interference,
    Names,
    TimeBase,
)
from consort.model.document import Location
from consort.model.figures import Time
from consort.model.quantities import Duration
from consort.model.task import AUTO, Jitter


class Override(Described):
    """Changes to a task in a mode."""

    period: Duration | None = Field(default=None, description="As in the task.")
    min_interarrival: Duration | None = Field(default=None, description="As in the task.")
    deadline: Duration | None = Field(default=None, description="As in the task.")
    offset: Duration | None = Field(default=None, description="As in the task.")
    jitter: Jitter | None = Field(default=None, description="As in the task.")
    priority: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)] | None = Field(
        default=None, description="As in the task."
    )
    preemption_threshold: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)] | None = Field(
        default=None, description="As in the task."
    )
    wcet: Time | None = Field(default=None, description="As in the task.")
    bcet: Time | None = Field(default=None, description="As in the task.")
    on: CoreName | None = Field(default=None, description="As in the task.")
    execution: Execution | None = Field(default=None, description="As in the task.")
    master: CoreName | None = Field(default=None, description="As in the task.")

    @property
    def changed(self) -> dict[str, Any]:
        """The keys that differ, with their values as a description has them."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class Mode(Described):
    """A mode of the system: some of its tasks, or tasks that differ."""

    tasks: Names | None = Field(
        default=None, description="The tasks that are active; without it all.", examples=["[servo]"]
    )
    overrides: dict[Name, Override] = Field(
        default={}, description="Keys that differ, by task.", examples=["{servo: {period: 100us}}"]
    )


def place_in(mode: str, overrides: Mapping[str, Override], location: Location) -> Location:
    """The place of a part of a description in a mode: what the mode changes of a task stands there."""
    if location[0] != "tasks" or len(location) < 3:
        return location
    override = overrides.get(str(location[1]))
    changed = override is not None and location[2] in override.model_fields_set
    return ("modes", mode, "overrides", *location[1:]) if changed else location


class ModeRequest(Described):
    """A change of mode that is asked for at a known instant."""

    at: Duration = Field(description="When, from the beginning of the run.", examples=["1s"])
    to: Name = Field(description="The mode that is to follow.", examples=["cruise"])


class ModeAsker(Described):
    """A task whose output names the mode that is to follow."""

    task: Name = Field(description="The task.", examples=["pilot"])
    member: NonEmpty = Field(description="A whole number in its outputs.", examples=["wanted"])
    modes: Annotated[tuple[Name, ...], Strict(False)] = Field(
        description="The modes that its values ask for: 1 the first of them, 2 the second. Any other value"
        " asks for nothing.",
        min_length=1,
        max_length=1000,
        examples=["[take-off, cruise]"],
    )


class FailOver(Described):
    """A core whose death is a request for another mode."""

    core: CoreName = Field(description="The core.", examples=["x86-0"])
    to: Name = Field(description="The mode that follows its death; nothing of it is on that core.")


class ModeChanges(Described):
    """Changes of the system from mode to mode while it runs."""

    start: Name = Field(description="The mode in which it begins.", examples=["take-off"])
    agreement: Duration = Field(
        description="From the instant at which the old mode's jobs have all ended to the new mode's first"
        " releases: the time in which every core takes up its new plan.",
        examples=["50us"],
    )
    within: Duration | None = Field(
        default=None,
        description="The longest that a change may take, from the request to the new mode's first releases.",
        examples=["20ms"],
    )
    state_through: Annotated[NonEmpty, NameOf("memory")] | None = Field(
        default=None,
        description="The memory through which the state of a task passes that is computed by different cores"
        " in different modes.",
        examples=["ddr"],
    )
    fail_over: Annotated[tuple[FailOver, ...], Strict(False)] | None = Field(
        default=None,
        description="Cores whose death asks for a mode, in which others go on with their tasks from the last"
        " checkpoints.",
        min_length=1,
        examples=["[{core: x86-0, to: limp-home}]"],
    )
    detection: Duration | None = Field(
        default=None,
        description="From the last sign of life of a core that 'fail_over' names until it is known to be"
        " dead and has been stopped for good.",
        examples=["40ms"],
    )
    asked_by: Annotated[tuple[ModeAsker, ...], Strict(False)] | None = Field(
        default=None,
        description="Tasks that ask for changes by their outputs, when a job ends.",
        min_length=1,
        examples=["[{task: pilot, member: wanted, modes: [take-off, cruise]}]"],
    )
    requests: Annotated[tuple[ModeRequest, ...], Strict(False)] | None = Field(
        default=None,
        description="The changes that are asked for at known instants, in order.",
        min_length=1,
        max_length=1000,
        examples=["[{at: 1s, to: cruise}]"],
    )

    @property
    def timed(self) -> tuple[ModeRequest, ...]:
        """The changes that are asked for at known instants."""
        return self.requests or ()

    @property
    def askers(self) -> tuple[ModeAsker, ...]:
        return self.asked_by or ()

    @property
    def fail_overs(self) -> tuple[FailOver, ...]:
        return self.fail_over or ()

    def entered(self) -> list[str]:
        """The modes that the system can be in, each once."""
        asked = (mode for asker in self.askers for mode in asker.modes)
        after = (one.to for one in self.fail_overs)
        named = [self.start, *(request.to for request in self.timed), *asked, *after]
        return list(dict.fromkeys(named))


# A task has one of them.
INTERVALS = frozenset({"period", "min_interarrival"})
# Keys of a task whose master sends its inputs to a worker, and of no other.
OFFLOADED_ONLY = frozenset({"master", "dispatch", "restart_worker", "on_miss"})


def overridden(task: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """A task with the changes of a mode; keys that the changes make meaningless go."""
    gone: frozenset[str] = frozenset()
    if INTERVALS & changes.keys():
        gone |= INTERVALS
    if "min_interarrival" in changes:
        gone |= {"offset"}
    if "period" in changes:
        gone |= {"arrival"}
        if task.get("jitter") == AUTO:
            gone |= {"jitter"}
    if changes.get("execution") in ("offloaded", "three-phase"):
        gone |= {"preemption_threshold"}
    if changes.get("execution") in ("local", "three-phase"):
        gone |= OFFLOADED_ONLY
    return {**{key: value for key, value in task.items() if key not in gone}, **changes}


def offloaded_anywhere(task: str, data: Mapping[str, Any]) -> bool:
    """True if a task of a description, as plain data, is offloaded: as it stands, or in one of the modes."""
    overrides = (mode.get("overrides", {}).get(task, {}) for mode in data.get("modes", {}).values())
    entries = (data["tasks"].get(task, {}), *overrides)
    return any(entry.get("execution") == "offloaded" for entry in entries)


class Run(Described):
    """Settings of ``consort run`` for the system."""

    iterations: Annotated[int, Field(ge=1, le=2**32 - 1)] = Field(
        default=100_000,
        description="How long each configuration releases jobs: so many periods of the first task.",
    )
    time_base: TimeBase = Field(
        default="hybrid",
        description="How a core awaits a release: spinning on the clock, sleeping on a timer, or sleeping"
        " and spinning the last stretch. One of several tasks sleeps.",
    )
    interference: Annotated[tuple[Interference, ...], Strict(False)] = Field(
        default=(), description="Loads that keep the machine busy in the configurations that end in -on."
    )
    configurations: Annotated[tuple[Configuration, ...], Strict(False)] | None = Field(
        default=None,
        description="Which to run, one after another: execution (local computes offloaded tasks on their"
        " master),"
        " then interference off or on. Without it all that the description makes possible.",
    )
    seed: Annotated[int, Field(ge=0, le=2**64 - 1)] = Field(
        default=1,
        description="The seed of all random choices: jitter, sporadic releases, stand-ins' execution times.",
    )
    cpus: dict[CoreName, Annotated[int, Field(ge=0)]] = Field(
        default={}, description="CPU numbers of the host for cores of the platform; the others are chosen."
    )


class Target(Described):
    """A platform that the system can be laid on."""

    platform: NonEmpty | None = Field(
        default=None,
        description="As the description's own platform; without it the one of the target's name.",
        examples=["linux-host"],
    )
    cores: dict[Name, Name] = Field(
        default={},
        description="For each core that the description names, the target's core; a core without an entry"
        " keeps its name. Several may come to one core.",
        examples=["{small-0: master-0, large-0: worker-0}"],
    )
    memories: dict[Name, Name] = Field(
        default={},
        description="For each memory or link that the description names, the target's; likewise.",
        examples=["{sram: shm}"],
    )
