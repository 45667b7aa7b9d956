# SPDX-License-Identifier: Apache-2.0
"""The drive and its mechanism: reference motion, inverse dynamics and the nonlinear equations of motion."""

from __future__ import annotations

import numpy as np
from description import Description, Plant, Reference
from numpy.typing import NDArray

Array = NDArray[np.float64]


def inertia(plant: Plant, angle: Array | float) -> Array:
    crank = np.sin(angle) + plant.crank_ratio / 2 * np.sin(2 * np.asarray(angle))
    return np.asarray(plant.inertia_base + plant.inertia_crank * crank**2)


def inertia_slope(plant: Plant, angle: Array | float) -> Array:
    """Derivative of the inertia with respect to the angle."""
    angle = np.asarray(angle)
    crank = np.sin(angle) + plant.crank_ratio / 2 * np.sin(2 * angle)
    return np.asarray(
        2 * plant.inertia_crank * crank * (np.cos(angle) + plant.crank_ratio * np.cos(2 * angle))
    )


def motion(reference: Reference, time: Array) -> tuple[Array, Array, Array]:
    """Angle, speed and acceleration of the periodic reference at the times given."""
    half = reference.period / 2
    phase = np.mod(time, reference.period)
    out = phase < half
    x = np.where(out, phase, reference.period - phase) / half
    direction = np.where(out, 1.0, -1.0)
    angle = reference.start + reference.stroke * (10 * x**3 - 15 * x**4 + 6 * x**5)
    speed = direction * reference.stroke / half * 30 * (x**2 - 2 * x**3 + x**4)
    acceleration = reference.stroke / half**2 * (60 * x - 180 * x**2 + 120 * x**3)
    return angle, speed, acceleration


def load_torque(plant: Plant, angle: Array | float, speed: Array | float) -> Array:
    """All torques but that of the acceleration."""
    return np.asarray(
        0.5 * inertia_slope(plant, angle) * np.square(speed)
        + plant.viscous_friction * np.asarray(speed)
        + plant.gravity_torque * np.sin(angle)
        + plant.coulomb_friction * np.tanh(np.asarray(speed) / plant.friction_speed)
    )


def path_inertia(description: Description, points: int = 4096) -> Array:
    """Inertia at equal times along one period of the reference."""
    time = np.arange(points, dtype=np.float64) * (description.reference.period / points)
    return inertia(description.plant, motion(description.reference, time)[0])


def torque_harmonics(description: Description, points: int = 4096) -> Array:
    """Amplitudes [N m] of harmonics 0..harmonics of the torque that the reference motion needs."""
    time = np.arange(points, dtype=np.float64) * (description.reference.period / points)
    angle, speed, acceleration = motion(description.reference, time)
    torque = inertia(description.plant, angle) * acceleration + load_torque(description.plant, angle, speed)
    return amplitudes(torque, description.controller.harmonics)


def amplitudes(period: Array, highest: int) -> Array:
    """Amplitudes of harmonics 0..highest of a signal given over exactly one period."""
    spectrum = np.abs(np.fft.rfft(period)) / len(period)
    spectrum[1:] *= 2
    return np.asarray(spectrum[: highest + 1])


def derivative(plant: Plant, state: Array, command: float) -> Array:
    """Time derivative of (angle, speed, torque) under a torque command."""
    angle, speed, torque = state
    acceleration = (torque - load_torque(plant, angle, speed)) / inertia(plant, angle)
    return np.array([speed, float(acceleration), (command - torque) / plant.torque_time_constant])


def advance(plant: Plant, state: Array, command: float, duration: float, substeps: int) -> Array:
    """Classical Runge-Kutta of fourth order, command held; the compiled plant is checked against this."""
    h = duration / substeps
    for _ in range(substeps):
        k1 = derivative(plant, state, command)
        k2 = derivative(plant, state + h / 2 * k1, command)
        k3 = derivative(plant, state + h / 2 * k2, command)
        k4 = derivative(plant, state + h * k3, command)
        state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return state
