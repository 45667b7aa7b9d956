# SPDX-License-Identifier: Apache-2.0
"""`consort bench icc --board`: round trips between unlike processors, by pair, memory and size.

Counted where both sides are on the board, emulated where a process of this machine or a Linux takes part.
An emulator has no worst case to show: median, p99 and p99.9 only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from consort.bench.registry import BenchResult, Options
from consort.board import board_named
from consort.board.exchange import A72_LINUX, Pair, exchange, pair
from consort.errors import EnvironmentLacks
from consort.record import environment

MESSAGES, QUICK_MESSAGES = 50_000, 3_000
# Processes of this machine among themselves, in the memory of a board whose core is idle.
PROCESSES_ONLY = "processes"
ALL = "all"
USER_MODE = ("x86-64", "armv7", "aarch64", "riscv64")

MATRIX: dict[str, tuple[tuple[str, tuple[Pair, ...]], ...]] = {
    "versal": (
        ("versal", (pair("r5f", "a72"),)),
        ("versal", (pair("r5f", "a72", on_chip=True),)),
        ("versal", (pair("a72", "r5f"),)),
        ("versal", (pair("a72", "r5f", on_chip=True),)),
        ("versal", (pair("r5f", A72_LINUX),)),
    ),
    "embedded-plus": (
        ("versal", (pair("r5f", "x86-64"),)),
        ("versal", (pair("a72", "x86-64"),)),
        ("versal", (pair(A72_LINUX, "x86-64"),)),
    ),
    "mps2": (
        ("mps2", (pair("m4f", "x86-64"),)),
        ("mps2", (pair("m4f", "armv7"),)),
    ),
    PROCESSES_ONLY: tuple(
        ("mps2", (pair(asker, answerer),))
        for i, asker in enumerate(USER_MODE)
        for answerer in USER_MODE[i + 1 :]
    ),
}


def is_counted(who: Pair, board: str) -> bool:
    """Whether both sides are cores of the board: instructions can then be counted."""
    cores = {core.name for core in board_named(board).cores}
    return {who.asker.name, who.answerer.name} <= cores


def run(options: Options) -> BenchResult:
    """Every pair of the board that `options.board` names; what lacks here is a note, not a figure."""
    assert options.board is not None
    names: Sequence[str] = tuple(MATRIX) if options.board == ALL else (options.board,)
    messages = options.iterations or (QUICK_MESSAGES if options.quick else MESSAGES)
    rows: list[dict[str, Any]] = []
    reasons: list[str] = []
    notes = [
        "counted: one nanosecond an instruction of whichever core; emulated: the clock of this machine."
        " No round trip of an emulator says how long a part takes, and none is a worst case."
    ]
    for name in names:
        for board, (who,) in MATRIX[name]:
            title = f"{who.asker.name} and {who.answerer.name}"
            options.progress(title, None)
            counted = is_counted(who, board)
            try:
                (found,) = exchange(board_named(board), [who], messages, counted=counted)
            except EnvironmentLacks as error:
                notes.append(f"not run: {title}: {error}")
                reasons.append(str(error))
                continue
            fixed = {"asks": who.asker.name, "answers": who.answerer.name}
            fixed |= {"memory": "OCM" if who.on_chip else "DDR"}
            provenance = {"provenance": "counted" if counted else "emulated"}
            rows += [fixed | row | provenance for row in found.round_trips()]
    if not rows:
        raise EnvironmentLacks("no pair can run here: " + "; ".join(dict.fromkeys(reasons)), "then try again")
    return BenchResult([], rows, environment(), notes)
