# SPDX-License-Identifier: Apache-2.0
"""A job's cost: one figure, or one for each kind of processor, or for each way of executing on it."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Discriminator, Field, Tag

from consort.model.base import Described, ProcessorName
from consort.model.figures import DurationFigure, EnergyFigure, Figure

# Keys that tell the forms of a cost apart: no processor may be named like one.
MODES = ("local", "offloaded", "three-phase")
RESERVED = ("value", *MODES)


class TimeByExecution(Described):
    """Execution times on one kind of processor, by the way of executing."""

    tag: ClassVar[str] = "<execution>"
    local: DurationFigure | None = Field(default=None, description="Run where it is released.")
    offloaded: DurationFigure | None = Field(default=None, description="Computed for a master.")
    three_phase: DurationFigure | None = Field(
        default=None, alias="three-phase", description="Out of the scratchpad, without load and unload."
    )


class EnergyByExecution(Described):
    """Energies of a job on one kind of processor, by the way of executing."""

    tag: ClassVar[str] = "<execution>"
    local: EnergyFigure | None = Field(default=None, description="Run where it is released.")
    offloaded: EnergyFigure | None = Field(default=None, description="Computed for a master.")
    three_phase: EnergyFigure | None = Field(
        default=None, alias="three-phase", description="Out of the scratchpad, load and unload included."
    )


def _form(value: Any) -> str:
    """A cost's outermost form. A mapping that fits none is looked at as figures by processor."""
    if isinstance(value, dict):
        return "<figure>" if "value" in value else "<processors>"
    return "<figure>"


def _form_on_processor(value: Any) -> str:
    if isinstance(value, TimeByExecution | EnergyByExecution):
        return "<execution>"
    if isinstance(value, dict) and "value" not in value:
        return "<execution>"
    return "<figure>"


TimeOnProcessor = Annotated[
    Annotated[DurationFigure, Tag("<figure>")] | Annotated[TimeByExecution, Tag("<execution>")],
    Discriminator(_form_on_processor),
]
EnergyOnProcessor = Annotated[
    Annotated[EnergyFigure, Tag("<figure>")] | Annotated[EnergyByExecution, Tag("<execution>")],
    Discriminator(_form_on_processor),
]
Time = Annotated[
    Annotated[DurationFigure, Tag("<figure>")]
    | Annotated[
        Annotated[dict[ProcessorName, TimeOnProcessor], Field(min_length=1)],
        Tag("<processors>"),
    ],
    Discriminator(_form),
]
JobEnergy = Annotated[
    Annotated[EnergyFigure, Tag("<figure>")]
    | Annotated[
        Annotated[dict[ProcessorName, EnergyOnProcessor], Field(min_length=1)],
        Tag("<processors>"),
    ],
    Discriminator(_form),
]

# As a task has it.
Cost = Figure[Any] | dict[str, Any] | None


def cost_on(cost: Any, processor: str, execution: str) -> Figure[Any] | None:
    """The figure that a `Time` or `JobEnergy` has for a kind of processor and a way of executing."""
    if isinstance(cost, dict):
        cost = cost.get(processor)
    if isinstance(cost, TimeByExecution | EnergyByExecution):
        cost = getattr(cost, execution.replace("-", "_"))
    return cost if isinstance(cost, Figure) else None
