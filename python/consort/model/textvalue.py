# SPDX-License-Identifier: Apache-2.0
"""Values that a description writes as one string: quantities with a unit, references to functions."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema


class WrongValue(ValueError):
    """A text that is no value of its type; reads ``what was wrong; what would be right``."""


def kind_of(value: object) -> str:
    """The kind of a YAML value, in the words of an error message."""
    match value:
        case None:
            return "nothing"
        case bool():
            return f"the truth value {str(value).lower()}"
        case int() | float():
            return f"the number {value}"
        case str():
            return f"the text {value!r}"
        case dict():
            return "a mapping"
        case list():
            return "a list"
    return f"a {type(value).__name__}"


class TextValue:
    """Base of the types that are written as one string. A subclass gives `parse` and `__str__`."""

    what: ClassVar[str]
    pattern: ClassVar[str]
    description: ClassVar[str]
    examples: ClassVar[tuple[str, ...]]

    @classmethod
    def parse(cls, text: str) -> Self:
        raise NotImplementedError

    @classmethod
    def from_yaml(cls, value: object) -> Self:
        """The value that a description's scalar stands for; `WrongValue` when it stands for none."""
        if isinstance(value, cls):
            return value
        if not isinstance(value, str):
            raise WrongValue(f"{kind_of(value)} is no {cls.what}; write for example {cls.examples[0]}")
        return cls.parse(value)

    @classmethod
    def _validate(cls, value: object) -> Self:
        try:
            return cls.from_yaml(value)
        except WrongValue as error:
            # The text travels as a parameter: braces in what the user wrote must not be read as a template.
            raise PydanticCustomError("consort_value", "{text}", {"text": str(error)}) from None

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls._validate, serialization=core_schema.to_string_ser_schema()
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {
            "type": "string",
            "pattern": cls.pattern,
            "description": cls.description,
            "examples": list(cls.examples),
        }
