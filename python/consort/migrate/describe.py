# SPDX-License-Identifier: Apache-2.0
"""The layout of a step's parts, from a program of this machine that its compiler makes."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from consort.base.errors import BadInput
from consort.base.render import Templates
from consort.base.toolchain.ccache import compiled, run_tool
from consort.base.toolchain.compiler import FLAGS, compiler, include_folders

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
