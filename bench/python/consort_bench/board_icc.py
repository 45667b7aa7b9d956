# SPDX-License-Identifier: Apache-2.0
"""`consort bench icc --board`: round trips between unlike processors, by pair, memory and size.

Counted where both sides are on the board, emulated where a process of this machine or a Linux takes part.
An emulator has no worst case to show: median, p99 and p99.9 only.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

from consort.base.environment import environment
from consort.base.errors import EnvironmentLacks
from consort.board import all_boards, board_named, board_names
from consort.board.exchange import Pair, exchange, pair, pair_of

from consort_bench.registry import ALL, PROCESSES_ONLY, BenchResult, Options

MESSAGES, QUICK_MESSAGES = 50_000, 3_000
USER_MODE = ("x86-64", "armv7", "aarch64", "riscv64")


def matrix(name: str) -> list[tuple[str, Pair]]:
    """The pairs of a board, of processes alone, or all: each with the board that it runs on."""
    if name == ALL:
        return [one for part in (*board_names(), PROCESSES_ONLY) for one in matrix(part)]
    if name == PROCESSES_ONLY:
        # In the memory of a board whose cores are idle; the one with the least memory starts the soonest.
        board = min(all_boards(), key=lambda spec: spec.memory_bytes).name
        return [(board, pair(*both)) for both in combinations(USER_MODE, 2)]
    return [(name, pair_of(given)) for given in board_named(name).exchanges]


def is_counted(who: Pair, board: str) -> bool:
    """True if both sides are cores of the board: instructions can then be counted."""
    cores = {core.name for core in board_named(board).cores}
    return {who.asker.name, who.answerer.name} <= cores


def run(options: Options) -> BenchResult:
    """Runs every pair of the board that `options.board` names; a missing one is a note, not a figure."""
    assert options.board is not None
    messages = options.iterations or (QUICK_MESSAGES if options.quick else MESSAGES)
    rows: list[dict[str, Any]] = []
    reasons: list[str] = []
    notes = [
        "counted: one nanosecond an instruction of whichever core; emulated: the clock of this machine."
        " No round trip of an emulator says how long a part takes, and none is a worst case."
    ]
    for board, who in matrix(options.board):
        title = f"{who.asker.name} and {who.answerer.name}"
        options.progress(title, None)
        counted = is_counted(who, board)
        try:
            (found,) = exchange(board_named(board), [who], messages, counted=counted)
        except EnvironmentLacks as error:
            notes.append(f"not run: {title}: {error}")
            reasons.append(str(error))
            continue
        fixed = {"board": board, "asks": who.asker.name, "answers": who.answerer.name}
        fixed |= {"memory": "OCM" if who.on_chip else "DDR"}
        provenance = {"provenance": "counted" if counted else "emulated"}
        rows += [fixed | row | provenance for row in found.round_trips()]
    if not rows:
        raise EnvironmentLacks("no pair can run here: " + "; ".join(dict.fromkeys(reasons)), "then try again")
    return BenchResult([], rows, environment(), notes)
