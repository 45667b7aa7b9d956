# SPDX-License-Identifier: Apache-2.0
"""`consort bench remap`: its goals, and that one of them can fail."""

from __future__ import annotations

import pytest
from consort.remote.run import Beats
from consort_bench import remap
from consort_bench.registry import Options


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
            "worst64_of_bound",
            "urgent64_of_bound",
            "injection_successes",
            "same_id_reorders",
            "stuck_link_ends_in_cycles",
        ),
        True,
    )


def test_a_beat_too_many_is_a_mismatch(monkeypatch):
    monkeypatch.setattr(remap, "paper_beats", lambda: [Beats("b2b", 3, 9, 7), Beats("pipelined", 3, 8, 7)])
    _, mismatches = remap.paper_rows()
    assert mismatches == {"b2b": 1, "pipelined": 0}
