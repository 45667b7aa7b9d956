# SPDX-License-Identifier: Apache-2.0
"""Proofs by induction of small modules, and that they fail when the module is wrong."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from consort.remote import build

FORMAL = Path(__file__).parent / "formal"
RTL = Path(__file__).parents[2] / "rtl"


# Addresses and offsets of the proofs: the solver has no grip on the comparisons of 40 bits.
SMALL = (("CONSORT_ADDR_WIDTH 40", "CONSORT_ADDR_WIDTH 18"), ("OffsetWidth = 28;", "OffsetWidth = 16;"))


def proof(dut: Path, top: str, folder: Path) -> subprocess.CompletedProcess[str]:
    text = (RTL / "consort_remote_pkg.sv").read_text()
    for wide, narrow in SMALL:
        assert text.count(wide) == 1
        text = text.replace(wide, narrow)
    package = folder / "consort_remote_pkg.sv"
    package.write_text(text)
    python = build.tools() / "bin" / "python"
    command = [python, FORMAL / "prove.py", package, dut, FORMAL / f"{top}.sv", top]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("module", ["credit", "arbiter", "fifo", "window_table"])
def test_what_the_module_promises_is_proven(tmp_path, module):
    result = proof(RTL / f"{module}.sv", f"{module}_check", tmp_path)
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
        ("fifo", "(PtrWidth + 1)'(Depth);", "(PtrWidth + 1)'(Depth - 1);"),
        ("fifo", "if (valid_i && ready_o) write_q", "if (valid_i) write_q"),
        ("fifo", "memory[read_q[PtrWidth-1:0]]", "memory[write_q[PtrWidth-1:0]]"),
        ("fifo", "if (valid_o && ready_i) read_q <= read_q + 1'b1;", "if (valid_o) read_q <= read_q + 1'b1;"),
        (
            "window_table",
            "addr_i[AddrWidth-1:12] <= windows_i[i].last",
            "addr_i[AddrWidth-1:12] < windows_i[i].last",
        ),
        ("window_table", "hits & (~hits + 1'b1)", "hits"),
        ("window_table", "window_o != '0 && window.valid && ", "window_o != '0 && "),
        ("window_table", "Write ? window.writable : window.readable", "window.readable"),
        ("window_table", "addr_q - {window.first, 12'd0}", "addr_q"),
    ],
)
def test_a_wrong_module_is_not_proven(tmp_path, module, right, wrong):
    text = (RTL / f"{module}.sv").read_text()
    assert text.count(right) == 1
    broken = tmp_path / f"{module}.sv"
    broken.write_text(text.replace(right, wrong))
    result = proof(broken, f"{module}_check", tmp_path)
    assert result.returncode != 0
    assert "proof did fail" in result.stdout + result.stderr
