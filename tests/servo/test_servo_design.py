# SPDX-License-Identifier: Apache-2.0
"""The design: what is checked in is what the description gives, and the description is checked."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path

import description
import design
import emit
import numpy as np
import pytest
import servo_support


@pytest.fixture(scope="module")
def servo() -> description.Description:
    return description.load()


@pytest.fixture(scope="module")
def gains(servo: description.Description) -> design.Gains:
    return design.design(servo)


def test_generated_files_are_up_to_date(servo: description.Description) -> None:
    assert design.check(servo, design.GENERATED) == []


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("angle: 4.0e4", "angle: 4.1e4", "proportional"),
        ("head_room: 8", "head_room: 4", "coefficients.hpp"),
        ("gear: 0.00390625", "gear: 0.5", "coefficients.json"),
    ],
)
def test_check_notices_a_changed_description(tmp_path: Path, old: str, new: str, named: str) -> None:
    text = description.DEFAULT.read_text(encoding="utf-8")
    assert old in text
    changed = tmp_path / "controller.yaml"
    changed.write_text(text.replace(old, new), encoding="utf-8")
    assert any(named in line for line in design.check(description.load(changed), design.GENERATED))


def test_check_notices_an_edited_header(tmp_path: Path, servo: description.Description) -> None:
    shutil.copytree(design.GENERATED, tmp_path / "generated")
    header = tmp_path / "generated" / "coefficients.hpp"
    header.write_text(
        header.read_text(encoding="utf-8").replace("harmonics = 20", "harmonics = 19"), encoding="utf-8"
    )
    assert any("coefficients.hpp" in line for line in design.check(servo, tmp_path / "generated"))


def test_stable_over_the_inertia_grid(servo: description.Description, gains: design.Gains) -> None:
    grid = design.stability(servo, gains)
    assert len(grid) == servo.stability.points
    assert max(radius for _, radius in grid) < 1
    # Without the proportional part the grid must be refused: the check can fail.
    weak = design.Gains(0.0, 0.0, gains.internal_model)
    assert max(radius for _, radius in design.stability(servo, weak)) > 1


def test_leapfrog_poles_lie_on_the_unit_circle_at_the_harmonics(servo: description.Description) -> None:
    matrix, _ = design.internal_model(servo)
    angles = np.sort(np.angle(np.linalg.eigvals(matrix)))[servo.controller.harmonics + 1 :]
    turn = 2 * math.pi * servo.controller.sample_period / servo.reference.period
    np.testing.assert_allclose(angles, turn * np.arange(1, servo.controller.harmonics + 1), rtol=1e-9)


@pytest.mark.parametrize("value", [1.0, -1.0, 0.99999999999, -0.3, 904.1, 1.57e-3, 2.0**-20])
def test_block_exponent_is_the_nearest_of_its_form(value: float) -> None:
    mantissa, shift = emit.block_exponent(value)
    assert 2**30 <= abs(mantissa) < 2**31
    assert abs(mantissa / 2**shift - value) <= 2.0 ** -(shift + 1)


def test_block_exponent_refuses_what_has_none() -> None:
    with pytest.raises(ValueError, match="rescale"):
        emit.block_exponent(2.0**40)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("period: 0.2  ", "perod: 0.2  ", "perod: unknown field"),
        ("harmonics: 20", "harmonics: many", "harmonics: 'many' is not a whole number"),
        ("harmonics: 20", "harmonics: 2000", "above half the sample rate"),
        ("input_delay: 1", "input_delay: 2", "delay of 1 sample"),
        ("angle_full_scale: 4.0", "angle_full_scale: 3.0", "power of two"),
        ("torque_limit: 10.0", "torque_limit: .nan", "not finite"),
        ("  start: 0.4", "  # start", "start: missing"),
    ],
)
def test_a_bad_description_is_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, message: str
) -> None:
    text = description.DEFAULT.read_text(encoding="utf-8")
    assert old in text
    bad = tmp_path / "controller.yaml"
    bad.write_text(text.replace(old, new, 1), encoding="utf-8")
    assert design.main(["--description", str(bad), "--check"]) == 2
    assert message in capsys.readouterr().err


def test_design_writes_files_that_its_check_accepts(tmp_path: Path) -> None:
    assert design.main(["--output", str(tmp_path)]) == 0
    assert design.main(["--output", str(tmp_path), "--check"]) == 0
    content = json.loads((tmp_path / "coefficients.json").read_text(encoding="utf-8"))
    assert len(content["gains"]["internal_model"]) == 41
    assert re.search(r"harmonics = 20;", (tmp_path / "coefficients.hpp").read_text(encoding="utf-8"))


def test_other_sizes_compile(tmp_path: Path, native: list[str]) -> None:
    """The step follows the description: 6 harmonics are not a multiple of the four lanes."""
    text = description.DEFAULT.read_text(encoding="utf-8").replace("harmonics: 20", "harmonics: 6")
    (tmp_path / "controller.yaml").write_text(text, encoding="utf-8")
    assert (
        design.main(
            ["--description", str(tmp_path / "controller.yaml"), "--output", str(tmp_path / "generated")]
        )
        == 0
    )
    for name in ("step.hpp", "replay.cpp"):
        shutil.copy(servo_support.SERVO / name, tmp_path)
    servo_support.compile_program(native, tmp_path / "replay.cpp", tmp_path / "replay")
