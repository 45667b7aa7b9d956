# SPDX-License-Identifier: Apache-2.0
"""Designs the internal-model controller from controller.yaml and writes its coefficients.

    python design.py            design, check stability, write generated/coefficients.{json,hpp}
    python design.py --check    design again and compare with what is there; exit status 1 where it differs

The gains come from a Riccati equation, whose solution differs in its last digits from one linear algebra
library to another. --check therefore compares the gains within a tolerance, and all that is derived from them
to the last character.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import control
import emit
import numpy as np
import plant as mechanism
from description import DEFAULT, HERE, Description, DescriptionError, load
from numpy.typing import NDArray
from scipy.linalg import block_diag, expm

Array = NDArray[np.float64]
GENERATED = HERE / "generated"
GAIN_TOLERANCE = 1e-6  # relative to the largest gain of the same kind


class DesignFails(RuntimeError):
    """The description can be read, but no usable controller comes of it."""


@dataclass(frozen=True)
class Gains:
    """u = proportional e + derivative de/dt + internal_model . x, in N m, rad, rad/s and rad s."""

    proportional: float
    derivative: float
    internal_model: Array  # integrator, then two a harmonic


def frozen_plant(description: Description, inertia: float) -> tuple[Array, Array]:
    """Sampled [angle, speed, torque, delayed input] at one inertia: the input first waits for one sample."""
    p, ts = description.plant, description.controller.sample_period
    continuous = np.zeros((4, 4))  # last column: the held command
    continuous[0, 1] = 1
    continuous[1, 1:3] = -p.viscous_friction / inertia, 1 / inertia
    continuous[2, 2:4] = -1 / p.torque_time_constant, 1 / p.torque_time_constant
    a = expm(continuous * ts)
    a[3, :] = 0
    return a, np.array([0.0, 0.0, 0.0, 1.0])


def leapfrog(description: Description) -> Array:
    """eps of each harmonic: poles at exp(+-j k w0 Ts), determinant one whatever eps is rounded to."""
    half_turn = math.pi / description.reference.period * description.controller.sample_period
    return np.array([2 * math.sin(k * half_turn) for k in range(1, description.controller.harmonics + 1)])


def internal_model(description: Description) -> tuple[Array, Array]:
    """x+ = A x + b e: one integrator and the oscillators, block diagonal."""
    ts = description.controller.sample_period
    eps = leapfrog(description)
    blocks = [np.eye(1)] + [np.array([[1, s], [-s, 1 - s * s]]) for s in eps]
    return block_diag(*blocks), np.concatenate([[ts]] + [[ts, -s * ts] for s in eps])


def design(description: Description) -> Gains:
    """LQR with a prescribed degree of stability at the mean inertia; torque and delay gains are dropped."""
    c = description.controller
    a_plant, b_plant = frozen_plant(description, float(np.mean(mechanism.path_inertia(description))))
    a_model, b_model = internal_model(description)
    a = block_diag(a_plant, a_model)
    a[4:, 0] = -b_model  # e = r - y
    b = np.concatenate([b_plant, np.zeros(len(b_model))])[:, None]
    w = c.weights
    q = np.diag([w.angle, w.speed, w.torque, w.delayed_input] + [w.internal_model] * len(b_model))
    growth = math.exp(c.degree_of_stability * c.sample_period)
    gain = np.asarray(control.dlqr(growth * a, growth * b, q, np.eye(1))[0])[0]
    return Gains(float(gain[0]), float(gain[1]), -gain[4:])


def filter_pole(description: Description) -> float:
    return math.exp(-description.controller.sample_period / description.controller.derivative_filter)


def closed_loop(description: Description, gains: Gains, inertia: float) -> Array:
    """System matrix of sampled plant, derivative filter and internal model at one frozen inertia."""
    a_plant, b_plant = frozen_plant(description, inertia)
    a_model, b_model = internal_model(description)
    pole = filter_pole(description)
    a = block_diag(a_plant, [[pole]], a_model)
    a[4, 0] = -(1 - pole)
    a[5:, 0] = -b_model
    derivative = gains.derivative * (1 - pole) / description.controller.sample_period
    feedback = np.concatenate(
        [[-gains.proportional - derivative, 0, 0, 0, -derivative], gains.internal_model]
    )
    a[:4, :] += np.outer(b_plant, feedback)
    return np.asarray(a)


def stability(description: Description, gains: Gains) -> list[tuple[float, float]]:
    """(inertia, spectral radius) over the grid of frozen inertias."""
    path, s = mechanism.path_inertia(description), description.stability
    grid = np.linspace(s.smallest_factor * path.min(), s.largest_factor * path.max(), s.points)
    return [
        (float(inertia), float(np.abs(np.linalg.eigvals(closed_loop(description, gains, inertia))).max()))
        for inertia in grid
    ]


def state_scales(description: Description, gains: Gains) -> Array:
    """Full scales [rad s] of integrator and oscillators: head-room over the harmonic that each delivers."""
    torque = np.maximum(mechanism.torque_harmonics(description), description.scaling.torque_floor)
    pairs = gains.internal_model[1:].reshape(-1, 2)
    strength = np.concatenate([[abs(gains.internal_model[0])], np.hypot(pairs[:, 0], pairs[:, 1])])
    # Six digits are plenty for a scale, and hide the last bits, in which vector libraries differ.
    return np.array([float(f"{scale:.6g}") for scale in description.scaling.head_room * torque / strength])


def coefficients(description: Description, gains: Gains) -> dict[str, Any]:
    """All numbers of the step, in double precision: states scaled to 1, error in rad and command in N m."""
    scale = state_scales(description, gains)
    pole, ts = filter_pole(description), description.controller.sample_period
    pairs = gains.internal_model[1:].reshape(-1, 2) * scale[1:, None]
    return {
        "proportional": gains.proportional,
        "derivative": gains.derivative * (1 - pole) / ts,
        "filter": 1 - pole,
        "integrator_output": float(gains.internal_model[0] * scale[0]),
        "integrator_input": float(ts / scale[0]),
        "output_1": [float(v) for v in pairs[:, 0]],
        "output_2": [float(v) for v in pairs[:, 1]],
        "input": [float(v) for v in ts / scale[1:]],
        "eps": [float(v) for v in leapfrog(description)],
        "command_limit": description.plant.torque_limit,
    }


def document(description: Description, gains: Gains) -> dict[str, Any]:
    """The content of generated/coefficients.json: gains, and every coefficient in every arithmetic."""
    real = coefficients(description, gains)
    return {
        "harmonics": description.controller.harmonics,
        "sample_period": description.controller.sample_period,
        "period": description.reference.period,
        "recording": {"rate": description.recording.rate, "gear": description.recording.gear},
        "gains": {
            "proportional": gains.proportional,
            "derivative": gains.derivative,
            "internal_model": [float(v) for v in gains.internal_model],
        },
        "f64": real,
        "f32": emit.to_float32(real),
        "q31": emit.to_q31(real, description.scaling.error_full_scale, description.scaling.angle_full_scale),
    }


def stored_gains(content: dict[str, Any]) -> Gains:
    stored = content["gains"]
    return Gains(stored["proportional"], stored["derivative"], np.array(stored["internal_model"]))


def differences(fresh: Gains, stored: Gains) -> list[str]:
    """Gains that differ by more than a linear algebra library may."""
    if len(fresh.internal_model) != len(stored.internal_model):
        return [
            f"{len(stored.internal_model)} internal model gains stored, {len(fresh.internal_model)} designed"
        ]
    found = []
    for name in ("proportional", "derivative", "internal_model"):
        a, b = np.atleast_1d(getattr(fresh, name)), np.atleast_1d(getattr(stored, name))
        worst = float(np.abs(a - b).max() / np.abs(a).max())
        if not worst <= GAIN_TOLERANCE:
            found.append(f"{name}: differs by {worst:.1e} of the largest (allowed {GAIN_TOLERANCE:g})")
    return found


def check(description: Description, folder: Path) -> list[str]:
    """Differences between the generated folder and the values that the description gives now."""
    try:
        text = (folder / "coefficients.json").read_text(encoding="utf-8")
        header = (folder / "coefficients.hpp").read_text(encoding="utf-8")
        stored = stored_gains(json.loads(text))
    except (OSError, ValueError, KeyError) as error:
        return [f"{folder}: cannot be read: {error}"]
    found = differences(design(description), stored)
    expected = document(description, stored)
    if emit.json_text(expected) != text:
        found.append(f"{folder / 'coefficients.json'}: is not what design.py writes")
    if emit.header_text(expected) != header:
        found.append(f"{folder / 'coefficients.hpp'}: is not what design.py writes")
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Design the servo controller and write its coefficients.")
    parser.add_argument(
        "--check", action="store_true", help="compare with the generated files, write nothing"
    )
    parser.add_argument(
        "--description", type=Path, default=DEFAULT, help="default: controller.yaml beside this file"
    )
    parser.add_argument("--output", type=Path, default=GENERATED, help="folder of the generated files")
    options = parser.parse_args(arguments)
    try:
        description = load(options.description)
    except DescriptionError as error:
        print(f"design.py: {error}", file=sys.stderr)
        return 2
    gains = design(description)
    grid = stability(description, gains)
    ts = description.controller.sample_period
    print(
        f"gains: proportional {gains.proportional:.1f} N m/rad, derivative {gains.derivative:.3f} N m s/rad"
    )
    print("slowest mode over frozen inertia [1/s]:")
    for inertia, radius in grid:
        print(f"  J {inertia:.3e} kg m^2  |z| {radius:.7f}  {math.log(radius) / ts:8.3f}")
    if max(radius for _, radius in grid) >= 1:
        print("design.py: the closed loop is not stable over the inertia grid", file=sys.stderr)
        return 1
    if options.check:
        found = check(description, options.output)
        for line in found:
            print(f"design.py: {line}", file=sys.stderr)
        return 1 if found else 0
    options.output.mkdir(parents=True, exist_ok=True)
    content = document(description, gains)
    (options.output / "coefficients.json").write_text(emit.json_text(content), encoding="utf-8")
    (options.output / "coefficients.hpp").write_text(emit.header_text(content), encoding="utf-8")
    print(f"written: {options.output / 'coefficients.json'} and coefficients.hpp")
    return 0


if __name__ == "__main__":
    sys.exit(main())
