# SPDX-License-Identifier: Apache-2.0
"""Images for a board's cores, built from one C++ source, and its programs as processes of this machine."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from consort.base.errors import BadInput, EnvironmentLacks
from consort.base.owned import temporary_folder
from consort.base.toolchain.builds import digest, kept, need_source_tree
from consort.base.toolchain.compiler import ProcessSpec, compiled, need_resources, run_tool
from consort.board.call_graph import CallGraph, read_call_graph
from consort.board.description import BoardSpec, CoreSpec, generated_folder

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import ARMAttributesSection


# No exceptions, no run-time types. -ffp-contract=off: a fused multiply-add rounds once instead of twice, and
# outputs would depend on the processor. -O3: short loops over small arrays are unrolled into registers, which
# takes two thirds of the servo step's instructions away on a Cortex-M4F.
COMMON = (
    "-std=c++20",
    "-O3",
    "-g",
    "-fno-exceptions",
    "-fno-rtti",
    "-ffp-contract=off",
    "-Wall",
    "-Wextra",
)
BARE = ("-ffreestanding", "-fno-threadsafe-statics", "-ffunction-sections", "-fdata-sections")
LINK = ("-nostdlib", "-static", "-Wl,--gc-sections", "-Wl,--build-id=none", "-Wl,--no-warn-rwx-segments")
# The compiler writes a call graph beside each object; that of an image lies beside it.
GRAPHS, CALLS = "-fcallgraph-info=su", "calls.json"

# e_machine of an ELF header.
MACHINES = {3: "i386", 21: "ppc64", 40: "Arm", 62: "x86-64", 183: "AArch64", 243: "RISC-V"}
_PROFILES = {"A": "an application core", "R": "a Cortex-R", "M": "a Cortex-M"}


def program_source(name: str) -> Path:
    """A program's source: at a path, or that of a program of Consort's, which runs on every board."""
    path = Path(name)
    if path.suffix == ".cpp":
        if not path.is_file():
            raise BadInput("no such program source", file=path)
        return path.resolve()
    known = {file.stem: file for file in (need_source_tree("a board") / "ports/bare/programs").glob("*.cpp")}
    if name not in known:
        raise BadInput(f"no program '{name}'; give a .cpp file, or one of: {', '.join(sorted(known))}")
    return known[name]


@dataclass(frozen=True)
class CompileOptions:
    """Compiler options and sources of a core's programs."""

    compiler: str
    flags: tuple[str, ...]
    includes: tuple[Path, ...]
    # Linked into every image of the core.
    sources: tuple[Path, ...]
    # Linker scripts, in order.
    scripts: tuple[Path, ...]


def compile_options(core: CoreSpec) -> CompileOptions:
    """The options of every image for a core."""
    root = need_source_tree("building for a board")
    port = root / "ports" / core.board.name
    own = port / core.folder
    generated = generated_folder(core.board)
    return CompileOptions(
        core.compiler,
        (*core.flags, *COMMON, *BARE),
        (root / "include", root / "ports/bare/include", port / "include", own, port, generated, root),
        (
            *(own / s for s in core.sources),
            *(root / "ports/bare" / n for n in ("runtime.cpp", "memory.cpp", "stack.cpp")),
        ),
        (generated / f"{core.name}-memory.ld", own / core.linker_script),
    )


def build_image(
    core: CoreSpec,
    source: Path,
    *flags: str,
    beside: Sequence[Path] = (),
    scripts: Sequence[Path] = (),
    calls: bool = False,
) -> Path:
    """A program's image for a core, built if it is not cached; `BadInput` carries the compiler's words.

    `beside`: further sources of the program; `scripts`: of the linker, before the core's own; `calls`: its
    call graph is wanted (`call_graph_of`).
    """
    if shutil.which(core.compiler) is None:
        raise EnvironmentLacks(
            f"no compiler for the {core.title}: {core.compiler}",
            f"install it: apt-get install {core.package}",
        )
    options = compile_options(core)
    linked = (*scripts, *options.scripts)
    return build(
        options.compiler,
        [*options.flags, *flags],
        options.includes,
        [*options.sources, *beside, source],
        [
            *LINK,
            *(word for s in linked for word in ("-T", str(s))),
            *(["-lgcc"] if core.compiler_library else []),
        ],
        f"{source.stem}-{core.name}.elf",
        *linked,
        tools=core.tools if calls else None,
    )


