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


@pytest.mark.parametrize("module", ["credit", "arbiter", "fifo", "window_table", "tag_flags", "failed_tags"])
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
        ("fifo", "(PtrWidth + 1)'(Depth - 2)", "(PtrWidth + 1)'(Depth - 3)"),
        ("fifo", "assign push = valid_i && ready_o;", "assign push = valid_i;"),
        ("fifo", "push || !one_q", "push || one_q"),
        ("fifo", "pop || !one_left_q", "pop"),
        ("fifo", "memory[read_q[PtrWidth-1:0]]", "memory[write_q[PtrWidth-1:0]]"),
        ("fifo", "assign pop = valid_o && ready_i;", "assign pop = valid_o;"),
        (
            "window_table",
            "addr_i[AddrWidth-1:12] <= windows_i[i].last",
            "addr_i[AddrWidth-1:12] < windows_i[i].last",
        ),
        ("window_table", "hits & (~hits + 1'b1)", "hits"),
        ("window_table", "mapped_o = window.valid", "mapped_o = window_o != '0"),
        ("window_table", "Write ? window.writable : window.readable", "window.readable"),
        ("window_table", " - windows_i[i].first[OffsetWidth-13:0]", ""),
        ("tag_flags", "!clears[set_index_i]", "clears[set_index_i]"),
        ("tag_flags", "clears[clear_index_i] <= sets", "clears[clear_index_i] <= !sets"),
        ("failed_tags", "head_i != until_q[l]", "head_i == until_q[l]"),
        ("failed_tags", "else if (head_i == until_q[l]) begin", "else if (1'b0) begin"),
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
