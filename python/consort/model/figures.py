# SPDX-License-Identifier: Apache-2.0
"""Figures and where they come from: a bare quantity, or one with the paper, the measurement or the bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Annotated, Any, ClassVar, Generic, Literal, Self, TypeVar, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

from consort.model.base import Described, NonEmpty, ProcessorName
from consort.model.document import Location
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
    if _is_by_execution(cost.__class__):
        cost = getattr(cost, execution.replace("-", "_"))
    return cost if _is_figure(cost.__class__) else None


# To ask a type once is far quicker than `isinstance` of each value, which asks pydantic's metaclass.
@cache
def _is_by_execution(kind: type) -> bool:
    return issubclass(kind, TimeByExecution | EnergyByExecution)


@cache
def _is_figure(kind: type) -> bool:
    return issubclass(kind, Figure)


def figures_of(cost: Any, place: Location) -> Iterator[tuple[Location, Figure[Any]]]:
    """Every figure that a `Time` or `JobEnergy` at a place has, and where it stands."""
    if isinstance(cost, Figure):
        yield place, cost
    elif isinstance(cost, dict):
        for processor, one in cost.items():
            yield from figures_of(one, (*place, processor))
    elif isinstance(cost, TimeByExecution | EnergyByExecution):
        for execution in MODES:
            yield from figures_of(getattr(cost, execution.replace("-", "_")), (*place, execution))


# include/consort/app/spacing.hpp keeps so many releases of a task.
MOST_DISTANCES = 256


def long_run(interval: int, distances: Sequence[int]) -> Fraction:
    """The time from one release to the next in the long run, at least."""
    return max([Fraction(interval), *(Fraction(least, steps) for steps, least in enumerate(distances, 1))])


def kept_without_jitter(interval: int, distances: Sequence[int]) -> tuple[int, ...]:
    """The distances of releases that are a minimum inter-arrival time apart, too."""
    return tuple(max(steps * interval, least) for steps, least in enumerate(distances, 1))


def figures_in(part: object) -> Iterator[tuple[str, object, Provenance | None]]:
    """Every figure in a part of a model; a figure without a source of its own has that of what it lies in."""
    for place, inside, source in sourced_in(part):
        if isinstance(inside, Figure):
            yield place, inside.value, source
        elif inside.counts:
            # Counts of parts that state a source are figures too.
            for name, key in _counts_of(type(inside)):
                count = getattr(inside, name)
                if isinstance(count, int) and name in inside.model_fields_set:
                    yield _joined(place, key), count, source


def sourced_in(part: object) -> list[tuple[str, Sourced, Provenance | None]]:
    """Every part of a part of a model that can state a source, itself first: its place, it, and the source
    that it states or that the innermost part around it does."""
    found: list[tuple[str, Sourced, Provenance | None]] = []

    def take(inside: object, place: str, source: Provenance | None) -> None:
        kind: Any = type(inside)
        if _is_sourced(kind):
            assert isinstance(inside, Sourced)
            source = inside.provenance or source
            found.append((place, inside, source))
        if isinstance(inside, dict):
            for key, value in inside.items():
                take(value, _joined(place, key), source)
        else:
            for name, key in _parts_of(kind):
                if value := getattr(inside, name):
                    take(value, _joined(place, key), source)

    take(part, "", None)
    return found


def _joined(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key


@cache
def _is_sourced(kind: type) -> bool:
    return issubclass(kind, Sourced)


@cache
def _parts_of(kind: type) -> tuple[tuple[str, str], ...]:
    """The fields of a part of a model that can have parts with sources, and how a description spells them."""
    if issubclass(kind, Figure) or not issubclass(kind, BaseModel):
        return ()
    fields = kind.model_fields.items()
    return tuple(
        (name, field.alias or name) for name, field in fields if _has_source(field.annotation, set())
    )


@cache
def _counts_of(kind: type[BaseModel]) -> tuple[tuple[str, str], ...]:
    """The fields of a part of a model that are whole numbers, and how a description spells them."""
    fields = kind.model_fields.items()
    return tuple((name, field.alias or name) for name, field in fields if _is_whole(field.annotation))


def _is_whole(annotation: Any) -> bool:
    if isinstance(annotation, type):
        return issubclass(annotation, int) and annotation is not bool
    return any(_is_whole(one) for one in get_args(annotation))


def _has_source(annotation: Any, seen: set[Any]) -> bool:
    """Says whether a value of that type can be a part with a source, or have one in it."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if issubclass(annotation, Sourced):
            return True
        if annotation in seen:
            return False
        seen.add(annotation)
        return any(_has_source(field.annotation, seen) for field in annotation.model_fields.values())
    return any(_has_source(one, seen) for one in get_args(annotation))
