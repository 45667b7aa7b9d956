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


def test_the_credit_counter_is_exact():
    result = proof(RTL / "credit.sv", "credit_check")
    assert result.returncode == 0, result.stdout[-2000:]
    assert result.stdout.rstrip().endswith("proven")


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("want_i <= free_q", "want_i <= free_q + 1'b1"),
        ("- (take_i ? want_i : '0) + give_i", "- (take_i ? want_i : give_i)"),
        ("if (!rst_ni) free_q <= Width'(Max)", "if (!rst_ni) free_q <= '0"),
    ],
)
def test_a_wrong_counter_is_not_proven(tmp_path, right, wrong):
    text = (RTL / "credit.sv").read_text()
    assert text.count(right) == 1
    broken = tmp_path / "credit.sv"
    broken.write_text(text.replace(right, wrong))
    result = proof(broken, "credit_check")
    assert result.returncode != 0
    assert "proof did fail" in result.stdout + result.stderr
