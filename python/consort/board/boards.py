# SPDX-License-Identifier: Apache-2.0
"""The boards that can be emulated, and how programs are built for their cores."""

from __future__ import annotations

from dataclasses import dataclass

from consort.errors import BadInput

MIB = 1 << 20
BARE_METAL_ARM = "gcc-arm-none-eabi libstdc++-arm-none-eabi-newlib"


@dataclass(frozen=True)
class CoreSpec:
    """One core of a board: its tools, and what an image for it looks like."""

    name: str
    title: str
    # Its desk in the shared window.
    place: int
    prefix: str
    package: str
    flags: tuple[str, ...]
    # Under ports/: the port's folder, and the core's own below it.
    port: str
    sources: tuple[str, ...]
    # e_machine of an image's ELF header, and the profile (A, R, M) in its attributes where there are any.
    machine: int
    profile: str = ""
    # The number of the QEMU processor that starts at the image's entry; None: it waits for its release.
    starts: int | None = None

    @property
    def compiler(self) -> str:
        return self.prefix + "g++"


@dataclass(frozen=True)
class BoardSpec:
    """A board: its QEMU machine, its memory, its cores (in the order of their consoles)."""

    name: str
    qemu: str
    machine: str
    memory_bytes: int
    # Where the shared window begins in the memory file, and how long it is.
    window_offset: int
    window_bytes: int
    cores: tuple[CoreSpec, ...]
    # The machine takes -m (others have the memory that their board has).
    sized: bool
    about: str = ""
    # Further options of QEMU's.
    options: tuple[str, ...] = ()

    def core(self, name: str) -> CoreSpec:
        for core in self.cores:
            if core.name == name:
                return core
        raise BadInput(
            f"the board {self.name} has no core '{name}'; it has " + ", ".join(c.name for c in self.cores)
        )


A72 = CoreSpec(
    name="a72",
    title="Cortex-A72",
    place=0,
    prefix="aarch64-linux-gnu-",
    package="g++-aarch64-linux-gnu",
    flags=("-mcpu=cortex-a72", "-mstrict-align", "-fno-pie", "-no-pie"),
    port="versal",
    sources=("a72/start.S", "a72/mmu.cpp"),
    machine=183,
    starts=0,
)
R5F = CoreSpec(
    name="r5f",
    title="Cortex-R5F",
    place=1,
    prefix="arm-none-eabi-",
    package=BARE_METAL_ARM,
    # QEMU's cycle counter counts nanoseconds of emulated time.
    flags=(
        "-mcpu=cortex-r5",
        "-mfpu=vfpv3-d16",
        "-mfloat-abi=hard",
        "-marm",
        "-mno-unaligned-access",
        "-DCONSORT_R5F_HZ=1000000000u",
    ),
    port="versal",
    sources=("r5f/start.S", "r5f/mpu.cpp"),
    machine=40,
    profile="R",
)
M4F = CoreSpec(
    name="m4f",
    title="Cortex-M4F",
    place=0,
    prefix="arm-none-eabi-",
    package=BARE_METAL_ARM,
    flags=(
        "-mcpu=cortex-m4",
        "-mthumb",
        "-mfpu=fpv4-sp-d16",
        "-mfloat-abi=hard",
        "-mno-unaligned-access",
    ),
    port="mps2",
    sources=("m4f/start.S",),
    machine=40,
    profile="M",
    starts=0,
)

BOARDS = {
    board.name: board
    for board in (
        BoardSpec(
            name="versal",
            qemu="qemu-system-aarch64",
            machine="xlnx-versal-virt",
            memory_bytes=128 * MIB,
            window_offset=0x04000000,
            window_bytes=8 * MIB,
            cores=(A72, R5F),
            sized=True,
            about="Cortex-A72 and Cortex-R5F, bare metal",
            # The boot firmware's PSCI, by hypervisor calls: what starts the second A72.
            options=("-global", "arm-cpu.psci-conduit=2"),
        ),
        BoardSpec(
            name="mps2",
            qemu="qemu-system-arm",
            machine="mps2-an386",
            memory_bytes=16 * MIB,
            window_offset=0,
            window_bytes=16 * MIB,
            cores=(M4F,),
            sized=False,
            about="Cortex-M4F, bare metal",
        ),
    )
}
# The paper's third board is a Versal beside an x86 host: this machine is the host.
ALIASES = {"embedded-plus": "versal"}


def board_named(name: str) -> BoardSpec:
    """The board of that name; `BadInput` names those there are."""
    board = BOARDS.get(ALIASES.get(name, name))
    if board is None:
        raise BadInput(f"no board '{name}'; there are " + ", ".join([*BOARDS, *ALIASES]))
    return board
