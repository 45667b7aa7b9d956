# SPDX-License-Identifier: Apache-2.0
"""Reading a sweep file, with the files that it names and the values that it replaces in them."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from consort.analysis.scaling import Scale, check_scale, scale_data
from consort.base.errors import BadInput, nearest
from consort.base.files import LARGEST_DESCRIPTION, read_bytes
from consort.model import BadDescription, System, load_system, platform_from_data, system_from_data
from consort.model.document import Document
from consort.model.reading import read_document
from consort.model.validate import validate
from consort.sweep.model import (
    BLOCKS,
    Attack,
    Programs,
    Sweep,
    TaskSets,
    Varied,
    figures_of,
    parameters_of,
    same,
    spelled,
)

SCALE, PLATFORM = "scale.", "platform."
ASSUMED = "a value of the sweep"
# A factor of 10^-6 or 10^6 is a slip.
SMALLEST, LARGEST = 1e-6, 1e6


def scale_of(path: str) -> Scale:
    """`scale.wcet` and `scale.wcet.servo`."""
    what, _, of = path.removeprefix(SCALE).partition(".")
    return Scale(what, of or None)


def changed(system: System, changes: Mapping[str, Any]) -> System:
    """The system with the changes, replaced values first; `BadDescription` where it then is none."""
    data, platform = system.to_json(), system.platform_description.to_json()
    scales = {path: value for path, value in changes.items() if path.startswith(SCALE)}
    for path, value in changes.items():
        if path not in scales:
            _replace(data, platform, path, value)
    if scales:
        base = _made(system, data, platform)
        for path, value in scales.items():
            scale_data(data, platform, base, scale_of(path), Fraction(str(value)))
    return _made(system, data, platform)


def _check_change(system: System, path: str, values: Sequence[Any]) -> str | None:
    """The error in a change, and a correction; None: it is valid."""
    if path.startswith(SCALE):
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int | float):
                return f"{value!r} is not a factor; write a number, for example 1.5"
            if not SMALLEST <= value <= LARGEST:
                return f"the factor {value} is out of range; {SMALLEST:g} to {LARGEST:g} is possible"
        return check_scale(system, scale_of(path))
    for value in values:
        try:
            changed(system, {path: value})
        except LookupError as error:
            return str(error.args[0])
        except BadDescription as error:
            first = error.problems[0]
            return f"with {value!r}: {first.field}: {first.message}"
    return None


def _made(system: System, data: dict[str, Any], platform: dict[str, Any]) -> System:
    return system_from_data(data, file=system.file, platform=platform_from_data(platform))


def _replace(data: dict[str, Any], platform: dict[str, Any], path: str, value: Any) -> None:
    holder: Any = platform if path.startswith(PLATFORM) else data
    *parts, last = path.removeprefix(PLATFORM).split(".")
    for part in parts:
        if isinstance(holder, list) and part.isdecimal() and int(part) < len(holder):
            holder = holder[int(part)]
        elif isinstance(holder, dict) and part in holder:
            holder = holder[part]
        else:
            known = [str(key) for key in holder] if isinstance(holder, dict) else []
            raise LookupError(f"{part!r} of {path!r} is not there; {nearest(part, known, 'keys')}")
    if not isinstance(holder, dict):
        raise LookupError(f"{last!r} of {path!r} lies in no mapping; name a key of a mapping")
    old = holder.get(last)
    # The source of the old value says nothing of the new one.
    holder[last] = {"value": value, "assumed": ASSUMED} if isinstance(old, dict) and "value" in old else value


PROGRAM_COLUMNS = ("program", "scratchpad_ns", "contended_ns", "load_ns", "unload_ns")


@dataclass(frozen=True)
class Loaded:
    """A sweep and what its file names."""

    sweep: Sweep
    file: Path
    programs: list[list[int]] = field(default_factory=list)
    """Scratchpad time, contended time, load time, unload time [ns]."""
    system: System | None = None

    @property
    def name(self) -> str:
        return self.sweep.name or self.file.stem


def load_sweep(path: str | Path, sets: int | None = None) -> Loaded:
    """The sweep of a file, with another number of sets where that is given; `BadDescription` with all that
    is wrong with it."""
    document = read_document(Path(path), "sweep file")
    if "sweep" not in document.data:
        place = document.problem((), "this is not a sweep file; it begins with 'sweep: 1'")
        raise BadDescription([place])
    given = [kind for kind in BLOCKS if kind in document.data]
    if len(given) != 1:
        text = f"{' and '.join(given) or 'nothing'} to be swept stands here; give one of {', '.join(BLOCKS)}"
        document.problems.append(document.problem((), text))
    sweep, _ = validate(Sweep, document)
    if document.problems or sweep is None:
        raise BadDescription(document.problems)
    if sets is not None:
        if sweep.kind == "description":
            raise BadInput("a description is not a random set; leave it out", field="--sets")
        sweep = sweep.model_copy(update={"sets": sets})
    programs: list[list[int]] = []
    system: System | None = None
    block = sweep.swept
    if isinstance(block, Programs):
        programs = _programs(document, Path(path).parent / block.file)
    elif isinstance(block, Varied):
        system = _system(document, block)
    elif isinstance(block, TaskSets):
        _check_task_sets(document, sweep, block)
    _check_analyses(document, sweep)
    if not document.problems:
        _check_used(document, sweep)
        _check_plots(document, sweep)
    if document.problems:
        raise BadDescription(document.problems)
    return Loaded(sweep, Path(path), programs, system)


def _check_analyses(document: Document, sweep: Sweep) -> None:
    known = sweep.swept.analyses
    for index, name in enumerate(sweep.analyses):
        place = ("analyses", index)
        if name not in known:
            text = f"{name!r} is not an analysis of {sweep.kind}; {nearest(name, known, 'analyses')}"
            document.problems.append(document.problem(place, text))
        elif name in sweep.analyses[:index]:
            document.problems.append(document.problem(place, f"{name!r} stands twice; remove one of them"))
    block = sweep.swept
    if isinstance(block, Varied) and (block.simulate is None) == ("simulation" in sweep.analyses):
        text = "the analysis 'simulation' and 'simulate' belong together; "
        text += "add 'simulate: {duration: 1s}'" if block.simulate is None else "add it to 'analyses'"
        document.problems.append(document.problem(("description",), text))


def _check_task_sets(document: Document, sweep: Sweep, block: TaskSets) -> None:
    def wrong(key: str, text: str) -> None:
        document.problems.append(document.problem(("task_sets", key), text))

    if any(name.startswith("three-phase") for name in sweep.analyses) and not block.slot:
        wrong("slot", "three-phase analyses need the slot; add it, for example 'slot: 155us'")
    if max(block.shortest) > min(block.longest):
        wrong("shortest", "a shortest period is above a longest one; lower it")


def _check_used(document: Document, sweep: Sweep) -> None:
    """Checks that everything given is used: by an analysis that is named, or at all by what is swept."""
    block = sweep.swept
    users: dict[str, list[str]] = {}
    for analysis, names in block.analyses.items():
        for name in names:
            users.setdefault(name, []).append(analysis)
    for name in block.model_fields_set & users.keys():
        if not set(users[name]) & set(sweep.analyses):
            text = f"no analysis of this sweep uses it; remove it, or add one of {', '.join(users[name])}"
            document.problems.append(document.problem((sweep.kind, name), text))
    unused: dict[str, str] = {}
    if isinstance(block, Varied):
        unused |= dict.fromkeys(("sets", "block"), "a description is not a random set")
        if "simulation" not in sweep.analyses:
            unused["seed"] = "nothing is random without the analysis 'simulation'"
    if isinstance(block, Attack) and block.until_refuted:
        unused["block"] = "a search that its first finding ends is not divided ('until_refuted')"
    for name in sweep.model_fields_set & unused.keys():
        document.problems.append(document.problem((name,), f"{unused[name]}; remove it"))


def _check_plots(document: Document, sweep: Sweep) -> None:
    figures, parameters = figures_of(sweep)
    swept = {"analysis": sweep.analyses, **parameters_of(sweep)}
    for name, plot in sweep.plots.items():
        for key, value, known in (("x", plot.x, parameters), ("y", plot.y, figures)):
            if value not in known:
                text = f"{value!r} is unknown here; {nearest(value, known, 'known')}"
                document.problems.append(document.problem(("plots", name, key), text))
        named = (("lines", plot.lines), ("panels", plot.panels), ("where", tuple(plot.where)))
        for key, names in named:
            for index, value in enumerate(names):
                if value not in parameters:
                    text = f"{value!r} is not a parameter; {nearest(value, parameters, 'parameters')}"
                    place = ("plots", name, key, value if key == "where" else index)
                    document.problems.append(document.problem(place, text))
        for parameter, wanted in plot.where.items():
            values = swept.get(parameter, ())
            if values and not any(same(parameter, value, wanted) for value in values):
                known = [spelled(parameter, value) for value in values]
                text = f"{parameter} is never {wanted} here; {nearest(str(wanted), known, 'swept')}"
                document.problems.append(document.problem(("plots", name, "where", parameter), text))
        for index, value in enumerate(plot.log):
            if value not in ("x", "y"):
                text = f"{value!r} is not an axis; write x or y"
                document.problems.append(document.problem(("plots", name, "log", index), text))


def _programs(document: Document, file: Path) -> list[list[int]]:
    try:
        text = read_bytes(file, LARGEST_DESCRIPTION, "table of programs").decode()
    except (OSError, UnicodeDecodeError, BadInput) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        text = f"{file} cannot be read: {reason}; give a CSV file, its path from this one"
        document.problems.append(document.problem(("programs", "file"), text))
        return []
    rows = csv.DictReader(io.StringIO(text))
    if tuple(rows.fieldnames or ()) != PROGRAM_COLUMNS:
        text = f"{file} has other columns; {', '.join(PROGRAM_COLUMNS)} are needed"
        document.problems.append(document.problem(("programs", "file"), text))
        return []
    found: list[list[int]] = []
    for number, row in enumerate(rows, 2):
        values = [row[column] or "" for column in PROGRAM_COLUMNS[1:]]
        if not all(value.isdecimal() and 0 < int(value) < 10**15 for value in values):
            text = f"{file}:{number}: whole nanoseconds above 0 are needed in all columns but the first"
            document.problems.append(document.problem(("programs", "file"), text))
            return []
        found.append([int(value) for value in values])
    if not found:
        document.problems.append(document.problem(("programs", "file"), f"{file} has no rows; add programs"))
    return found


def _system(document: Document, block: Varied) -> System | None:
    from consort.plan import chosen_mode, plan

    file = document.file.parent / block.file
    try:
        system = load_system(file)
        if system.mode_changes is not None and block.mode is None:
            text = f"{file} changes its mode; say which one is looked at, for example 'mode: {{}}'"
            first = next(iter(system.modes), "")
            document.problems.append(document.problem(("description",), text.format(first)))
            return None
        plan(system, "analysis", mode=block.mode)
        system = chosen_mode(system, block.mode)
    except BadDescription as error:
        document.problems.extend(error.problems)
        return None
    except BadInput as error:
        document.problems.append(document.problem(("description", "mode"), str(error)))
        return None
    for path, values in block.change.items():
        wrong: Any = _check_change(system, path, values)
        if wrong is not None:
            document.problems.append(document.problem(("description", "change", path), wrong))
    return system
