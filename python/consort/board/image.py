# SPDX-License-Identifier: Apache-2.0
"""Images for a board's cores: built from one C++ source, checked to be for the core they are given to."""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from consort.board.boards import CoreSpec
from consort.errors import BadInput, EnvironmentLacks
from consort.source import cache_folder, need_source_tree

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

MACHINES = {3: "i386", 21: "ppc64", 40: "Arm", 62: "x86-64", 183: "AArch64", 243: "RISC-V"}
_PROFILES = {"A": "an application core", "R": "a Cortex-R", "M": "a Cortex-M"}


def program_source(name: str) -> Path:
    """A program's source: of a path, or of one that comes with Consort."""
    path = Path(name)
    if path.suffix == ".cpp":
        if not path.is_file():
            raise BadInput("no such program source", file=path)
        return path.resolve()
    root = need_source_tree("a board")
    for folder in ("ports/bare/programs", "bench/board"):
        found = root / folder / f"{name}.cpp"
        if found.is_file():
            return found
    raise BadInput(f"no program '{name}'; give a .cpp file, or one of: identity, exchange")


def build_image(
    core: CoreSpec,
    source: Path,
    *flags: str,
    beside: Sequence[Path] = (),
    scripts: Sequence[Path] = (),
) -> Path:
    """A program's image for a core, built if it is not cached; `BadInput` carries the compiler's words.

    `beside`: further sources of the program; `scripts`: of the linker, before the core's own.
    """
    root = need_source_tree("building for a board")
    if shutil.which(core.compiler) is None:
        raise EnvironmentLacks(
            f"no compiler for the {core.title}: {core.compiler}",
            f"install it: apt-get install {core.package}",
        )
    port = root / "ports" / core.port
    includes = [root / "include", root / "ports/bare/include", port / "include", port / core.name, root]
    bare = [root / "ports/bare" / name for name in ("runtime.cpp", "memory.cpp")]
    sources = [*(port / s for s in core.sources), *bare, *beside, source]
    script = port / core.name / f"{core.name}.ld"
    return build(
        core.compiler,
        [*core.flags, *COMMON, *BARE, *flags],
        includes,
        sources,
        [*LINK, *(word for s in (*scripts, script) for word in ("-T", str(s))), "-lgcc"],
        f"{source.stem}-{core.name}.elf",
        *scripts,
        script,
    )


def build(
    compiler: str,
    flags: Sequence[str],
    includes: Sequence[Path],
    sources: Sequence[Path],
    link: Sequence[str],
    name: str,
    *also: Path,
) -> Path:
    """Compiles and links `sources` into a file kept under the hash of all that it is made of."""
    command = [compiler, *flags, *(f"-I{i}" for i in includes)]
    digest = hashlib.sha256()
    for part in (*command, *link, _output([compiler, "--version"], name)):
        digest.update(part.encode() + b"\0")
    for source in sources:
        digest.update(_output([*command, "-E", "-P", str(source)], name).encode() + b"\0")
    for file in also:
        digest.update(file.read_bytes() + b"\0")
    target = cache_folder() / "boards" / digest.hexdigest()[:16] / name
    if target.is_file():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="consort-build-", dir=target.parent) as scratch:
            built = Path(scratch) / name
            _output([*command, *map(str, sources), *link, "-o", str(built)], name, scratch)
            # Renamed into place, so that another session beside this one never sees half an image.
            built.replace(target)
    except OSError as error:
        raise EnvironmentLacks(
            f"the image {name} cannot be written under {target.parent} ({error.strerror})",
            "make room or set $CONSORT_CACHE",
        ) from error
    return target


def _output(command: Sequence[str], name: str, scratch: str | None = None) -> str:
    environment = {**os.environ, "TMPDIR": scratch} if scratch else None
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode == 0:
        return done.stdout
    if "No space left on device" in done.stderr:
        raise EnvironmentLacks(
            "the compiler found no space left on device", "make room or set $CONSORT_CACHE"
        )
    lines = [line for line in done.stderr.splitlines() if not line.startswith("collect2:")]
    errors = [line for line in lines if "error" in line or "undefined reference" in line]
    raise BadInput(f"{name} does not build: " + "; ".join((errors or lines)[:1]))


