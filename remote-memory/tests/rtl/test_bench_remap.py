# SPDX-License-Identifier: Apache-2.0
"""`consort bench remap`: its goals, and that one of them can fail."""

from __future__ import annotations

import pytest
from consort_bench.published import experiment_folder, read_published
from consort_bench.registry import Options
from consort_remote.run import Beats
from consort_remote_bench import remap


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
