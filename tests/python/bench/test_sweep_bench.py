# SPDX-License-Identifier: Apache-2.0
"""`consort bench sweep`: its goals, and that a killed sweep ends with the same bytes. No rate is asserted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from consort_bench.sweep import interrupted
from consort_bench.sweeps import sweep_file


@pytest.mark.slow
def test_goals_of_a_quick_look():
    consort = Path(sys.executable).with_name("consort")
    command = [consort, "bench", "sweep", "--quick", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    result = json.loads(done.stdout)
    goals = {goal["name"]: goal for goal in result["goals"]}
    assert goals.keys() == {"dask_over_raw", "resume_differences"}
    assert (
        goals["resume_differences"]["value"] == 0 and goals["resume_differences"]["provenance"] == "counted"
    )
    assert [row["processes"] for row in result["rows"]][:1] == [1] and result["bytes_per_cell"] > 0


@pytest.mark.slow
def test_another_result_is_a_difference(tmp_path):
    """The comparison can fail."""
    assert interrupted(sweep_file("bench"), 500, tmp_path / "out", b"another result", 0) == (0, 1)
