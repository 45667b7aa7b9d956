# SPDX-License-Identifier: Apache-2.0
"""The boards that there are: each is a folder ports/<board>/ with a board.yaml."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from consort.base.errors import BadDescription, BadInput, nearest
from consort.base.toolchain.builds import need_source_tree, source_tree
from consort.base.toolchain.compiler import PROCESSES
from consort.board.description import BoardSpec, CoreSpec, KernelSpec, MemoryRange
from consort.model.document import Document, Location
from consort.model.emulation import BOARD_FILE
from consort.model.reading import read_document
from consort.model.validate import validate


def board_names() -> list[str]:
    """The boards' names in order; none where Consort is installed without its source tree."""
    root = source_tree()
    return [] if root is None else sorted(path.parent.name for path in root.glob(f"ports/*/{BOARD_FILE}"))


def board_named(name: str) -> BoardSpec:
    """The board of that name; `BadInput` names those there are, or what is wrong in its board.yaml."""
    root = need_source_tree("a board")
    if name not in board_names():
        raise BadInput(f"no board '{name}'; there are {', '.join(board_names())}")
    return load_board(root / "ports" / name / BOARD_FILE)


def all_boards() -> list[BoardSpec]:
    return [board_named(name) for name in board_names()]


def load_board(path: Path) -> BoardSpec:
    """Reads a board.yaml; `BadDescription` with all that is wrong with it, each with its line."""
    return _load(path, path.stat().st_mtime_ns if path.is_file() else 0)


@cache
def _load(path: Path, _changed: int) -> BoardSpec:
    document = read_document(path, "board description")
    spec, _ = validate(BoardSpec, document)
    problems = list(document.problems)
    if spec is not None and not problems:
        problems = list(_Rules(spec, document).problems())
    if problems or spec is None:
        raise BadDescription(problems)
    name = path.parent.name
    spec._name = name
    for key, core in spec.named_cores.items():
        core._name, core._board = key, spec
    return spec


