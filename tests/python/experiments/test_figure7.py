# SPDX-License-Identifier: Apache-2.0
"""Figure 7 of spm-centric-os: its workload, its readings, and what they give."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from consort.sweep.load import load_sweep
from consort_bench import figure7
from consort_bench.published import experiment_folder, read_published

LOAD = figure7.workload(read_published(experiment_folder("spm-centric-os", "figure7") / "published.csv"))


def share(curve, slot, by_contended, utilisation, sets=2000):
    of = "contended" if by_contended else "scratchpad"
    return figure7.shares(LOAD, (curve,), slot, of, (utilisation,), sets)[curve][0]


def test_slots_of_both_readings():
    assert LOAD.table_slot == 435_160
    assert LOAD.largest == "rspeed" and LOAD.fitted_slot == pytest.approx(155_250, abs=20)
    assert len(LOAD.programs) == 14 and LOAD.periods == (10_000_000, 100_000_000)


# Computed by an independent program with its own sets, 1,000 a point.
@pytest.mark.parametrize(
    ("utilisation", "slot", "by_contended", "printed", "contended"),
    [
        (0.45, LOAD.table_slot, False, 0.572, 1.0),
        (0.40, LOAD.table_slot, False, 0.940, 1.0),
        (0.75, LOAD.fitted_slot, False, 0.920, 0.0),
        (0.80, LOAD.fitted_slot, False, 0.476, 0.0),
        (0.60, LOAD.fitted_slot, False, 1.0, 0.425),
        (0.55, LOAD.fitted_slot, False, 1.0, 0.859),
        (0.60, LOAD.table_slot, True, 0.716, 1.0),
        (0.80, LOAD.fitted_slot, True, 1.0, 0.753),
    ],
)
def test_proportions(utilisation, slot, by_contended, printed, contended):
    # Five standard deviations of the difference of two samples, of 1,000 and 2,000 sets.
    assert share("three-phase-printed", slot, by_contended, utilisation) == pytest.approx(printed, abs=0.1)
    assert share("contended", slot, by_contended, utilisation) == pytest.approx(contended, abs=0.1)


def test_figure_depends_on_the_slot():
    """With the slot of Table IV the scratchpad system is worse, with a fitted one better."""
    assert share("three-phase", LOAD.table_slot, False, 0.6) < share("contended", 0, False, 0.6) - 0.3
    assert share("three-phase", LOAD.fitted_slot, False, 0.6) > share("contended", 0, False, 0.6) + 0.3
    assert figure7.break_even(LOAD, 1000) == pytest.approx(330, abs=12)


def test_round_robin_schedules_no_less():
    corrected, round_robin = (
        share(c, LOAD.fitted_slot, False, 0.8) for c in ("three-phase", "three-phase-round-robin")
    )
    assert round_robin > corrected


def test_command(tmp_path):
    consort = Path(sys.executable).with_name("consort")
    command = [consort, "bench", "figure7", "--quick", "--json", "--root", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert {g["name"] for g in result["goals"]} >= {"figure7_gain_with_fitted_slot"}
    assert all(g["provenance"] == "bound" for g in result["goals"])
    (picture,) = tmp_path.glob("sweeps/figure7-*/plots/figure7.svg")
    assert picture.read_text().count("<svg") == 1
    # Six readings of four curves at twenty utilisations; what does not depend on the slot is computed once.
    assert len(result["rows"]) == 6 * 4 * 20
    same = {
        row["schedulable"]
        for row in result["rows"]
        if row["curve"] == "three-phase-round-robin" and row["utilisation"] == 0.8
    }
    assert len(same) <= 2


def test_the_sweep_is_of_what_is_published():
    folder = experiment_folder("spm-centric-os", "figure7")
    assert (folder / "programs.csv").read_text() == figure7.programs_csv(LOAD)
    loaded = load_sweep(folder / "sweep.yaml")
    assert loaded.programs == LOAD.programs
    block = loaded.sweep.swept
    assert block.slot == (LOAD.table_slot, -1, 0) and block.context_switch == (LOAD.context_switch,)
    assert (*block.shortest, *block.longest) == LOAD.periods and block.utilisation == figure7.UTILISATIONS
