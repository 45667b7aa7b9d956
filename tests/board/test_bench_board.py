# SPDX-License-Identifier: Apache-2.0
"""`consort bench board`: instructions of a release, bytes of the executive, and FreeRTOS beside it."""

from __future__ import annotations

from pathlib import Path

import pytest
from board_support import board
from consort.base.errors import EnvironmentLacks
from consort.base.waiting import silent
from consort_bench import board as bench
from consort_bench import board_dispatch, freertos
from consort_bench.board_size import CHANNELS, EXECUTIVE, LIBRARY, START, STEPS, Part, part_of


def test_a_release_and_a_preemption_on_the_m4f_stay_within_their_limits() -> None:
    board("mps2")
    counted = board_dispatch.count(board_dispatch.systems()["m4f"], 10, silent)
    assert [one.figure for one in counted] == ["dispatch", "preempt"]
    for one in counted:
        assert one.jobs == 9 and 20 < one.least <= one.most <= bench.MOST["preempt_instructions_m4f"]
    assert board_dispatch.count(board_dispatch.systems()["m4f"], 10, silent) == counted


def test_the_executive_of_the_drive_fits_its_limits() -> None:
    board("mps2")
    rows, goals = bench._drive()
    by_name = {goal["name"]: goal for goal in goals}
    for memory, limit in (("flash", bench.FLASH), ("ram", bench.RAM)):
        found = by_name[f"drive_{memory}_bytes_m4f"]
        listed = sum(r["bytes"] for r in rows if r["part"] == EXECUTIVE and r["memory"] == memory)
        assert found["met"] and found["value"] == listed <= limit
    # Parts left out are listed as well, and nothing twice.
    assert {r["part"] for r in rows} >= {EXECUTIVE, CHANNELS, START, STEPS, LIBRARY}
    assert len({(r["memory"], r["what"]) for r in rows}) == len(rows)
    assert all(r["bytes"] >= 0 for r in rows)


@pytest.mark.parametrize(
    ("source", "part"),
    [
        ("include/consort/app/executive.hpp", EXECUTIVE),
        ("ports/mps2/m4f/preempt.S", EXECUTIVE),
        ("include/application.cpp (made by consort)", EXECUTIVE),
        ("include/consort/app/channel_ends.hpp", CHANNELS),
        ("include/consort/icc/region.hpp", CHANNELS),
        ("ports/bare/include/consort/bare/console.hpp", START),
        ("ports/bare/memory.cpp", LIBRARY),
        ("library/libgcc2.c", LIBRARY),
        ("examples/drive/servo.hpp", STEPS),
    ],
)
def test_each_source_belongs_to_a_part(source: str, part: str) -> None:
    assert part_of(source) == part


def test_without_cargo_the_rest_is_counted_and_the_reason_said(monkeypatch: pytest.MonkeyPatch) -> None:
    board("mps2")
    files = {"m4f": board_dispatch.systems()["m4f"]}
    monkeypatch.setattr(board_dispatch, "systems", lambda: files)
    monkeypatch.setattr(bench, "_drive", lambda: ([], []))

    def lacks() -> Path:
        raise EnvironmentLacks("cargo is not installed", "install it")

    monkeypatch.setattr(freertos, "kernel_sources", lacks)
    result = bench.run(bench.Options("board", iterations=5))
    goals = {goal["name"]: goal for goal in result.goals}
    assert goals["preempt_instructions_m4f"]["met"]
    without = goals["dispatch_instructions_m4f"]
    assert without["met"] is None and "cargo" in without["reason"] and without["value"] > 0
    assert any("cargo" in note for note in result.notes)
    assert {row["of"] for row in result.rows} == {"Consort"}


def test_a_missing_compiler_leaves_the_goal_without_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacks(*_: object) -> list[Part]:
        raise EnvironmentLacks("no compiler", "install it")

    monkeypatch.setattr(board_dispatch, "count", lacks)
    monkeypatch.setattr(bench, "prepare_board", lacks)
    result = bench.run(bench.Options("board"))
    assert {goal["met"] for goal in result.goals} == {None} and result.rows == []
    assert all("no compiler" in goal["reason"] for goal in result.goals)
