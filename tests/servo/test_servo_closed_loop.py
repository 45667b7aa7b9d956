# SPDX-License-Identifier: Apache-2.0
"""The compiled step around the nonlinear plant: the tracking error vanishes at the harmonics."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from typing import Any

import closed_loop
import description
import numpy as np
import plant as mechanism
import pytest


@pytest.fixture(scope="module")
def servo() -> description.Description:
    return description.load()


@pytest.fixture(scope="module")
def library(native: list[str], tmp_path_factory: pytest.TempPathFactory) -> Any:
    return closed_loop.build(tmp_path_factory.mktemp("closed_loop"))


@pytest.mark.parametrize("encoder", [False, True])
@pytest.mark.parametrize("controller", ["f64", "f32", "q31"])
def test_error_vanishes_at_every_harmonic(library: Any, servo: Any, controller: str, encoder: bool) -> None:
    result = closed_loop.simulate(library, servo, controller, encoder, closed_loop.SETTLED)
    print(result.figures())
    assert closed_loop.accept(result) == []
    assert 0.5 < result.state_peak < 1  # states are used, and not clipped
    assert result.rms < 2e-5  # what is left lies above the highest modelled harmonic


def test_the_same_gains_without_internal_model_are_not_accepted(library: Any, servo: Any) -> None:
    result = closed_loop.simulate(library, servo, "pd", False, closed_loop.SETTLED)
    assert result.worst_harmonic > 1e-3
    assert closed_loop.accept(result)


def test_too_small_a_torque_limit_is_noticed(library: Any, servo: Any) -> None:
    import dataclasses

    weak = dataclasses.replace(servo, plant=dataclasses.replace(servo.plant, torque_limit=1.0))
    assert any(
        "saturated" in reason
        for reason in closed_loop.accept(closed_loop.simulate(library, weak, "f32", False, 0.4))
    )


def test_compiled_plant_agrees_with_the_python_one(library: Any, servo: Any) -> None:
    values = closed_loop.parameters(servo, False)
    state = np.array([0.4, -3.0, 0.2])
    compiled = state.copy()
    for i in range(200):
        command = 2.0 * np.sin(0.05 * i)
        state = mechanism.advance(
            servo.plant, state, command, servo.controller.sample_period, closed_loop.SUBSTEPS
        )
        library.servo_plant(
            ctypes.byref(values),
            ctypes.c_double(command),
            compiled.ctypes.data_as(ctypes.POINTER(ctypes.c_double)),
        )
    assert abs(state[0] - 0.4) > 1e-3
    np.testing.assert_allclose(compiled, state, rtol=1e-10, atol=1e-12)


def test_inverse_dynamics_moves_the_plant_along_the_reference(servo: Any) -> None:
    """Torque from the inverse dynamics, integrated with a fast current loop, gives the reference back."""
    import dataclasses

    p = dataclasses.replace(servo.plant, torque_time_constant=1e-5)
    ts = 2e-5
    angle, speed, acceleration = mechanism.motion(servo.reference, np.arange(2501) * ts)
    torque = mechanism.inertia(p, angle) * acceleration + mechanism.load_torque(p, angle, speed)
    state = np.array([angle[0], speed[0], torque[0]])
    for i in range(2500):
        state = mechanism.advance(p, state, float(torque[i]), ts, 8)
    assert abs(state[0] - angle[2500]) < 2e-3
    assert abs(angle[2500] - angle[0]) > 0.5


def test_command_line(tmp_path: Path, native: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "closed_loop.png"
    assert closed_loop.main(["--seconds", "5", "--json", "--plot", str(picture)]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["provenance"] == "simulated"
    assert len(report["runs"]) == 2 * len(closed_loop.CONTROLLERS)
    assert picture.stat().st_size > 10_000
