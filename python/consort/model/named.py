# SPDX-License-Identifier: Apache-2.0
"""The names of a platform's parts in a description, found by the types of its fields."""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, Discriminator, Tag
from pydantic.fields import FieldInfo

from consort.model.base import NameOf
from consort.model.document import Location


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
