# SPDX-License-Identifier: Apache-2.0
"""Rules across the fields of a description and against its platform and the files it names.

They read the document, not the models: so a fault in one field does not hide those of others.
"""

from __future__ import annotations

import ast
import csv
import re
from collections.abc import Callable, Iterator

from consort.errors import BadInput
from consort.model.base import NAME_PATTERN
from consort.model.channel_rules import CHANNEL_RULES
from consort.model.description import CONFIGURATIONS, Run
from consort.model.document import Document, Location
from consort.model.mode_rules import check_modes
from consort.model.platform import Platform
from consort.model.problems import closest, nearest
from consort.model.quantities import Duration, Frequency, Quantity
from consort.model.references import PythonReference, StepReference
from consort.model.task_rules import TASK_RULES
from consort.model.view import View

Problems = Iterator[BadInput]


def check_rules(document: Document, wrong: set[Location], platform: Platform | None) -> list[BadInput]:
    """All that the rules find wrong; rules about fields in `wrong` stay silent."""
    view = View(document, wrong, platform)
    problems = [problem for rule in (*RULES, *DESIGN_RULES) for problem in rule(view)]
    return problems + check_modes(view, DESIGN_RULES, problems)


def _known_cores(view: View) -> Problems:
    if view.platform is None:
        return
    cores = view.platform.core_names()
    for task in view.tasks():
        for key in ("on", "master"):
            core = view.text("tasks", task, key)
            if core is not None and core not in cores:
                yield view.problem(("tasks", task, key), view.platform.unknown_core(core))
    for core in view.mapping("run", "cpus"):
        if core not in cores:
            yield view.problem(("run", "cpus", core), view.platform.unknown_core(core), at_key=True)


def _releases(view: View) -> Problems:
    for task in view.tasks():
        here, given = ("tasks", task), view.mapping("tasks", task)
        both = [key for key in ("period", "min_interarrival") if key in given]
        if not both and not any(closest(key, ("period", "min_interarrival")) for key in view.unknown(*here)):
            yield view.problem(
                (*here, "period"),
                "the key 'period' is missing; add it, for example 'period: 50us', or 'min_interarrival' for"
                " sporadic releases",
            )
        if len(both) == 2:
            yield view.problem(
                (*here, "min_interarrival"),
                "a task is released periodically or sporadically; keep 'period' or 'min_interarrival'",
                at_key=True,
            )
        if view.runs(task) and "step" not in given:
            yield view.problem(
                (*here, "step"),
                "the key 'step' is missing; add it, for example 'step: step.hpp::servo::step', or remove"
                " 'input' and let the task be analysed only",
            )
        if "golden" in given and not view.runs(task):
            yield view.problem(
                (*here, "golden"),
                "'golden' belongs to a task that is run; add 'input', or remove 'golden'",
                at_key=True,
            )


def _positive(view: View) -> Problems:
    for task in view.tasks():
        places: list[tuple[Location, type[Quantity]]] = [
            (("tasks", task, "period"), Duration),
            (("tasks", task, "min_interarrival"), Duration),
            (("tasks", task, "deadline"), Duration),
            (("tasks", task, "input", "rate"), Frequency),
        ]
        for location, kind in places:
            quantity = view.parsed(kind, *location)
            if quantity is not None and quantity.value == 0:
                yield view.problem(location, f"the {location[-1]} is 0; more than 0 is needed")
            # Releases of runs are timed by the clocks of hosts, in nanoseconds.
            elif view.runs(task) and isinstance(quantity, Duration) and quantity.value % 1000:
                yield view.problem(
                    location, f"{view.text(*location)!r} is not a whole number of nanoseconds; round it"
                )


def _deadlines(view: View) -> Problems:
    """A run has one job of a task at a time."""
    for task in filter(view.runs, view.tasks()):
        period = view.parsed(Duration, "tasks", task, "period")
        deadline = view.parsed(Duration, "tasks", task, "deadline")
        if period is not None and deadline is not None and deadline > period:
            yield view.problem(
                ("tasks", task, "deadline"),
                f"the deadline {deadline} is later than the period {period}; at most {period} is possible",
            )


