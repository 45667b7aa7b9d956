# SPDX-License-Identifier: Apache-2.0
"""Rules for what lies at a system's ends: devices, files of inputs and outputs, and chains from one end to
the other."""

from __future__ import annotations

import ast
import csv

from consort.base.errors import BadInput, nearest
from consort.base.files import LARGEST_MODULE, LONGEST_HEADER, is_file, is_folder, names_in, read_bytes
from consort.model.channel_rules import bindings, ends_of, free_channels, misspelt_in, unwritten
from consort.model.description import System
from consort.model.document import Location, Problems, View
from consort.model.exclusions import excluded
from consort.model.sources import (
    DEVICE_FORMS,
    READ_FORMS,
    WRITTEN_FORMS,
    Column,
    FileInput,
    PythonReference,
    StepReference,
)

Users = dict[str, dict[str, Location]]


def _forms(view: View, system: System) -> Problems:
    for name, device in system.devices.items():
        here: Location = ("devices", name)
        forms = [form for form in DEVICE_FORMS if getattr(device, form) is not None]
        for form in forms[1:]:
            text = f"a device is one of {', '.join(DEVICE_FORMS)}, and this one is a {forms[0]} already; keep"
            yield from view.say((*here, form), f"{text} one of them", at_key=True)
        # Keys that belong to one form of device.
        for key, form in (("arguments", "function"), ("period", "plant")):
            if getattr(device, key) and form not in forms and not view.wrong_within(*here, form):
                text = f"{key!r} belongs to a device that is a {form}; remove it, or add {form!r}"
                yield from view.say((*here, key), text, at_key=True)
        if device.plant is not None and device.period is None and not view.wrong_within(*here, "period"):
            text = "a plant advances once in each period; add it, for example 'period: 50us'"
            yield from view.say(here, text, at_key=True)
        if device.period is not None and device.period.value == 0:
            yield from view.say((*here, "period"), "the period is 0; more than 0 is needed")


def _users(system: System) -> tuple[Users, Users]:
    """The tasks that read and that write each device, at once or through a channel."""
    readers: Users = {}
    writers: Users = {}
    for task in system.tasks:
        for key, users in (("reads", readers), ("writes", writers)):
            for place, name in bindings(system, task, key):
                channel = system.channels.get(name)
                ends: tuple[str, ...]
                if channel is None:
                    ends = (name if name in system.devices else name.rpartition(".")[0],)
                else:
                    ends = channel.to if key == "writes" else (channel.from_ or "",)
                for device in ends:
                    if device in system.devices:
                        users.setdefault(device, {}).setdefault(task, place)
    for name, channel in system.channels.items():
        writer = channel.from_ or ""
        for index, reader in enumerate(channel.to):
            if writer in system.devices and reader in system.tasks:
                readers.setdefault(writer, {}).setdefault(reader, ("channels", name, "to", index))
            if reader in system.devices and writer in system.tasks:
                writers.setdefault(reader, {}).setdefault(writer, ("channels", name, "from"))
    return readers, writers


def _directions(view: View, system: System) -> Problems:
    readers, writers = _users(system)
    for name, device in system.devices.items():
        form = device.form
        if form is None:
            continue
        for users, forms, does in ((readers, READ_FORMS, "reads"), (writers, WRITTEN_FORMS, "writes")):
            for place in users.get(name, {}).values() if form not in forms else ():
                yield from view.say(place, f"{name!r} is a {form}, which nothing {does}; name another")
        if form == "plant":
            yield from _loop(view, system, name, readers.get(name, {}), writers.get(name, {}))


def _loop(
    view: View, system: System, name: str, readers: dict[str, Location], writers: dict[str, Location]
) -> Problems:
    """A plant is in the loop of one task, which makes a closed loop deterministic."""
    first = next(iter(readers), None)
    if first is None:
        if view.tasks_missing(system) or name in misspelt_in(view, system):
            return
        text = "nothing reads the plant; name it under 'reads' of a task"
        yield from view.say(("devices", name), text, at_key=True)
        return
    for task, place in [*list(readers.items())[1:], *writers.items()]:
        if task != first:
            text = (
                f"the plant {name!r} is in the loop of {first!r} already, and a plant has one task that reads"
            )
            yield from view.say(place, f"{text} and writes it; give the data on through a channel")
    task_of = system.tasks[first]
    if task_of.min_interarrival is not None:
        yield from view.say(readers[first], excluded("a plant", "min_interarrival", task=first))
    step, period = system.devices[name].period, task_of.period
    if step is not None and period is not None and step.value and period.value % step.value:
        text = (
            f"the period {period} of {first!r} is not a whole multiple of the plant's {step}; a job advances"
        )
        yield from view.say(("devices", name, "period"), f"{text} the plant by whole steps")


