# SPDX-License-Identifier: Apache-2.0
"""The kernel's tables as C++ headers, linker scripts and a map. File name -> text."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from consort.analysis.result import in_words
from consort.analysis.three_phase import three_phase_cores
from consort.base.errors import BadInput
from consort.base.toolchain.builds import Templates, digest, kept
from consort.board.boards import roles
from consort.board.description import BoardSpec, KernelSpec
from consort.board.generate.kernel import (
    PARTITIONS,
    PARTS,
    Box,
    Entry,
    PlannedCore,
    TableOptions,
    Tables,
    aligned,
    identifier,
)
from consort.board.generate.scratchpad import make_tables
from consort.board.generate.sizes import image_places
from consort.board.generate.write import HEAD
from consort.board.task_image import PAGE, TaskImage, layout
from consort.model import System

WIDTH = 106


def table_files(tables: Tables) -> dict[str, str]:
    """All files of a system."""
    files = {
        "consort-tables.hpp": _tables(tables),
        "consort-io.hpp": _io(tables),
        "consort-memory.ld": _memory(tables),
        "consort-map.csv": _map(tables),
    }
    for _, _, core, task in _places(tables):
        files[f"consort-{task.name}.ld"] = _text("image.ld", tables, core=core, task=task)
    return files


def _places(tables: Tables) -> Iterator[tuple[int, int, PlannedCore, Entry]]:
    """Every task with its numbers."""
    for c, core in enumerate(tables.cores):
        for t, task in enumerate(core.tasks):
            yield c, t, core, task


def remarks(tables: Tables) -> list[str]:
    """Remarks for a reader of the tables: sources of figures, and requirements that do not hold."""
    lines = list(tables.notes)
    known = f"NOT KNOWN TO BE SCHEDULABLE, for want of {', '.join(tables.lacking)}"
    head = known if tables.lacking else "NOT SCHEDULABLE"
    lines += [f"{head}: {name} may miss its deadline; written because of --force" for name in tables.late]
    return lines


# --- filters of the templates


def _number(picoseconds: int) -> str:
    """With separators between the thousands, as C++ writes them."""
    return f"{picoseconds:,}".replace(",", "'")


def _comment(lines: Iterable[str]) -> str:
    """Lines as a C++ comment."""
    wrapped = []
    for line in lines:
        # A line that ends in a backslash would go on.
        wrapped += textwrap.wrap(line.replace("\\", "/"), WIDTH - 3) or [""]
    return "\n".join(f"// {line}".rstrip() for line in wrapped)


def _remark(lines: Iterable[str]) -> str:
    """The begin of a linker script's comment, which the template ends."""
    return "/* " + " ".join(" ".join(lines).split()).replace("*/", "* /")


def _braced(items: Iterable[object]) -> str:
    return "{" + ", ".join(str(item) for item in items) + "}"


def _rows(items: Iterable[str]) -> str:
    """A braced list, with a comma behind it, that keeps to the line's width."""
    found = list(items)
    lines, line = [], "    {"
    for i, item in enumerate(found):
        piece = item + (", " if i + 1 < len(found) else "},")
        if len(line) + len(piece) > WIDTH and line.strip("{ "):
            lines.append(line.rstrip())
            line = "     "
        line += piece
    return "\n".join([*lines, line])


def _bytes(content: bytes) -> str:
    """Lines of a braced list of bytes."""
    return "\n".join(
        "    " + " ".join(f"{byte:#04x}," for byte in content[at : at + 16])
        for at in range(0, len(content), 16)
    )


def _shape(box: Box | None) -> str:
    return "{}" if box is None else f"{{.capacity = {box.capacity}, .payload = {box.payload}}}"


TEMPLATES = Templates(
    "consort.board.generate",
    {
        "braced": _braced,
        "bytes": _bytes,
        "comment": _comment,
        "identifier": identifier,
        "number": _number,
        "partition": lambda p, core: f"consort_{identifier(core)}_partition_{p}",
        "quoted": lambda text: f'"{text}"',
        "remark": _remark,
        "rows": _rows,
        "shape": _shape,
    },
)


