# SPDX-License-Identifier: Apache-2.0
"""A task's inputs and golden outputs, as arrays of the step's own structs."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.base.errors import BadInput, nearest
from consort.judge.outputs import tolerated
from consort.model import FileInput, FunctionInput, Golden, PythonReference
from consort.model.channel import STAND_IN
from consort.plan import Plan
from consort.record import RawRun
from consort.record.sections import column_name
from consort.run.inputs import Source, read_inputs


def struct_dtype(layout: Mapping[str, Any]) -> np.dtype[Any]:
    """The NumPy type of a C++ struct, from the layout that the program describes.

    A struct that is described as bytes only is one opaque value of its size.
    """
    if len(layout["members"]) == 1 and layout["members"][0]["name"] == "bytes":
        return np.dtype(f"V{layout['bytes']}")
    names, formats, offsets = [], [], []
    for member in layout["members"]:
        names.append(member["name"])
        formats.append(
            ("<" + member["type"], (member["count"],)) if member["count"] > 1 else "<" + member["type"]
        )
        offsets.append(member["offset"])
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": layout["bytes"]})


def load_function(file: Path, reference: PythonReference) -> Callable[..., Any]:
    """A function of a Python file beside the description. Its folder is importable while it is loaded."""
    path = (file.parent / reference.file).resolve()
    name = f"consort_description_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        sys.modules[name] = module
        spec.loader.exec_module(module)
    except Exception as error:
        raise BadInput(f"{type(error).__name__}: {error}", file=path) from error
    finally:
        sys.path.remove(str(path.parent))
    function = getattr(module, reference.name, None)
    if not callable(function):
        raise BadInput(f"there is no function {reference.name}", file=path)
    return function  # type: ignore[no-any-return]


def recorded_rows(file: Path, given: FileInput, step: Fraction, dtype: np.dtype[Any]) -> NDArray[Any]:
    """A recording as rows, one each `step` seconds."""
    columns = {m: given.column(m) for m in given.columns}
    return read_inputs(
        file.parent / given.file,
        time=given.time,
        time_unit=given.time_unit,
        columns={m: Source(c.column, c.scale, c.offset) for m, c in columns.items()},
        step=step,
        dtype=dtype,
        interpolation=given.interpolation,
    )


def made_rows(file: Path, given: FunctionInput, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Rows that a Python function makes."""
    try:
        returned = call(file, given.function, dtype, **given.arguments)
    except BadInput as error:
        members = ", ".join(dtype.names or ())
        text = f"{error.message}; the dtype has the members: {members}"
        raise BadInput(text, file=error.file, line=error.line) from error
    made = _array(file, given.function, returned)
    if made.dtype != dtype or made.ndim != 1 or made.size == 0:
        raise BadInput(
            f"{given.function.name} returned {made.dtype} of shape {made.shape}; it must be a non-empty"
            f" one-dimensional array of {dtype}",
            file=file.parent / given.function.file,
        )
    return made


def _array(file: Path, function: PythonReference, returned: Any) -> NDArray[Any]:
    """A Python function's result as an array; `BadInput` where its rows are unlike."""
    try:
        return np.asarray(returned)
    except ValueError as error:
        raise BadInput(
            f"{function.name} returned something that is not an array: {error}",
            file=file.parent / function.file,
        ) from None


def golden_outputs(
    file: Path, task: str, golden: Golden, inputs: NDArray[Any], dtype: np.dtype[Any], cache: Path
) -> NDArray[Any]:
    """The outputs of a task that the inputs must give, row for row from a reset state, of type `dtype`.

    `BadInput` where the function gives something else, a value that its member cannot hold, or where a
    tolerance is that of no member or has the other unit.
    """
    if dtype.names is None:
        text = "the members of the output's type are not known; list them with CONSORT_LAYOUT"
        raise BadInput(text, file=file, field=f"tasks.{task}.golden")
    _check_tolerances(file, task, golden, dtype)
    arguments = dict(golden.arguments)
    function = load_function(file, golden.function)
    if _takes_cache(function):
        cache.mkdir(parents=True, exist_ok=True)
        arguments["cache"] = cache  # type: ignore[assignment]
    result = call(file, golden.function, inputs, **arguments)

    def refused(found: str, remedy: str) -> BadInput:
        text = f"{golden.function.name} returned {found}; return {remedy}"
        return BadInput(text, file=file.parent / golden.function.file)

    if isinstance(result, Mapping):
        if "expected" not in result:
            raise refused("a mapping without 'expected'", "the outputs under that key")
        result = result["expected"]
    expected = _array(file, golden.function, result)
    members = f"those of the output: {', '.join(dtype.names)}"
    if expected.dtype.names is None:
        raise refused(f"{expected.dtype} without members", f"rows with {members}")
    if set(expected.dtype.names) != set(dtype.names):
        raise refused(f"rows with the members {', '.join(expected.dtype.names)}", members)
    if expected.ndim != 1:
        raise refused(f"an array of shape {expected.shape}", f"one row for each of the {inputs.size} inputs")
    if expected.size != inputs.size:
        raise refused(f"{expected.size} rows for {inputs.size} inputs", "one for each")
    made = np.zeros(expected.shape, dtype=dtype)
    for name in dtype.names:
        shape, needed = expected.dtype[name].shape, dtype[name].shape
        if shape != needed:
            raise refused(f"{name} of shape {shape} in each row", str(needed))
        rounded = any(tolerated(given, name, dtype) for given in golden.tolerance)
        made[name] = _held_by(expected[name], made[name].dtype, rounded, name, file, golden)
    return made


