# SPDX-License-Identifier: Apache-2.0
"""Recorded inputs: columns of a CSV file, resampled to the rate of the jobs, as the step's input structs.

Time stamps are subtracted exactly before they become floating point: nanoseconds since 1970 have more digits
than a double holds.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from consort.base.errors import BadInput, nearest

Interpolation = Literal["linear", "cubic"]
UNITS_PER_SECOND = {"ps": 10**12, "ns": 10**9, "us": 10**6, "ms": 10**3, "s": 1}

# A resampled table larger than this is a wrong unit rather than a recording.
MOST_ROWS = 100_000_000


@dataclass(frozen=True)
class Source:
    """The source of a member's values: a column, and value * scale + offset."""

    column: str
    scale: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Recording:
    """Columns of a CSV file over time."""

    file: Path
    seconds: NDArray[np.float64]
    """From the first row; strictly increasing."""
    columns: dict[str, NDArray[np.float64]]


def read_recording(file: Path, time: str, time_unit: str, columns: Iterable[str]) -> Recording:
    """The named columns of a CSV file whose first line names them. `BadInput` names line and column."""
    wanted = list(dict.fromkeys([time, *columns]))
    stamps: list[Fraction] = []
    values: dict[str, list[float]] = {name: [] for name in wanted if name != time}
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, strict=True)
            header = [name.strip() for name in next(reader, [])]
            if not header:
                raise BadInput("the file is empty; its first line names the columns", file=file, line=1)
            places = {name: _place(file, header, name) for name in wanted}
            for row in reader:
                if not row:
                    continue
                if len(row) != len(header):
                    raise BadInput(
                        f"the row has {len(row)} values, the first line names {len(header)} columns; correct"
                        " the row",
                        file=file,
                        line=reader.line_num,
                    )
                stamps.append(_stamp(file, reader.line_num, places[time], time, row))
                if len(stamps) > 1 and stamps[-1] <= stamps[-2]:
                    raise BadInput(
                        f"the time {row[places[time]].strip()} is not after the row before; sort the rows and"
                        " remove double ones",
                        file=file,
                        line=reader.line_num,
                        column=places[time] + 1,
                        field=time,
                    )
                for name, numbers in values.items():
                    numbers.append(_number(file, reader.line_num, places[name], name, row))
    except UnicodeDecodeError as error:
        raise BadInput(f"byte {error.start} is not UTF-8; save the file as UTF-8", file=file) from None
    except csv.Error as error:
        raise BadInput(
            f"this is not valid CSV: {error}; correct the line", file=file, line=reader.line_num
        ) from None
    except OSError as error:
        raise BadInput(f"the file cannot be read: {error.strerror}; name a CSV file", file=file) from None
    if len(stamps) < 2:
        raise BadInput(f"the file has {len(stamps)} rows of values; at least 2 are needed", file=file)
    unit = UNITS_PER_SECOND[time_unit]
    seconds = np.array([float((stamp - stamps[0]) / unit) for stamp in stamps])
    data = {name: np.array(numbers) for name, numbers in values.items()}
    if time in columns:
        data[time] = np.array([float(stamp) for stamp in stamps])
    return Recording(file, seconds, data)


def _place(file: Path, header: list[str], name: str) -> int:
    found = header.count(name)
    if found == 0:
        raise BadInput(f"there is no column {name!r}; {nearest(name, header, 'columns')}", file=file, line=1)
    if found > 1:
        raise BadInput(
            f"{found} columns are named {name!r}; give each a name of its own", file=file, line=1, field=name
        )
    return header.index(name)


def _stamp(file: Path, line: int, place: int, name: str, row: list[str]) -> Fraction:
    cell = row[place].strip()
    try:
        # Fraction reads integers and decimals, also with an exponent; it reads '1/2' too, which no recording
        # holds.
        if "/" not in cell and len(cell) < 64:
            # An exponent can ask for more digits than there is memory.
            if "e" in cell.lower():
                return Fraction(_finite(float(cell)))
            return Fraction(cell)
    except ValueError:
        pass
    raise BadInput(
        f"{cell!r} is not a time; write a number", file=file, line=line, column=place + 1, field=name
    )


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError("not finite")
    return value