def _text(template: str, tables: Tables, remarks: Iterable[str] = (), **more: Any) -> str:
    head = [HEAD.format(name=tables.name, platform=tables.platform), *remarks]
    values = {"tables": tables, "cores": tables.cores, "partitions": range(PARTITIONS), "head": head}
    return TEMPLATES.render(f"{template}.j2", **(values | more))


# --- the files


def _tables(tables: Tables) -> str:
    return _text(
        "tables.hpp",
        tables,
        ["", *remarks(tables)],
        places=[(c, t, task) for c, t, _, task in _places(tables)],
        most_tasks=max(len(core.tasks) for core in tables.cores),
        image=tables.image,
        layout=layout(),
    )


def _io(tables: Tables) -> str:
    tasks = [(c, t, task) for c, t, _, task in _places(tables)]
    numbers = {task.name: (c, t) for c, t, task in tasks}
    memory = []
    for _, _, task in tasks:
        for part, box in (("inputs", task.input), ("outputs", task.output)):
            size = 2 * box.bytes if box is not None else task.size[part]
            if size:
                memory.append((task.name, part, size, box))
    plain = {(name, part) for name, part, _, box in memory if box is None}
    return _text(
        "io.hpp",
        tables,
        ["", "The I/O core's: what tasks subscribe to, their mirror buffers, plain buffers of the others."],
        memory=memory,
        mirrored=[entry for entry in tasks if entry[2].input is not None or entry[2].output is not None],
        subscriptions=[(s, *numbers[s.task]) for s in tables.subscriptions],
        plain=[
            (
                part,
                [
                    [
                        f"memory::{identifier(task.name)}_{part}" if (task.name, part) in plain else "nullptr"
                        for task in core.tasks
                    ]
                    for core in tables.cores
                ],
            )
            for part in PARTS[2:]
        ],
    )


def _memory(tables: Tables) -> str:
    images = [
        (task.name, part, task.size[part], tables.images[task.name][i] if tables.images else None)
        for _, _, _, task in _places(tables)
        for i, part in enumerate(PARTS[:2])
        if task.size[part]
    ]
    return _text(
        "memory.ld",
        tables,
        images=images,
        unplaced=[core for core in tables.cores if core.address is None],
        region=f" > {tables.region}" if tables.region else "",
    )


def _map(tables: Tables) -> str:
    """The memory map: each partition with each task that may be in it, and the images."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(["memory", "place", "begin", "bytes", "task", "part", "offset", "part_bytes"])
    for core in tables.cores:
        for p in range(PARTITIONS):
            begin = "" if core.address is None else f"{core.address + p * core.partition_bytes:#x}"
            for task in core.tasks:
                at = task.offsets
                head = [core.name, f"partition {p}", begin, core.partition_bytes, task.name]
                for part in PARTS:
                    rows.writerow([*head, part, at[part], task.size[part]])
                rows.writerow([*head, "free", at["end"], core.partition_bytes - at["end"]])
    for _, _, _, task in _places(tables):
        addresses = tables.images.get(task.name)
        for i, part in enumerate(PARTS[:2]):
            begin = "" if addresses is None else f"{addresses[i]:#x}"
            rows.writerow(
                ["main", "image", begin, aligned(task.size[part]), task.name, part, 0, task.size[part]]
            )
    return out.getvalue()


def summary(tables: Tables) -> list[str]:
    """The summary of the tables that `consort generate` prints."""
    lines = remarks(tables)
    for bound in tables.bounds:
        response = "no bound" if bound.response is None else in_words(bound.response)
        deadline = "" if bound.deadline is None else f" of {in_words(bound.deadline)}"
        lines.append(f"{bound.core} {bound.task}: response at most {response}{deadline}")
    return lines


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
