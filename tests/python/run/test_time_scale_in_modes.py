# SPDX-License-Identifier: Apache-2.0
"""A run that changes its mode and whose times are stretched does the same as one at its own pace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import beside_time
import numpy as np
import pytest
from run_support import Ran

NUMBERS = (12, 15)


def instants(found: Ran, scale: int) -> dict[str, Any]:
    """All releases, and when modes were requested, left and entered, in described time [ps]."""
    begun = int(found.events("mode-entered")["time"][0])
    per_ps = found.raw.manifest.clock.ticks_per_second / 1e12 * scale
    jobs = np.array(found.raw.tables["jobs"].rows)
    keep = beside_time.within(beside_time.FRAMES - 1, found)
    kept = [job for job in jobs if keep(int(job["task"]), int(job["seq"]))]
    times: dict[str, Any] = {
        "release": sorted(
            (int(job["task"]), int(job["seq"]), (int(job["release"]) - begun) / per_ps) for job in kept
        )
    }
    for what in ("mode-requested", "mode-idle", "mode-entered"):
        times[what] = [(int(time) - begun) / per_ps for time in found.events(what)["time"]]
    return times


def test_a_stretched_run_changes_modes_as_one_at_its_own_pace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Executions are not stretched: these are so short that nothing is late at any pace."""
    for number in NUMBERS:
        assert "modes" in beside_time.described(number)
        found = []
        for scale in (1, 7):
            monkeypatch.setattr(beside_time, "SCALE", scale)
            run = beside_time.run(number, tmp_path / f"{number}-{scale}", "virtual")
            keep = beside_time.within(beside_time.FRAMES - 1, run)
            found.append((beside_time.structure(run, keep), instants(run, scale)))
        assert len(found[0][1]["mode-entered"]) == 2
        for structure, times in found[1:]:
            assert structure == found[0][0], number
            assert times == found[0][1], number
