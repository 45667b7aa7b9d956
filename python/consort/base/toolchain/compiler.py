# SPDX-License-Identifier: Apache-2.0
"""The C++ compiler, through ccache where it is installed; programs for this machine and through emulators."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from consort.base.children import finished
from consort.base.errors import EnvironmentLacks, remedy_of
from consort.base.owned import temporary_folder
from consort.base.toolchain.builds import cpp_tree, digest, kept

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor


def compiled(
    command: Sequence[str], scratch: Path, below: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs one compilation (`-c`, one source), through ccache if there is one that works.

    `scratch`: for the compiler's own temporary files, so that they go with it if the compiler is killed.
    `below`: what is compiled below this folder counts in other folders of the same contents too.
    """
    done = run_tool(through_ccache(command), scratch, {} if below is None else for_make(below))
    failed = done.returncode != 0 and done.stderr.startswith("ccache: error:")
    return run_tool(command, scratch) if failed else done


def together() -> ThreadPoolExecutor:
    """Threads of compilers: as many at a time as there are processors."""
    # Imported here: most commands compile nothing.
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(len(os.sched_getaffinity(0)))


def run_tool(
    command: Sequence[str], scratch: Path, more: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a compiler or linker whose temporary files lie in `scratch`; `more`: variables for it."""
    environment = {**os.environ, "TMPDIR": str(scratch), **(more or {})}
    return finished(command, env=environment)


def for_make(root: Path) -> dict[str, str]:
    """Variables with which a makefile that knows OBJCACHE compiles through ccache, if there is one.

    `root`: what is compiled below it counts in other folders of the same contents too. Headers may be
    precompiled.
    """
    if shutil.which("ccache") is None:
        return {}
    return {
        "OBJCACHE": "ccache",
        "CCACHE_BASEDIR": str(root),
        "CCACHE_NOHASHDIR": "1",
        "CCACHE_SLOPPINESS": "pch_defines,time_macros",
    }


def through_ccache(command: Sequence[str]) -> list[str]:
    """The command of one compilation, through ccache if there is one on the path.

    ccache keeps what it compiled under the hash of the preprocessed source, the options and the compiler: a
    second compilation of the same is a copy. It does not keep what is linked: such commands are not for it.
    """
    found = shutil.which("ccache")
    return [found, *command] if found else list(command)


# -ffp-contract=off: a fused multiply-add rounds once instead of twice: outputs would depend on the processor.
FLAGS = ("-std=c++20", "-O2", "-g", "-ffp-contract=off", "-Wall", "-Wextra")
TOOL_FLAGS = ("-std=c++20", "-O3", "-Wall", "-Wextra")
# Libraries of the system that a program is linked with where it uses them; what is preloaded uses few.
LIBRARIES = ("-pthread", "-Wl,--as-needed", "-ljsoncpp")
# Units of ports/ that a program is linked with beside its own; in virtual time with more.
UNITS = ("linux/src/executive.cpp", "linux/src/files.cpp")
VIRTUAL = ("linux/src/in_virtual_time.cpp", "virtual/src/machine.cpp", "virtual/src/fiber.cpp")


def of_units(flags: tuple[str, ...]) -> tuple[str, ...]:
    """The flags of Consort's own units in a program of these flags.

    Lines for stacks of calls; all else of -g, a third of the compiler's time, is for the user's own steps.
    """
    return tuple("-g1" if flag == "-g" else flag for flag in flags)


def compiler() -> str:
    """The C++ compiler: $CXX, else g++, else clang++. Raises EnvironmentLacks where there is none."""
    wanted = os.environ.get("CXX")
    for name in (wanted,) if wanted else ("g++", "clang++"):
        found = shutil.which(name)
        if found:
            return found
    if wanted:
        raise EnvironmentLacks(
            f"the C++ compiler that $CXX names was not found: {wanted}", "correct $CXX, or unset it"
        )
    raise EnvironmentLacks("no C++ compiler was found", "install one: apt-get install g++")


def include_folders() -> list[Path]:
    tree = cpp_tree()
    return [tree / "include", *(tree / "ports" / port / "include" for port in ("linux", "virtual"))]


def command_of(flags: Sequence[str], *folders: Path) -> list[str]:
    """The compiler with these flags, which finds Consort's headers and those of `folders`."""
    return [compiler(), *flags, *(f"-I{folder}" for folder in (*include_folders(), *folders))]


def compile_ahead(tools: Sequence[str]) -> None:
    """Compiles into ccache, where there is one, what programs and these `tools` are made of (a minute).

    It needs the standard library alone, and leaves nothing else: whoever builds them later finds them there.
    """
    if shutil.which("ccache") is None:
        return
    ports = cpp_tree() / "ports"
    units = command_of(of_units(FLAGS))
    commands = [[*units, "-c", str(ports / unit)] for unit in (*VIRTUAL, *UNITS)]
    for source in map(_source_of, tools):
        commands.append([*command_of(TOOL_FLAGS, source.parent), "-c", str(source)])
    with temporary_folder("build") as folder, together() as pool:
        scratch = Path(folder)
        for number, command in enumerate(commands):
            pool.submit(compiled, [*command, "-o", str(scratch / f"{number}.o")], scratch)


@lru_cache
def tool(name: str) -> Path:
    """The program `consort-NAME` of ports/linux/tools, built if it is not cached (some seconds).

    Raises EnvironmentLacks where it cannot be built.
    """
    source = _source_of(name)
    return own_program(name, source, (source.parent,), TOOL_FLAGS)


def _source_of(tool: str) -> Path:
    return cpp_tree() / "ports" / "linux" / "tools" / f"{tool.replace('-', '_')}.cpp"


# The Debian package of a header that a compiler may not find.
PACKAGES = {"jsoncpp/json/json.h": "libjsoncpp-dev"}


def need_headers(said: str, packages: Mapping[str, str] = PACKAGES) -> None:
    """Raises EnvironmentLacks where a compiler said that it does not find one of the headers."""
    for header, package in packages.items():
        if re.search(rf"fatal error: .*{re.escape(header)}", said):
            raise EnvironmentLacks(
                f"the header {header} is missing", f"install it: apt-get install {package}"
            )


# A compiler's last words where the system refuses it a process, memory or a file.
_LACKS = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)


