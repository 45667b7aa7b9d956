# SPDX-License-Identifier: Apache-2.0
"""Changes of mode in a description: docs/explanation/mode-changes.md."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, Strict

from consort.model.base import CoreName, Described, Name, NameOf, NonEmpty
from consort.model.quantities import Duration


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
