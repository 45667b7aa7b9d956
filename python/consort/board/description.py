# SPDX-License-Identifier: Apache-2.0
"""The model of ports/<board>/board.yaml: emulator, memory map, cores, and the board's other abilities."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, Strict, StringConstraints

from consort.base.errors import BadInput
from consort.base.owned import temporary_folder
from consort.base.toolchain.builds import cache_folder
from consort.model.base import Address, Described, Name, NonEmpty, Version
from consort.model.emulation import EmulatedCore
from consort.model.load import schema_of
from consort.model.quantities import Frequency, Size

# A name that is also a C++ identifier.
Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)]
File = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_./-]*$", max_length=200)]
Files = Annotated[tuple[File, ...], Strict(False)]
Words = Annotated[tuple[NonEmpty, ...], Strict(False)]
Names = Annotated[tuple[Name, ...], Strict(False)]
Identifiers = Annotated[tuple[Identifier, ...], Strict(False)]
ElfMachine = Literal["Arm", "AArch64", "RISC-V"]

# Control blocks at the beginning of the window; of the others some are processes', the last is Linux's.
CONTROL_BLOCKS = 16
FIRST_PROCESS = 8


class MemoryRange(Described):
    """A range of addresses."""

    address: Address = Field(description="Its first address.", examples=["0x80000000"])
    size: Size = Field(description="Its length.", examples=["8MiB"])

    @property
    def end(self) -> int:
        return self.address + self.size.bytes


class Emulator(Described):
    """The machine that plays the board."""

    program: NonEmpty = Field(description="QEMU's program.", examples=["qemu-system-arm"])
    package: NonEmpty = Field(description="Debian's package of it.", examples=["qemu-system-arm"])
    machine: NonEmpty = Field(description="QEMU's machine.", examples=["virt"])
    memory: Identifier = Field(
        description="The range of the map that is QEMU's memory backend: a file that processes map.",
        examples=["ddr"],
    )
    takes_size: bool = Field(default=False, description="True if the machine takes -m.")
    options: Words = Field(default=(), description="Further options of QEMU's.", examples=["[-bios, none]"])


class CoreSpec(EmulatedCore):
    """One core: its tools, the parts of its images, and its start."""

    control_block: Annotated[int, Field(ge=0, lt=FIRST_PROCESS)] = Field(
        description="Its control block in the shared window."
    )
    tools: NonEmpty = Field(description="The prefix of its cross tools.", examples=["arm-none-eabi-"])
    package: NonEmpty = Field(description="Debian's packages of them.", examples=["gcc-arm-none-eabi"])
    flags: Words = Field(description="The compiler's options for it.", examples=["[-mcpu=cortex-r5]"])
    folder: File = Field(
        description="Its folder in the port's; it has consort/bare/this_core.hpp.", examples=["r5f"]
    )
    sources: Files = Field(description="Sources of every image, in its folder.", examples=["[start.S]"])
    linker_script: File = Field(description="In its folder, without a MEMORY command.", examples=["r5f.ld"])
    regions: dict[Identifier, Identifier] = Field(
        description="The linker script's memories, and the ranges of the map that they are.",
        examples=["{ddr: r5f_image}"],
    )
    scratchpad: Identifier | None = Field(
        default=None,
        description="The range of the map that is its scratchpad: two partitions of a three-phase core, which"
        " its consort/bare/core_dma.hpp fills and empties.",
        examples=["r5f_1_scratchpad"],
    )
    compiler_library: bool = Field(
        default=True,
        description="True if the compiler brings its library (libgcc) for this core; else its sources define"
        " what is called of it.",
    )
    machine: ElfMachine = Field(description="For whom its images are.", examples=["Arm"])
    profile: Literal["A", "R", "M"] | None = Field(default=None, description="Arm: the profile.")
    starts_on_cpu: Annotated[int, Field(ge=0)] | None = Field(
        default=None,
        description="The emulator's number of the processor that begins at the image's entry; without it the"
        " core waits until the first one releases it.",
    )
    begins_in: Name | None = Field(
        default=None,
        description="The core in whose image it begins, which leads to its own: so that core always has one.",
        examples=["r5f"],
    )
    clock: Frequency = Field(
        description="The clock that its programs read: ticks of the port's now().", examples=["25MHz"]
    )

    _name: str = ""
    _board: BoardSpec | None = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def board(self) -> BoardSpec:
        assert self._board is not None
        return self._board

    @property
    def place(self) -> int:
        """Its control block."""
        return self.control_block

    @property
    def starts(self) -> bool:
        """True if the core starts with the board; else another core releases it."""
        return self.starts_on_cpu is not None

    @property
    def compiler(self) -> str:
        return self.tools + "g++"


class LinuxSpec(Described):
    """A core that can run Debian's real-time Linux beside the bare-metal ones."""

    core: Name = Field(description="Which core runs it.", examples=["a72"])
    package: NonEmpty = Field(description="Debian's kernel.", examples=["linux-image-rt-arm64"])
    architecture: NonEmpty = Field(description="Debian's name of the architecture.", examples=["arm64"])
    tools: NonEmpty = Field(description="The prefix of the cross tools.", examples=["aarch64-linux-gnu-"])
    tools_package: NonEmpty = Field(
        description="Debian's package of them.", examples=["g++-aarch64-linux-gnu"]
    )
    flags: Words = Field(default=(), description="The compiler's options.")
    memory: Size = Field(description="The memory that the board then has.", examples=["512MiB"])
    reserved: Identifiers = Field(description="Ranges that are held back from Linux.", examples=["[window]"])
    console: NonEmpty = Field(description="Linux's console device.", examples=["ttyAMA0"])
    release_register: Identifier = Field(
        description="Linux writes 0 to it to release other cores.", examples=["crl_reset_cpu_r5"]
    )
    releases: Names = Field(description="The cores that it releases so.", examples=["[r5f]"])


