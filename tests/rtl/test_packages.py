# SPDX-License-Identifier: Apache-2.0
"""Bender.yml and consort_remote.core name the sources that there are, and what they name lints."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from consort.remote import build

ROOT = Path(__file__).parents[2]
CORE = yaml.safe_load(
    (ROOT / "rtl" / "consort_remote.core").read_text(encoding="utf-8").removeprefix("CAPI=2:\n")
)
BENDER = yaml.safe_load((ROOT / "Bender.yml").read_text(encoding="utf-8"))


def hardware() -> tuple[list[Path], list[Path]]:
    """What is synthesised: the two blocks, and those of the paper."""
    files = build.synthesised(ROOT)
    paper = [file for file in files if file.parent.name == "baseline"]
    return [file for file in files if file not in paper], paper


def of_core(name: str) -> list[Path]:
    return [ROOT / "rtl" / file for file in CORE["filesets"][name]["files"]]


def test_the_core_file_names_each_source_once() -> None:
    blocks, paper = hardware()
    assert of_core("rtl") == blocks
    assert of_core("baseline") == paper


def test_the_bender_manifest_names_each_source_once() -> None:
    blocks, paper = hardware()
    groups = [[ROOT / file for file in group["files"]] for group in BENDER["sources"]]
    assert groups == [blocks, paper, build.checkers(ROOT)]


@pytest.mark.parametrize("target", [name for name in CORE["targets"] if name != "default"])
def test_a_target_of_the_core_file_lints(target: str) -> None:
    """With the files, the top and the options that FuseSoC would give Verilator, and no other."""
    chosen: dict[str, Any] = CORE["targets"][target]
    options = chosen["tools"]["verilator"]
    assert options["mode"] == "lint-only"
    files = [file for name in chosen["filesets"] for file in of_core(name)]
    command = ["verilator", "--lint-only", "--no-timing", *options["verilator_options"]]
    command += ["--top-module", chosen["toplevel"], *map(str, files)]
    done = subprocess.run(command, env=build.environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
