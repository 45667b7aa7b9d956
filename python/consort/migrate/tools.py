# SPDX-License-Identifier: Apache-2.0
"""The programs that make a migrating step, and the layout of its parts as its compiler makes it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from consort.base.errors import BadInput, EnvironmentLacks
from consort.base.render import Templates
from consort.base.toolchain.compiler import FLAGS, compiled, compiler, include_folders, run_tool

INSTALL = "install them: tools/install-packages.sh migrate"
# A program's names, without and with the version that Debian adds.
NAMES = {
    "clang": ("clang", *(f"clang-{n}" for n in range(19, 13, -1))),
    "wasm-ld": ("wasm-ld", *(f"wasm-ld-{n}" for n in range(19, 13, -1))),
    "wasm-opt": ("wasm-opt",),
    "wasm2c": ("wasm2c",),
    "wasm-objdump": ("wasm-objdump",),
}
# Where Debian's wabt puts the header of the C that wasm2c makes.
HEADERS = (Path("/usr/src/wasm2c"), Path("/usr/share/wabt/wasm2c"), Path("/usr/include"))


@dataclass(frozen=True)
class Tools:
    """Paths of the programs; `header`: the folder of wasm-rt.h; `libraries`: those of libstdc++'s headers."""

    clang: str
    linker: str
    optimizer: str
    wasm2c: str
    objdump: str
    header: Path
    libraries: tuple[str, ...]
    versions: str


@lru_cache
def tools() -> Tools:
    """The tools of the migration; raises EnvironmentLacks with the names of missing ones."""
    found = {name: next(filter(None, map(shutil.which, names)), None) for name, names in NAMES.items()}
    header = next((folder for folder in HEADERS if (folder / "wasm-rt.h").is_file()), None)
    missing = [name for name, path in found.items() if path is None]
    missing += ["wasm-rt.h (wabt)"] if header is None else []
    if missing or header is None:
        raise EnvironmentLacks(f"migration in mid-job needs {', '.join(missing)}", INSTALL)
    paths = {name: str(path) for name, path in found.items()}
    said = [
        subprocess.run([paths[name], "--version"], capture_output=True, text=True).stdout.split("\n")[0]
        for name in ("clang", "wasm-ld", "wasm-opt", "wasm2c")
    ]
    return Tools(
        paths["clang"],
        paths["wasm-ld"],
        paths["wasm-opt"],
        paths["wasm2c"],
        paths["wasm-objdump"],
        header,
        _standard_headers(paths["clang"]),
        "; ".join(said),
    )


def _standard_headers(clang: str) -> tuple[str, ...]:
    """The folders of the C++ library's own headers: those of this machine, which are the same for all."""
    said = subprocess.run(
        [clang, "-x", "c++", "-E", "-v", "/dev/null"], capture_output=True, text=True
    ).stderr
    listed = re.search(r"search starts here:\n(.*?)End of search list", said, re.S)
    folders = [line.strip() for line in (listed[1] if listed else "").splitlines()]
    return tuple(folder for folder in folders if "c++" in folder)


def ran(command: Sequence[str], scratch: Path, what: str, file: Path) -> str:
    """A tool's output; BadInput with its first error, and the user's file, if it fails."""
    done = run_tool(list(command), scratch)
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if re.search(r"\berror\b", line)]
        words = errors[0] if errors else done.stderr.strip()[-1000:]
        raise BadInput(f"{what}: {words}", file=file)
    return done.stdout


TEMPLATES = Templates("consort.migrate")
STEP = re.compile(r"[A-Za-z_]\w*(::[A-Za-z_]\w*)*")
PARTS = {"in": "In", "state": "State", "out": "Out", "constants": "Constants"}


@dataclass(frozen=True)
class Leaf:
    """Some equal elements within a part. Kinds as in consort/icc/layout.hpp."""

    name: str
    offset: int
    count: int
    kind: int
    size: int


@dataclass(frozen=True)
class Part:
    """In, State, Out or Constants of a step."""

    size: int
    fingerprint: str
    leaves: tuple[Leaf, ...]


@dataclass(frozen=True)
class Described:
    """A step's parts, a fresh state and the constants, all little-endian."""

    parts: dict[str, Part]
    fresh: bytes
    constants: bytes


def checked_step(step: str) -> str:
    """The name, without `::` at its beginning."""
    name = step.removeprefix("::")
    if not STEP.fullmatch(name):
        raise BadInput(f"{step!r} is no function; write for example control::step", field="--step")
    return name


def owner_of(step: str) -> str:
    """The namespace of a step; empty: none."""
    return step.rpartition("::")[0]


def describe(file: Path, step: str, scratch: Path) -> Described:
    """Compiles and runs the description; BadInput has the compiler's words."""
    unit = scratch / "describe.cpp"
    unit.write_text(
        TEMPLATES.render("describe.cpp.j2", header=file, step=step, owner=owner_of(step)), encoding="utf-8"
    )
    program, made = scratch / "describe", scratch / "describe.o"
    command = [compiler(), *FLAGS, *(f"-I{folder}" for folder in include_folders())]
    done = compiled([*command, "-c", str(unit), "-o", str(made)], scratch)
    if done.returncode == 0:
        done = run_tool([*command, str(made), "-o", str(program)], scratch)
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if re.search(r"\berror\b", line)]
        words = errors[0] if errors else done.stderr.strip()[-1000:]
        raise BadInput(f"the step does not compile: {words.replace(str(unit), 'its description')}", file=file)
    said = json.loads(subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout)
    parts = {
        name: Part(
            said[name]["size"], said[name]["fingerprint"], tuple(Leaf(*leaf) for leaf in said[name]["leaves"])
        )
        for name in PARTS
    }
    return Described(parts, bytes.fromhex(said["fresh"]), bytes.fromhex(said["made"]))
