# SPDX-License-Identifier: Apache-2.0
"""A link's signals between two clocks that have nothing to do with each other."""

from __future__ import annotations

import subprocess
from pathlib import Path

from consort_remote import build
from effort import PATIENCE

HERE = Path(__file__).parent


def test_words_and_news_cross_between_clocks_of_any_ratio() -> None:
    """500 pairs of periods and phases: each word comes once, in order; no hard error of a cycle is missed."""
    program = build.simulation("cdc_top", HERE / "cdc_user.cpp", more=(HERE / "cdc_top.sv",))
    done = subprocess.run([str(program), "1", "500", "400"], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert done.stdout == '{"ratios": 500}\n'
