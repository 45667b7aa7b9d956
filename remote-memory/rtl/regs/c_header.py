# SPDX-License-Identifier: Apache-2.0
"""The register map as a header in C, for the Linux kernel module."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from registers import Register


def c_header(registers: list[Register], note: str) -> str:
    """kernel-module/remap_registers.h."""
    lines = ["/* SPDX-License-Identifier: GPL-2.0-only */", f"/* {note} */"]
    lines += ["#ifndef REMAP_REGISTERS_H", "#define REMAP_REGISTERS_H", ""]
    for block in dict.fromkeys(register.block for register in registers):
        own = [register for register in registers if register.block == block]
        start = f"REMAP_{block[0].upper()}B_"
        for array in dict.fromkeys(array for register in own for array in register.arrays):
            lines.append(f"#define {start}MAX_{array.name.upper()}S {array.count}")
        lines.append("")
        for register in own:
            lines += _macros(start + register.name.upper(), register)
        lines += [
            "/* Of each register: place, bits, value after reset, whether it can be written, and how it is",
            "   repeated: the array's name and stride, the outer one first. */",
            f"#define {start}REGISTERS(X) \\",
        ]
        rows = []
        for register in own:
            arrays = [(array.name.upper(), array.stride) for array in register.arrays]
            arrays += [("NONE", 0)] * (2 - len(arrays))
            mask = sum(((1 << f.width) - 1) << f.low for f in register.fields)
            words = ", ".join(f"{name}, {stride:#x}" for name, stride in arrays)
            writable = int(register.writable)
            rows.append(
                f"\tX({register.offset:#05x}, {mask:#x}U, {register.reset or 0:#x}U, {writable}, {words})"
            )
        lines += [" \\\n".join(rows), ""]
    return "\n".join([*lines, "#endif", ""])


def _macros(name: str, register: Register) -> list[str]:
    lines = [f"/* {register.desc} */"]
    indices = ", ".join(array.name for array in register.arrays)
    place = " + ".join(
        [f"{register.offset:#05x}U", *(f"({a.name}) * {a.stride:#x}U" for a in register.arrays)]
    )
    lines.append(f"#define {name}({indices}) ({place})" if indices else f"#define {name} {place}")
    reset = register.reset
    if reset is not None:
        lines.append(f"#define {name}_RESET {reset:#x}U")
    for field in register.fields:
        mask = ((1 << field.width) - 1) << field.low
        lines.append(f"#define {name}_{field.name.upper()}_MASK {mask:#x}U")
        lines.append(f"#define {name}_{field.name.upper()}_SHIFT {field.low}")
    return [*lines, ""]
