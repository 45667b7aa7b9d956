# SPDX-License-Identifier: Apache-2.0
"""The values that a parameter of a sweep takes: one, a list, or a range with exact steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from consort.base.errors import nearest
from consort.model.base import WrongValue, kind_of
from consort.model.quantities import QUANTITIES, Duration, Quantity

# A parameter with more values is a slip of the step.
MOST_VALUES = 100_000
RANGE_KEYS = ("from", "to", "step", "steps", "scale")
Read = Callable[[object], Any]


def number(least: float, most: float, example: float, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WrongValue(f"{kind_of(value)} stands here; a number is needed, for example {example}")
    if not least <= value <= most:
        raise WrongValue(f"{value} is out of range; {least:g} to {most:g} is possible")
    return float(value)


def whole(least: int, most: int, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise WrongValue(f"{kind_of(value)} stands here; a whole number is needed, for example {least}")
    if not least <= value <= most:
        raise WrongValue(f"{value} is out of range; {least} to {most} is possible")
    return value


def nanoseconds(value: object) -> int:
    found = Duration.from_yaml(value)
    if found.picoseconds == 0 or found.picoseconds % 1000:
        raise WrongValue(
            f"{str(value)!r} is not a whole number of nanoseconds above 0; write for example 10ms"
        )
    return found.nanoseconds


def choice(names: Sequence[str], value: object) -> str:
    if not isinstance(value, str) or value not in names:
        raise WrongValue(f"{kind_of(value)} is not one of the values; {nearest(str(value), names, 'values')}")
    return value


def truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise WrongValue(f"{kind_of(value)} stands here; true or false is needed")
    return value


def expand(read: Read, value: object) -> tuple[Any, ...]:
    """All values that are meant, each once, in the order in which they are written."""
    if isinstance(value, tuple):
        return value
    items: Sequence[Any]
    if isinstance(value, dict):
        items = _range(value)
    elif isinstance(value, list):
        items = value
        if not items:
            raise WrongValue("this is empty; at least one value is needed")
    else:
        items = [value]
    if len(items) > MOST_VALUES:
        raise WrongValue(f"{len(items)} values stand here; at most {MOST_VALUES} are possible")
    return tuple(dict.fromkeys(read(item) for item in items))


def _range(value: dict[str, Any]) -> list[Any]:
    for key in value:
        if key not in RANGE_KEYS:
            raise WrongValue(f"unknown key {key!r}; {nearest(key, RANGE_KEYS, 'known keys')}")
    if "from" not in value or "to" not in value or ("step" in value) == ("steps" in value):
        raise WrongValue(
            "a range has 'from', 'to', and either 'step' or 'steps'; write {from: 0.1, to: 1, step: 0.1}"
        )
    low, high = value["from"], value["to"]
    unit = _quantity(low)
    first, last = _exact(low, unit), _exact(high, unit)
    if last < first:
        raise WrongValue(f"the range goes from {low} down to {high}; exchange them")
    if value.get("scale", "linear") not in ("linear", "log"):
        raise WrongValue(f"{value['scale']!r} is not a scale; write linear or log")
    if "step" in value:
        if "scale" in value:
            raise WrongValue("'scale' is for a range with 'steps'; remove it")
        step = _exact(value["step"], unit)
        if step <= 0:
            raise WrongValue(f"the step {value['step']} is not above 0")
        count = int((last - first) / step) + 1
        if count > MOST_VALUES:
            raise WrongValue(f"the range has {count} values; at most {MOST_VALUES} are possible")
        points = [first + k * step for k in range(count)]
    else:
        points = _divided(first, last, whole(2, MOST_VALUES, value["steps"]), value.get("scale") == "log")
    if unit is not None:
        return [unit.spelled(round(point)) for point in points]
    integral = all(isinstance(end, int) for end in (low, high, value.get("step", 0.5)))
    return [int(point) if integral else float(point) for point in points]


def _divided(first: Fraction, last: Fraction, steps: int, logarithmic: bool) -> list[Fraction]:
    """`steps` values from `first` to `last`."""
    if not logarithmic:
        return [first + (last - first) * k / (steps - 1) for k in range(steps)]
    if first <= 0:
        raise WrongValue("a logarithmic range begins above 0")
    # To six figures, so that the values are the same on every machine.
    ratio = float(last / first)
    inner = [Fraction(f"{float(first) * ratio ** (k / (steps - 1)):.6g}") for k in range(1, steps - 1)]
    return [first, *inner, last]


def _quantity(value: object) -> type[Quantity] | None:
    """The kind of quantity that an end of a range is; None for a plain number."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return None
    for kind in QUANTITIES:
        try:
            kind.from_yaml(value)
        except WrongValue:
            continue
        return kind
    raise WrongValue(f"{kind_of(value)} stands here; a range goes from one number or quantity to another")


def _exact(value: object, unit: type[Quantity] | None) -> Fraction:
    if unit is not None:
        return Fraction(unit.from_yaml(value).value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WrongValue(f"{kind_of(value)} stands here; a number like the range's other ones is needed")
    return Fraction(str(value))


class Axis:
    """Marks a field that takes several values: `Annotated[tuple[int, ...], integers(1, 8)]`."""

    def __init__(self, read: Read, item: dict[str, Any], ranged: bool = True) -> None:
        """`read` makes one value, `item` is its schema."""
        self.read = read
        alternatives: list[dict[str, Any]] = [item, {"type": "array", "items": item, "minItems": 1}]
        if ranged:
            steps = {"steps": {"type": "integer", "minimum": 2}, "scale": {"enum": ["linear", "log"]}}
            alternatives.append(
                {
                    "type": "object",
                    "properties": {"from": item, "to": item, "step": item, **steps},
                    "required": ["from", "to"],
                    "additionalProperties": False,
                }
            )
        self.schema = {"anyOf": alternatives}

    def validated(self, value: object) -> tuple[Any, ...]:
        try:
            return expand(self.read, value)
        except WrongValue as error:
            raise PydanticCustomError("consort_value", "{text}", {"text": str(error)}) from None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.validated)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return dict(self.schema)


def numbers(least: float, most: float, example: float) -> Axis:
    item = {"type": "number", "minimum": least, "maximum": most}
    return Axis(partial(number, least, most, example), item)


def integers(least: int, most: int) -> Axis:
    return Axis(partial(whole, least, most), {"type": "integer", "minimum": least, "maximum": most})


def durations(**words: int) -> Axis:
    """Durations in nanoseconds, or one of `words`, which stand for numbers below 1."""

    def read(value: object) -> int:
        word = words.get(str(value).replace("-", "_"))
        return nanoseconds(value) if word is None else word

    text = {"type": "string", "pattern": Duration.pattern}
    return Axis(
        read,
        {"anyOf": [text, {"enum": [word.replace("_", "-") for word in words]}]} if words else text,
        ranged=not words,
    )


def choices(names: Sequence[str]) -> Axis:
    return Axis(partial(choice, names), {"enum": list(names)}, ranged=False)


def truths() -> Axis:
    return Axis(truth, {"type": "boolean"}, ranged=False)


def anything() -> Axis:
    """Values of a key of a description, which says itself what it takes."""
    return Axis(_scalar, {"type": ["string", "number", "boolean"]})


def _scalar(value: object) -> Any:
    if not isinstance(value, str | int | float | bool):
        raise WrongValue(f"{kind_of(value)} stands here; a value as the description has it is needed")
    return value
