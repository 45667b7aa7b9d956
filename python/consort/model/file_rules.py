# SPDX-License-Identifier: Apache-2.0
"""Rules about what a description names in other files: steps, Python functions, recorded inputs."""

from __future__ import annotations

import ast
import csv
from collections.abc import Callable, Iterator

from consort.errors import BadInput
from consort.limits import LARGEST_MODULE, LONGEST_HEADER, is_file, is_folder, names_in, read_bytes
from consort.model.document import Location
from consort.model.problems import nearest
from consort.model.references import DriverReference, PythonReference, StepReference
from consort.model.view import View

Problems = Iterator[BadInput]


def _missing_file(view: View, location: Location, name: str, what: str) -> Problems:
    path = view.beside(name)
    if is_folder(path):
        yield view.problem(location, f"{name!r} is a folder; name the {what}")
    elif not is_file(path):
        folder = path.parent
        others = names_in(folder, path.suffix)
        name = name if len(name) <= 200 else f"{name[:197]}..."
        hint = nearest(
            path.name[:200], others, f"{path.suffix[:20] or 'such'} files in {folder.name[:200] or '.'}"
        )
        yield view.problem(
            location, f"the {what} {name!r} does not exist (looked for relative to this file); {hint}"
        )


def _steps(view: View) -> Problems:
    for task in view.tasks():
        here = ("tasks", task, "step")
        step = view.parsed(StepReference, *here)
        if step is not None:
            yield from _missing_file(view, here, step.header, "header")
    for device in view.mapping("devices"):
        for key, kind in (("plant", StepReference), ("driver", DriverReference)):
            named = view.parsed(kind, "devices", device, key)
            if isinstance(named, StepReference | DriverReference):
                yield from _missing_file(view, ("devices", device, key), named.header, "header")


def _functions(view: View) -> Problems:
    places: list[Location] = []
    for device in view.mapping("devices"):
        places += [("devices", device, "function"), ("devices", device, "sink")]
    for task in view.tasks():
        places += [("tasks", task, "input", "function"), ("tasks", task, "golden", "function")]
    for location in places:
        reference = view.parsed(PythonReference, *location)
        if reference is not None:
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
        yield view.problem(
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
        yield view.problem(
            location,
            f"{reference.module!r} has no function {reference.function!r};"
            f" {nearest(reference.function, names, 'names in it')}",
        )


def _input_files(view: View) -> Problems:
    places: list[Location] = [("tasks", task, "input") for task in view.tasks()]
    places += [("devices", device, "recording") for device in view.mapping("devices")]
    for here in places:
        name = view.text(*here, "file")
        if name is None:
            continue
        yield from _missing_file(view, (*here, "file"), name, "input file")
        if is_file(view.beside(name)):
            yield from _missing_columns(view, here, name)


def _missing_columns(view: View, here: Location, name: str) -> Problems:
    try:
        with view.beside(name).open(encoding="utf-8-sig", newline="") as stream:
            first = stream.readline(LONGEST_HEADER)
            header = [column.strip() for column in next(csv.reader([first]), [])]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        yield view.problem(
            (*here, "file"), f"{name!r} cannot be read as CSV: {error}; name a CSV file in UTF-8"
        )
        return
    wanted: list[Location] = [(*here, "time")]
    for member, column in view.mapping(*here, "columns").items():
        place = (*here, "columns", member)
        wanted.append((*place, "column") if isinstance(column, dict) else place)
    for location in wanted:
        column = view.text(*location)
        if column is not None and column not in header:
            yield view.problem(
                location, f"{name!r} has no column {column!r}; {nearest(column, header, 'columns')}"
            )


FILE_RULES: tuple[Callable[[View], Problems], ...] = (_steps, _functions, _input_files)
