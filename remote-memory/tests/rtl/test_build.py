# SPDX-License-Identifier: Apache-2.0
"""A simulation that cannot be built says why, whatever the length of the commands that were tried."""

from __future__ import annotations

from pathlib import Path

import pytest
from consort.base.errors import ConsortError
from consort_remote import build


def test_the_reason_is_named(tmp_path: Path) -> None:
    top = tmp_path / "consort_top.sv"
    top.write_text("module consort_top (input logic a_i);\n  wire b = no_such;\nendmodule\n")
    harness = tmp_path / "harness.cpp"
    harness.write_text("int main() { return 0; }\n")
    with pytest.raises(ConsortError, match="building consort_top failed") as found:
        build.simulation("consort_top", harness, more=(top,))
    assert "no_such" in str(found.value)
    assert len(str(found.value)) < 12_000