def _takes_cache(function: Callable[..., Any]) -> bool:
    """True if the function names a folder of its own among its parameters."""
    try:
        return "cache" in inspect.signature(function).parameters
    except ValueError:
        # Some that are built in do not say what they take.
        return False


def _check_tolerances(file: Path, task: str, golden: Golden, dtype: np.dtype[Any]) -> None:
    for given, tolerance in golden.tolerance.items():
        field = f"tasks.{task}.golden.tolerance.{given}"
        members = [name for name in dtype.names or () if tolerated(given, name, dtype)]
        if not members:
            known = nearest(given, dtype.names or (), "members of the output")
            raise BadInput(f"the output has no member {given!r}; {known}", file=file, field=field)
        unit = "ulp" if dtype[members[0]].base.kind == "f" else "LSB"
        if tolerance.unit != unit:
            kind = "a floating-point number" if unit == "ulp" else "an integer"
            raise BadInput(f"{given} is {kind}; write {tolerance.count}{unit}", file=file, field=field)


def _held_by(
    values: NDArray[Any],
    dtype: np.dtype[Any],
    rounded: bool,
    member: str,
    file: Path,
    golden: Golden,
) -> NDArray[Any]:
    """Golden values as their member holds them; only one with a tolerance may be rounded to that."""
    if values.dtype == dtype:
        return values
    try:
        with np.errstate(all="ignore"):
            held = np.asarray(values.astype(dtype))
            same = held.astype(object) == values.astype(object)
    except (TypeError, ValueError, OverflowError):
        held, same = values, np.zeros(values.shape, dtype=np.bool_)
    same = np.asarray(same, dtype=np.bool_)
    if dtype.kind in "iu" and values.dtype.kind == "f":
        # Of greater integers a float does not hold each one.
        with np.errstate(invalid="ignore"):
            same &= np.abs(values) < 2 ** (np.finfo(values.dtype).nmant + 1)
    if dtype.kind == "f" and values.dtype.kind in "fiu":
        # A NaN is not a number, of whatever length.
        same |= np.isnan(held) & np.isnan(values.astype(np.float64))
        if rounded:
            same |= np.isfinite(held)
    if not same.all():
        at = np.argwhere(~same)[0]
        round_it = " round it there, or give a tolerance" if dtype.kind == "f" else " correct it there"
        raise BadInput(
            f"{golden.function.name} gave {values[tuple(at)]} for {member} in row {int(at[0])}, which a"
            f" {dtype.name} does not hold;{round_it}",
            file=file.parent / golden.function.file,
        )
    return held


def call(file: Path, reference: PythonReference, *arguments: Any, **named: Any) -> Any:
    """Calls a function of a Python file beside the description; `BadInput` with what it raised."""
    function = load_function(file, reference)
    try:
        return function(*arguments, **named)
    except BadInput:
        raise
    except Exception as error:
        path = file.parent / reference.file
        # Not all that can be called has code: a partial function has none, nor has one with a cache.
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == str(path.resolve())]
        text = f"{reference.name} raised {type(error).__name__}: {error}"
        raise BadInput(text, file=path, line=lines[-1] if lines else None) from error


def sink_problems(plan: Plan, folder: Path) -> Iterator[str]:
    """Calls the function of each sink with the blocks of each of its tasks, from the raw run folder; gives
    the problems that functions report."""
    written = [
        (number, task, binding, str(device.reference))
        for number, task in enumerate(plan.tasks.values())
        for binding in task.writes
        if (device := plan.devices.get(binding.source)) is not None
        and device.kind == "record"
        and device.reference is not None
        and task.step != STAND_IN
    ]
    if not written:
        return
    raw = RawRun.load(folder)
    for number, task, binding, function in written:
        here = f"sink {binding.source}, {task.name}"
        table = raw.tables.get(f"outputs-{number}")
        if table is None:
            yield f"{here}: nothing that it wrote was recorded"
            continue
        blocks = _written(np.array(table.rows), binding.member)
        try:
            said = call(plan.file, PythonReference.parse(function), task.name, blocks)
        except BadInput as error:
            said = error.message
        if said is not None:
            yield f"{here}: {said}"


def _written(rows: NDArray[Any], member: str) -> NDArray[Any]:
    """The jobs' numbers and what the binding gives of their outputs, in the order of the jobs."""
    start = column_name(member)

    def bound(name: str) -> bool:
        column = column_name(name)
        return name == "seq" or not member or column == start or column.startswith(f"{start}_")

    names = [name for name in rows.dtype.names or () if bound(name)]
    found = np.empty(rows.size, [(name, rows.dtype[name]) for name in names])
    for name in names:
        found[name] = rows[name]
    return np.sort(found, order="seq")
