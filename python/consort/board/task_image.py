# SPDX-License-Identifier: Apache-2.0
"""Position-independent images of three-phase tasks, for the scratchpad kernel of a board."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from consort.base.errors import SystemFails
from consort.base.toolchain.builds import need_source_tree
from consort.board.boards import kernel_board, roles
from consort.board.description import BoardSpec
from consort.board.image import BARE, COMMON, build, loaded_parts, opened_elf, section_content

IMAGE_MAGIC = 0x474D4943
PAGE, ALIGNMENT = 4096, 64
HEADER, ENTRY = struct.Struct("<8I"), 64


def aligned(count: int) -> int:
    """Bytes of a part of an image: a DMA moves whole lines."""
    return (count + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


@dataclass(frozen=True)
class TaskImage:
    """A position-independent image: header, instructions, constants; and the sizes of the other parts."""

    code: bytes
    # The task's data before its first job.
    state: bytes
    inputs: int
    outputs: int

    @property
    def partition_bytes(self) -> int:
        """Bytes that it takes of a partition, its stack not included."""
        parts = (len(self.code), len(self.state), self.inputs, self.outputs)
        return sum(aligned(n) for n in parts)


def compile_image(source: Path, include: Sequence[Path] = (), spec: BoardSpec | None = None) -> bytes:
    """Header's place, instructions and read-only data of a task for the board, without any address in it.

    The source defines `extern "C" void consort_entry(const consort::spm::Partition&)`, in the section
    .text.consort_entry.
    """
    root = need_source_tree("building for a board")
    spec = spec or kernel_board()
    kernel, _, core = roles(spec)
    script = root / "ports" / spec.name / kernel.task_script
    # A function that is one instruction (fabs, sqrt) needs no library.
    flags = [
        *(flag for flag in core.flags if flag.startswith("-m")),
        *COMMON,
        *BARE,
        "-fbuiltin",
        "-fno-math-errno",
        "-fpie",
        "-mcmodel=tiny",
        "-fno-asynchronous-unwind-tables",
    ]
    link = ["-nostdlib", "-pie", "-Wl,--no-dynamic-linker", "-Wl,--gc-sections", "-Wl,--build-id=none"]
    link += ["-Wl,-z,max-page-size=64", "-Wl,--no-warn-rwx-segments", "-T", str(script)]
    elf = build(
        core.compiler,
        flags,
        [root / "include", root, *include],
        [source, root / "ports/bare/memory.cpp"],
        link,
        f"{source.stem}-task.elf",
        script,
    )
    parts = [content for address, content in loaded_parts(elf) if address == 0]
    if len(parts) != 1:
        raise SystemFails(f"{elf}: the image does not begin at 0")
    with opened_elf(elf) as opened:
        content = section_content(opened, ".image")
    if content is None:
        raise SystemFails(f"{elf}: no section .image")
    return content


def make_image(instructions: bytes, constants: bytes, state: bytes, inputs: int, outputs: int) -> TaskImage:
    """The image of compiled instructions and of the constants that they read."""
    body = instructions + bytes(aligned(len(instructions)) - len(instructions))
    where = len(body)
    body += constants
    # Whole pages: a job may read and execute them, and write all behind them.
    body += bytes(-len(body) % PAGE)
    sizes = (len(state), inputs, outputs)
    head = [IMAGE_MAGIC, len(body), ENTRY, where, *sizes, 0]
    words = [*head, *struct.unpack(f"<{(len(body) - HEADER.size) // 4}I", body[HEADER.size :])]
    value = 2166136261
    for i, word in enumerate(words):
        if i != 7:
            value = ((value ^ word) * 16777619) & 0xFFFFFFFF
    head[7] = value
    return TaskImage(HEADER.pack(*head) + body[HEADER.size :], state, inputs, outputs)


def image_of_text(text: str, include: Sequence[Path] = (), spec: BoardSpec | None = None) -> bytes:
    """`compile_image` of a source that is at hand as text."""
    with tempfile.TemporaryDirectory(prefix="consort-task-") as folder:
        source = Path(folder) / "task.cpp"
        source.write_text(text, encoding="utf-8")
        return compile_image(source, include, spec)
