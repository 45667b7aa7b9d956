# SPDX-License-Identifier: Apache-2.0
"""References to a function in a file beside the description: ``file::function``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from consort.base.errors import BadInput, closest
from consort.model.base import TextValue, WrongValue
from consort.model.document import Document, Location

if TYPE_CHECKING:
    from consort.model.description import System
    from consort.model.platform import Platform

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_QUALIFIED = rf"{_NAME}(?:::{_NAME})*"


@dataclass(frozen=True)
class StepReference(TextValue):
    """A C++ step function: its header, relative to the description, and its qualified name."""

    header: str
    function: str

    what = "step"
    pattern = rf"^[^:]+\.(?:h|hh|hpp|hxx)::{_QUALIFIED}$"
    description = (
        "The task's step: a header, relative to this file, and the qualified name of a function"
        " step(const In&, State&, Out&) in it."
    )
    examples = ("step.hpp::servo::step",)
    _shape: ClassVar[re.Pattern[str]] = re.compile(rf"([^:]+\.(?:h|hh|hpp|hxx))::({_QUALIFIED})")

    @classmethod
    def parse(cls, text: str) -> StepReference:
        shape = cls._shape.fullmatch(text)
        if shape is None:
            raise WrongValue(
                f"{text!r} is no step; write header::function, for example {cls.examples[0]}"
                " (header .h, .hh, .hpp or .hxx)"
            )
        return cls(shape.group(1), shape.group(2))

    def __str__(self) -> str:
        return f"{self.header}::{self.function}"


@dataclass(frozen=True)
class DriverReference(TextValue):
    """A C++ class of a driver: its header, relative to the description, and its qualified name."""

    header: str
    name: str

    what = "driver"
    pattern = StepReference.pattern
    description = "A driver: a header, relative to this file, and the qualified name of a class in it."
    examples = ("udp.hpp::Udp",)

    @classmethod
    def parse(cls, text: str) -> DriverReference:
        shape = StepReference._shape.fullmatch(text)
        if shape is None:
            raise WrongValue(
                f"{text!r} is no driver; write header::Class, for example {cls.examples[0]}"
                " (header .h, .hh, .hpp or .hxx)"
            )
        return cls(shape.group(1), shape.group(2))

    def __str__(self) -> str:
        return f"{self.header}::{self.name}"


@dataclass(frozen=True)
class PythonReference(TextValue):
    """A Python function: the module's file, relative to the description, and the function's name."""

    module: str
    function: str

    what = "Python function"
    pattern = rf"^[^:]+\.py::{_NAME}$"
    description = (
        "A Python function: a module's file, relative to this file, and the name of a function in it."
    )
    examples = ("golden.py::golden",)
    _shape: ClassVar[re.Pattern[str]] = re.compile(rf"([^:]+\.py)::({_NAME})")

    @classmethod
    def parse(cls, text: str) -> PythonReference:
        shape = cls._shape.fullmatch(text)
        if shape is None:
            raise WrongValue(
                f"{text!r} is no Python function; write file.py::function, for example {cls.examples[0]}"
            )
        return cls(shape.group(1), shape.group(2))

    def __str__(self) -> str:
        return f"{self.module}::{self.function}"


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
            raise WrongValue(f"{text!r} is no C++ type name; write for example {cls.examples[0]}")
        return cls(text)

    def __str__(self) -> str:
        return self.name


Problems = Iterator[BadInput]


@dataclass(frozen=True)
class View:
    """A document and the locations in it that are already known to be wrong."""

    document: Document
    wrong: set[Location]
    platform: Platform | None
    system: System | None = None
    """The valid part of the description; None if it is too small."""

    def written(self, *location: str | int) -> object:
        """The value at a location as it stands in the file."""
        return self.document.get(*location)

    def names(self, *location: str | int) -> list[str]:
        """The keys of a mapping, valid or not."""
        value = self.document.get(*location)
        return list(value) if isinstance(value, dict) else []

    def unknown(self, *location: str | int) -> list[str]:
        """Keys of a mapping that validation found wrong, such as misspelt ones."""
        return [key for key in self.names(*location) if (*location, key) in self.wrong]

    def tasks_missing(self, system: System) -> bool:
        """True if a task has an error: what no other task does may be its part."""
        return any(name not in system.tasks for name in self.names("tasks"))

    def misspelt(self, section: str) -> bool:
        """True if an unknown key of the description is probably a slip of a section."""
        sections = [] if self.system is None else list(type(self.system).model_fields)
        return any(closest(key, sections) == section for key in self.unknown())

    def bindings_wrong(self, task: str) -> bool:
        """True if a task's reads or writes have an error: what it reads and writes is not known."""
        return any(self.wrong_within("tasks", task, key) for key in ("reads", "writes"))

    def wrong_within(self, *location: str | int) -> bool:
        """True if there is an error at a location or inside it."""
        return location in self._above_wrong

    @cached_property
    def _above_wrong(self) -> set[Location]:
        """Every location with an error at it or inside it."""
        return {place[:length] for place in self.wrong for length in range(len(place) + 1)}

    def problem(self, location: Location, message: str, *, at_key: bool = False) -> BadInput:
        return self.document.problem(location, message, at_key=at_key)

    def say(self, location: Location, message: str, *, at_key: bool = False) -> Iterator[BadInput]:
        """The problem; none if its location is already known to be wrong."""
        parts = (location[:length] for length in range(1, len(location) + 1))
        if not self.wrong or not any(part in self.wrong for part in parts):
            yield self.problem(location, message, at_key=at_key)

    def beside(self, relative: str) -> Path:
        return self.document.file.parent / relative


def typed(rule: Callable[[View, System], Problems]) -> Callable[[View], Problems]:
    """A rule on the valid parts of a description: if they are too few, it says nothing."""

    def checked(view: View) -> Problems:
        if view.system is not None:
            yield from rule(view, view.system)

    return checked
