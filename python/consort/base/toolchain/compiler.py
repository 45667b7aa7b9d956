# SPDX-License-Identifier: Apache-2.0
"""The C++ compiler, and Consort's own small programs for this machine, built when they are first needed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from consort.base.errors import EnvironmentLacks
from consort.base.toolchain.builds import digest, kept
from consort.base.toolchain.ccache import compiled, run_tool
from consort.base.toolchain.source import cpp_tree

# -ffp-contract=off: a fused multiply-add rounds once instead of twice: outputs would depend on the processor.
FLAGS = ("-std=c++20", "-O2", "-g", "-ffp-contract=off", "-Wall", "-Wextra")
TOOL_FLAGS = ("-std=c++20", "-O3", "-Wall", "-Wextra")


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


@lru_cache
def tool(name: str) -> Path:
    """The program `consort-NAME` of ports/linux/tools, built if it is not cached (some seconds).

    Raises EnvironmentLacks where it cannot be built.
    """
    folder = cpp_tree() / "ports" / "linux" / "tools"
    return own_program(name, folder / f"{name.replace('-', '_')}.cpp", (folder,), TOOL_FLAGS)


# The Debian package of a header that a compiler may not find.
PACKAGES = {"nlohmann/json.hpp": "nlohmann-json3-dev"}


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

    It is kept under the hash of the compiler and of every header that it can include, those of `folders`
    among them: never an older one. Raises EnvironmentLacks where it cannot be built; `packages` are those of
    headers that a compiler may not find.
    """
    cxx = compiler()
    places = [*include_folders(), *folders]
    parts: list[str | bytes] = [cxx, version_of(cxx), *flags, *link]
    for file in (source, *more, *sorted(header for place in places for header in place.rglob("*.hpp"))):
        parts += [file.name, file.read_bytes()]

    def make(target: Path, scratch: Path) -> None:
        if sys.stderr.isatty():
            print(f"building consort-{name} (once)", file=sys.stderr)
        command = [cxx, *flags, *(f"-I{place}" for place in places)]
        from concurrent.futures import ThreadPoolExecutor  # only where something is built

        objects = {file: str(scratch / f"{file.stem}.o") for file in (source, *more)}
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            each = list(
                pool.map(
                    lambda file: compiled([*command, "-c", str(file), "-o", objects[file]], scratch), objects
                )
            )
        done = next((done for done in each if done.returncode != 0), None) or run_tool(
            [*command, *objects.values(), "-o", str(target), "-pthread", *link], scratch
        )
        if done.returncode == 0:
            return
        for header, package in packages.items():
            if header in done.stderr:
                raise EnvironmentLacks(
                    f"the header {header} is missing", f"install it: apt-get install {package}"
                )
        raise EnvironmentLacks(
            f"consort-{name} does not compile: {done.stderr.strip()[-500:]}",
            "check the compiler, or set $CXX to one of C++20",
        )

    return kept("programs", f"{name}-{digest(parts)}", f"consort-{name}", make)


def version_of(cxx: str) -> str:
    """A compiler's own version text."""
    return subprocess.run([cxx, "--version"], check=True, capture_output=True, text=True).stdout
