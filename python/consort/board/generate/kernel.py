# SPDX-License-Identifier: Apache-2.0
"""The content of the scratchpad-centric kernel's tables: cores, tasks, message boxes, subscriptions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from consort import _engine
from consort.analysis.result import Bound
from consort.board.kernel_image import kernel_image
from consort.model.quantities import DataRate, Duration

# Constants of the kernel's headers [bytes]: the alignment of parts, and a message box without its messages.
PART_ALIGNMENT = _engine.SPM_PART_ALIGNMENT
PARTITIONS = _engine.SPM_PARTITIONS
BOX_HEADER = _engine.SPM_BOX_HEADER
CELL_HEADER = _engine.SPM_CELL_HEADER
PARTS = ("code", "data", "inputs", "outputs")
OnOverrun = Literal["report", "stop-job", "stop-task"]


@dataclass(frozen=True)
class TableOptions:
    """Options of the tables, beside the description."""

    # Where each core's scratchpad begins; what is not here the linker places.
    scratchpads: Mapping[str, int] = field(default_factory=dict)
    # Where the first task's image is in main memory; None: where the linker puts its section.
    images: int | None = None
    objects: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    rate: DataRate | None = None
    setup: Duration | None = None
    on_overrun: OnOverrun = "report"
    force: bool = False
    # The memory region of the program's linker script that takes what has no address; empty: it has none.
    region: str = ""
    # The clock of the I/O core.
    ticks_per_second: int = 10**9


@dataclass(frozen=True)
class Box:
    """A message box: the content of a task's mirror buffer."""

    capacity: int
    payload: int
    keep_all: bool = False

    @property
    def bytes(self) -> int:
        return BOX_HEADER + self.capacity * (CELL_HEADER + -(-self.payload // 8) * 8)


@dataclass(frozen=True)
class Entry:
    """A task of a core: its row of the plan image, the sizes of its parts, its message boxes."""

    name: str
    row: Mapping[str, Any]
    size: dict[str, int]
    input: Box | None = None
    output: Box | None = None

    @property
    def offsets(self) -> dict[str, int]:
        """The offset of each part in a partition, and the end of the last one."""
        at, found = 0, {}
        for part in PARTS:
            found[part] = at
            at += aligned(self.size[part])
        return {**found, "end": at}


@dataclass(frozen=True)
class PlannedCore:
    """An application core, as the kernel numbers them: in the order of the list."""

    name: str
    tasks: tuple[Entry, ...]
    slot: int  # in ticks
    partition_bytes: int
    address: int | None


@dataclass(frozen=True)
class Subscribed:
    """A row of the subscription table."""

    task: str
    channel: str
    flow: int
    mask: int


@dataclass(frozen=True)
class Tables:
    """All that is written down."""

    name: str
    platform: str
    arbitration: str
    ticks_per_second: int
    cores: tuple[PlannedCore, ...]
    subscriptions: tuple[Subscribed, ...]
    tolerance: int  # in ticks
    images: dict[str, tuple[int, int]]  # addresses of code and data
    bounds: tuple[Bound, ...]
    notes: tuple[str, ...]
    late: tuple[str, ...]  # tasks without a bound within their deadline: forced
    lacking: tuple[str, ...]  # figures for want of which nothing is known of them
    region: str = ""

    @property
    def image(self) -> bytes:
        tasks = [task for core in self.cores for task in core.tasks]
        return kernel_image(
            [task.name for task in tasks],
            [task.row for task in tasks],
            [core.slot for core in self.cores],
            self.arbitration,
            self.ticks_per_second,
        )


def aligned(size: int) -> int:
    return -(-size // PART_ALIGNMENT) * PART_ALIGNMENT


def identifier(name: str) -> str:
    """A name as C++ and the linker write it, with something before or behind it: else it may be a keyword."""
    return name.replace("-", "_")