def _execution(view: View) -> Problems:
    for task in view.tasks():
        here = ("tasks", task)
        given = view.mapping(*here)
        if view.execution(task) == "offloaded":
            if "master" not in given:
                yield view.problem(
                    (*here, "execution"),
                    "an offloaded task needs a master; add the core that releases its jobs, for example"
                    " 'master: master-0'",
                )
            elif view.text(*here, "master") is not None and given["master"] == given.get("on"):
                yield view.problem(
                    (*here, "master"),
                    f"the task is computed on {given['on']!r}, its own master; name another core, or write"
                    " 'execution: local'",
                )
        execution = view.execution(task)
        if execution not in ("local", "three-phase"):
            continue
        if "master" in given:
            yield view.problem(
                (*here, "master"),
                f"a {execution} task has no master; remove 'master', or write 'execution: offloaded'",
                at_key=True,
            )
        if "dispatch" in given:
            yield view.problem(
                (*here, "dispatch"),
                f"a {execution} task has no master; remove 'dispatch', or write 'execution: offloaded'",
                at_key=True,
            )
        if view.get(*here, "restart_worker") is True:
            yield view.problem(
                (*here, "restart_worker"),
                f"a {execution} task has no worker; remove 'restart_worker', or write 'execution: offloaded'",
                at_key=True,
            )
        if view.text(*here, "on_miss") == "local-fallback":
            yield view.problem(
                (*here, "on_miss"),
                f"a {execution} task has nothing to fall back to; write hold-last-output or stop",
            )


def _worker_cores(view: View) -> Problems:
    """In a run a worker waits, computes and answers: nothing else is on its core, one master commands it."""
    commanded: dict[str, tuple[str, str | None]] = {}
    tasks = list(filter(view.runs, view.tasks()))
    for task in tasks:
        core, master = view.text("tasks", task, "on"), view.text("tasks", task, "master")
        if not view.offloaded(task) or core is None:
            continue
        first, first_master = commanded.setdefault(core, (task, master))
        if master is not None and first_master is not None and master != first_master:
            yield view.problem(
                ("tasks", task, "master"),
                f"the core {core!r} already computes for {first_master!r} (task {first!r}); a worker has one"
                f" master: write {first_master!r}, or another core under 'on'",
            )
    for task in tasks:
        key = "master" if view.offloaded(task) else "on"
        core = view.text("tasks", task, key)
        if core in commanded and core is not None and commanded[core][0] != task:
            yield view.problem(
                ("tasks", task, key),
                f"the core {core!r} is a worker (task {commanded[core][0]!r}), which does nothing else; name"
                " another core",
            )


def _channel_names(view: View) -> Problems:
    valid = [f"{task}.{end}" for task in view.tasks() for end in ("in", "out") if view.offloaded(task)]
    described = view.document.get("tasks")
    if not isinstance(described, dict):
        return
    for name in view.mapping("channels"):
        here = ("channels", name)
        task, dot, end = name.rpartition(".")
        if not dot:
            if name in described and view.offloaded(name):
                yield view.problem(
                    here,
                    f"{name!r} is a task; its channels are {name}.in and {name}.out; did you mean"
                    f" '{name}.in'?",
                    at_key=True,
                )
            elif re.fullmatch(NAME_PATTERN, name) is None or len(name) > 64:
                yield view.problem(
                    here,
                    f"{name!r} is no name; a letter, then letters, digits, '-' and '_', for example gains",
                    at_key=True,
                )
        elif task in described and end in ("in", "out"):
            if view.execution(task) in ("local", "three-phase"):
                yield view.problem(
                    here,
                    f"the task {task!r} is {view.execution(task)} and has no channels; remove {name!r}, or"
                    " write 'execution: offloaded' there",
                    at_key=True,
                )
            elif view.text(*here, "kind") in ("sporadic", "queue", "subscription"):
                yield view.problem(
                    (*here, "kind"),
                    f"{name!r} carries a block for each job of {task!r}; write periodic",
                )
        else:
            yield view.problem(
                here,
                f"{name!r} is no channel; channels are <task>.in and <task>.out of offloaded tasks;"
                f" {nearest(name, valid, 'channels')}",
                at_key=True,
            )


def _channel_memories(view: View) -> Problems:
    for name in view.mapping("channels"):
        here = ("channels", name)
        memory = view.text(*here, "memory")
        if view.platform is not None and memory is not None and memory not in view.platform.memories:
            yield view.problem(
                (*here, "memory"),
                f"{memory!r} is no memory of platform {view.platform.name};"
                f" {nearest(memory, view.platform.memories, 'memories')}",
            )


