# SPDX-License-Identifier: Apache-2.0
"""Verible finds nothing in the sources, and finds what it should in a bad one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

LINT = Path(__file__).parents[2] / "tools" / "lint-rtl.sh"


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
