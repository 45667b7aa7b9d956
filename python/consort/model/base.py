# SPDX-License-Identifier: Apache-2.0
"""The common base of all models of a description."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self, Union, get_args, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    StringConstraints,
    Tag,
)
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from consort.model.document import Location


class WrongValue(ValueError):
    """A text that is not a value of its type; reads ``what was wrong; what would be right``."""


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


def an(what: str) -> str:
    """A noun with its article."""
    return f"{'an' if what[0] in 'aeio' else 'a'} {what}"


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
            raise WrongValue(cls.no_text(value))
        return cls.parse(value)

    @classmethod
    def no_text(cls, value: object) -> str:
        """The message about a value that is not text."""
        return f"{kind_of(value)} is not {an(cls.what)}; write for example {cls.examples[0]}"

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


NAME_PATTERN = r"^[A-Za-z][A-Za-z0-9_-]*$"
Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN, max_length=64)]


@dataclass(frozen=True)
class NameOf:
    """A mark on the type of a name: it is that of a part of the platform, which a target calls otherwise."""

    part: Literal["core", "core or group", "memory", "processor"]


CoreName = Annotated[Name, NameOf("core")]
CoreOrGroup = Annotated[Name, NameOf("core or group")]
# A memory, or a link where a channel may be on one.
MemoryName = Annotated[Name, NameOf("memory")]
ProcessorName = Annotated[Name, NameOf("processor")]
CHANNEL_PATTERN = r"^[A-Za-z][A-Za-z0-9_-]*(\.(in|out))?$"
MEMBER_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"
Member = Annotated[str, StringConstraints(pattern=MEMBER_PATTERN)]
# Whole addresses: hexadecimal as data sheets print them, or decimal. YAML reads both as a number.
Address = Annotated[int, Field(ge=0, le=2**64 - 1)]
NonEmpty = Annotated[str, StringConstraints(min_length=1)]
_CORE = re.compile(r"(.*)-(0|[1-9][0-9]*)")


def numbered(core: str) -> tuple[str, int | None]:
    """The group of a core and its number there, as platforms call cores; "" and None for another name."""
    found = _CORE.fullmatch(core)
    return ("", None) if found is None else (found[1], int(found[2]))


def group_of(core: str) -> str:
    """The group of a core, by its name."""
    return numbered(core)[0]


def _version(value: Any) -> Any:
    # A literal alone would take true for 1.
    if isinstance(value, bool) or value != 1:
        text = f"{kind_of(value)} is not a version that this Consort reads; write 1"
        raise PydanticCustomError("consort_value", "{text}", {"text": text})
    return 1


Version = Annotated[Literal[1], BeforeValidator(_version)]


class Described(BaseModel):
    """A part of a description: unknown keys are errors, nothing is coerced, nothing changes once read."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=False)

    def __copy__(self) -> Self:
        """A copy that gathers anew what was gathered once (`cached_property`): it may get other parts."""
        copied = super().__copy__()
        for name in vars(copied).keys() - type(self).model_fields.keys():
            del vars(copied)[name]
        return copied

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """The keys that were given, without the many that were not."""
        return ((key, value) for key, value in super().__repr_args__() if key in self.model_fields_set)

    def to_given(self) -> dict[str, Any]:
        """The part without what was left out of it, as plain data."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)


@dataclass(frozen=True)
class Named:
    """A place at which a description names a part of its platform."""

    part: str
    """As `NameOf.part`."""
    name: str
    place: Location
    key: bool
    """True if the name is a key."""


def names_in(annotation: Any, data: Any, place: Location = ()) -> Iterator[Named]:
    """The names in plain data of a type; data of another type has none."""
    marks: tuple[Any, ...] = ()
    while get_origin(annotation) is Annotated:
        annotation, *more = get_args(annotation)
        marks += tuple(more)
    mark = next((one for one in marks if isinstance(one, NameOf)), None)
    if mark is not None and isinstance(data, str):
        yield Named(mark.part, data, place, False)
    elif get_origin(annotation) in (Union, types.UnionType):
        for member in _members(annotation, marks, data):
            yield from names_in(member, data, place)
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel) and isinstance(data, dict):
        for name, field in annotation.model_fields.items():
            key = field.alias or name
            if key in data:
                yield from names_in(_type_of(field), data[key], (*place, key))
    elif get_origin(annotation) is dict and isinstance(data, dict):
        of_key, of_value = get_args(annotation)
        for key, value in data.items():
            yield from (Named(one.part, key, (*place, key), True) for one in names_in(of_key, key))
            yield from names_in(of_value, value, (*place, key))
    elif get_origin(annotation) in (list, tuple) and isinstance(data, list | tuple):
        for index, value in enumerate(data):
            yield from names_in(get_args(annotation)[0], value, (*place, index))


def _type_of(field: FieldInfo) -> Any:
    """A field's type with its marks, which pydantic keeps apart."""
    found: Any = field.annotation
    for mark in field.metadata:
        found = Annotated[found, mark]
    return found if field.discriminator is None else Annotated[found, field.discriminator]


def _members(union: Any, marks: tuple[Any, ...], data: Any) -> Iterator[Any]:
    """The members of a union that data may be of: the one that its discriminator names, if it has one."""
    choose = next((one.discriminator for one in marks if isinstance(one, Discriminator)), None)
    tag = choose(data) if callable(choose) else None
    for member in get_args(union):
        tags = [one.tag for one in get_args(member) if isinstance(one, Tag)]
        if tag is None or not tags or tag in tags:
            yield member