class KernelTables(Described):
    """Sources of the scratchpad kernel's tables."""

    window: File = Field(description="The source that reads them from the window.")
    generated: File = Field(description="The source that has what `consort generate` wrote.")


class KernelSpec(Described):
    """Requirements of the scratchpad-centric kernel on a board that runs it."""

    io_core: Name = Field(description="The core that moves.", examples=["r5f"])
    application_core: Name = Field(description="The core that executes.", examples=["a72"])
    application_cores: Annotated[int, Field(ge=1, le=4)] = Field(description="How many of them there are.")
    slot_owners: Annotated[int, Field(ge=1, le=16)] = Field(
        description="How many cores may own slots: what was analysed for more cores than there are can be"
        " tried on some of them, the slots of the others pass unused."
    )
    tasks: Annotated[int, Field(ge=1, le=64)] = Field(description="How many tasks a core has at most.")
    scratchpad: Size = Field(
        description="The scratchpad of a core in the range on_chip: two partitions.", examples=["96KiB"]
    )
    stack: Size = Field(description="The end of it that is the stack of all jobs.", examples=["4KiB"])
    second_core_control_block: Annotated[int, Field(ge=0, lt=FIRST_PROCESS)] = Field(
        description="The control block of the second one, which the first one starts."
    )
    task_script: File = Field(description="The linker script of tasks' images.", examples=["a72/task.ld"])
    tables: KernelTables = Field(description="Where its tables come from.")


class ExchangeSpec(Described):
    """Two sides that exchange messages in `consort board demo` and `consort bench icc`."""

    asker: Name = Field(description="A core of the board.", examples=["r5f"])
    answerer: Name = Field(
        description="A core, a core under Linux (a72-linux), or a kind of process (x86-64).", examples=["a72"]
    )
    on_chip: bool = Field(default=False, description="Through on-chip memory instead of the window.")


class BoardSpec(Described):
    """A board."""

    consort: Version = Field(description="Version of the description's form.")
    about: NonEmpty = Field(description="The core, in a line.", examples=["Cortex-M4F, bare metal"])
    emulator: Emulator = Field(description="The machine that plays it.")
    memory: dict[Identifier, MemoryRange] = Field(
        description="The memory map. `window` is shared by all cores and by processes of this machine."
    )
    registers: dict[Identifier, Address] = Field(
        default={}, description="Addresses of devices.", examples=["{uart0: 0x40004000}"]
    )
    named_cores: dict[Name, CoreSpec] = Field(
        alias="cores", min_length=1, description="Its cores, in the order of their consoles."
    )
    linux: LinuxSpec | None = Field(default=None, description="A core that can run Linux.")
    programs: dict[Name, dict[Name, Files]] = Field(
        default={}, description="Programs of the board's own: sources by core."
    )
    scratchpad_kernel: KernelSpec | None = Field(
        default=None, description="The needs of the scratchpad-centric kernel."
    )
    exchanges: Annotated[tuple[ExchangeSpec, ...], Strict(False)] = Field(
        default=(), description="Pairs that exchange messages in demo and bench."
    )

    _name: str = ""

    @property
    def name(self) -> str:
        """The name of its folder under ports/."""
        return self._name

    @property
    def cores(self) -> tuple[CoreSpec, ...]:
        return tuple(self.named_cores.values())

    def core(self, name: str) -> CoreSpec:
        """A core by its name; `BadInput` names those that there are."""
        core = self.named_cores.get(name)
        if core is None:
            raise BadInput(
                f"the board {self.name} has no core '{name}'; it has {', '.join(self.named_cores)}"
            )
        return core

    def with_images(self, wanted: Collection[str]) -> list[CoreSpec]:
        """The cores that need images where some are to run: these, those that start with the board, and those
        in whose images others begin."""
        begun = {self.named_cores[name].begins_in for name in wanted}
        return [core for core in self.cores if core.name in wanted or core.starts or core.name in begun]

    @property
    def linux_side(self) -> str | None:
        """The name of the core under Linux as a side of an exchange."""
        return None if self.linux is None else f"{self.linux.core}-linux"

    @property
    def synchronizer(self) -> CoreSpec | None:
        """The core that stops the board for processes that live in its time: it starts with the board, and
        its timer interrupts whatever the others do."""
        cores = self.named_cores.values()
        return next((core for core in cores if core.starts and core.timer_interrupt), None)

    @property
    def window(self) -> MemoryRange:
        return self.memory["window"]

    @property
    def window_bytes(self) -> int:
        return self.window.size.bytes

    @property
    def window_offset(self) -> int:
        """The offset of the window in the memory file."""
        return self.window.address - self.memory[self.emulator.memory].address

    @property
    def memory_bytes(self) -> int:
        """The size of the memory file."""
        return self.memory[self.emulator.memory].size.bytes


def board_schema() -> dict[str, Any]:
    """The JSON Schema of board.yaml."""
    return schema_of(BoardSpec, "Consort board description")


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
    with temporary_folder("map", folder.parent) as scratch:
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
