# SPDX-License-Identifier: Apache-2.0
"""Figures and where they come from: a bare quantity, or one with the paper, the measurement or the bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Generic, Literal, Self, TypeVar, get_args

from pydantic import BeforeValidator, Discriminator, Field, Strict, Tag, model_serializer, model_validator
from pydantic_core import PydanticCustomError

from consort.model.base import CoreName, Described, MemoryName, Name, NonEmpty, ProcessorName
from consort.model.quantities import DataRate, Duration, Energy, Frequency, Size

Kind = Literal["published", "derived", "measured", "counted", "bound", "simulated", "assumed"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Q = TypeVar("Q")


@dataclass(frozen=True)
class Provenance:
    """A figure's origin: its kind, and the place it is read from."""

    kind: Kind
    source: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.source}"


def _source(meaning: str, example: str) -> Any:
    return Field(default=None, description=meaning, examples=[example])


class Sourced(Described):
    """A part that can state the source of its figures; at most one of the kinds."""

    # True if its whole numbers, such as a count of cores, are figures too.
    counts: ClassVar[bool] = True

    published: NonEmpty | None = _source(
        "Read from a paper or a data sheet: which, and where in it.", "spm-centric-os, Table IV"
    )
    derived: NonEmpty | None = _source(
        "Computed from published figures: from which, and how.", "low-latency-icc, Table I: the sum of both"
    )
    measured: NonEmpty | None = _source("Timed on hardware: the machine and the run.", "runs/servo-3, a72-1")
    counted: NonEmpty | None = _source(
        "Instructions or cycles of an emulator or a register-transfer simulator.", "qemu, 1 ns an instruction"
    )
    bound: NonEmpty | None = _source("Computed by an analysis: which.", "static WCET analysis")
    simulated: NonEmpty | None = _source("Produced by a simulator: which.", "consort simulate")
    assumed: NonEmpty | None = _source("Chosen, not known: why.", "a quarter of the period")

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        given = () if _SOURCES.isdisjoint(self.model_fields_set) else _given(self)
        if len(given) > 1:
            text = f"a figure has one source, here stand {' and '.join(given)}; keep one of them"
            raise PydanticCustomError("consort_value", "{text}", {"text": text})
        return self

    @property
    def provenance(self) -> Provenance | None:
        """The provenance of the figures, if it is stated here."""
        # Most figures have none of their own.
        if _SOURCES.isdisjoint(self.model_fields_set):
            return None
        return next((Provenance(kind, getattr(self, kind)) for kind in _given(self)), None)


_SOURCES = frozenset(KINDS)


def _given(part: Sourced) -> list[Kind]:
    return [kind for kind in KINDS if getattr(part, kind) is not None]


class Figure(Sourced, Generic[Q]):
    """A quantity and where it comes from."""

    tag: ClassVar[str] = "<figure>"
    value: Q = Field(description="The figure, with its unit.", examples=["432us"])

    @model_serializer(mode="wrap")
    def _shortest(self, handler: Any) -> Any:
        # Nothing but the value: written as a user would write it.
        return handler(self) if self.provenance is not None else str(self.value)

    def __str__(self) -> str:
        return str(self.value)


def _long_form(value: Any) -> Any:
    return value if isinstance(value, dict | Figure) else {"value": value}


DurationFigure = Annotated[
    Figure[Duration], BeforeValidator(_long_form, json_schema_input_type=Duration | Figure[Duration])
]
SizeFigure = Annotated[Figure[Size], BeforeValidator(_long_form, json_schema_input_type=Size | Figure[Size])]
RateFigure = Annotated[
    Figure[DataRate], BeforeValidator(_long_form, json_schema_input_type=DataRate | Figure[DataRate])
]
FrequencyFigure = Annotated[
    Figure[Frequency], BeforeValidator(_long_form, json_schema_input_type=Frequency | Figure[Frequency])
]
EnergyFigure = Annotated[
    Figure[Energy], BeforeValidator(_long_form, json_schema_input_type=Energy | Figure[Energy])
]


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


# include/consort/app/spacing.hpp keeps so many releases of a task.
MOST_DISTANCES = 256


def long_run(interval: int, distances: Sequence[int]) -> Fraction:
    """The time from one release to the next in the long run, at least."""
    return max([Fraction(interval), *(Fraction(least, steps) for steps, least in enumerate(distances, 1))])


def kept_without_jitter(interval: int, distances: Sequence[int]) -> tuple[int, ...]:
    """The distances of releases that are a minimum inter-arrival time apart, too."""
    return tuple(max(steps * interval, least) for steps, least in enumerate(distances, 1))


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
