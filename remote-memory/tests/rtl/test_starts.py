# SPDX-License-Identifier: Apache-2.0
"""Starts of a link over PHYs that keep words while they pause, and then give them without gaps."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from consort_remote import build
from effort import PATIENCE

HERE = Path(__file__).parent


@pytest.mark.parametrize("cdc", [0, 1], ids=["a FIFO of eight words", "consort_phy_cdc"])
@pytest.mark.parametrize("cycles", [8, 24, 60])
def test_a_pause_at_any_moment_of_a_start_loses_nothing(cdc, cycles):
    """Of either direction; the confirming acknowledgement and the first frame come back to back then."""
    program = build.simulation(
        "starts_top",
        HERE / "starts_user.cpp",
        {"Cdc": cdc},
        ("-Wno-PINCONNECTEMPTY",),
        (HERE / "starts_top.sv",),
    )
    done = subprocess.run([str(program), str(cycles)], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    assert json.loads(done.stdout)["starts"] == 101 * 2 * 12
