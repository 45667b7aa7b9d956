# SPDX-License-Identifier: Apache-2.0
"""A document as rules read it: without the parts that validation found wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from consort.base.errors import BadInput
from consort.base.problems import closest
from consort.model.document import Document, Location

if TYPE_CHECKING:
    from consort.model.description import System
    from consort.model.platform import Platform

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
