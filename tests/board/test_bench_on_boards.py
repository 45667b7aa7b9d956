# SPDX-License-Identifier: Apache-2.0
"""`consort bench … --board`: quantiles with their provenance, and never a worst case."""

from __future__ import annotations

import json

import pytest
from board_support import board, consort
from consort.bench import board_icc
from consort.bench.registry import BOARDS_OF, Options
from consort.board.exchange import SIZES

WORST = ("max", "worst")


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
    counted = tuple(
        (name, pairs) for name, pairs in board_icc.MATRIX["versal"] if board_icc.is_counted(pairs[0], name)
    )
    assert len(counted) == 4
    monkeypatch.setitem(board_icc.MATRIX, "versal", counted[1:3])
    options = Options("icc", iterations=600, board="versal")
    first, second = board_icc.run(options), board_icc.run(options)
    assert first.rows == second.rows and {r["provenance"] for r in first.rows} == {"counted"}
    assert {r["memory"] for r in first.rows} == {"DDR", "OCM"}


@pytest.mark.slow
def test_icc_of_every_pair() -> None:
    board("versal")
    board("mps2")
    result = board_icc.run(Options("icc", iterations=20_000, board="all"))
    pairs = {(r["asks"], r["answers"], r["memory"]) for r in result.rows}
    assert len(pairs) + sum("not run" in note for note in result.notes) == 16
    assert all(r["p999_ns"] is not None for r in result.rows)


def test_a_board_that_is_none_is_refused() -> None:
    assert set(BOARDS_OF["icc"]) == {*board_icc.MATRIX, board_icc.ALL}
    done = consort("bench", "icc", "--board", "stm32")
    assert done.returncode == 2 and "is one of versal, embedded-plus, mps2, processes, all" in done.stderr
    done = consort("bench", "table1", "--board", "versal")
    assert done.returncode == 2 and "table1 does not run on boards" in done.stderr
