# SPDX-License-Identifier: Apache-2.0
"""Rounds the coefficients to each arithmetic and writes them as JSON (for Python) and as a C++ header."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

_SCALARS = ("proportional", "derivative", "filter", "integrator_output", "integrator_input")
_ARRAYS = ("output_1", "output_2", "input", "eps")


def to_float32(real: dict[str, Any]) -> dict[str, Any]:
    """Nearest float32, kept as the double of the same value."""
    return {
        name: [float(np.float32(v)) for v in value] if isinstance(value, list) else float(np.float32(value))
        for name, value in real.items()
    }


def block_exponent(value: float) -> list[int]:
    """[mantissa, shift] with value = mantissa / 2**shift and the mantissa's magnitude in [2**30, 2**31)."""
    if value == 0:
        return [0, 31]
    mantissa, exponent = math.frexp(value)
    rounded = round(mantissa * 2**31)
    if abs(rounded) == 2**31:  # rounded up to the next power of two
        rounded //= 2
        exponent += 1
    shift = 31 - exponent
    if not 1 <= shift <= 62:
        raise ValueError(f"a coefficient of {value:g} has no block exponent in fixed point: rescale")
    return [rounded, shift]


def to_q31(real: dict[str, Any], error_full_scale: float, angle_full_scale: float) -> dict[str, Any]:
    """Error as a fraction of its full scale, command as a fraction of its limit, states as they are."""
    e, u = error_full_scale, real["command_limit"]
    units = {
        "proportional": e / u,
        "derivative": e / u,
        "filter": 1.0,
        "integrator_output": 1 / u,
        "integrator_input": e,
        "output_1": 1 / u,
        "output_2": 1 / u,
        "input": e,
        "eps": 1.0,
    }
    fixed: dict[str, Any] = {name: block_exponent(real[name] * units[name]) for name in _SCALARS}
    fixed |= {name: [block_exponent(v * units[name]) for v in real[name]] for name in _ARRAYS}
    fixed["angle_shift"] = int(math.log2(angle_full_scale / error_full_scale))
    fixed["angle_full_scale"] = angle_full_scale
    fixed["command_full_scale"] = u
    return fixed


def json_text(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=1) + "\n"


def _real_block(values: dict[str, Any], name: str, kind: str) -> list[str]:
    suffix = "F" if kind == "float" else ""
    lines = [f"struct {name} {{"]
    for scalar in (*_SCALARS, "command_limit"):
        lines.append(f"    static constexpr {kind} {scalar} = {values[scalar].hex()}{suffix};")
    for array in _ARRAYS:
        items = ",\n        ".join(f"{v.hex()}{suffix}" for v in values[array])
        lines.append(f"    static constexpr {kind} {array}[harmonics] = {{\n        {items}}};")
    return [*lines, "};", ""]


def _fixed_block(values: dict[str, Any]) -> list[str]:
    lines = ["struct Q31 {"]
    for scalar in _SCALARS:
        mantissa, shift = values[scalar]
        lines.append(f"    static constexpr Scaled {scalar}{{{mantissa}, {shift}}};")
    for array in _ARRAYS:
        items = ",\n        ".join(f"{{{mantissa}, {shift}}}" for mantissa, shift in values[array])
        lines.append(f"    static constexpr Scaled {array}[harmonics] = {{\n        {items}}};")
    lines.append("    // Log2 of the full scale of an angle over that of the error.")
    lines.append(f"    static constexpr int angle_shift = {values['angle_shift']};")
    lines.append("    // rad and N m that stand for 2^31.")
    lines.append(f"    static constexpr double angle_full_scale = {float(values['angle_full_scale'])!r};")
    lines.append(f"    static constexpr double command_full_scale = {float(values['command_full_scale'])!r};")
    return [*lines, "};", ""]


def header_text(content: dict[str, Any]) -> str:
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        "// Written by design.py from controller.yaml: change those, not this.",
        "#pragma once",
        "",
        "#include <cstdint>",
        "",
        "namespace servo::coefficients {",
        "",
        f"inline constexpr int harmonics = {content['harmonics']};",
        f"inline constexpr double sample_period = {content['sample_period']!r};  // s",
        "",
        "// A coefficient in fixed point: mantissa / 2^shift, the mantissa's magnitude in [2^30, 2^31).",
        "struct Scaled {",
        "    std::int32_t mantissa;",
        "    int shift;",
        "};",
        "",
        "// States are fractions of their full scale; error in rad, command in N m.",
        *_real_block(content["f32"], "F32", "float"),
        *_real_block(content["f64"], "F64", "double"),
        "// The same in fixed point: error and command are fractions of their full scales too.",
        *_fixed_block(content["q31"]),
        "}  // namespace servo::coefficients",
        "",
    ]
    return "\n".join(lines)
