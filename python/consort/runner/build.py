# SPDX-License-Identifier: Apache-2.0
"""Builds the program of an application: its tasks' steps, and Consort's runner around them.

A program is kept under the hash of everything that it is made of, so a second run starts at once.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from consort.errors import BadInput, EnvironmentLacks
from consort.model import System
from consort.source import cache_folder, cpp_tree

# -ffp-contract=off: a fused multiply-add rounds once instead of twice: outputs would depend on the processor.
FLAGS = ("-std=c++20", "-O2", "-g", "-ffp-contract=off", "-Wall", "-Wextra")
# Where only the layouts of its types are asked for: in half of the time.
DESCRIBE_FLAGS = ("-std=c++20", "-O0", "-ffp-contract=off", "-Wall", "-Wextra")


def compiler() -> str:
    """The C++ compiler: $CXX, else g++, else clang++."""
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
    return [tree / "include", tree / "ports" / "linux" / "include"]


def identifier(task: str) -> str:
    """A C++ name for a task: unlike tasks get unlike names, whatever characters they use."""
    plain = re.sub(r"[^A-Za-z0-9]", "_", task)
    return f"Task_{plain}_{hashlib.sha256(task.encode()).hexdigest()[:6]}"


def program_source(system: System) -> str:
    """The application's own translation unit."""
    headers = dict.fromkeys(
        str(system.path(task.step_to_run.header).resolve()) for task in system.tasks.values()
    )
    lines = [
        "// Made by `consort run` from " + system.file.name + "; not to be edited.",
        '#include "consort/linux/app.hpp"',
    ]
    lines += [f'#include "{header}"' for header in headers]
    for name, task in system.tasks.items():
        lines += _asserted_types(task)
        lines.append(
            f"struct {identifier(name)} : consort::offload::Task<&::{task.step_to_run.function}> {{\n"
            f'    static constexpr const char* name = "{name}";\n}};'
        )
    names = ", ".join(identifier(name) for name in system.tasks)
    lines.append(
        f"int main(int argc, char** argv) {{ return consort::linux_port::application<{names}>(argc, argv); }}"
    )
    return "\n".join(lines) + "\n"


def _asserted_types(task: Any) -> list[str]:
    if task.types is None:
        return []
    t = f"consort::offload::Task<&::{task.step_to_run.function}>"
    pairs = (("In", task.types.in_), ("State", task.types.state), ("Out", task.types.out))
    return [
        f'static_assert(std::is_same_v<{t}::{member}, ::{given}>, "types.{member.lower()}:'
        f' {given} is not the type that the step takes");'
        for member, given in pairs
    ]


def build_application(system: System, *, to_describe: bool = False) -> Path:
    """The application's executable, built if it is not cached. `BadInput` carries the compiler's words.

    `to_describe`: it is not run, only asked for its types' layouts.
    """
    return build_program(system, program_source(system), DESCRIBE_FLAGS if to_describe else FLAGS)


def build_program(system: System, source: str, flags: tuple[str, ...] = FLAGS) -> Path:
    """The executable of an application's translation unit, built if it is not cached."""
    cxx = compiler()
    includes = [f"-I{folder}" for folder in include_folders()]
    with tempfile.TemporaryDirectory(prefix="consort-build-") as scratch:
        unit = Path(scratch) / "application.cpp"
        unit.write_text(source, encoding="utf-8")
        parts = _preprocessed(cxx, [*flags, *includes], unit, system)
        key = _hash([cxx, _version(cxx), *flags, parts])
        program = cache_folder() / "programs" / f"{system.file.stem}-{key}" / "application"
        if program.is_file():
            return program
        built = Path(scratch) / "application"
        # Before the compiler's long work: a cache that cannot be written is told at once.
        program.parent.mkdir(parents=True, exist_ok=True)
        _compile([cxx, *flags, *includes, str(unit), "-o", str(built), "-pthread"], system)
        # Renamed into place, so that a second run beside this one never sees half a program.
        staged = program.with_name(f".application-{os.getpid()}")
        shutil.copy2(built, staged)
        staged.replace(program)
    return program


def describe(program: Path) -> dict[str, Any]:
    """The layouts of the tasks' types, as the compiler has them."""
    text = subprocess.run([str(program), "--describe"], check=True, capture_output=True, text=True).stdout
    described: dict[str, Any] = json.loads(text)
    return described


def _preprocessed(cxx: str, options: list[str], unit: Path, system: System) -> str:
    """The whole text that the compiler sees: the surest key of what a program is made of."""
    result = subprocess.run([cxx, "-E", "-P", *options, str(unit)], capture_output=True, text=True)
    if result.returncode != 0:
        raise BadInput(_first_error(result.stderr, unit), file=system.file)
    return result.stdout


def _compile(command: list[str], system: System) -> None:
    unit = Path(command[-4])
    # The compiler's own temporary files lie beside the source: they go with it if the compiler is killed.
    result = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "TMPDIR": str(unit.parent)}
    )
    if result.returncode != 0:
        raise BadInput(_first_error(result.stderr, unit), file=system.file)


def _first_error(text: str, unit: Path) -> str:
    if re.search(r"fatal error: .*nlohmann/json\.hpp", text):
        raise EnvironmentLacks(
            "the header nlohmann/json.hpp is missing", "install it: apt-get install nlohmann-json3-dev"
        )
    if "No space left on device" in text:
        raise EnvironmentLacks("the compiler found no space left on device", "make room, or set $TMPDIR")
    errors = [line for line in text.splitlines() if re.search(r"\berror\b", line)]
    message = errors[0] if errors else text.strip()[-2000:]
    return "the application does not compile: " + message.replace(str(unit), "application.cpp")


def _version(cxx: str) -> str:
    return subprocess.run([cxx, "--version"], check=True, capture_output=True, text=True).stdout


def _hash(parts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()[:16]