def _number(file: Path, line: int, place: int, name: str, row: list[str]) -> float:
    cell = row[place].strip()
    try:
        return _finite(float(cell))
    except ValueError:
        raise BadInput(
            f"{cell!r} is not a finite number; write a number",
            file=file,
            line=line,
            column=place + 1,
            field=name,
        ) from None


def resample(recording: Recording, step: Fraction, interpolation: Interpolation = "linear") -> Recording:
    """The recording at 0, step, 2 step … seconds, as far as it goes, unfiltered: for going up."""
    if step <= 0:
        raise ValueError("the step is more than 0 s")
    rows = int(Fraction(recording.seconds[-1]) / step) + 1
    if rows > MOST_ROWS:
        raise BadInput(
            f"resampled to {float(1 / step):g} Hz the recording has {rows} rows; check 'time_unit' and"
            " 'rate'",
            file=recording.file,
        )
    # One rounding a sample, so that the last one does not drift: n * numerator / denominator.
    at = np.arange(rows, dtype=np.float64) * step.numerator / step.denominator
    np.minimum(at, recording.seconds[-1], out=at)
    if interpolation == "linear":
        columns = {name: np.interp(at, recording.seconds, v) for name, v in recording.columns.items()}
    else:
        columns = _cubic(recording, at)
    return Recording(recording.file, at, columns)


def _cubic(recording: Recording, at: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    # Importing SciPy takes longer than all the rest of a linear resampling.
    from scipy.interpolate import CubicSpline

    if len(recording.seconds) < 4:
        raise BadInput(
            f"the file has {len(recording.seconds)} rows of values; a cubic spline needs 4, or write"
            " 'interpolation: linear'",
            file=recording.file,
        )
    return {
        name: np.asarray(CubicSpline(recording.seconds, v)(at), dtype=np.float64)
        for name, v in recording.columns.items()
    }


def as_structs(recording: Recording, sources: Mapping[str, Source], dtype: np.dtype[Any]) -> NDArray[Any]:
    """A recording's rows as structs: each member of the dtype from its source, integers rounded."""
    members = dtype.names or ()
    for name in members:
        if name not in sources:
            raise BadInput(
                f"the input type's member {name!r} has no column; add it under 'columns'", field="columns"
            )
        if dtype[name].kind not in "fiub" or dtype[name].shape:
            raise BadInput(
                f"the input type's member {name!r} is not a number; make the inputs by a Python function"
                " instead",
                field=f"columns.{name}",
            )
    for name in sources:
        if name not in members:
            raise BadInput(
                f"the input type has no member {name!r}; {nearest(name, members, 'members')}",
                field=f"columns.{name}",
            )
    table = np.zeros(len(recording.seconds), dtype)
    for name, source in sources.items():
        values = recording.columns[source.column] * source.scale + source.offset
        kind = dtype[name]
        if kind.kind in "iu":
            values = np.rint(values)
            low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
            # A double nearest to 2^63 - 1 is 2^63, which does not fit: hence "less than high + 1".
            fits = (values >= low) & (values < float(high + 1))
        else:
            fits = np.isfinite(values) & (
                (np.abs(values) <= np.finfo(kind).max) if kind.kind == "f" else True
            )
        if not fits.all():
            row = int(np.argmin(fits))
            raise BadInput(
                f"{source.column} at {recording.seconds[row]:.9g} s becomes {values[row]:g}, which does not"
                " fit"
                f" {kind}; change the scale",
                file=recording.file,
                field=f"columns.{name}",
            )
        table[name] = values.astype(kind)
    return table


def read_inputs(
    file: Path,
    *,
    time: str,
    time_unit: str,
    columns: Mapping[str, Source],
    step: Fraction,
    dtype: np.dtype[Any],
    interpolation: Interpolation = "linear",
) -> NDArray[Any]:
    """A CSV file as an array of input structs, one every `step` seconds."""
    names = [source.column for source in columns.values()]
    recording = resample(read_recording(file, time, time_unit, names), step, interpolation)
    return as_structs(recording, columns, dtype)
