# SPDX-License-Identifier: Apache-2.0
"""`consort bench scratchpad --board versal`: what is counted, what is simulated, which goals are missed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from board_support import board, consort
from consort.base.errors import BadInput
from consort.board.boards import kernel_board
from consort.board.count import load
from consort_bench import board_scratchpad as bench
from consort_bench.board_scratchpad import SLOTS, Counted, counts_of, goals_of, simulated_rows, table_iv
from consort_bench.published import experiment_folder, read_published
from consort_bench.registry import Options

SPEC = kernel_board()
IO = dict(zip(SLOTS, (100, 400, 200, 300, 250, 16), strict=True))
TASKS = [Counted("tblook", 1000, 1010, 400, 5000, 0), Counted("data", 900, 900, 300, 4000, 0)]


def met(goals: list[dict], name: str) -> bool | None:
    (found,) = (g for g in goals if g["name"] == name)
    return found["met"]


def test_each_goal_can_be_missed():
    before = counts_of(SPEC, IO, 1000, TASKS)
    goals, said = goals_of(SPEC, IO, 1000, TASKS, before)
    assert [g["met"] for g in goals] == [True] * 5 and said == []
    assert met(goals_of(SPEC, {**IO, "load begins": 1601}, 1000, TASKS, before)[0], "slot_handling") is False
    assert met(goals_of(SPEC, IO, 1601, TASKS, before)[0], "context_switch") is False
    slower = [replace(TASKS[0], scratchpad=1051), TASKS[1]]
    goals, said = goals_of(SPEC, IO, 1000, slower, before)
    assert met(goals, "scratchpad_over_direct") is False and met(goals, "changed_counts") is False
    assert len(said) == 1 and "tblook, scratchpad: 1051 instructions, stored 1010" in said[0]
    assert met(goals_of(SPEC, IO, 1000, [replace(TASKS[0], wrong=1)], before)[0], "wrong_outputs") is False
    assert met(goals_of(SPEC, IO, 1000, TASKS, None)[0], "changed_counts") is None
    gone, said = goals_of(SPEC, IO, 1000, TASKS[:1], before)
    assert met(gone, "changed_counts") is False and "data, direct: not counted" in said[0]


def test_what_a_slot_takes_by_itself_is_no_part_of_a_load():
    published = read_published(experiment_folder(bench.PAPER, "figure7") / "published.csv")
    rows = {row["name"]: row for row in table_iv(SPEC, IO, 1000, published)}
    assert rows["partition load time"]["instructions"] == (400 - 100) + (200 - 100)
    assert rows["partition unload time"]["instructions"] == (300 - 100) + (250 - 100)
    assert [row["published_us"] for row in rows.values()] == [432, 432, 3.16, 0.46]


def test_responses_on_the_papers_processor_come_from_its_published_times():
    published = read_published(experiment_folder(bench.PAPER, "figure7") / "published.csv")
    rows = {row["name"]: row for row in simulated_rows(bench.systems()[0], published)}
    assert len(rows) == 14
    # 48 + 8 KB of parts at 94.8 MB/s and 3.16 us of set-up; in three phases load, execution, unload in slots.
    first = rows["ttsprk"]
    assert first["response_three_phase_us"] >= 160 + first["published_spm_us"] + 160
    assert first["load_us"] > first["unload_us"] > 3.16
    for row in rows.values():
        assert row["response_direct_us"] >= row["published_sram_us"]
    # Non-preemptive, all released at once: the last one waits for one job of each of its core.
    mine = [
        r
        for n, r in rows.items()
        if n in ("ttsprk", "a2time", "puwm", "canrdr", "aifirf", "aifftr", "bitmnp")
    ]
    assert rows["bitmnp"]["response_direct_us"] >= sum(row["published_sram_us"] for row in mine)


def test_a_counted_benchmark_has_no_length():
    with pytest.raises(BadInput, match="--board: a counted run is exact"):
        bench.run_on_board(Options("scratchpad", iterations=5, board="versal"))


@pytest.mark.slow
def test_what_is_stored_is_what_is_counted():
    board("versal")
    done = consort("bench", "scratchpad", "--board", "versal", "--json")
    printed = json.loads(done.stdout)
    assert done.returncode == 0, printed["goals"]
    goals = {g["name"]: g for g in printed["goals"]}
    assert goals["changed_counts"]["value"] == 0 and goals["wrong_outputs"]["value"] == 0
    stored = {c.operation: c.instructions for c in load(bench.stored_file())}
    rows = [row for row in printed["rows"] if row["what"] == "Table V"]
    assert len(rows) == 14
    for row in rows:
        assert abs(row["direct"] - stored[f"{row['name']}, direct"]) <= 0.02 * row["direct"]
