# SPDX-License-Identifier: Apache-2.0
"""Verible finds nothing in the sources, and finds what it should in a bad one."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from consort_remote import build

pytestmark = pytest.mark.representative

ROOT = Path(__file__).parents[2]
RTL = ROOT / "rtl"
LINT = ROOT / "tools" / "lint-rtl.sh"


def lint(*files: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(LINT), *map(str, files)], capture_output=True, text=True)


def test_nothing_is_found_in_the_sources():
    result = lint()
    assert result.returncode == 0, result.stdout + result.stderr


BAD = {
    "line-length": "  assign y_o = {" + ", ".join(["a_i"] * 30) + "};\n",
    "generate-label-prefix": "  for (genvar i = 0; i < 2; i++) begin : each\n  end\n",
    "always-ff-non-blocking": "  always_ff @(posedge a_i) y_o = '0;\n",
    "module-filename": "",
    "syntax error": "  assign y_o = ;\n",
}


@pytest.mark.parametrize("rule", BAD)
def test_what_is_bad_is_found(tmp_path, rule):
    bad = tmp_path / ("other.sv" if rule == "module-filename" else "bad.sv")
    bad.write_text(
        f"module bad (\n    input logic a_i,\n    output logic [1:0] y_o\n);\n{BAD[rule]}endmodule\n"
    )
    result = lint(bad)
    assert result.returncode == 1
    assert rule in result.stdout + result.stderr


@pytest.mark.parametrize("block", ["cblock", "mblock"])
def test_no_name_makes_a_net_of_its_own(block):
    # slang tells of each; Verilator does not.
    files = [source for source in build.synthesised(ROOT) if source.parent.name != "baseline"]
    command = f"read_slang -Wimplicit-net --top consort_{block}_flat {' '.join(map(str, files))}"
    script = "import sys; from pyosys import libyosys as y; y.run_pass(sys.argv[1], y.Design())"
    words = [str(build.tools() / "bin" / "python"), "-c", script, command]
    result = subprocess.run(words, capture_output=True, text=True)
    assert result.returncode == 0 and "Build succeeded" in result.stdout + result.stderr
    assert "implicit net" not in result.stdout + result.stderr


def test_the_map_names_every_module_in_its_folder() -> None:
    folder = ""
    named = set()
    for line in (RTL / "README.md").read_text(encoding="utf-8").splitlines():
        cells = line.split("|")
        if len(cells) == 5:
            folder = cells[1].strip(" `") or folder
            named |= {(folder, name) for name in re.findall(r"`(\w+)`", cells[2])}
    assert named == {(file.parent.name, file.stem) for file in RTL.rglob("*.sv")}


def test_the_blocks_of_the_paper_are_named_beside_them() -> None:
    folder = build.paper(ROOT)
    named = set(re.findall(r"`(consort_\w+)`", (folder / "README.md").read_text(encoding="utf-8")))
    assert named == {file.stem for file in folder.glob("*.sv")}
