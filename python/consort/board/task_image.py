# SPDX-License-Identifier: Apache-2.0
"""The images that a board's scratchpad kernel starts from: of three-phase tasks, position-independent, and
of its plan, with the cores' slots and tasks core by core in priority order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from consort import _engine
from consort.base.errors import SystemFails
from consort.base.owned import temporary_folder
from consort.base.toolchain.builds import need_source_tree
from consort.board.boards import kernel_board, roles
from consort.board.description import BoardSpec
from consort.board.image import BARE, COMMON, build, loaded_parts, opened_elf, section_content
from consort.board.layouts import Layouts, packed
from consort.plan.image import Encoder, names_of
from consort.run.plan_image import plain_row

PAGE, ALIGNMENT = 4096, 64
# The entry lies behind the header's place (task.ld).
ENTRY = 64


def aligned(count: int) -> int:
    """Bytes of a part of an image: a DMA moves whole lines."""
    return (count + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


@dataclass(frozen=True)
class TaskImage:
    """A position-independent image: the header's place, instructions, constants; and the sizes of the other
    parts."""

    code: bytes
    # The task's data before its first job.
    state: bytes
    inputs: int
    outputs: int
    # Where the constants begin in the code.
    constants: int = 0

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
    return TaskImage(body, state, inputs, outputs, where)


def headed(image: TaskImage, layouts: Layouts) -> bytes:
    """The code of an image with the header that a kernel of these layouts reads."""
    name = "scratchpad::ImageHeader"
    header = layouts.struct(name)
    members = {
        "magic": layouts.constant(name, "magic_number"),
        "bytes": len(image.code),
        "entry": ENTRY,
        "constants": image.constants,
        "state": len(image.state),
        "inputs": image.inputs,
        "outputs": image.outputs,
    }
    body = image.code[header.itemsize :]
    assert header.fields is not None
    own = header.fields["hash"][1] // 4
    value = 2166136261
    for i, word in enumerate(np.frombuffer(packed(header, **members, hash=0) + body, "<u4").tolist()):
        if i != own:
            value = ((value ^ word) * 16777619) & 0xFFFFFFFF
    return packed(header, **members, hash=value) + body


def image_of_text(text: str, include: Sequence[Path] = (), spec: BoardSpec | None = None) -> bytes:
    """`compile_image` of a source that is at hand as text."""
    with temporary_folder("task") as folder:
        source = Path(folder) / "task.cpp"
        source.write_text(text, encoding="utf-8")
        return compile_image(source, include, spec)


Row = Mapping[str, Any]


@lru_cache(maxsize=1)
def _encoder() -> Encoder:
    return Encoder(_engine.plan_layouts())


def layout() -> int:
    """The fingerprint of the tables that these images are made for."""
    return int(_engine.plan_layouts()["layout"])


def kernel_row(core: int, rank: int, **given: Any) -> dict[str, Any]:
    """The row of a three-phase task, by the names of its members; times are ticks of the kernel's clock."""
    return plain_row(_encoder().none) | {"core": core, "rank": rank, "threshold": rank} | given


def kernel_image(
    names: Sequence[str], rows: Sequence[Row], slots: Sequence[int], arbitration: str, hertz: int
) -> bytes:
    """The image of these tasks, and of cores with slots of these lengths."""
    core = {"context_switch": 0, "dma": 0, "policy": "three-phase", "wait": "spin", "service": "priority"}
    head = {
        "ticks_per_second": hertz,
        "run.duration": 0,
        "run.seed": 0,
        "run.execution": "worst",
        "run.arrival": "worst",
        "modes": 1,
        "first": 0,
        "cores": len(slots),
        "tasks": len(rows),
        "agreement": 0,
        "detection": 0,
    }
    tables: dict[str, Sequence[Any]] = {
        "cores": [{**core, "slot": slot} for slot in slots],
        "tasks": rows,
        "dmas": [{"arbitration": arbitration}],
        **dict.fromkeys(("ends", "channels", "devices", "requests", "fail_overs", "times"), ()),
        "names": names_of(names, ()),
    }
    return _encoder().image(head, tables)
