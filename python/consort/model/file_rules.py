# SPDX-License-Identifier: Apache-2.0
"""Rules about what a description names in other files: steps, Python functions, recorded inputs."""

from __future__ import annotations

import ast
import csv

from consort.base.errors import BadInput
from consort.base.files import LARGEST_MODULE, LONGEST_HEADER, is_file, is_folder, names_in, read_bytes
from consort.base.problems import nearest
from consort.model.description import System
from consort.model.document import Location
from consort.model.references import PythonReference, StepReference
from consort.model.sources import Column, FileInput
from consort.model.view import Problems, View, typed


def _missing_file(view: View, location: Location, name: str, what: str) -> Problems:
    path = view.beside(name)
    if is_folder(path):
        yield from view.say(location, f"{name!r} is a folder; name the {what}")
    elif not is_file(path):
        folder = path.parent
        others = names_in(folder, path.suffix)
        name = name if len(name) <= 200 else f"{name[:197]}..."
        hint = nearest(
            path.name[:200], others, f"{path.suffix[:20] or 'such'} files in {folder.name[:200] or '.'}"
        )
        yield from view.say(
            location, f"the {what} {name!r} does not exist (looked for relative to this file); {hint}"
        )


@typed
def _steps(view: View, system: System) -> Problems:
    for name, task in system.tasks.items():
        if isinstance(task.step, StepReference):
            yield from _missing_file(view, ("tasks", name, "step"), task.step.header, "header")
    for name, device in system.devices.items():
        for key, named in (("plant", device.plant), ("driver", device.driver)):
            if named is not None:
                yield from _missing_file(view, ("devices", name, key), named.header, "header")


@typed
def _functions(view: View, system: System) -> Problems:
    places: list[tuple[Location, object]] = []
    for name, device in system.devices.items():
        places += [(("devices", name, "function"), device.function), (("devices", name, "sink"), device.sink)]
    for name, task in system.tasks.items():
        for key, given in (("input", task.input), ("golden", task.golden)):
            places.append((("tasks", name, key, "function"), getattr(given, "function", None)))
    for location, reference in places:
        if isinstance(reference, PythonReference):
            yield from _missing_file(view, location, reference.module, "Python module")
            if is_file(view.beside(reference.module)):
                yield from _missing_function(view, location, reference)


def _missing_function(view: View, location: Location, reference: PythonReference) -> Problems:
    """Looks for the function without running the module."""
    path = view.beside(reference.module)
    try:
        tree = ast.parse(read_bytes(path, LARGEST_MODULE, "Python module"), filename=str(path))
    except SyntaxError as error:
        yield BadInput(
            f"this is not valid Python: {error.msg}; it is named by {view.problem(location, '').field} of"
            f" {view.document.file}",
            file=path,
            line=error.lineno,
            column=error.offset,
        )
        return
    # MemoryError is how the parser says that an expression is nested too deeply.
    except (ValueError, OSError, RecursionError, MemoryError, BadInput) as error:
        yield from view.say(
            location, f"the module {reference.module!r} cannot be read: {error}; correct the file"
        )
        return
    names: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.ImportFrom | ast.Import):
            names += [alias.asname or alias.name for alias in node.names]
        elif isinstance(node, ast.Assign):
            names += [target.id for target in node.targets if isinstance(target, ast.Name)]
    if reference.function not in names and "*" not in names:
        yield from view.say(
            location,
            f"{reference.module!r} has no function {reference.function!r};"
            f" {nearest(reference.function, names, 'names in it')}",
        )


@typed
def _input_files(view: View, system: System) -> Problems:
    places: list[tuple[Location, object]] = [
        (("tasks", name, "input"), task.input) for name, task in system.tasks.items()
    ]
    places += [(("devices", name, "recording"), device.recording) for name, device in system.devices.items()]
    for here, given in places:
        if isinstance(given, FileInput):
            yield from _missing_file(view, (*here, "file"), given.file, "input file")
            if is_file(view.beside(given.file)):
                yield from _missing_columns(view, here, given)


def _missing_columns(view: View, here: Location, given: FileInput) -> Problems:
    name = given.file
    try:
        with view.beside(name).open(encoding="utf-8-sig", newline="") as stream:
            first = stream.readline(LONGEST_HEADER)
            header = [column.strip() for column in next(csv.reader([first]), [])]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        yield from view.say(
            (*here, "file"), f"{name!r} cannot be read as CSV: {error}; name a CSV file in UTF-8"
        )
        return
    wanted: list[tuple[Location, str]] = [((*here, "time"), given.time)]
    for member, column in given.columns.items():
        place = (*here, "columns", member)
        long = isinstance(column, Column)
        wanted.append(((*place, "column") if long else place, given.column(member).column))
    for location, column in wanted:
        if column not in header:
            text = f"{name!r} has no column {column!r}; {nearest(column, header, 'columns')}"
            yield from view.say(location, text)


FILE_RULES = (_steps, _functions, _input_files)
