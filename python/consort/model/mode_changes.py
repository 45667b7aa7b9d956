# SPDX-License-Identifier: Apache-2.0
"""Changes of mode in a description: docs/explanation/mode-changes.md."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, Strict

from consort.model.base import Described, Name, NonEmpty
from consort.model.quantities import Duration


class ModeRequest(Described):
    """A change of mode that is asked for at a known instant."""

    at: Duration = Field(description="When, from the beginning of the run.", examples=["1s"])
    to: Name = Field(description="The mode that is to follow.", examples=["cruise"])


class ModeChanges(Described):
    """How the system goes from mode to mode while it runs."""

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
    state_through: NonEmpty | None = Field(
        default=None,
        description="The memory through which the state of a task passes that is computed by different cores"
        " in different modes.",
        examples=["ddr"],
    )
    requests: Annotated[tuple[ModeRequest, ...], Strict(False)] = Field(
        description="The changes that are asked for, in order.",
        min_length=1,
        max_length=1000,
        examples=["[{at: 1s, to: cruise}]"],
    )

    def entered(self) -> list[str]:
        """The modes that the system can be in, each once."""
        return list(dict.fromkeys([self.start, *(request.to for request in self.requests)]))
