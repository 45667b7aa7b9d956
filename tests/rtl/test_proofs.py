# SPDX-License-Identifier: Apache-2.0
"""Proofs by induction of small modules, and that they fail when the module is wrong."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from consort.remote import build

FORMAL = Path(__file__).parent / "formal"
RTL = Path(__file__).parents[2] / "rtl"


def proof(dut: Path, top: str) -> subprocess.CompletedProcess[str]:
    python = build.tools() / "bin" / "python"
    command = [python, FORMAL / "prove.py", dut, FORMAL / f"{top}.sv", top]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("module", ["credit", "arbiter"])
def test_what_the_module_promises_is_proven(module):
    result = proof(RTL / f"{module}.sv", f"{module}_check")
    assert result.returncode == 0, result.stdout[-2000:]
    assert result.stdout.rstrip().endswith("proven")


@pytest.mark.parametrize(
    ("module", "right", "wrong"),
    [
        ("credit", "want_i <= free_q", "want_i <= free_q + 1'b1"),
        ("credit", "- (take_i ? want_i : '0) + give_i", "- (take_i ? want_i : give_i)"),
        ("credit", "if (!rst_ni) free_q <= Width'(Max)", "if (!rst_ni) free_q <= '0"),
        # Fixed priorities: somebody may wait for ever.
        ("arbiter", "masked != '0 ? first_masked : first_any", "first_any"),
        ("arbiter", "~(grant_o | (grant_o - 1'b1))", "~(grant_o - 1'b1)"),
        ("arbiter", "request_i & (~request_i + 1'b1)", "request_i"),
    ],
)
def test_a_wrong_module_is_not_proven(tmp_path, module, right, wrong):
    text = (RTL / f"{module}.sv").read_text()
    assert text.count(right) == 1
    broken = tmp_path / f"{module}.sv"
    broken.write_text(text.replace(right, wrong))
    result = proof(broken, f"{module}_check")
    assert result.returncode != 0
    assert "proof did fail" in result.stdout + result.stderr
