# SPDX-License-Identifier: Apache-2.0
"""References to what lies beside a description, and the sources and sinks of data: inputs, golden outputs,
devices."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Discriminator, Field, PlainSerializer, PlainValidator, Tag
from pydantic_core import PydanticCustomError

from consort.model.base import Described, Member, NonEmpty, TextValue, WrongValue, an, kind_of
from consort.model.platform import Device
from consort.model.quantities import Duration, Frequency, Tolerance

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_QUALIFIED = rf"{_NAME}(?:::{_NAME})*"


@dataclass(frozen=True)
class Reference(TextValue):
    """What a file has of a name: the file, relative to the description, and the name."""

    file: str
    name: str

    # How it is written, in an error message, and what it must be besides.
    written: ClassVar[str]
    condition: ClassVar[str] = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        shape = re.fullmatch(cls.pattern, text)
        if shape is None:
            raise WrongValue(
                f"{text!r} is not {an(cls.what)}; write {cls.written}, for example {cls.examples[0]}"
                f"{cls.condition}"
            )
        return cls(*text.split("::", 1))

    def __str__(self) -> str:
        return f"{self.file}::{self.name}"


@dataclass(frozen=True)
class StepReference(Reference):
    """A C++ step function: its header and its qualified name."""

    what = "step"
    written = "header::function"
    condition = " (header .h, .hh, .hpp or .hxx)"
    pattern = rf"^[^:]+\.(?:h|hh|hpp|hxx)::{_QUALIFIED}$"
    description = (
        "The task's step: a header, relative to this file, and the qualified name of a function"
        " step(const In&, State&, Out&) in it."
    )
    examples = ("step.hpp::servo::step",)


@dataclass(frozen=True)
class DriverReference(Reference):
    """A C++ class of a driver: its header and its qualified name."""

    what = "driver"
    written = "header::Class"
    condition = StepReference.condition
    pattern = StepReference.pattern
    description = "A driver: a header, relative to this file, and the qualified name of a class in it."
    examples = ("udp.hpp::Udp",)


@dataclass(frozen=True)
class PythonReference(Reference):
    """A Python function: its module's file and its name."""

    what = "Python function"
    written = "file.py::function"
    pattern = rf"^[^:]+\.py::{_NAME}$"
    description = (
        "A Python function: a module's file, relative to this file, and the name of a function in it."
    )
    examples = ("golden.py::golden",)


@dataclass(frozen=True)
class CppName(TextValue):
    """A qualified C++ name."""

    name: str

    what = "C++ type name"
    pattern = rf"^{_QUALIFIED}$"
    description = "A qualified C++ type name."
    examples = ("servo::In",)

    @classmethod
    def parse(cls, text: str) -> CppName:
        if not re.fullmatch(_QUALIFIED, text):
            raise WrongValue(f"{text!r} is not a C++ type name; write for example {cls.examples[0]}")
        return cls(text)

    def __str__(self) -> str:
        return self.name


TimeUnit = Literal["ps", "ns", "us", "ms", "s"]
Interpolation = Literal["linear", "cubic"]
# The forms of a device, one of them; without any it is only described.
DEVICE_FORMS = ("recording", "function", "plant", "driver", "sink")
# Which way data goes: from the device, to it, or both.
READ_FORMS = frozenset({"recording", "function", "plant", "driver"})
WRITTEN_FORMS = frozenset({"plant", "driver", "sink"})


def _scalar(value: Any) -> str | bool | int | float:
    if isinstance(value, str | bool | int | float):
        return value
    text = f"{kind_of(value)} stands here; a text, a number, true or false is needed"
    raise PydanticCustomError("consort_value", "{text}", {"text": text})


Scalar = Annotated[
    str | bool | int | float, PlainValidator(_scalar, json_schema_input_type=str | bool | float)
]


class Column(Described):
    """A column of a CSV file, brought to the member's unit: value * scale + offset."""

    tag: ClassVar[str] = "<column>"
    column: NonEmpty = Field(
        description="The column's name in the first line of the file.", examples=["position"]
    )
    scale: Annotated[float, Field(allow_inf_nan=False)] = Field(default=1.0, description="Factor.")
    offset: Annotated[float, Field(allow_inf_nan=False)] = Field(
        default=0.0, description="Added after the factor."
    )


def _column_tag(value: Any) -> str:
    return Column.tag if isinstance(value, dict | Column) else "<name>"


ColumnOrName = Annotated[
    Annotated[NonEmpty, Tag("<name>")] | Annotated[Column, Tag(Column.tag)], Discriminator(_column_tag)
]


