# SPDX-License-Identifier: Apache-2.0
"""Golden outputs of the servo controller for a whole array of inputs.

Two answers, written independently of step.hpp:

- `reference64`: what the design asks for. Each oscillator's response is a convolution with a rotating phasor,
  summed up in double precision in modal coordinates; there is no leapfrog in it, and no rounded coefficient.
- `expected`: the arithmetic's own outputs, to the bit: states of all oscillators advance together as NumPy
  vectors in the order of rounding that step.hpp states; outputs are taken from the whole history afterwards.

A C++ output is right when it equals `expected` exactly; `expected` is right when it stays within the stated
tolerance of `reference64`. The file stands alone, so that a runner can load it by its path.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

HERE = Path(__file__).resolve().parent
COEFFICIENTS: dict[str, Any] = json.loads(
    (HERE / "generated" / "coefficients.json").read_text(encoding="utf-8")
)

# The step's In and Out in each arithmetic, as the C++ structs lie in memory.
IN_TYPES = {
    name: np.dtype([("reference", code), ("position", code)])
    for name, code in (("f32", "<f4"), ("f64", "<f8"), ("q31", "<i4"))
}
OUT_TYPES = {
    name: np.dtype([("command", code)]) for name, code in (("f32", "<f4"), ("f64", "<f8"), ("q31", "<i4"))
}

Array = NDArray[Any]
ARITHMETICS = ("f32", "f64", "q31")

# How far an arithmetic may be from reference64, in the unit of its Out. Acceptance limits, not results: the
# tests print what the recordings give. float32's share is mostly phase: eps rounded to 24 bits turns the
# 100 Hz oscillator by up to 4e-4 rad in 12 s. Fixed point's is mostly the derivative filter's last bit, which
# the derivative gain multiplies by 904.
TOLERANCE = {
    "f32": {"absolute": 2e-4, "unit": "N m"},
    "f64": {"absolute": 1e-11, "unit": "N m"},
    "q31": {"absolute": 4000.0, "unit": "LSB of 10 N m / 2^31"},
}


class Replay(NamedTuple):
    """The result of a replay. Peaks are fractions of full scale: the integrator's, then those of x1 and
    x2."""

    outputs: Array
    state_peaks: NDArray[np.float64]
    command_peak: float  # before the limit, as a fraction of it
    # Values that reached the end of the fixed-point range (q31), commands at the limit (all).
    saturations: int


def golden(inputs: Array, arithmetic: str, cache: Path | None = None) -> dict[str, Any]:
    """Expected outputs for inputs that start from a reset state (`State{}`) at row 0.

    inputs: array of In of the arithmetic, or of float32 In (converted). cache: a folder for results, keyed by
    what they depend on. Returns expected (array of Out), reference64 (float64, in the unit of Out),
    tolerance, and state_peaks, command_peak and saturations of the replay.
    """
    if arithmetic not in ARITHMETICS:
        raise ValueError(f"arithmetic {arithmetic!r}: one of {', '.join(ARITHMETICS)}")
    rows = np.ascontiguousarray(convert(inputs, arithmetic))
    stored = None if cache is None else Path(cache) / f"servo-golden-{_key(rows, arithmetic)}.npz"
    if stored is not None and stored.exists():
        with np.load(stored) as content:
            result = Replay(
                content["outputs"],
                content["state_peaks"],
                float(content["command_peak"]),
                int(content["saturations"]),
            )
            reference = content["reference64"]
    else:
        result = replay(rows, arithmetic)
        reference = reference64(rows, arithmetic)
        if stored is not None:
            _store(stored, result, reference)
    return {
        "expected": result.outputs,
        "reference64": reference,
        "tolerance": dict(TOLERANCE[arithmetic]),
        "state_peaks": result.state_peaks,
        "command_peak": result.command_peak,
        "saturations": result.saturations,
    }


def convert(rows: NDArray[Any], arithmetic: str) -> NDArray[Any]:
    """Inputs in rad as the In of an arithmetic."""
    if rows.dtype == IN_TYPES[arithmetic]:
        return rows
    if rows.dtype.kind == "V" and rows.dtype["reference"].kind == "i":
        raise ValueError("fixed-point inputs are not converted back")
    converted = np.empty(len(rows), IN_TYPES[arithmetic])
    for name in ("reference", "position"):
        values = rows[name].astype(np.float64)
        if arithmetic == "q31":
            values = np.rint(values / COEFFICIENTS["q31"]["angle_full_scale"] * 2**31)
            if np.any(values < -(2**31)) or np.any(values >= 2**31):
                raise ValueError(f"{name}: an angle is beyond the fixed-point range")
        converted[name] = values
    return converted


def replay(rows: Array, arithmetic: str) -> Replay:
    """The arithmetic's own outputs, bit by bit."""
    return _replay_q31(rows) if arithmetic == "q31" else _replay_real(rows, arithmetic)


