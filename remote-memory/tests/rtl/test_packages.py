# SPDX-License-Identifier: Apache-2.0
"""Bender.yml and consort_remote.core name the sources that there are, and what they name lints."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from consort.base.errors import ConsortError
from consort_remote import build

ROOT = Path(__file__).resolve().parents[2]
CORE = yaml.safe_load(
    (ROOT / "rtl" / "consort_remote.core").read_text(encoding="utf-8").removeprefix("CAPI=2:\n")
)
BENDER = yaml.safe_load((ROOT / "Bender.yml").read_text(encoding="utf-8"))


def hardware() -> tuple[list[Path], list[Path]]:
    """The synthesised hardware: the two blocks, and those of the paper."""
    files = build.synthesised(ROOT)
    paper = [file for file in files if file.parent.name == "baseline"]
    return [file for file in files if file not in paper], paper


def of_core(name: str) -> list[Path]:
    return [(ROOT / "rtl" / file).resolve() for file in CORE["filesets"][name]["files"]]


def test_the_core_file_names_each_source_once() -> None:
    blocks, paper = hardware()
    assert of_core("rtl") == blocks
    assert of_core("baseline") == paper


def test_the_bender_manifest_names_each_source_once() -> None:
    blocks, paper = hardware()
    groups = [[(ROOT / file).resolve() for file in group["files"]] for group in BENDER["sources"]]
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


def elaborated(**parameters: int) -> subprocess.CompletedProcess[str]:
    """Both blocks with structs of a SoC's own."""
    blocks, _ = hardware()
    given = [f"-G{name}={value}" for name, value in parameters.items()]
    command = ["verilator", "--lint-only", "--no-timing", "-Wall", "-Wno-UNUSEDSIGNAL"]
    command += ["--top-module", "soc_types"]
    files = [ROOT / "rtl" / "lint.vlt", *blocks, Path(__file__).parent / "soc_types.sv"]
    return subprocess.run(
        [*command, *given, *map(str, files)], env=build.environment(), capture_output=True, text=True
    )


@pytest.mark.parametrize("data", [64, 128, 256, 512])
def test_blocks_take_the_structs_of_a_soc(data: int) -> None:
    done = elaborated(Data=data)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("width", "value", "said"),
    [
        ("SlaveAddr", 41, "a port's addresses and ids must not be wider"),
        ("SlaveId", 17, "a port's addresses and ids must not be wider"),
        ("MasterAddr", 39, "a port's addresses must be as wide"),
        ("MasterId", 3, "its ids as what the block sets"),
        ("Data", 32, "a port's data must be of 64, 128, 256 or 512 bits"),
        ("Data", 1024, "a port's data must be of 64, 128, 256 or 512 bits"),
    ],
)
def test_widths_that_do_not_fit_are_refused(width: str, value: int, said: str) -> None:
    done = elaborated(**{width: value})
    assert done.returncode != 0
    assert said in done.stdout + done.stderr


def test_a_configuration_has_no_widths_that_nobody_knows(tmp_path: Path) -> None:
    with pytest.raises(ConsortError, match=r"consort_config_pkg\.sv has no LineWidth; it has AddrWidth"):
        build.configuration(ROOT, tmp_path, LineWidth=3)
    text = build.configuration(ROOT, tmp_path, IdWidth=12).read_text(encoding="utf-8")
    assert "IdWidth = 12;" in text
    assert "AddrWidth = 40;" in text


def test_no_macro_sets_a_width() -> None:
    """Widths are parameters and the package's; the AXI-Lite ports are structs."""
    for file in build.sources(ROOT) + build.checkers(ROOT):
        text = file.read_text(encoding="utf-8")
        assert "`define" not in text, file
        assert "cfg_awaddr" not in text, file