class FileInput(Described):
    """Inputs read from a CSV file and resampled. At its end the input begins again, with the state reset."""

    tag: ClassVar[str] = "<file>"
    file: NonEmpty = Field(description="The CSV file, relative to this file.", examples=["data/servo.csv"])
    time: NonEmpty = Field(description="The column that holds the time of each row.", examples=["time"])
    time_unit: TimeUnit = Field(description="The unit of the time column.", examples=["ns"])
    columns: Annotated[dict[Member, ColumnOrName], Field(min_length=1)] = Field(
        description="For each member of the input type the column it is read from.",
        examples=["{position: position}"],
    )
    rate: Frequency | None = Field(
        default=None, description="Rate to resample to; without it one row for each period of the task."
    )
    interpolation: Interpolation = Field(
        default="linear", description="Between the rows of the file: straight lines, or a cubic spline."
    )

    def column(self, member: str) -> Column:
        """A member's column in its long form."""
        value = self.columns[member]
        return value if isinstance(value, Column) else Column(column=value)


class FunctionInput(Described):
    """Inputs made by a Python function, which returns a NumPy structured array of the input type."""

    tag: ClassVar[str] = "<function>"
    function: PythonReference = Field(
        description="The function, called as function(dtype, **arguments).", examples=["inputs.py::inputs"]
    )
    arguments: dict[Member, Scalar] = Field(default={}, description="Keyword arguments of the function.")


def _input_tag(value: Any) -> str:
    if isinstance(value, FunctionInput):
        return FunctionInput.tag
    if isinstance(value, dict) and "function" in value and "file" not in value:
        return FunctionInput.tag
    return FileInput.tag


Input = Annotated[
    Annotated[FileInput, Tag(FileInput.tag)] | Annotated[FunctionInput, Tag(FunctionInput.tag)],
    Discriminator(_input_tag),
]


class Golden(Described):
    """The outputs that a run must produce."""

    function: PythonReference = Field(
        description="A Python function, called as function(inputs, **arguments) with a NumPy structured"
        " array of"
        " the inputs. It returns one of the outputs, row for row from the reset state, or a mapping that"
        " holds it"
        " under 'expected'.",
        examples=["golden.py::golden"],
    )
    arguments: dict[Member, Scalar] = Field(default={}, description="Keyword arguments of the function.")
    tolerance: dict[Member, Tolerance] = Field(
        default={},
        description="For each member of the output type how far it may lie off; without it not at all.",
    )


def _sink(value: Any) -> PythonReference | Literal["record"]:
    if value == "record":
        return "record"
    try:
        return PythonReference.from_yaml(value)
    except WrongValue as error:
        text = f"{error}; or record"
        raise PydanticCustomError("consort_value", "{text}", {"text": text}) from None


Sink = Annotated[
    PythonReference | Literal["record"],
    PlainValidator(_sink, json_schema_input_type=PythonReference | Literal["record"]),
    PlainSerializer(str, return_type=str),
]


class SystemDevice(Device):
    """A device of the system: only described, or one that a run has."""

    recording: FileInput | None = Field(
        default=None,
        description="A recording that is replayed: a block for each job that reads it.",
        examples=["{file: data/arm.csv, …}"],
    )
    function: PythonReference | None = Field(
        default=None,
        description="A Python function that makes the blocks before the run, called as function(dtype,"
        " **arguments); it returns a NumPy structured array, a row for each job that reads the device.",
        examples=["inputs.py::inputs"],
    )
    arguments: dict[Member, Scalar] = Field(
        default={}, description="Keyword arguments of the device's function."
    )
    plant: StepReference | None = Field(
        default=None,
        description="A step that plays what is controlled: advanced in logical time, once a period. One task"
        " reads its outputs and writes its inputs.",
        examples=["arm.hpp::arm::step"],
    )
    period: Duration | None = Field(
        default=None, description="For a plant: the logical time of one step.", examples=["50us"]
    )
    driver: DriverReference | None = Field(
        default=None,
        description="A C++ class with bool read(T&) or void write(const T&), or both; neither may block.",
        examples=["udp.hpp::Udp"],
    )
    sink: Sink | None = Field(
        default=None,
        description="record: what is written to the device goes into the run's record. Or a Python function"
        " that gets it when the run is over, called as function(task, blocks) with a NumPy structured array:"
        " 'seq', the job's number, and what the job wrote. It returns None, or a text that says what is"
        " wrong.",
        examples=["record", "checks.py::commands"],
    )

    @property
    def form(self) -> str | None:
        """The one of `DEVICE_FORMS` that the device has; None for one that is only described."""
        return next((form for form in DEVICE_FORMS if getattr(self, form) is not None), None)
