# SPDX-License-Identifier: Apache-2.0
"""Starts of a link over PHYs that keep words while they pause, and then give them without gaps."""

from __future__ import annotations

from pathlib import Path

import pytest
from consort.base.errors import SystemFails
from consort_remote import build, run

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("cdc", [False, True], ids=["a FIFO of eight words", "consort_phy_cdc"])
@pytest.mark.parametrize("cycles", run.START_PAUSES)
def test_a_pause_at_any_moment_of_a_start_loses_nothing(cdc, cycles):
    """Of either direction; the confirming acknowledgement and the first frame come back to back then."""
    assert run.starts(cycles, cdc) == {"starts": 101 * 2 * 12, "losses": 0}


@pytest.mark.slow
def test_a_link_that_takes_a_frame_of_which_a_unit_came_too_early_is_found_out(tmp_path):
    source = build.module(ROOT, "link_receiver")
    right = "      if (!up_i) refused_o <= 1'b1;\n      else if (first_i) refused_o"
    assert source.read_text().count(right) == 1
    changed = tmp_path / source.name
    changed.write_text(source.read_text().replace(right, "      if (first_i) refused_o"))
    with pytest.raises(SystemFails, match=r"\d+ units kept of a frame of \d+"):
        run.starts(24, True, (changed,))
