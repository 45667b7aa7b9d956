# SPDX-License-Identifier: Apache-2.0
"""The kernel's tables on the emulated board: what `consort generate --for scratchpad` writes.

Periods, deadlines, budgets, policies, slots, tolerance, partitions and places of images are those of the
generated headers and linker script. Only the sizes are the board's own: of its images, not the described.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from consort.analysis.scratchpad import three_phase_cores
from consort.base.errors import BadInput
from consort.base.toolchain.builds import digest, kept
from consort.board.boards import roles
from consort.board.description import BoardSpec, KernelSpec
from consort.board.generate.kernel import PARTITIONS, PlannedCore, TableOptions, Tables
from consort.board.generate.scratchpad import make_tables
from consort.board.generate.sizes import image_places
from consort.board.generate.tables import table_files
from consort.board.task_image import PAGE, TaskImage
from consort.model import System

# How late the emulated I/O core may be at a slot's begin [ns], in which its clock counts: it looks every
# microsecond or so.
REACTION = 5_000


def board_tables(spec: BoardSpec, system: System, images: Mapping[str, TaskImage], images_at: int) -> Path:
    """The folder of the generated files; the first image is at `images_at` in main memory."""
    names = three_phase_cores(system)
    on_chip, kernel = spec.memory["on_chip"].address, roles(spec)[0]
    scratchpads = {core: on_chip + n * kernel.scratchpad.bytes for n, core in enumerate(names)}
    # Sets without a bound are run as well; the run says so.
    options = TableOptions(scratchpads=scratchpads, images=images_at, force=True)
    tables = make_tables(system, options)
    _reachable(system, tables)
    cores = tuple(_with_images(system, core, images, kernel) for core in tables.cores)
    tables = replace(tables, cores=cores, images=image_places(system, cores, options))
    files = table_files(tables)

    def make(target: Path, _scratch: Path) -> None:
        target.mkdir()
        for name, text in files.items():
            (target / name).write_text(text, encoding="utf-8")

    return kept("tables", digest(part for item in sorted(files.items()) for part in item), "tables", make)


def _with_images(
    system: System, core: PlannedCore, images: Mapping[str, TaskImage], kernel: KernelSpec
) -> PlannedCore:
    tasks = []
    for task in core.tasks:
        image = images[task.name]
        sizes = {"code": len(image.code), "data": len(image.state)}
        made = replace(task, size={**sizes, "inputs": image.inputs, "outputs": image.outputs})
        over = made.offsets["end"] - core.partition_bytes
        if over > 0:
            raise BadInput(
                f"its image for the board is {over} bytes too large for a partition of {core.name}"
                f" ({core.partition_bytes} bytes)",
                file=system.file,
                field=f"tasks.{task.name}",
            )
        tasks.append(made)
    room = kernel.scratchpad.bytes - kernel.stack.bytes
    if core.partition_bytes % PAGE or PARTITIONS * core.partition_bytes > room:
        raise BadInput(
            f"partitions of {core.partition_bytes} bytes ({core.name}); the board's are whole pages of"
            f" {PAGE}, {PARTITIONS} of them within {room} bytes",
            file=system.file,
            field="platform",
        )
    return replace(core, tasks=tuple(tasks))


def _reachable(system: System, tables: Tables) -> None:
    if tables.arbitration == "tdma" and tables.tolerance < REACTION:
        raise BadInput(
            f"the longest operation leaves {tables.tolerance / 1e3:g} us of its slot; the board's I/O core"
            f" begins one up to {REACTION / 1e3:g} us late: give a longer slot",
            file=system.file,
            field=f"scheduling.{tables.cores[0].name}.slot",
        )
