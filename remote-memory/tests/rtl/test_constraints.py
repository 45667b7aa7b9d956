# SPDX-License-Identifier: Apache-2.0
"""The constraints of the crossing to a PHY's clock name all that crosses there, and nothing else."""

from __future__ import annotations

import json
import re
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest
from consort_remote import build

ROOT = Path(__file__).parents[2]
PARTS = ("reset_sync", "fifo_cdc", "phy_cdc")
SYNTH = ROOT / "rtl" / "synth"


def crossings(phy_cdc: Path) -> list[tuple[str, str]]:
    files = [*(build.module(ROOT, part) for part in PARTS[:-1]), phy_cdc]
    script = Path(__file__).parent / "crossings.py"
    words = [build.tools() / "bin" / "python", script, "consort_phy_cdc", *files]
    result = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=True)
    return [(first, last) for first, last in json.loads(result.stdout.splitlines()[-1])]


def constraints(suffix: str) -> list[tuple[str, str]]:
    """The patterns of each line that is of set-up or of no time, from and to."""
    found = []
    for line in (SYNTH / f"consort_phy_cdc.{suffix}").read_text(encoding="utf-8").splitlines():
        if not re.match(r"set_(max_delay|false_path) (?!-hold)", line):
            continue
        ends = {}
        for end in ("from", "to"):
            named = re.search(rf"-{end} \[get_(?:cells|pins) (?:\{{([^}}]*)\}}|\$\{{cdc\}}([^\]]*))\]", line)
            # Names of registers as Yosys has them: no _reg, no pins.
            ends[end] = re.sub(r"_reg|/D$|/CLR$|\[[^\]]*\]", "", (named[1] or named[2]) if named else "*")
            ends[end] = ends[end].rstrip("*") + "*"
        found.append((ends["from"], ends["to"]))
    return found


def unconstrained(rows: list[tuple[str, str]], lines: list[tuple[str, str]]) -> list[tuple[str, str]]:
    def named(name: str, pattern: str) -> bool:
        return fnmatch(name.replace(".", "/"), pattern)

    return [row for row in rows if not any(named(row[0], a) and named(row[1], b) for a, b in lines)]


@pytest.mark.parametrize("suffix", ["xdc", "sdc"])
def test_all_that_crosses_between_the_clocks_has_a_constraint(suffix):
    rows = crossings(build.module(ROOT, "phy_cdc"))
    lines = constraints(suffix)
    assert len(rows) >= 20 and len(lines) == 11
    assert unconstrained(rows, lines) == []
    for line in lines:
        assert unconstrained(rows, [other for other in lines if other != line]), f"{line} names nothing"


def test_a_crossing_without_a_constraint_is_found(tmp_path):
    source = build.module(ROOT, "phy_cdc")
    right = "lasts_q <= {lasts_q[0], err_q};"
    text = source.read_text()
    assert text.count(right) == 1
    changed = tmp_path / source.name
    changed.write_text(text.replace(right, "lasts_q <= {turns_q, err_q};"))
    found = unconstrained(crossings(changed), constraints("sdc"))
    assert ("turns_q", "lasts_q") in found
