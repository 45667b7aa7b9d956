# SPDX-License-Identifier: Apache-2.0
"""`consort bench … --board`: quantiles with their provenance, and never a worst case."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from board_support import board, consort
from consort.base.errors import BadInput
from consort.board import board_names
from consort.board.exchange import SIZES
from consort.board.scratchpad import run_kernel
from consort_bench import board_bandwidth, board_icc, board_one_way, one_way, stored
from consort_bench.registry import ALL, PROCESSES_ONLY, Options, boards_of

WORST = ("max", "worst")


@pytest.mark.slow
def test_icc_of_a_board_has_quantiles_and_provenance() -> None:
    board("mps2")
    done = consort("bench", "icc", "--board", "mps2", "--iterations", "3000", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert {(r["asks"], r["answers"]) for r in rows} == {("m4f", "x86-64"), ("m4f", "armv7")}
    assert {r["bytes"] for r in rows} == set(SIZES) and {r["provenance"] for r in rows} == {"emulated"}
    assert not [key for r in rows for key in r if any(word in key for word in WORST)]
    assert all(0 < r["p50_ns"] <= r["p99_ns"] for r in rows)
    # Some 270 of each size: a p99.9 would be their maximum.
    assert all(r["n"] < 1000 and r["p999_ns"] is None for r in rows)


def test_counted_pairs_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    board("versal")
    counted = [(name, who) for name, who in board_icc.matrix("versal") if board_icc.is_counted(who, name)]
    assert len(counted) == 4
    monkeypatch.setattr(board_icc, "matrix", lambda _: counted[1:3])
    options = Options("icc", iterations=300, board="versal")
    first, second = board_icc.run(options), board_icc.run(options)
    assert first.rows == second.rows and {r["provenance"] for r in first.rows} == {"counted"}
    assert {r["memory"] for r in first.rows} == {"DDR", "OCM"}


@pytest.mark.slow
def test_icc_of_every_pair() -> None:
    for name in board_names():
        board(name)
    result = board_icc.run(Options("icc", iterations=20_000, board="all"))
    pairs = {(r["board"], r["asks"], r["answers"], r["memory"]) for r in result.rows}
    assert len(pairs) + sum("not run" in note for note in result.notes) == len(board_icc.matrix("all"))
    assert all(r["p999_ns"] is not None for r in result.rows)


def test_a_board_that_is_none_is_refused() -> None:
    assert boards_of("icc") == (*board_names(), PROCESSES_ONLY, ALL)
    assert boards_of("figure3") == ("versal", "zynqmp") and boards_of("figure4") == ("versal",)
    assert boards_of("table1") == ()
    done = consort("bench", "icc", "--board", "stm32")
    assert done.returncode == 2 and "is one of " + ", ".join(boards_of("icc")) in done.stderr
    done = consort("bench", "table1", "--board", "versal")
    assert done.returncode == 2 and "table1 does not run on boards" in done.stderr


@pytest.mark.parametrize("name", ["versal", "zynqmp"])
def test_one_way_times_are_counted_and_repeat(name: str) -> None:
    board(name)
    first, wrong, offset = board_one_way.one_way_times(40, name)
    again = board_one_way.one_way_times(40, name)
    assert np.array_equal(first, again[0]) and (wrong, offset) == again[1:] and wrong == 0
    rows = board_one_way.rows_of(board_one_way.LEGS, first)
    assert {(r["what"], r["direction"]) for r in rows if r["bytes"] is None} == {
        (f"one byte, {memory}", direction)
        for memory in ("DDR", "OCM")
        for direction in ("APU->RPU", "RPU->APU")
    }
    assert {r["provenance"] for r in rows} == {"counted"} and all(r["min"] > 0 for r in rows)
    arrays = {r["bytes"]: r["median"] for r in rows if r["what"] == "array and flag, DDR"}
    assert list(arrays) == list(one_way.SIZES)
    # Copying is what takes: from 64 bytes on it grows with the size.
    large = [arrays[size] for size in one_way.SIZES if size >= 64]
    assert all(b > 1.2 * a for a, b in itertools.pairwise(large))


def test_figure3_stands_beside_the_published_medians(tmp_path: Path) -> None:
    board("versal")
    line = ["bench", "figure3", "--board", "versal", "--iterations", "20", "--root", str(tmp_path)]
    done = consort(*line)
    assert done.returncode == 0, done.stderr
    lines = [text for text in done.stdout.splitlines() if "one byte" in text]
    assert sum("published" in text for text in lines) == 8 and sum("counted" in text for text in lines) == 4
    assert any("1010.0" in text for text in lines)
    (run,) = [p for p in tmp_path.iterdir() if not p.name.startswith(".")]
    assert (run / "report.html").is_file()
    done = consort("bench", "figure5", "--board", "versal", "--iterations", "100000")
    assert done.returncode == 2 and "2 to 5000 iterations" in done.stderr


def stored_medians(name: str) -> dict[tuple[str, str, str], float] | None:
    """The stored medians in the experiment's folder; None if other compilers counted them."""
    compilers, rows = stored.load(stored.file_of(name))
    if compilers != stored.compilers(name):
        return None
    return {(row["what"], row["direction"], row["bytes"]): float(row["median"]) for row in rows}


