# SPDX-License-Identifier: Apache-2.0
"""Each module of the hardware says at its head what an engineer has to know of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from consort_remote import build
from loops import for_each

pytestmark = pytest.mark.representative

ROOT = Path(__file__).parents[2]
SAID = ("Interface", "Parameters", "Throughput", "Latency", "Assumes", "Held by")
LONGEST = 355  # lines of a module; the two blocks and the baseline's are wires between their parts
WIRES = {"cblock", "mblock", "paper_cblock", "paper_mblock"}
MODULES = [path for path in build.sources(ROOT) if path.parent.name not in ("pkg", "tb")]
MODULES = [path for path in MODULES if path.name not in build.PACKAGES]


def head(path: Path) -> dict[str, str]:
    """The comment before the module, by its names; the one without a name states its purpose."""
    said = {"": ""}
    name = ""
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        if not line.startswith("//"):
            return said
        found = re.match(rf"// ({'|'.join(SAID)}): (.*)", line)
        if found:
            name, line = found[1], "// " + found[2]
            said[name] = ""
        said[name] += line.removeprefix("//") + "\n"
    return said


@for_each("path", MODULES, ids=build.short)
def test_a_module_says_what_it_does_and_what_holds_it(path: Path) -> None:
    said = head(path)
    assert [name for name in said if name] == list(SAID)
    assert all(len(text.split()) >= 1 for text in said.values())
    assert len(said[""].split()) >= 8
    text = path.read_text(encoding="utf-8")
    ports = text[text.index("\nmodule ") : text.index("\n);")]
    parameters = re.findall(r"^ *parameter [^=]*?(\w+) +=", ports, re.MULTILINE)
    missing = [name for name in parameters if not re.search(rf"\b{name}\b", said["Parameters"])]
    assert not missing, f"Parameters says nothing of {missing}"
    if not parameters:
        assert said["Parameters"].strip() == "none."


@for_each("path", MODULES, ids=build.short)
def test_what_holds_a_module_is_there(path: Path) -> None:
    held = head(path)["Held by"]
    named = re.findall(r"tests/rtl/[\w/]+\.\w+", held)
    assert named or "proof" in held
    assert all((ROOT / name).is_file() for name in named)
    for module in re.findall(r"proofs? of (consort_\w+)", held):
        assert (ROOT / "tests" / "rtl" / "formal" / f"{module.removeprefix('consort_')}_check.sv").is_file()
    proof = f"tests/rtl/formal/{build.short(path)}_check.sv"
    assert (ROOT / proof).is_file() == (proof in held)


@for_each("path", MODULES, ids=build.short)
def test_a_module_has_one_purpose(path: Path) -> None:
    if build.short(path) not in WIRES:
        assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST
