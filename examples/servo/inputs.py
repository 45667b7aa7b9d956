# SPDX-License-Identifier: Apache-2.0
"""The controller's inputs from a recording: read, resampled to the controller's rate, geared to the drive."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from golden import COEFFICIENTS, IN_TYPES, convert
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline


class RecordingError(ValueError):
    """The recording cannot be used; the message names the file and the line or column."""


def read_recording(csv: Path) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Time [s from the first row], set point and process value [rad]."""
    columns = ("time", "set_point", "process_value")
    try:
        lines = csv.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise RecordingError(f"{csv}: {error}") from error
    header = lines[0].split(",") if lines else []
    for name in columns:
        if name not in header:
            raise RecordingError(f"{csv}:1: no column {name!r}")
    places = [header.index(name) for name in columns]
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        cells = line.split(",")
        try:
            # Integer nanoseconds since 1970 have too many digits for a double until the first is subtracted.
            rows.append((int(cells[places[0]]), float(cells[places[1]]), float(cells[places[2]])))
        except (ValueError, IndexError) as error:
            raise RecordingError(f"{csv}:{number}: {error}") from error
    if len(rows) < 4:
        raise RecordingError(f"{csv}: at least 4 rows are needed, there are {len(rows)}")
    time = np.array([row[0] - rows[0][0] for row in rows]) * 1e-9
    values = np.array([row[1:] for row in rows])
    if not np.all(np.isfinite(values)):
        raise RecordingError(f"{csv}: a value is not finite")
    late = np.flatnonzero(np.diff(time) <= 0)
    if len(late):
        raise RecordingError(f"{csv}:{late[0] + 3}: time does not increase")
    return time, values[:, 0], values[:, 1]


def load_inputs(
    csv: Path | str, rate_hz: float | None = None, arithmetic: str = "f32", gear: float | None = None
) -> NDArray[Any]:
    """A recording as the array of In that the step takes, one row a job.

    Cubic splines through the recorded points, evaluated at the rate given (default: the description's); the
    recording's highest frequency is far below the new rate, so that no filter is needed. Every arithmetic
    sees the same signal: the float32 one, widened to float64 or rounded to the nearest fixed-point angle.
    """
    rate = COEFFICIENTS["recording"]["rate"] if rate_hz is None else rate_hz
    factor = COEFFICIENTS["recording"]["gear"] if gear is None else gear
    time, set_point, process_value = read_recording(Path(csv))
    at = np.arange(int(np.floor(time[-1] * rate)) + 1) / rate
    rows = np.empty(len(at), IN_TYPES["f32"])
    rows["reference"] = CubicSpline(time, set_point)(at) * factor
    rows["position"] = CubicSpline(time, process_value)(at) * factor
    return convert(rows, arithmetic)


def rows_f32(_dtype: Any) -> NDArray[Any]:
    """The recorded joint as inputs of the float32 step, for a description's `input: {function: ...}`."""
    return load_inputs(Path(__file__).parent / "data/lfj3_tracking_sine_a.csv")


def rows_q31(_dtype: Any) -> NDArray[Any]:
    """The same signal as inputs of the Q31 step."""
    return load_inputs(Path(__file__).parent / "data/lfj3_tracking_sine_a.csv", arithmetic="q31")