def _missing_file(view: View, location: Location, name: str, what: str) -> Problems:
    path = view.beside(name)
    if path.is_dir():
        yield view.problem(location, f"{name!r} is a folder; name the {what}")
    elif not path.is_file():
        folder = path.parent
        others = [p.name for p in folder.iterdir() if p.suffix == path.suffix] if folder.is_dir() else []
        hint = nearest(path.name, sorted(others), f"{path.suffix or 'such'} files in {folder.name or '.'}")
        yield view.problem(
            location, f"the {what} {name!r} does not exist (looked for relative to this file); {hint}"
        )


def _steps(view: View) -> Problems:
    for task in view.tasks():
        here = ("tasks", task, "step")
        step = view.parsed(StepReference, *here)
        if step is not None:
            yield from _missing_file(view, here, step.header, "header")


def _functions(view: View) -> Problems:
    for task in view.tasks():
        for location in (("tasks", task, "input", "function"), ("tasks", task, "golden", "function")):
            reference = view.parsed(PythonReference, *location)
            if reference is not None:
                yield from _missing_file(view, location, reference.module, "Python module")
                if view.beside(reference.module).is_file():
                    yield from _missing_function(view, location, reference)


def _missing_function(view: View, location: Location, reference: PythonReference) -> Problems:
    """Looks for the function without running the module."""
    path = view.beside(reference.module)
    try:
        tree = ast.parse(path.read_bytes(), filename=str(path))
    except SyntaxError as error:
        yield BadInput(
            f"this is not valid Python: {error.msg}; it is named by {view.problem(location, '').field} of"
            f" {view.document.file}",
            file=path,
            line=error.lineno,
            column=error.offset,
        )
        return
    except (ValueError, OSError, RecursionError) as error:
        yield view.problem(
            location, f"the module {reference.module!r} cannot be read: {error}; mend the file"
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
    for task in view.tasks():
        here = ("tasks", task, "input")
        name = view.text(*here, "file")
        if name is None:
            continue
        yield from _missing_file(view, (*here, "file"), name, "input file")
        if view.beside(name).is_file():
            yield from _missing_columns(view, here, name)


def _missing_columns(view: View, here: Location, name: str) -> Problems:
    try:
        with view.beside(name).open(encoding="utf-8-sig", newline="") as stream:
            header = [column.strip() for column in next(csv.reader(stream), [])]
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


def _run(view: View) -> Problems:
    interference = view.sequence("run", "interference")
    chosen = view.sequence("run", "configurations")
    for key, entries in (("interference", interference), ("configurations", chosen)):
        for index, entry in enumerate(entries):
            if entry in entries[:index]:
                yield view.problem(("run", key, index), f"{entry!r} stands twice; remove one of them")
    if "configurations" in view.mapping("run") and not chosen and view.get("run", "configurations") == []:
        yield view.problem(
            ("run", "configurations"), f"the list is empty; choose from {', '.join(CONFIGURATIONS)}"
        )
    offloads = any(view.offloaded(task) for task in view.tasks())
    for index, entry in enumerate(chosen):
        if entry not in CONFIGURATIONS:
            continue
        if entry.endswith("-on") and not interference and ("run", "interference") not in view.wrong:
            known = Run.model_json_schema()["properties"]["interference"]["items"]["enum"]
            yield view.problem(
                ("run", "configurations", index),
                f"{entry!r} needs interference; add 'interference: [{', '.join(known[:2])}]' under 'run'",
            )
        if entry.startswith("offloaded") and view.tasks() and not offloads:
            yield view.problem(
                ("run", "configurations", index),
                f"{entry!r} needs an offloaded task; write 'local{entry[9:]}'",
            )
    given: dict[int, str] = {}
    for core, cpu in view.mapping("run", "cpus").items():
        if isinstance(cpu, int) and given.setdefault(cpu, core) != core:
            yield view.problem(
                ("run", "cpus", core), f"CPU {cpu} is already given to {given[cpu]!r}; give each core its own"
            )


# What must hold in each mode as it must hold in the whole.
DESIGN_RULES = (_known_cores, _execution, *TASK_RULES, *CHANNEL_RULES)
RULES: tuple[Callable[[View], Problems], ...] = (
    _releases,
    _positive,
    _deadlines,
    _worker_cores,
    _channel_names,
    _channel_memories,
    _steps,
    _functions,
    _input_files,
    _run,
)
