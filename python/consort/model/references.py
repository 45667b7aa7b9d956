# SPDX-License-Identifier: Apache-2.0
"""References to a function in a file beside the description: ``file::function``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from consort.model.base import TextValue, WrongValue

if TYPE_CHECKING:
    pass

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
