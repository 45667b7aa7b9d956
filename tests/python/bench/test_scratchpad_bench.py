# SPDX-License-Identifier: Apache-2.0
"""`consort bench scratchpad`: how its figures come out of what the program measures. No time is asserted."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from consort_bench import scratchpad
from consort_bench.programs import cpp_program
from consort_bench.published import experiment_folder, read_published
from effort import PATIENCE

pytestmark = pytest.mark.realtime


def row(kernel, phases, streaming, execution, size=9000):
    return {
        "kernel": kernel,
        "three_phase": phases,
        "streaming": streaming,
        "bytes": size,
        "execution_ns": execution,
        "warming_ns": [5.0] * len(execution),
        "slots_missed": 0,
    }


def rows_of(kernel, direct, phases, size=9000):
    quiet = [100.0] * 20
    return [
        row(kernel, False, False, quiet, 0),
        row(kernel, True, False, quiet, size),
        row(kernel, False, True, direct, 0),
        row(kernel, True, True, phases, size),
    ]


def made(direct_tail=400.0, phases_tail=100.0, **together):
    tasks = [
        {"task": "a", "jobs": 3, "period": 8000, "execution": 100, "response": 2000},
        {"task": "b", "jobs": 3, "period": 9000, "execution": 300, "response": 2500},
    ]
    return {
        "kernels": rows_of("large", [100.0] * 19 + [direct_tail], [100.0] * 19 + [phases_tail])
        + rows_of("small", [1.0] * 19 + [900.0], [1.0] * 20, size=64),
        "patterns": [],
        "overheads": {
            "load_ns": [1000.0],
            "unload_ns": [900.0],
            "step_ns": [50.0],
            "switch_ns": [10.0],
            "step_slot_ns": 50_000.0,
        },
        "together": {
            "slot": 260,
            "slot_ns": 100_000.0,
            "step_ns": [200.0, 400.0],
            "tasks": tasks,
            "slots_missed": 0,
            "slots_overrun": 0,
            "releases_lost": 0,
            "cpus": [1, 0],
            "notes": [],
        }
        | together,
        "right": True,
    }


def goal(result, name):
    return next(g for g in scratchpad.goals_of(result) if g["name"] == name)


def test_spread_is_of_the_kernels_that_use_memory():
    found = goal(made(), "spread_three_phase_over_direct")
    assert found["value"] == pytest.approx(100 / (100 + 300 * 0.981), rel=1e-3)
    assert found["met"]
    worse = goal(made(direct_tail=100.0, phases_tail=400.0), "spread_three_phase_over_direct")
    assert worse["value"] > 1 and not worse["met"]


def test_overheads_are_shares_of_their_slots():
    found = goal(made(), "slot_handling")
    assert found["value"] == pytest.approx(300 / 100_000)
    assert found["met"]
    assert not goal(made(step_ns=[1500.0]), "slot_handling")["met"]
    result = made()
    result["overheads"]["switch_ns"] = []
    assert goal(result, "context_switch")["met"] is None


def test_responses_are_held_against_the_corrected_bound():
    result = made()
    found = scratchpad.responses(result["together"])
    for r in found:
        assert 0 < r["response_us"] <= r["bound_us"] <= r["deadline_us"]
    assert goal(result, "response_over_bound")["met"]
    result["together"]["tasks"][1]["response"] = 5000
    assert not goal(result, "response_over_bound")["met"]


def test_no_bound_where_the_machine_did_not_keep_the_slots():
    found = goal(made(slots_missed=2), "response_over_bound")
    assert found["met"] is None
    assert "2 slots missed" in found["reason"]


def test_published_times_stand_beside():
    published = read_published(experiment_folder("spm-centric-os", "figure7") / "published.csv")
    result = made()
    result["kernels"] = rows_of("idct", [5.0], [4.0])
    rows = scratchpad.kernel_rows(result, published)
    assert {(r["three_phase"], r["published_us"]) for r in rows} == {(True, 1045), (False, 2126)}
    named = {r["name"]: r["published_us"] for r in scratchpad.overhead_rows(result, published)}
    assert named == {
        "partition load time": 432,
        "partition unload time": 432,
        "DMA setup": 3.16,
        "context switch": 0.46,
    }


def test_every_statement_of_the_paper_names_its_section():
    rows = read_published(experiment_folder("spm-centric-os", "scratchpad") / "published.csv")
    assert {(r.of["of"], r.text) for r in rows if "slot" in r.of["of"]} == {
        ("slot of 800 us", "4"),
        ("slot of 400 us", "8"),
    }
    assert all("section VII" in r.source and r.provenance == "published" for r in rows)


# It measures for a minute, alone.
@pytest.mark.slow
def test_the_program_measures_every_kernel_and_its_results_are_right():
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two processors are needed")
    program = cpp_program("scratchpad", "bench/scratchpad")
    ended = subprocess.run([program, "4", "100", "1000"], capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 0, ended.stderr
    result = json.loads(ended.stdout)
    assert result["right"]
    for part, number in (("kernels", 14), ("patterns", 4)):
        table = scratchpad.table_of(result[part])
        assert len(table) == number
        assert all(len(ways) == 4 for ways in table.values())
    assert len(scratchpad.responses(result["together"])) == 14


@pytest.mark.parametrize("arguments", [[], ["0", "100", "1000"], ["4", "100", "300"], ["x", "y", "z"]])
def test_the_program_says_what_it_wants(arguments):
    ended = subprocess.run(
        [cpp_program("scratchpad", "bench/scratchpad"), *arguments], capture_output=True, text=True
    )
    assert ended.returncode == 2
    assert ended.stderr


def packets(simulated, measured, missed=0):
    return [
        {
            "slot_us": slot,
            "packets_a_load": many,
            "simulated_mbps": simulated if many > 1 else 5.0,
            "measured_mbps": measured if many > 1 else 5.0,
            "slots_missed": missed,
            "together": False,
            "wrong": 0,
        }
        for slot in (800, 400)
        for many in (1, 16)
    ]


def test_bandwidth_stands_beside_the_published_one_of_the_same_slot():
    published = read_published(experiment_folder("spm-centric-os", "scratchpad") / "published.csv")
    rows = scratchpad.bandwidth_rows(packets(80, 72), published)
    assert [row["published_mbps"] for row in rows] == [4, 4, 8, 8]
    simulated, measured = scratchpad.bandwidth_goals(rows)
    assert (simulated["value"], simulated["met"], simulated["provenance"]) == (10, True, "simulated")
    assert (measured["value"], measured["met"], measured["provenance"]) == (9, True, "measured")
    _, low = scratchpad.bandwidth_goals(scratchpad.bandwidth_rows(packets(80, 20), published))
    assert low["value"] == 2.5 and not low["met"]
    # A machine that lost slots has shown nothing; one that carried enough all the same has.
    _, lost = scratchpad.bandwidth_goals(scratchpad.bandwidth_rows(packets(80, 20, missed=3), published))
    assert lost["value"] is None and lost["met"] is None and "6 slots missed" in lost["reason"]
    _, enough = scratchpad.bandwidth_goals(scratchpad.bandwidth_rows(packets(80, 72, missed=3), published))
    assert enough["met"]


@pytest.mark.slow
def test_packets_come_back_whole_and_batches_carry_more():
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two processors are needed")
    program = cpp_program("bandwidth", "bench/scratchpad")
    ended = subprocess.run([program, "100"], capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 0, ended.stderr
    rows = {(row["slot_us"], row["packets_a_load"]): row for row in json.loads(ended.stdout)}
    assert set(rows) == {(800, 1), (800, 16), (400, 1), (400, 16)}
    assert all(row["wrong"] == 0 for row in rows.values())
    # In virtual time nothing depends on the machine.
    for slot in (800, 400):
        assert rows[slot, 16]["simulated_mbps"] > 4 * rows[slot, 1]["simulated_mbps"] > 0
    assert subprocess.run([program], capture_output=True).returncode == 2
