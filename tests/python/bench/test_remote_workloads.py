# SPDX-License-Identifier: Apache-2.0
"""`consort bench remote-workloads`: a small program in place of the large ones."""

from __future__ import annotations

import sys

import pytest
from consort_bench import remote_workloads
from consort_bench.registry import Options

PROGRAM = """
import json
block = bytearray(6 << 20)
for at in range(0, len(block), 4096):
    block[at] = at >> 12 & 255
right = all(block[at] == at >> 12 & 255 for at in range(0, len(block), 4096))
print(json.dumps({"set": len(block), "right": right, "blocks": 2.0}))
"""


def test_rows_of_each_way_and_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        remote_workloads,
        "workloads",
        lambda quick: [("small", [sys.executable, "-c", PROGRAM], {"blocks": "1/s"})],
    )
    result = remote_workloads.run(Options("remote-workloads", quick=True))
    assert [(row["server"], row["local"]) for row in result.rows] == [
        (way, share) for way in ("tcp", "shared memory") for share in remote_workloads.SHARES
    ]
    assert all(row["over_all_local"] == 1 and row["provenance"] == "measured" for row in result.rows)
    assert result.goals[0]["met"]
    assert any("swap" in note and "not measured" in note for note in result.notes)
