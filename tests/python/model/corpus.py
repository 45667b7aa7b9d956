# SPDX-License-Identifier: Apache-2.0
"""The corpus of broken descriptions: each changes a right one, and has what is said of it, word for word.

`tools/goldens.py --write broken` writes again what is said; the diff is for review.
"""

from __future__ import annotations

import contextlib
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from consort.model import BadDescription, load_platform, load_system
from ruamel.yaml import YAML

HERE = Path(__file__).parent
# The files that base.yaml and design.yaml name.
FILES = {
    "step.hpp": "namespace servo {}\n",
    "data/servo.csv": "time,set_point,process_value\n0,1,2\n50000,3,4\n",
    "golden.py": "def golden(inputs, arithmetic):\n    return inputs\n",
    "wrong.py": "def golden(:\n",
    "inputs.py": "def inputs(dtype):\n    return []\n",
    "bad-board.yaml": (
        "consort: 1\nname: board\nprocessors: {a72: {isa: arm}}\n"
        "cores: {a72: {processor: a72, count: 0}}\nmemories: {}\n"
    ),
    "board.yml": (
        "consort: 1\nname: board\nprocessors: {cortex-a72: {isa: aarch64}}\n"
        "cores: {a72: {processor: cortex-a72, count: 2}}\nmemories: {shm: {kind: posix-shared-memory}}\n"
    ),
}
# For each file of the corpus the description that its cases change, and what stands beside that.
BASES = {
    "broken.yaml": ("base.yaml", ()),
    "broken_designs.yaml": ("design.yaml", ("chip.yaml",)),
    "broken_devices.yaml": ("devices.yaml", ("devices.hpp", "devices.py", "devices.csv")),
}


def read(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Case:
    name: str
    changed: str
    """The file that is broken."""
    files: dict[str, str]
    says: list[str]
    on: str | None = None
    """The target that it is laid on."""

    def errors(self, folder: Path) -> list[str]:
        """The errors of a description with its own files alone."""
        shutil.rmtree(folder, ignore_errors=True)
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        # Messages show file names without a path.
        with contextlib.chdir(folder):
            try:
                if self.changed == "system.yaml":
                    load_system(self.changed, self.on)
                else:
                    load_platform(Path(self.changed))
            except BadDescription as error:
                return str(error).split("\n")
        return []


def cases(corpus: str) -> list[Case]:
    base, beside = BASES[corpus]
    right = {name: read(name) for name in beside} | {"system.yaml": read(base)}
    if corpus != "broken_devices.yaml":
        right = FILES | right
    return [_case(described, right) for described in YAML(typ="safe").load(read(corpus))]


def _case(described: dict[str, Any], right: dict[str, str]) -> Case:
    changed = described.get("file", "system.yaml")
    text = described.get("text", right[changed])
    for old, new in described.get("change", {}).items():
        assert old in text, f"{described['name']}: the change applies to nothing"
        text = text.replace(old, new, 1)
    return Case(described["name"], changed, right | {changed: text}, described["says"], described.get("on"))


def said_again(corpus: str, said: list[list[str]]) -> str:
    """The file of a corpus with other messages, and all else as it stands."""
    found = iter(said)

    def block(_: re.Match[str]) -> str:
        lines = (line.replace("\\", "\\\\").replace('"', '\\"') for line in next(found))
        return "  says:\n" + "".join(f'    - "{line}"\n' for line in lines)

    return re.sub(r"  says:\n(?:    - .*\n)+", block, read(corpus))
