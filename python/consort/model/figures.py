# SPDX-License-Identifier: Apache-2.0
"""Figures and where they come from: a bare quantity, or one with the paper, the measurement or the bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Generic, Literal, Self, TypeVar, get_args

from pydantic import BeforeValidator, Field, model_serializer, model_validator
from pydantic_core import PydanticCustomError

from consort.model.base import Described, NonEmpty
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