def test_stored_figures_are_those_counted() -> None:
    board("versal")
    one = board_one_way.rows_of(board_one_way.LEGS, board_one_way.one_way_times(40)[0])
    signals = board_one_way.rows_of(board_one_way.INTERRUPT_LEGS, board_one_way.interrupt_times(40)[0])
    wanted = {
        "figure3": [row for row in one if row["bytes"] is None],
        "figure4": signals,
        "figure5": [row for row in one if row["bytes"] is not None],
    }
    for name, rows in wanted.items():
        before = stored_medians(name)
        now = {(row["what"], row["direction"], str(row["bytes"] or "")): row["median"] for row in rows}
        if before is not None:
            assert before.keys() == now.keys()
            assert now == pytest.approx(before, rel=0.02)


def test_what_is_not_counted_is_not_stored(tmp_path: Path) -> None:
    for arguments, said in (
        (["icc"], "icc has no counted figures"),
        (["figure3"], "add --board versal"),
        (["edge-figure3", "--quick"], "leave --quick and --iterations out"),
    ):
        done = consort("bench", *arguments, "--store")
        assert done.returncode == 2 and said in done.stderr, done.stderr
    with pytest.raises(BadInput, match="no figure of figure3 was counted here"):
        stored.store("figure3", [{"what": "one byte", "provenance": "measured"}], tmp_path / "x.csv")


def test_cores_interrupt_each_other() -> None:
    board("versal")
    first, wrong, offset = board_one_way.interrupt_times(40)
    again = board_one_way.interrupt_times(40)
    # Each interrupt came once, and as the one that was sent.
    assert np.array_equal(first, again[0]) and (wrong, offset) == again[1:] and wrong == 0
    rows = board_one_way.rows_of(board_one_way.INTERRUPT_LEGS, first)
    assert [r["what"] for r in rows[:2]] == ["software-generated interrupt"] * 2
    assert all(0 < r["min"] <= r["max"] for r in rows)


def test_packets_are_all_accounted_for_on_the_board() -> None:
    board("versal")
    duration = 24_000_000
    result = run_kernel(board_bandwidth.packets_run(400_000, 1, duration))
    row = board_bandwidth.row_of(400, 1, duration, result, 8.0)
    assert row["returned"] > 20 and row["dropped"] > row["returned"]
    assert (row["slots_missed"], row["wrong"], row["unaccounted"]) == (0, 0, 0)


def test_goals_of_packets_see_what_is_wrong() -> None:
    fine = {"slots_missed": 0, "wrong": 0, "unaccounted": 0, "counted_mbps": 40.0, "published_mbps": 8.0}
    rows = [{**fine, "packets_a_load": batch} for batch in (1, 16)]

    def missed(change: dict[str, float]) -> list[str]:
        return [g["name"] for g in board_bandwidth.goals_of([rows[0], {**rows[1], **change}]) if not g["met"]]

    assert missed({}) == []
    assert missed({"counted_mbps": 31.0}) == ["io_bandwidth_over_paper_batches"]
    for what in ("slots_missed", "wrong", "unaccounted"):
        assert missed({what: 1}) == [what]