def call_graph_of(image: Path) -> CallGraph:
    """The call graph of an image that was built with `calls`."""
    return CallGraph.read(image.parent / CALLS)


def board_program(
    spec: BoardSpec, name: str, *flags: str, beside: Sequence[Path] = (), scripts: Sequence[Path] = ()
) -> dict[str, Path]:
    """The images of one of the board's own programs (board.yaml, `programs`), by core."""
    if name not in spec.programs:
        raise BadInput(f"the board {spec.name} has no program '{name}' of its own")
    port = need_source_tree("building for a board") / "ports" / spec.name
    return {
        core: build_image(
            spec.core(core),
            port / first,
            *flags,
            beside=[*(port / file for file in more), *beside],
            scripts=scripts,
        )
        for core, (first, *more) in spec.programs[name].items()
    }


def build(
    compiler: str,
    flags: Sequence[str],
    includes: Sequence[Path],
    sources: Sequence[Path],
    link: Sequence[str],
    name: str,
    *also: Path,
    tools: str | None = None,
) -> Path:
    """Compiles and links `sources` into a file kept under the hash of all that it is made of.

    `tools`: the prefix of the tools that read its call graph, which is kept beside it.
    """
    command = [compiler, *flags, *([GRAPHS] if tools is not None else []), *(f"-I{i}" for i in includes)]
    preprocessed: list[str] = []

    def make(target: Path, scratch: Path) -> None:
        image = target
        if tools is None:
            objects = [scratch / f"{number}.o" for number in range(len(sources))]
            for source, made in zip(sources, objects, strict=True):
                _said(compiled([*command, "-c", str(source), "-o", str(made)], scratch), name)
        else:
            target.mkdir()
            image = target / name
            objects = [_object(command, *one, name) for one in zip(sources, preprocessed, strict=True)]
        _said(run_tool([*command, *map(str, objects), *link, "-o", str(image)], scratch), name)
        if tools is not None:
            read_call_graph(image, objects, tools).write(target / CALLS)

    with temporary_folder("build") as scratch:
        folder = Path(scratch)
        parts: list[str | bytes] = [*command, *link, _said(run_tool([compiler, "--version"], folder), name)]
        preprocessed += [
            _said(run_tool([*command, "-E", "-P", str(source)], folder), name) for source in sources
        ]
    parts += [*preprocessed, *(file.read_bytes() for file in also)]
    if tools is None:
        return kept("boards", digest(parts), name, make)
    return kept("boards", digest(parts), "image", make) / name


def _object(command: Sequence[str], source: Path, preprocessed: str, name: str) -> Path:
    """An object with the compiler's call graph beside it, which ccache would not keep."""

    def make(target: Path, scratch: Path) -> None:
        target.mkdir()
        _said(run_tool([*command, "-c", str(source), "-o", str(target / "made.o")], scratch), name)

    return kept("objects", digest([*command, preprocessed]), "object", make) / "made.o"


def _said(done: subprocess.CompletedProcess[str], name: str) -> str:
    """A tool's output; `BadInput` with its words if it failed."""
    if done.returncode == 0:
        return done.stdout
    if "No space left on device" in done.stderr:
        raise EnvironmentLacks(
            "the compiler found no space left on device", "make room or set $CONSORT_CACHE"
        )
    need_resources(done.stderr)
    lines = [line for line in done.stderr.splitlines() if not line.startswith("collect2:")]
    errors = [line for line in lines if "error" in line or "undefined reference" in line]
    raise BadInput(f"{name} does not build: " + "; ".join((errors or lines)[:1]))


@dataclass(frozen=True)
class Elf:
    """Properties of an image, from its ELF file."""

    machine: int
    entry: int
    profile: str


