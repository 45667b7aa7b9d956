# SPDX-License-Identifier: Apache-2.0
"""A document as rules read it: without the parts that validation found wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from consort.errors import BadInput
from consort.model.base import group_of
from consort.model.document import Document, Location
from consort.model.textvalue import TextValue, WrongValue

if TYPE_CHECKING:
    from consort.model.description import System
    from consort.model.platform import Platform

Problems = Iterator[BadInput]
V = TypeVar("V", bound=TextValue)


@dataclass(frozen=True)
class View:
    """A document and the locations in it that are already known to be wrong."""

    document: Document
    wrong: set[Location]
    platform: Platform | None
    system: System | None = None
    """The valid part of the description; None if it is too small."""
    resting: bool = False
    """True if tasks rest in a mode: parts that they leave unused are no fault."""

    def get(self, *location: str | int) -> Any:
        if self.wrong and any(location[:length] in self.wrong for length in range(1, len(location) + 1)):
            return None
        return self.document.get(*location)

    def written(self, *location: str | int) -> Any:
        """The value at a location, valid or not."""
        return self.document.get(*location)

    def names(self, *location: str | int) -> list[str]:
        """The keys of a mapping, valid or not."""
        value = self.document.get(*location)
        return list(value) if isinstance(value, dict) else []

    def text(self, *location: str | int) -> str | None:
        value = self.get(*location)
        return value if isinstance(value, str) else None

    def mapping(self, *location: str | int) -> dict[str, Any]:
        value = self.get(*location)
        return value if isinstance(value, dict) else {}

    def sequence(self, *location: str | int) -> list[Any]:
        value = self.get(*location)
        return value if isinstance(value, list) else []

    def parsed(self, kind: type[V], *location: str | int) -> V | None:
        value = self.get(*location)
        try:
            return None if value is None else kind.from_yaml(value)
        except WrongValue:
            return None

    def figure(self, kind: type[V], *location: str | int) -> V | None:
        """The quantity of a figure, in its short or its long form."""
        if isinstance(self.get(*location), dict):
            location = (*location, "value")
        return self.parsed(kind, *location)

    def tasks(self) -> list[str]:
        return [name for name in self.mapping("tasks") if self.mapping("tasks", name)]

    def scheduling_entry(self, core: str) -> str | None:
        """The entry under `scheduling` that applies to a core: its own, else its group's."""
        return next((n for n in (core, group_of(core)) if n in self.mapping("scheduling")), None)

    def scheduled(self, core: str, key: str) -> bool:
        """True if a core's scheduling has the key."""
        entry = self.scheduling_entry(core)
        return entry is not None and self.get("scheduling", entry, key) is not None

    def unknown(self, *location: str | int) -> list[str]:
        """Keys of a mapping that validation found wrong, such as misspelt ones."""
        value = self.document.get(*location)
        return [k for k in value if (*location, k) in self.wrong] if isinstance(value, dict) else []

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