def reference64(rows: Array, arithmetic: str) -> NDArray[np.float64]:
    """Ideal outputs in double precision, limited as the step limits them, in the unit of Out."""
    c = COEFFICIENTS["f64"]
    error = rows["reference"].astype(np.float64) - rows["position"]
    if arithmetic == "q31":
        error *= COEFFICIENTS["q31"]["angle_full_scale"] / 2**31
    pole = 1 - c["filter"]
    smooth = lfilter([0, c["filter"]], [1, -pole], error)  # the state before this sample's update
    integral = np.concatenate([[0.0], np.cumsum(error)[:-1]])
    command = c["proportional"] * error + c["derivative"] * (error - smooth)
    command += c["integrator_output"] * c["integrator_input"] * integral
    sample = np.arange(len(error))
    for k in range(COEFFICIENTS["harmonics"]):
        theta = 2 * np.pi * (k + 1) * COEFFICIENTS["sample_period"] / COEFFICIENTS["period"]
        turn, eps = np.exp(1j * theta), 2 * np.sin(theta / 2)
        right = np.array([[eps, eps], [turn - 1, turn.conjugate() - 1]])  # eigenvectors
        drive = np.linalg.solve(right, np.array([1.0, -eps]) * c["input"][k])[0]
        read = c["output_1"][k] * right[0, 0] + c["output_2"][k] * right[1, 0]
        phasor = np.exp(-1j * theta * sample)
        inside = np.concatenate([[0.0], np.cumsum(phasor * error)[:-1]])
        command += 2 * np.real(read * drive * turn**-1 * np.conjugate(phasor) * inside)
    command = np.clip(command, -c["command_limit"], c["command_limit"])
    if arithmetic == "q31":
        command *= 2**31 / COEFFICIENTS["q31"]["command_full_scale"]
    return np.asarray(command)


def _replay_real(rows: Array, arithmetic: str) -> Replay:
    number: Any = np.float32 if arithmetic == "f32" else np.float64
    c = {name: np.array(value, number) for name, value in COEFFICIENTS[arithmetic].items()}
    count, n = len(rows), COEFFICIENTS["harmonics"]
    error = rows["reference"] - rows["position"]
    driven = c["input"][None, :] * error[:, None]

    # histories hold the states before each sample's update
    x1, x2 = np.zeros((count + 1, n), number), np.zeros((count + 1, n), number)
    eps, product = c["eps"], np.empty(n, number)
    for now1, now2, next1, next2, drive in zip(x1, x2, x1[1:], x2[1:], driven, strict=False):
        np.multiply(eps, now2, product)
        np.add(now1, product, next1)
        np.add(next1, drive, next1)
        np.multiply(eps, next1, product)
        np.subtract(now2, product, next2)

    smooth = np.zeros(count + 1, number)
    gain, value = c["filter"][()], number(0)
    for i in range(count):
        value = value + gain * (error[i] - value)
        smooth[i + 1] = value
    # accumulate adds strictly from left to right, as the step does
    integral = np.add.accumulate(np.concatenate([[number(0)], c["integrator_input"] * error]), dtype=number)

    term = c["output_1"] * x1[:-1] + c["output_2"] * x2[:-1]
    lanes = np.zeros((count, 4), number)
    for k in range(n):
        lanes[:, k % 4] += term[:, k]
    oscillators = (lanes[:, 0] + lanes[:, 1]) + (lanes[:, 2] + lanes[:, 3])
    change = error - smooth[:-1]
    command = (
        (c["proportional"] * error + c["derivative"] * change) + c["integrator_output"] * integral[:-1]
    ) + oscillators
    limit = c["command_limit"]
    outputs = np.empty(count, OUT_TYPES[arithmetic])
    outputs["command"] = np.clip(command, -limit, limit)
    peaks = np.concatenate([[np.abs(integral).max()], np.abs(x1).max(axis=0), np.abs(x2).max(axis=0)])
    return Replay(
        outputs,
        peaks.astype(np.float64),
        float(np.abs(command).max() / limit),
        int(np.count_nonzero(np.abs(command) > limit)),
    )


_LOW, _HIGH = -(2**31), 2**31 - 1


