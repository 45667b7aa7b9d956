# SPDX-License-Identifier: Apache-2.0
"""Reads controller.yaml into typed records, and refuses a description that is incomplete or misspelt."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

HERE = Path(__file__).resolve().parent
DEFAULT = HERE / "controller.yaml"


class DescriptionError(ValueError):
    """The description cannot be used; the message names the file and the field."""


@dataclass(frozen=True)
class Plant:
    inertia_base: float
    inertia_crank: float
    crank_ratio: float
    viscous_friction: float
    gravity_torque: float
    coulomb_friction: float
    friction_speed: float
    torque_time_constant: float
    torque_limit: float


@dataclass(frozen=True)
class Reference:
    period: float
    start: float
    stroke: float


@dataclass(frozen=True)
class Weights:
    angle: float
    speed: float
    torque: float
    delayed_input: float
    internal_model: float


@dataclass(frozen=True)
class Controller:
    sample_period: float
    harmonics: int
    derivative_filter: float
    input_delay: int
    degree_of_stability: float
    weights: Weights


@dataclass(frozen=True)
class Stability:
    smallest_factor: float
    largest_factor: float
    points: int


@dataclass(frozen=True)
class Scaling:
    error_full_scale: float
    angle_full_scale: float
    torque_floor: float
    head_room: float


@dataclass(frozen=True)
class Recording:
    rate: float
    gear: float


@dataclass(frozen=True)
class Description:
    plant: Plant
    reference: Reference
    controller: Controller
    stability: Stability
    scaling: Scaling
    recording: Recording


_RECORDS = {
    record.__name__: record
    for record in (Plant, Reference, Weights, Controller, Stability, Scaling, Recording, Description)
}


def _build(record: Any, value: object, path: str) -> Any:
    """One record from one mapping. Annotations are strings here: their names decide what a field holds."""
    if not isinstance(value, dict):
        raise DescriptionError(f"{path}: a mapping is needed")
    fields = {field.name: str(field.type) for field in dataclasses.fields(record)}
    for key in value:
        if key not in fields:
            raise DescriptionError(f"{path}.{key}: unknown field; known are {', '.join(fields)}")
    built: dict[str, Any] = {}
    for name, kind in fields.items():
        where = f"{path}.{name}"
        if name not in value:
            raise DescriptionError(f"{where}: missing")
        item = value[name]
        if kind in _RECORDS:
            built[name] = _build(_RECORDS[kind], item, where)
        elif isinstance(item, bool) or not isinstance(item, int if kind == "int" else (int, float)):
            raise DescriptionError(
                f"{where}: {item!r} is not {'a whole number' if kind == 'int' else 'a number'}"
            )
        elif not math.isfinite(item) or item < 0:
            raise DescriptionError(f"{where}: {item!r} is negative or not finite")
        else:
            built[name] = int(item) if kind == "int" else float(item)
    return record(**built)


def load(path: Path = DEFAULT) -> Description:
    try:
        content = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    except (OSError, YAMLError) as error:
        raise DescriptionError(f"{path}: {error}") from error
    description: Description = _build(Description, content, path.name)
    controller, scaling = description.controller, description.scaling
    for name, value in (
        ("controller.sample_period", controller.sample_period),
        ("controller.derivative_filter", controller.derivative_filter),
        ("controller.harmonics", controller.harmonics),
        ("reference.period", description.reference.period),
        ("plant.inertia_base", description.plant.inertia_base),
        ("plant.torque_time_constant", description.plant.torque_time_constant),
        ("plant.torque_limit", description.plant.torque_limit),
        ("scaling.error_full_scale", scaling.error_full_scale),
        ("stability.points", description.stability.points),
    ):
        if value == 0:
            raise DescriptionError(f"{path.name}.{name}: must be greater than zero")
    if controller.harmonics / description.reference.period * controller.sample_period >= 0.5:
        raise DescriptionError(f"{path.name}.controller.harmonics: the highest is above half the sample rate")
    if controller.input_delay != 1:
        raise DescriptionError(
            f"{path.name}.controller.input_delay: the design is written for a delay of 1 sample"
        )
    ratio = math.log2(scaling.angle_full_scale / scaling.error_full_scale)
    if ratio != int(ratio) or ratio < 0:
        raise DescriptionError(
            f"{path.name}.scaling.angle_full_scale: must be a power of two times error_full_scale"
        )
    return description
