# SPDX-License-Identifier: Apache-2.0
"""Modes: which tasks are active, and what differs of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from consort.model.base import CoreName, Described, Name
from consort.model.channel import Names
from consort.model.costs import Time
from consort.model.document import Location
from consort.model.kinds import (
    Execution,
)
from consort.model.quantities import Duration


class Override(Described):
    """Changes to a task in a mode."""

    period: Duration | None = Field(default=None, description="As in the task.")
    min_interarrival: Duration | None = Field(default=None, description="As in the task.")
    deadline: Duration | None = Field(default=None, description="As in the task.")
    offset: Duration | None = Field(default=None, description="As in the task.")
    jitter: Duration | None = Field(default=None, description="As in the task.")
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