@contextmanager
def opened_elf(path: Path) -> Iterator[ELFFile]:
    """An ELF file to read from; `BadInput` if it is none, or shorter than its headers say."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    try:
        with path.open("rb") as stream:
            if stream.read(4) != b"\x7fELF":
                raise BadInput("not an ELF image; give what the linker wrote", file=path)
            yield ELFFile(stream)
    except OSError as error:
        raise BadInput(f"the image cannot be read ({error.strerror})", file=path) from error
    # Sizes and places that no file can have reach Python as the others.
    except (ELFError, ValueError, OverflowError, MemoryError) as error:
        raise BadInput("the ELF image is damaged or cut off", file=path) from error


def section_content(elf: ELFFile, name: str) -> bytes | None:
    """The content of a section; None if there is no such section.

    A symbol table without its strings, which linkers leave in images without symbols, is passed over.
    """
    from elftools.common.exceptions import ELFError

    for index in range(elf.num_sections()):
        try:
            section = elf.get_section(index)
        except ELFError:
            continue
        if section.name == name:
            return bytes(section.data())
    return None


def read_elf(path: Path) -> Elf:
    """The header of an executable; `BadInput` if the file is none."""
    from elftools.elf.enums import ENUM_E_MACHINE
    from elftools.elf.sections import ARMAttributesSection

    with opened_elf(path) as elf:
        header = elf.header
        if header["e_type"] != "ET_EXEC":
            raise BadInput(
                "the ELF file is not an executable (it was not linked, or is a library)", file=path
            )
        machine = ENUM_E_MACHINE.get(header["e_machine"], header["e_machine"])
        profiles = [_profile(s) for s in elf.iter_sections() if isinstance(s, ARMAttributesSection)]
    return Elf(machine, header["e_entry"], next(iter(profiles), ""))


def _profile(section: ARMAttributesSection) -> str:
    """The architecture's profile (A, R, M) in the attributes of an Arm image; empty where it is not said."""
    for vendor in section.iter_subsections():
        for scope in vendor.iter_subsubsections():
            for attribute in scope.iter_attributes("TAG_CPU_ARCH_PROFILE"):
                return chr(attribute.value)
    return ""


def loaded_parts(path: Path) -> list[tuple[int, bytes]]:
    """The parts that a loader puts into memory, by physical address; includes zeros that no file holds."""
    with opened_elf(path) as elf:
        return [
            (part["p_paddr"], part.data() + bytes(part["p_memsz"] - part["p_filesz"]))
            for part in elf.iter_segments("PT_LOAD")
        ]


def check_image(core: CoreSpec, path: Path) -> None:
    """Raises `BadInput` if the image is for another processor than the core."""
    elf = read_elf(path)
    if MACHINES.get(elf.machine) != core.machine:
        raise BadInput(
            f"the image is for {MACHINES.get(elf.machine, f'machine {elf.machine}')}, but the core"
            f" {core.name} is a {core.title} ({core.machine}); build it with {core.compiler}",
            file=path,
        )
    if core.profile and elf.profile != core.profile:
        raise BadInput(
            f"the image is for {_PROFILES.get(elf.profile, 'an unknown kind of Arm core')}, but the core"
            f" {core.name} is a {core.title}; build it with {' '.join(core.flags[:1])}",
            file=path,
        )


def build_process(spec: ProcessSpec, source: Path, *flags: str) -> list[str]:
    """The command that runs a board's program as a process; its arguments follow."""
    root = need_source_tree("building for a board")
    missing = [p for tool, p in ((spec.compiler, spec.package), (spec.emulator, "qemu-user"))
               if tool and shutil.which(tool) is None]  # fmt: skip
    if missing:
        raise EnvironmentLacks(
            f"{spec.name} processes cannot be built and run here",
            f"install what is missing: apt-get install {' '.join(missing)}",
        )
    program = build(
        spec.compiler,
        [*spec.flags, *COMMON, f'-DCONSORT_CORE_NAME="{spec.name}"', *flags],
        [root / "include", root / "ports/bare/include", root / "ports/bare/linux", root],
        [root / "ports/bare/linux/main.cpp", source],
        ["-static"],
        f"{source.stem}-{spec.name}",
    )
    return [*([spec.emulator] if spec.emulator else []), str(program)]