def _scaled(pairs: Any) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Mantissas, halves for rounding, shifts."""
    table = np.array(pairs, np.int64)
    mantissa, shift = table[..., 0], table[..., 1]
    return mantissa, np.left_shift(np.int64(1), shift - 1), shift


def _product(pairs: Any, values: Array) -> NDArray[np.int64]:
    mantissa, half, shift = _scaled(pairs)
    return np.asarray((mantissa * values + half) >> shift)


def _saturated_path(pairs: Any, values: NDArray[np.int64], difference: bool) -> tuple[NDArray[np.int64], int]:
    """History of s+ = saturate(s + round(c v)), v the value or its difference from s, in exact integers."""
    mantissa, shift = pairs
    half = 1 << (shift - 1)
    history, state, saturations = [0], 0, 0
    for value in values.tolist():
        wanted = state + ((mantissa * (value - state if difference else value) + half) >> shift)
        state = min(max(wanted, _LOW), _HIGH)
        saturations += state != wanted
        history.append(state)
    return np.array(history, np.int64), saturations


def _oscillators_q31(
    driven: NDArray[np.int64], saturate: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Histories of x1 and x2 before each update. Saturating costs more, and is seldom needed."""
    count, n = driven.shape
    mantissa, half, shift = _scaled(COEFFICIENTS["q31"]["eps"])
    low, high = np.int64(_LOW), np.int64(_HIGH)
    x1, x2 = np.zeros((count + 1, n), np.int64), np.zeros((count + 1, n), np.int64)
    product = np.empty(n, np.int64)
    for now1, now2, next1, next2, drive in zip(x1, x2, x1[1:], x2[1:], driven, strict=False):
        np.multiply(mantissa, now2, product)
        np.add(product, half, product)
        np.right_shift(product, shift, product)
        np.add(now1, product, next1)
        np.add(next1, drive, next1)
        if saturate:
            np.clip(next1, low, high, next1)
        np.multiply(mantissa, next1, product)
        np.add(product, half, product)
        np.right_shift(product, shift, product)
        np.subtract(now2, product, next2)
        if saturate:
            np.clip(next2, low, high, next2)
    return x1, x2


def _replay_q31(rows: Array) -> Replay:
    c = COEFFICIENTS["q31"]
    count = len(rows)
    wide = (rows["reference"].astype(np.int64) - rows["position"]) << c["angle_shift"]
    error = np.clip(wide, _LOW, _HIGH)
    saturations = int(np.count_nonzero(error != wide))
    driven = _product(c["input"], error[:, None])

    x1, x2 = _oscillators_q31(driven, saturate=False)
    # A value out of range shows in the history before it can leave 64 bits, so that this misses nothing.
    if max(np.abs(x1).max(), np.abs(x2).max()) > _HIGH:
        x1, x2 = _oscillators_q31(driven, saturate=True)

    smooth, clipped = _saturated_path(c["filter"], error, difference=True)
    saturations += clipped
    integral, clipped = _saturated_path(c["integrator_input"], error, difference=False)
    saturations += clipped
    for history in (x1, x2):
        saturations += int(np.count_nonzero((history == _LOW) | (history == _HIGH)))

    command = _product(c["proportional"], error) + _product(c["derivative"], error - smooth[:-1])
    command += _product(c["integrator_output"], integral[:-1])
    command += (_product(c["output_1"], x1[:-1]) + _product(c["output_2"], x2[:-1])).sum(axis=1)
    outputs = np.empty(count, OUT_TYPES["q31"])
    outputs["command"] = np.clip(command, _LOW, _HIGH)
    saturations += int(np.count_nonzero(outputs["command"] != command))
    peaks = np.concatenate([[np.abs(integral).max()], np.abs(x1).max(axis=0), np.abs(x2).max(axis=0)]) / 2**31
    return Replay(outputs, peaks, float(np.abs(command).max() / 2**31), saturations)


def _key(rows: Array, arithmetic: str) -> str:
    digest = hashlib.sha256(f"{arithmetic} {COEFFICIENTS!r} {rows.dtype!r}".encode())
    digest.update(Path(__file__).read_bytes())
    digest.update(rows.tobytes())
    return digest.hexdigest()[:24]


def _store(path: Path, result: Replay, reference: Array) -> None:
    """Written beside and renamed, so that another process sees a whole file or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".npz")
    with os.fdopen(handle, "wb") as file:
        np.savez(
            file,
            outputs=result.outputs,
            state_peaks=result.state_peaks,
            command_peak=result.command_peak,
            saturations=result.saturations,
            reference64=reference,
        )
    Path(name).replace(path)