def _parts(view: View, system: System) -> Problems:
    """Only of a plant's blocks single members are read and written: its types say which there are."""
    for task in system.tasks:
        for key in ("reads", "writes"):
            for place, name in bindings(system, task, key):
                device, dot, part = name.rpartition(".")
                if not dot or device not in system.devices:
                    continue
                given = system.devices[device]
                form = given.form
                # A plant whose key is missing is said at the device.
                if form != "plant" and not (form is None and given.period is not None):
                    what = "only described" if form is None else f"a {form}"
                    text = (
                        f"{part!r} would be a member of a plant, and {device!r} is {what}; write {device!r}"
                    )
                    yield from view.say(place, text)


DEVICE_RULES = (_forms, _directions, _parts)


def _chains(view: View, system: System) -> Problems:
    tasks = view.names("tasks")
    for name, chain in system.chains.items():
        here: Location = ("chains", name)
        for index, task in enumerate(chain.path):
            place = (*here, "path", index)
            if task not in tasks:
                yield from view.say(place, f"{task!r} is not a task; {nearest(task, tasks, 'tasks')}")
            elif task in chain.path[:index]:
                text = f"{task!r} stands twice; a chain passes each task once, remove one of them"
                yield from view.say(place, text)
            described = system.tasks.get(task)
            sporadic = described is not None and described.min_interarrival is not None
            if sporadic and chain.communication == "let":
                yield from view.say(place, excluded("communication: let", "min_interarrival", task=task))
        for key, limit in (("reaction", chain.reaction), ("age", chain.age)):
            if limit is not None and limit.value == 0:
                yield from view.say((*here, key), f"the {key} is 0; more than 0 is needed")


def links_of_chains(view: View, system: System) -> Problems:
    """Consecutive tasks of a chain share a channel: what passes along it passes there, in every mode."""
    names = free_channels(system)
    writers, readers = ends_of(system)
    ways = {
        (writer, reader)
        for name in names
        for writer in writers.get(name, ())
        for reader in readers.get(name, ())
    }
    misspelt = misspelt_in(view, system)
    tasks = [task for task in system.tasks if task not in misspelt]
    lacking = unwritten(view, system)
    # Those whose channel lacks its writer, which is said there.
    waiting = {reader for name in lacking for reader in readers.get(name, ())}
    for name, chain in system.chains.items():
        for index in range(1, len(chain.path)):
            first, second = chain.path[index - 1 : index + 1]
            known = first in tasks and second in tasks and second not in chain.path[:index]
            known = known and second not in waiting
            if not known or (first, second) in ways:
                continue
            remedy = "add one, or correct the path"
            if (second, first) in ways:
                remedy = "the other way there is one, turn them round"
            text = f"no channel leads from {first!r} to {second!r}; {remedy}"
            yield from view.say(("chains", name, "path", index), text)


CHAIN_RULES = (_chains,)


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


def _steps(view: View, system: System) -> Problems:
    for name, task in system.tasks.items():
        if isinstance(task.step, StepReference):
            yield from _missing_file(view, ("tasks", name, "step"), task.step.file, "header")
    for name, device in system.devices.items():
        for key, named in (("plant", device.plant), ("driver", device.driver)):
            if named is not None:
                yield from _missing_file(view, ("devices", name, key), named.file, "header")


def _functions(view: View, system: System) -> Problems:
    places: list[tuple[Location, object]] = []
    for name, device in system.devices.items():
        places += [(("devices", name, "function"), device.function), (("devices", name, "sink"), device.sink)]
    for name, task in system.tasks.items():
        for key, given in (("input", task.input), ("golden", task.golden)):
            places.append((("tasks", name, key, "function"), getattr(given, "function", None)))
    for location, reference in places:
        if isinstance(reference, PythonReference):
            yield from _missing_file(view, location, reference.file, "Python module")
            if is_file(view.beside(reference.file)):
                yield from _missing_function(view, location, reference)


def _missing_function(view: View, location: Location, reference: PythonReference) -> Problems:
    """Looks for the function without running the module."""
    path = view.beside(reference.file)
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
            location, f"the module {reference.file!r} cannot be read: {error}; correct the file"
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
    if reference.name not in names and "*" not in names:
        yield from view.say(
            location,
            f"{reference.file!r} has no function {reference.name!r};"
            f" {nearest(reference.name, names, 'names in it')}",
        )


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
    lacking = [column for _, column in wanted if column not in header]
    if len(lacking) == len(wanted) > 1:
        text = f"{name!r} has none of the columns {', '.join(lacking)}; its first line is"
        text += f" {first.strip()[:80]!r}; name the recording, or correct the columns"
        yield from view.say((*here, "file"), text)
        return
    for location, column in wanted:
        if column not in header:
            text = f"{name!r} has no column {column!r}; {nearest(column, header, 'columns')}"
            yield from view.say(location, text)


FILE_RULES = (_steps, _functions, _input_files)