@dataclass(frozen=True)
class Elf:
    """What an image says of itself."""

    machine: int
    entry: int
    profile: str


def read_elf(path: Path) -> Elf:
    """The header of an executable; `BadInput` if the file is none."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadInput(f"the image cannot be read ({error.strerror})", file=path) from error
    if content[:4] != b"\x7fELF" or len(content) < 52:
        raise BadInput("not an ELF image; give what the linker wrote", file=path)
    wide = content[4] == 2
    order = "<" if content[5] == 1 else ">"
    try:
        kind, machine = struct.unpack_from(order + "HH", content, 16)
        (entry,) = struct.unpack_from(order + ("Q" if wide else "I"), content, 24)
        (table,) = struct.unpack_from(order + ("Q" if wide else "I"), content, 40 if wide else 32)
        size, count = struct.unpack_from(order + "HH", content, 58 if wide else 46)
        profile = ""
        for i in range(count):
            at = table + i * size
            (section_kind,) = struct.unpack_from(order + "I", content, at + 4)
            if section_kind == 0x70000003 and machine == 40:  # SHT_ARM_ATTRIBUTES
                offset, length = struct.unpack_from(order + "II", content, at + 16)
                profile = _profile(content[offset : offset + length])
    except (struct.error, IndexError) as error:
        raise BadInput("the ELF image is damaged or cut off", file=path) from error
    if kind != 2:
        raise BadInput("the ELF file is no executable (it was not linked, or is a library)", file=path)
    return Elf(machine, entry, profile)


def _profile(attributes: bytes) -> str:
    """The architecture's profile (A, R, M) in the attributes of an Arm image; empty where it is not said."""
    at = 1 + 4 + attributes.index(b"\0", 5) - 4 - 1 + 1 if attributes[:1] == b"A" else len(attributes)
    at += 5  # the file's tag and the length of its attributes
    while at < len(attributes):
        tag, at = _uleb(attributes, at)
        if tag in (4, 5, 67):  # names of processors and standards: text
            at = attributes.index(b"\0", at) + 1
            continue
        if tag == 32:  # compatibility: a number and a text
            _, at = _uleb(attributes, at)
            at = attributes.index(b"\0", at) + 1
            continue
        value, at = _uleb(attributes, at)
        if tag == 7:
            return chr(value)
    return ""


def _uleb(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def loaded_parts(path: Path) -> list[tuple[int, bytes]]:
    """What a loader puts into memory, by physical address; zeros that no file holds included."""
    content = path.read_bytes()
    wide = content[4] == 2
    (table,) = struct.unpack_from("<Q" if wide else "<I", content, 32 if wide else 28)
    size, count = struct.unpack_from("<HH", content, 54 if wide else 42)
    parts = []
    for at in range(table, table + size * count, size):
        if wide:
            kind, _, offset, _, address, stored, wanted = struct.unpack_from("<IIQQQQQ", content, at)
        else:
            kind, offset, _, address, stored, wanted = struct.unpack_from("<IIIIII", content, at)
        if kind == 1:
            parts.append((address, content[offset : offset + stored] + bytes(wanted - stored)))
    return parts


def check_image(core: CoreSpec, path: Path) -> None:
    """Raises `BadInput` if the image is for another processor than the core."""
    elf = read_elf(path)
    if elf.machine != core.machine:
        raise BadInput(
            f"the image is for {MACHINES.get(elf.machine, f'machine {elf.machine}')}, but the core"
            f" {core.name} is a {core.title} ({MACHINES[core.machine]}); build it with {core.compiler}",
            file=path,
        )
    if core.profile and elf.profile != core.profile:
        raise BadInput(
            f"the image is for {_PROFILES.get(elf.profile, 'an unknown kind of Arm core')}, but the core"
            f" {core.name} is a {core.title}; build it with {' '.join(core.flags[:1])}",
            file=path,
        )