class _Rules:
    """Rules between the fields of a board.yaml, and rules for the files that it names."""

    def __init__(self, spec: BoardSpec, document: Document) -> None:
        self.spec = spec
        self.document = document
        self.folder = document.file.parent

    def problems(self) -> Iterator[BadInput]:
        yield from self._memory()
        yield from self._cores()
        yield from self._programs()
        yield from self._linux()
        yield from self._kernel()
        yield from self._exchanges()

    def _at(self, *location: str | int, says: str) -> BadInput:
        place: Location = location
        return self.document.problem(place, says)

    def _known(
        self, name: str, known: Iterator[str] | list[str], what: str, *at: str | int
    ) -> Iterator[BadInput]:
        names = list(known)
        if name not in names:
            yield self._at(
                *at, says=f"{name!r} is not a {what} of this board; {nearest(name, names, f'its {what}s')}"
            )

    def _file(self, name: str, *at: str | int, folder: str = "") -> Iterator[BadInput]:
        path = self.folder / folder / name
        if not path.is_file():
            yield self._at(*at, says=f"there is no file {path.relative_to(self.folder)} in {self.folder}")

    def _memory(self) -> Iterator[BadInput]:
        ranges = self.spec.memory
        backend = self.spec.emulator.memory
        yield from self._known(backend, list(ranges), "memory range", "emulator", "memory")
        for name in self.spec.registers.keys() & ranges.keys():
            yield self._at("registers", name, says=f"{name!r} is a memory range too; one name is one address")
        window = ranges.get("window")
        if window is None:
            yield self._at("memory", says="there is no range 'window', which all cores and processes share")
        elif backend in ranges and not _within(window, ranges[backend]):
            yield self._at(
                *("memory", "window"), says=f"it does not lie within {backend!r}, which is the shared file"
            )

    def _cores(self) -> Iterator[BadInput]:
        cores = self.spec.named_cores
        if not any(core.starts for core in cores.values()):
            yield self._at("cores", says="no core starts with the board; give one 'starts_on_cpu'")
        owners: dict[int, str] = {}
        placed: list[tuple[str, str, MemoryRange]] = []
        for name, core in cores.items():
            here = ("cores", name)
            if core.control_block in owners:
                other = owners[core.control_block]
                yield self._at(
                    *here, "control_block", says=f"{core.control_block} is {other!r}'s; each core has its own"
                )
            owners.setdefault(core.control_block, name)
            if 10**9 % core.clock.hertz:
                yield self._at(*here, "clock", says="a tick has to be whole nanoseconds; 1GHz is a multiple")
            if core.begins_in is not None:
                yield from self._known(core.begins_in, list(cores), "core", *here, "begins_in")
            if core.profile is not None and core.machine != "Arm":
                yield self._at(*here, "profile", says="only 32-bit Arm images say a profile; remove it")
            for number, source in enumerate(core.sources):
                yield from self._file(source, *here, "sources", number, folder=core.folder)
            yield from self._file(core.linker_script, *here, "linker_script", folder=core.folder)
            yield from self._file("consort/bare/this_core.hpp", *here, "folder", folder=core.folder)
            if core.scratchpad is not None:
                yield from self._known(
                    core.scratchpad, list(self.spec.memory), "memory range", *here, "scratchpad"
                )
                yield from self._file("consort/bare/core_dma.hpp", *here, "folder", folder=core.folder)
            for region, target in core.regions.items():
                yield from self._known(
                    target, list(self.spec.memory), "memory range", *here, "regions", region
                )
                if target in self.spec.memory:
                    placed.append((name, target, self.spec.memory[target]))
        yield from self._overlaps(placed)

    def _overlaps(self, placed: list[tuple[str, str, MemoryRange]]) -> Iterator[BadInput]:
        if "window" in self.spec.memory:
            placed = [*placed, ("", "window", self.spec.memory["window"])]
        for n, (core, name, one) in enumerate(placed):
            for other_core, other_name, other in placed[:n]:
                apart = one.end <= other.address or other.end <= one.address
                if not apart and (core != other_core or name != other_name):
                    yield self._at(
                        *("memory", other_name),
                        says=f"it overlaps {name!r}; the images of cores and the window lie apart",
                    )

    def _programs(self) -> Iterator[BadInput]:
        for program, sources in self.spec.programs.items():
            for core, files in sources.items():
                here = ("programs", program, core)
                yield from self._known(core, list(self.spec.named_cores), "core", *here)
                for number, file in enumerate(files):
                    yield from self._file(file, *here, number)

    def _linux(self) -> Iterator[BadInput]:
        linux = self.spec.linux
        if linux is None:
            return
        yield from self._known(linux.core, list(self.spec.named_cores), "core", "linux", "core")
        for number, name in enumerate(linux.reserved):
            yield from self._known(name, list(self.spec.memory), "memory range", "linux", "reserved", number)
        for number, name in enumerate(linux.releases):
            cores = list(self.spec.named_cores)
            yield from self._known(name, cores, "core", "linux", "releases", number)
        register = linux.release_register
        yield from self._known(register, list(self.spec.registers), "register", "linux", "release_register")

    def _kernel(self) -> Iterator[BadInput]:
        kernel = self.spec.scratchpad_kernel
        if kernel is None:
            return
        for key, core in (("io_core", kernel.io_core), ("application_core", kernel.application_core)):
            yield from self._known(core, list(self.spec.named_cores), "core", "scratchpad_kernel", key)
        for key, file in (("window", kernel.tables.window), ("generated", kernel.tables.generated)):
            yield from self._file(file, "scratchpad_kernel", "tables", key)
        yield from self._file(kernel.task_script, "scratchpad_kernel", "task_script")
        for name, what in (("on_chip", "partitions"), ("io_core_memory", "device buffers")):
            if name not in self.spec.memory:
                yield self._at("memory", says=f"there is no range {name!r}, in which the kernel's {what} lie")

    def _exchanges(self) -> Iterator[BadInput]:
        linux = [self.spec.linux_side] if self.spec.linux_side is not None else []
        for number, pair in enumerate(self.spec.exchanges):
            known = [*self.spec.named_cores, *linux, *PROCESSES]
            for key, side in (("asker", pair.asker), ("answerer", pair.answerer)):
                yield from self._known(side, known, "processor", "exchanges", number, key)
            if pair.on_chip and "on_chip" not in self.spec.memory:
                yield self._at("exchanges", number, "on_chip", says="the memory map has no range 'on_chip'")


def _within(inner: MemoryRange, outer: MemoryRange) -> bool:
    return outer.address <= inner.address and inner.end <= outer.end


def kernel_boards() -> list[str]:
    """The boards that the kernel runs on."""
    return [spec.name for spec in all_boards() if spec.scratchpad_kernel is not None]


def kernel_board(name: str | None = None) -> BoardSpec:
    """A board that the kernel runs on, by name, or the first one; `BadInput` where it does not."""
    known = kernel_boards()
    wanted = name if name is not None else next(iter(known), None)
    # A name that no board has is refused as that.
    found = None if wanted is None else board_named(wanted)
    if found is None or found.scratchpad_kernel is None:
        raise BadInput(f"the scratchpad kernel runs on {', '.join(known) or 'no board'}", field="--board")
    return found


def roles(spec: BoardSpec) -> tuple[KernelSpec, CoreSpec, CoreSpec]:
    """The board's kernel description, its I/O core and its application core."""
    kernel = spec.scratchpad_kernel
    assert kernel is not None
    return kernel, spec.core(kernel.io_core), spec.core(kernel.application_core)
