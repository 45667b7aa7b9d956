# SPDX-License-Identifier: Apache-2.0
"""The common base of all models of a description."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic_core import PydanticCustomError

from consort.model.textvalue import kind_of

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
        text = f"{kind_of(value)} is no version that this Consort reads; write 1"
        raise PydanticCustomError("consort_value", "{text}", {"text": text})
    return 1


Version = Annotated[Literal[1], BeforeValidator(_version)]


T = TypeVar("T")


class Once(Generic[T]):
    """A holder of a result that is gathered from a part of a description once, and again from another part.

    It says nothing that the part does not: descriptions are equal whether or not it was asked for.
    """

    def __init__(self) -> None:
        self._part: object = None
        self._found: T | None = None

    def of(self, part: object, gather: Callable[[], T]) -> T:
        if self._found is None or self._part is not part:
            self._part, self._found = part, gather()
        return self._found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Once)

    __hash__ = None  # type: ignore[assignment]


class Described(BaseModel):
    """A part of a description: unknown keys are errors, nothing is coerced, nothing changes once read."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=False)

    def to_given(self) -> dict[str, Any]:
        """The part without what was left out of it, as plain data."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)
