# SPDX-License-Identifier: Apache-2.0
"""The system description: what ``system.yaml`` may say.

A new part of a description is a new model here, with its cross-field rules in `consort.model.rules`; nothing
that reads a description today needs to change for it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import Discriminator, Field, PlainValidator, PrivateAttr, Strict, Tag
from pydantic_core import PydanticCustomError

from consort.model.base import Described, Member, Name, NonEmpty, Version
from consort.model.platform import Platform
from consort.model.quantities import Duration, Frequency, Tolerance
from consort.model.references import CppName, PythonReference, StepReference
from consort.model.textvalue import kind_of

Execution = Literal["local", "offloaded"]
OnMiss = Literal["hold-last-output", "local-fallback", "stop"]
TimeUnit = Literal["ps", "ns", "us", "ms", "s"]
Interpolation = Literal["linear", "cubic"]
TimeBase = Literal["spin", "sleep", "hybrid"]
Interference = Literal["stream", "loopback-copy", "stress-ng"]
Configuration = Literal["local-off", "local-on", "offloaded-off", "offloaded-on"]
CONFIGURATIONS: tuple[Configuration, ...] = get_args(Configuration)


def _scalar(value: Any) -> str | bool | int | float:
    if isinstance(value, str | bool | int | float):
        return value
    text = f"{kind_of(value)} stands here; a text, a number, true or false is needed"
    raise PydanticCustomError("consort_value", "{text}", {"text": text})


Scalar = Annotated[
    str | bool | int | float, PlainValidator(_scalar, json_schema_input_type=str | bool | float)
]


class Types(Described):
    """The C++ types of a step's parameters, where they are not to be read from its signature."""

    # `in` is a Python keyword.
    in_: CppName = Field(alias="in", description="The inputs' type.", examples=["servo::In"])
    state: CppName = Field(description="The state's type.", examples=["servo::State"])
    out: CppName = Field(description="The outputs' type.", examples=["servo::Out"])


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


class Task(Described):
    """A task: a step over plain data, released periodically."""

    step: StepReference
    types: Types | None = Field(
        default=None, description="The step's types; without it they are read from its signature."
    )
    period: Duration
    # Depends on the period, which a failed validation may lack: pydantic then leaves the factory uncalled.
    deadline: Duration = Field(
        default_factory=lambda data: data["period"],
        description="Relative to the release, at most the period; without it the period.",
    )
    on: Name = Field(description="The core that computes the step.", examples=["worker-0"])
    execution: Execution = Field(
        default="local",
        description="local: released and computed on one core. offloaded: released by the master, which sends"
        " the inputs to the core under 'on' and awaits its outputs.",
    )
    master: Name | None = Field(
        default=None,
        description="The core that releases the jobs of an offloaded task.",
        examples=["master-0"],
    )
    on_miss: OnMiss = Field(
        default="hold-last-output",
        description="What becomes of a job whose output is not there at its deadline: the last output holds,"
        " the master computes it itself, or the run stops.",
    )
    restart_worker: bool = Field(default=False, description="Whether a worker that died is started again.")
    input: Input = Field(description="Where the inputs come from.", examples=["{file: data/servo.csv, …}"])
    golden: Golden | None = Field(default=None, description="The outputs that a run must produce.")

    @property
    def released_by(self) -> str:
        """The core that owns the task's time."""
        return self.master if self.master is not None else self.on


class Channel(Described):
    """How the inputs or outputs of an offloaded task travel."""

    kind: Literal["periodic"] = Field(
        default="periodic", description="periodic: a mailbox, one block a job.", examples=["periodic"]
    )
    memory: Name = Field(
        default="shm", description="The memory of the platform that holds the channel.", examples=["shm"]
    )


class Run(Described):
    """How ``consort run`` runs the system."""

    iterations: Annotated[int, Field(ge=1, le=2**32 - 1)] = Field(
        default=100_000, description="Jobs of each task in each configuration."
    )
    time_base: TimeBase = Field(
        default="hybrid",
        description="How the master awaits a release: spinning on the clock, sleeping on a timer, or sleeping"
        " and spinning the last stretch.",
    )
    interference: Annotated[tuple[Interference, ...], Strict(False)] = Field(
        default=(), description="What else keeps the machine busy in the configurations that end in -on."
    )
    configurations: Annotated[tuple[Configuration, ...], Strict(False)] | None = Field(
        default=None,
        description="Which to run, one after another: execution (local computes offloaded tasks on their"
        " master),"
        " then interference off or on. Without it all that the description makes possible.",
    )
    cpus: dict[Name, Annotated[int, Field(ge=0)]] = Field(
        default={}, description="CPU numbers of the host for cores of the platform; the others are chosen."
    )


class System(Described):
    """A whole description: platform, tasks, channels, and how to run them."""

    consort: Version = Field(description="Version of the description's form.", examples=["1"])
    platform: NonEmpty = Field(
        description="A platform of Consort's own, by name, or a platform file, by a path that ends in .yaml.",
        examples=["linux-host"],
    )
    tasks: Annotated[dict[Name, Task], Field(min_length=1)] = Field(
        description="The tasks, by name.", examples=["{servo: {step: …}}"]
    )
    channels: dict[str, Channel] = Field(
        default={},
        description="Channels <task>.in and <task>.out of offloaded tasks; unnamed ones are mailboxes in"
        " shm.",
    )
    run: Run = Field(default_factory=Run, description="How the system is run.")

    _file: Path | None = PrivateAttr(default=None)
    _platform: Platform | None = PrivateAttr(default=None)

    @property
    def file(self) -> Path:
        """The file the description was read from."""
        assert self._file is not None, "only a system read by load_system has a file"
        return self._file

    @property
    def platform_description(self) -> Platform:
        assert self._platform is not None, "only a system read by load_system has a platform"
        return self._platform

    def path(self, relative: str) -> Path:
        """A file that the description names, which is relative to the description."""
        return self.file.parent / relative

    def cores(self) -> list[str]:
        """The cores that the system uses: masters and cores of local tasks first, then workers."""
        masters = dict.fromkeys(task.released_by for task in self.tasks.values())
        return list(masters | dict.fromkeys(task.on for task in self.tasks.values()))

    def workers(self) -> list[str]:
        """The cores that compute for a master."""
        return list(dict.fromkeys(t.on for t in self.tasks.values() if t.execution == "offloaded"))

    def channel(self, name: str) -> Channel:
        """A channel, as described or as it is without a description."""
        return self.channels.get(name, Channel())

    def configurations(self) -> tuple[Configuration, ...]:
        """The configurations to run, in order."""
        if self.run.configurations is not None:
            return self.run.configurations
        return tuple(
            name
            for name in CONFIGURATIONS
            if (self.workers() or name.startswith("local"))
            and (self.run.interference or name.endswith("off"))
        )

    def to_json(self) -> dict[str, Any]:
        """The description with every default filled in; it is itself a valid description."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)
