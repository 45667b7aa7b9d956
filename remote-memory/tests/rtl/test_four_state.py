# SPDX-License-Identifier: Apache-2.0
"""The pairs in a simulator of four states: nothing depends on what registers and RAMs hold at power-up."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from consort_remote import build
from effort import PATIENCE

HERE = Path(__file__).parent / "four_state"
ROOT = Path(__file__).parents[2]


def simulated(folder: Path, pair: str, changes: dict[str, tuple[str, str]] | None = None) -> str:
    if shutil.which("iverilog") is None:
        pytest.skip("iverilog is not installed: apt-get install iverilog")
    files = []
    for source in build.sources(ROOT):
        file = source
        if changes and build.short(source) in changes:
            right, wrong = changes[build.short(source)]
            text = source.read_text()
            assert text.count(right) == 1, right
            file = folder / source.name
            file.write_text(text.replace(right, wrong))
        files.append(file)
    files += sorted(HERE.glob("*.sv"))
    plain, program = folder / "pair.v", folder / "simulation"
    commands = [
        [build.tools() / "bin" / "python", HERE / "to_verilog.py", pair, plain, *files],
        [
            *("iverilog", "-g2005-sv", "-Wportbind"),
            *(f"-DPAIR={pair}", *(["-DPAPER"] if "paper" in pair else [])),
            *("-s", "bench", "-o", program, HERE / "bench.v", plain),
        ],
        ["vvp", "-n", program],
    ]
    said = ""
    for command in commands:
        result = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=PATIENCE)
        assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
        # An input that the bench leaves open is unknown for ever.
        assert "floating" not in result.stderr, result.stderr[-2000:]
        said = result.stdout
    return said


@pytest.mark.parametrize("pair", ["consort_remote_pair", "consort_paper_pair", "resized_pair"])
def test_nothing_is_unknown_after_a_reset(tmp_path, pair):
    assert simulated(tmp_path, pair).strip().splitlines()[-1] == "PASSED"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "right", "wrong"),
    [
        # As it was: the halves of a flag are what the RAM held.
        (
            "tag_flags",
            "if (set_i || !swept_o) sets[set_at] <= swept_o && !clears",
            "if (set_i) sets[set_at] <= !clears",
        ),
        ("link_session", "      quiet_q <= '0;\n", ""),
    ],
)
def test_what_is_unknown_is_found(tmp_path, module, right, wrong):
    assert "FAILED" in simulated(tmp_path, "consort_remote_pair", {module: (right, wrong)})
