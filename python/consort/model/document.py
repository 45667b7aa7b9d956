# SPDX-License-Identifier: Apache-2.0
"""A description as plain data, with the line and column of every key and value, and rules' view of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from consort.base.errors import BadInput, closest

if TYPE_CHECKING:
    from consort.model.description import System
    from consort.model.platform import Platform

Location = tuple[str | int, ...]
Position = tuple[int, int]


@dataclass
class Document:
    """The data of a YAML file, the position of each part of it, and the errors found in it so far."""

    file: Path
    data: Any = None
    keys: dict[Location, Position] = field(default_factory=dict)
    values: dict[Location, Position] = field(default_factory=dict)
    problems: list[BadInput] = field(default_factory=list)
    unreadable: set[Location] = field(default_factory=set)
    """Values that are None only because their text could not be read, which is reported already."""
    empty: set[Location] = field(default_factory=set)
    """Keys after which nothing stands, or 'null'."""
    moved: dict[Location, Location] = field(default_factory=dict)
    """Parts that a target calls otherwise than the file, and what the file calls them."""
    notes: list[BadInput] = field(default_factory=list)
    """Parts that mean nothing on the target, each a warning."""

    @classmethod
    def of_data(cls, data: Any, file: Path) -> Document:
        """Data that stands in no file yet: its problems have no line."""
        return cls(file, data)

    def problem(self, location: Location, message: str, *, at_key: bool = False) -> BadInput:
        """A problem at a location; where the location is absent, its nearest enclosing part is pointed at."""
        location = self._in_file(location)
        if not self.values:
            return BadInput(message, file=self.file, field=spell(location))
        place: Position = (1, 1)
        for length in range(len(location), -1, -1):
            part = location[:length]
            tables = (
                (self.keys, self.values) if at_key or length < len(location) else (self.values, self.keys)
            )
            found = tables[0].get(part) or tables[1].get(part)
            if found is not None:
                place = found
                break
        return BadInput(message, file=self.file, line=place[0], column=place[1], field=spell(location))

    def located(self, problem: BadInput) -> BadInput:
        """A problem that names a field alone, with the line and column of it or of what is around it."""
        name = field = problem.field or ""
        while name and name not in self._named:
            name = name[: max(name.rfind("."), name.rfind("["), 0)]
        if not name:
            return problem
        at = self.problem(self._named[name], problem.message, at_key=name != field)
        return BadInput(problem.message, file=problem.file, line=at.line, column=at.column, field=field)

    @cached_property
    def _named(self) -> dict[str, Location]:
        """The locations by their names, as `spell` writes them or with dots alone."""
        return {name: at for at in self.values for name in (".".join(map(str, at)), spell(at))}

    def _in_file(self, location: Location) -> Location:
        """The location as the file spells it."""
        for length in range(len(location), 0, -1) if self.moved else ():
            if location[:length] in self.moved:
                return (*self.moved[location[:length]], *location[length:])
        return location

    def get(self, *location: str | int) -> Any:
        """The value at a location, or None."""
        value = self.data
        for part in location:
            try:
                value = value[part]
            except (KeyError, IndexError, TypeError):
                return None
        return value


def spell(location: Location) -> str:
    """A location as a field path: ``tasks.servo.input.columns``, ``run.interference[1]``."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            # A channel's name has a dot of its own: brackets keep the path readable.
            shown = f"[{part}]" if "." in part else part
            text += shown if not text or shown.startswith("[") else f".{shown}"
    return text


Problems = Iterator[BadInput]


@dataclass(frozen=True)
class View:
    """A document and the locations in it that are already known to be wrong."""

    document: Document
    wrong: set[Location]
    platform: Platform | None

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

    def misspelt(self, system: System, section: str) -> bool:
        """True if an unknown key of the description is probably a slip of a section."""
        sections = list(type(system).model_fields)
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


# A rule on the valid parts of a description.
Rule = Callable[["View", "System"], Problems]
