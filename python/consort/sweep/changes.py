# SPDX-License-Identifier: Apache-2.0
"""A system description with values replaced, or scaled, as a sweep says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from consort.analysis.scaling import Scale, check_scale, scale_data
from consort.base.problems import nearest
from consort.model import BadDescription, System, platform_from_data, system_from_data

SCALE, PLATFORM = "scale.", "platform."
ASSUMED = "a value of the sweep"
# A factor of 10^-6 or 10^6 is a slip.
SMALLEST, LARGEST = 1e-6, 1e6


def scale_of(path: str) -> Scale:
    """`scale.wcet` and `scale.wcet.servo`."""
    what, _, of = path.removeprefix(SCALE).partition(".")
    return Scale(what, of or None)


def changed(system: System, changes: Mapping[str, Any]) -> System:
    """The system with the changes, replaced values first; `BadDescription` where it then is none."""
    data, platform = system.to_json(), system.platform_description.to_json()
    scales = {path: value for path, value in changes.items() if path.startswith(SCALE)}
    for path, value in changes.items():
        if path not in scales:
            _replace(data, platform, path, value)
    if scales:
        base = _made(system, data, platform)
        for path, value in scales.items():
            scale_data(data, platform, base, scale_of(path), Fraction(str(value)))
    return _made(system, data, platform)


def check_change(system: System, path: str, values: Sequence[Any]) -> str | None:
    """The error in a change, and a correction; None: it is valid."""
    if path.startswith(SCALE):
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int | float):
                return f"{value!r} is no factor; write a number, for example 1.5"
            if not SMALLEST <= value <= LARGEST:
                return f"the factor {value} is out of range; {SMALLEST:g} to {LARGEST:g} is possible"
        return check_scale(system, scale_of(path))
    for value in values:
        try:
            changed(system, {path: value})
        except LookupError as error:
            return str(error.args[0])
        except BadDescription as error:
            first = error.problems[0]
            return f"with {value!r}: {first.field}: {first.message}"
    return None


def _made(system: System, data: dict[str, Any], platform: dict[str, Any]) -> System:
    return system_from_data(data, file=system.file, platform=platform_from_data(platform))


def _replace(data: dict[str, Any], platform: dict[str, Any], path: str, value: Any) -> None:
    holder: Any = platform if path.startswith(PLATFORM) else data
    *parts, last = path.removeprefix(PLATFORM).split(".")
    for part in parts:
        if isinstance(holder, list) and part.isdecimal() and int(part) < len(holder):
            holder = holder[int(part)]
        elif isinstance(holder, dict) and part in holder:
            holder = holder[part]
        else:
            known = [str(key) for key in holder] if isinstance(holder, dict) else []
            raise LookupError(f"{part!r} of {path!r} is not there; {nearest(part, known, 'keys')}")
    if not isinstance(holder, dict):
        raise LookupError(f"{last!r} of {path!r} lies in no mapping; name a key of a mapping")
    old = holder.get(last)
    # The source of the old value says nothing of the new one.
    holder[last] = {"value": value, "assumed": ASSUMED} if isinstance(old, dict) and "value" in old else value
