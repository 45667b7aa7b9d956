# SPDX-License-Identifier: Apache-2.0
"""A board's memory map as C++ and linker scripts take it: made from board.yaml, its only place."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from consort.base.toolchain.builds import cache_folder
from consort.board.description import BoardSpec, CoreSpec

HEADER = Path("consort/board/memory_map.hpp")


def header_text(spec: BoardSpec) -> str:
    """consort/board/memory_map.hpp: an address for each range and register, and the ranges' lengths."""
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        "//",
        "// Where things lie on this board: made from its board.yaml; not to be edited.",
        "#pragma once",
        "",
        "#include <cstdint>",
        "",
        "namespace consort::board {",
        "",
    ]
    for name, memory in spec.memory.items():
        lines.append(f"inline constexpr std::uintptr_t {name} = {memory.address:#x};")
        lines.append(f"inline constexpr std::uint32_t {name}_bytes = {memory.size.bytes:#x};")
    lines += [f"inline constexpr std::uintptr_t {n} = {a:#x};" for n, a in spec.registers.items()]
    for core in spec.cores:
        name = core.name.replace("-", "_")
        lines.append(f"inline constexpr std::uint32_t control_block_of_{name} = {core.control_block};")
        lines.append(f'inline constexpr const char* title_of_{name} = "{core.title}";')
        lines.append(f"inline constexpr std::uint64_t clock_of_{name} = {core.clock.hertz}U;")
    if (kernel := spec.scratchpad_kernel) is not None:
        counts = {
            "control_block_of_second_core": kernel.second_core_control_block,
            "kernel_application_cores": kernel.application_cores,
            "kernel_slot_owners": kernel.slot_owners,
            "kernel_tasks": kernel.tasks,
            "kernel_scratchpad_bytes": kernel.scratchpad.bytes,
            "kernel_stack_bytes": kernel.stack.bytes,
        }
        lines += [f"inline constexpr std::uint32_t {name} = {count};" for name, count in counts.items()]
    return "\n".join([*lines, "", "}  // namespace consort::board", ""])


def linker_text(spec: BoardSpec, core: CoreSpec) -> str:
    """The MEMORY command of a core's linker script."""
    lines = ["/* Made from board.yaml; not to be edited. */", "MEMORY", "{"]
    for region, name in core.regions.items():
        memory = spec.memory[name]
        lines.append(f"    {region} : ORIGIN = {memory.address:#x}, LENGTH = {memory.size.bytes:#x}")
    return "\n".join([*lines, "}", ""])


def generated_folder(spec: BoardSpec) -> Path:
    """The folder with the header and each core's MEMORY command (<core>-memory.ld)."""
    files = {str(HEADER): header_text(spec)}
    files |= {f"{core.name}-memory.ld": linker_text(spec, core) for core in spec.cores}
    digest = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:16]
    folder = cache_folder() / "board-maps" / digest
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        made = Path(scratch) / "map"
        for name, text in files.items():
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            (made / name).write_text(text, encoding="utf-8")
        try:
            made.rename(folder)
        except OSError:
            # Another process was quicker: the same name has the same files.
            assert folder.is_dir()
    return folder