def need_resources(said: str) -> None:
    """Raises EnvironmentLacks where a compiler said that the system refuses it one."""
    for number in _LACKS:
        # The compiler's own error, which has no place in a file.
        words = rf"^(?:[^:\n]+: (?:fatal )?error: .*|.*memory exhausted): {re.escape(os.strerror(number))}$"
        if re.search(words, said, re.MULTILINE):
            lack = OSError(number, os.strerror(number))
            raise EnvironmentLacks(f"the compiler: {lack.strerror}", remedy_of(lack))


# Of the libraries that Consort's own code uses: with another version it is compiled anew.
_VERSIONS = (Path("/usr/include/jsoncpp/json/version.h"),)


def own_parts(flags: Sequence[str], folders: Iterable[Path]) -> list[str | bytes]:
    """Whatever Consort compiles of its own with these flags is made of: parts of a `digest`.

    The compiler, and each header that it can find, those of `folders` among them. To see what it makes of
    them takes as long as all else that a command does before a run.
    """
    cxx = compiler()
    searched = (f"{name}={os.environ.get(name)}" for name in ("CPATH", "CPLUS_INCLUDE_PATH"))
    parts: list[str | bytes] = [cxx, version_of(cxx), *flags, *searched]
    found = (file for place in {*include_folders(), *folders} for file in place.rglob("*"))
    headers = sorted(file for file in found if file.suffix in (".h", ".hpp"))
    for file in (*headers, *(version for version in _VERSIONS if version.exists())):
        parts += [file.name, file.read_bytes()]
    return parts


def own_program(
    name: str,
    source: Path,
    folders: tuple[Path, ...],
    flags: tuple[str, ...],
    more: tuple[Path, ...] = (),
    link: tuple[str, ...] = (),
    packages: Mapping[str, str] = PACKAGES,
) -> Path:
    """A program `consort-NAME` of Consort's own, of one source or `more`, built if it is not cached.

    It is kept under the hash of its sources and `own_parts`: never an older one. Raises EnvironmentLacks
    where it cannot be built; `packages` are those of headers that a compiler may not find.
    """
    parts = own_parts((*flags, *link), folders)
    for file in (source, *more):
        parts += [file.name, file.read_bytes()]

    def make(target: Path, scratch: Path) -> None:
        if sys.stderr.isatty():
            print(f"building consort-{name} (once)", file=sys.stderr)
        command = command_of(flags, *folders)
        objects = {file: str(scratch / f"{file.stem}.o") for file in (source, *more)}
        with together() as pool:
            each = list(
                pool.map(
                    lambda file: compiled([*command, "-c", str(file), "-o", objects[file]], scratch), objects
                )
            )
        done = next((done for done in each if done.returncode != 0), None) or run_tool(
            [*command, *objects.values(), "-o", str(target), *LIBRARIES, *link], scratch
        )
        if done.returncode == 0:
            return
        need_headers(done.stderr, packages)
        need_resources(done.stderr)
        raise EnvironmentLacks(
            f"consort-{name} does not compile: {done.stderr.strip()[-500:]}",
            "check the compiler, or set $CXX to one of C++20",
        )

    return kept("programs", f"{name}-{digest(parts)}", f"consort-{name}", make)


def version_of(cxx: str) -> str:
    """A compiler's own version text."""
    done = finished([cxx, "--version"])
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()[:200] or f"it ended with status {done.returncode}"
        raise EnvironmentLacks(f"{cxx} does not say its version: {said}", "correct $CXX, or unset it")
    return done.stdout


@dataclass(frozen=True)
class ProcessSpec:
    """An instruction set whose Linux programs run here."""

    name: str
    compiler: str
    package: str
    emulator: str = ""
    flags: tuple[str, ...] = ()


PROCESSES = {
    p.name: p
    for p in (
        ProcessSpec("x86-64", "g++", "g++"),
        ProcessSpec("armv7", "arm-linux-gnueabihf-g++", "g++-arm-linux-gnueabihf", "qemu-arm"),
        ProcessSpec("aarch64", "aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu", "qemu-aarch64"),
        ProcessSpec("riscv64", "riscv64-linux-gnu-g++", "g++-riscv64-linux-gnu", "qemu-riscv64"),
        ProcessSpec(
            "i386", "i686-linux-gnu-g++", "g++-i686-linux-gnu", "qemu-i386", ("-msse2", "-mfpmath=sse")
        ),
        ProcessSpec("ppc64", "powerpc64-linux-gnu-g++", "g++-powerpc64-linux-gnu", "qemu-ppc64"),
    )
}
