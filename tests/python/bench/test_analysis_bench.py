# SPDX-License-Identifier: Apache-2.0
"""`consort bench analysis` and `soundness`: goals, names, provenance. No time is asserted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from consort_bench.analysis import response_times_in_python, simulated_in_python


def run(*arguments):
    consort = Path(sys.executable).with_name("consort")
    return subprocess.run([consort, "bench", *arguments], capture_output=True, text=True, check=False)


def test_analysis_goals():
    done = run("analysis", "--quick", "--json")
    assert done.returncode in (0, 1), done.stderr
    goals = {g["name"]: g for g in json.loads(done.stdout)["goals"]}
    assert goals.keys() >= {
        "rta_over_python",
        "spm_corrected_over_each",
        "sim_over_python",
        "sim_traced_over_bulk",
        "soundness_violations",
        "figure7_over_bounds",
        "rta_vector_over_scalar",
        "large_check_over_load",
        "large_analyze_over_load",
        "large_analyze_offsets_over_load",
        "large_analyze_edf_over_load",
        "large_simulate_over_load",
        "large_record_over_load",
    }
    # A rate by itself says how fast the processor is.
    assert all("/s" not in g["unit"] and g["unit"] != "s" for g in goals.values())
    for name in ("soundness_violations", "rta_different_answers", "sim_different_answers"):
        assert goals[name]["value"] == 0, name
    assert goals["rta_over_pycpa"]["met"] is None and goals["rta_over_pycpa"]["reason"]
    assert goals["large_record_over_load"]["value"] is not None
    assert goals["large_simulate_over_load"]["value"] is not None


def test_soundness_refutes_what_is_wrong_and_nothing_else(tmp_path):
    done = run("soundness", "--iterations", "3000", "--json", "--root", tmp_path)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    result = json.loads(done.stdout)
    assert {g["name"]: g["met"] for g in result["goals"]} == {
        "soundness_violations": True,
        "soundness_sets": True,
        "literal_violations": True,
        "mutants_survived": True,
    }
    example = result["examples"]["three-phase-printed"]
    assert example["response"] > example["bound"][example["task"]]
    assert sum(result["tightness"]["three-phase"]) > 3000


def test_peer_in_python_knows_the_textbook():
    assert response_times_in_python([3, 3, 5], [7, 12, 20])
    assert not response_times_in_python([10, 10, 12], [30, 40, 50])


def test_simulator_in_python_knows_the_textbook():
    jobs, worst = simulated_in_python([3, 3, 5], [7, 12, 20], 420)
    assert (jobs, worst) == (60 + 35 + 21, [3, 6, 20])
