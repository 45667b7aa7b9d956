# SPDX-License-Identifier: Apache-2.0
"""An experiment's counted figures, kept beside the published ones: they are the same in every run.

Measured ones are not kept: they are of one machine (experiments/README.md). A compiler's next version may
count differently, so the file says which compilers built the programs.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from consort.base.errors import BadInput
from consort.board import BoardSpec, board_named
from consort.board.boards import kernel_board
from consort.board.count import compiler_version

from consort_bench.published import experiment_folder

FILE = "counted.csv"
# Where each benchmark's experiment is: paper and figure; and whether it takes --board to be counted.
EXPERIMENTS: dict[str, tuple[str, str, bool]] = {
    **{f"figure{n}": ("low-latency-icc", f"figure{n}", True) for n in (3, 4, 5)},
    # Its Figure 4 has the same counts: nobody evicts on a board.
    "edge-figure3": ("taming-edge-computing", "figure3", False),
}


def checked(name: str, board: str | None, *, shortened: bool) -> None:
    """`BadInput` where a benchmark with these options has nothing to store."""
    known = EXPERIMENTS.get(name)
    if known is None:
        raise BadInput(f"--store: {name} has no counted figures; {', '.join(EXPERIMENTS)} have")
    if known[2] and board is None:
        raise BadInput(f"--store: {name} is counted on a board only; add --board {kernel_board().name}")
    if known[2] and board != kernel_board().name:
        raise BadInput(f"--store: {name}'s stored figures are those of {kernel_board().name}, not of {board}")
    if shortened:
        raise BadInput("--store: the full run's figures are stored; leave --quick and --iterations out")


def file_of(name: str) -> Path:
    paper, figure, _ = EXPERIMENTS[name]
    return experiment_folder(paper, figure) / FILE


def boards(name: str) -> list[BoardSpec]:
    """The boards that an experiment is counted on."""
    if EXPERIMENTS[name][2]:
        return [kernel_board()]
    from consort_bench.edge import emulated_boards

    return [board_named(board) for board in emulated_boards()]


def compilers(name: str) -> str:
    """Those of the cores of an experiment's boards."""
    cores = (core for board in boards(name) for core in board.cores)
    return "; ".join(sorted({compiler_version(core) for core in cores}))


def store(name: str, rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Writes the counted rows."""
    counted = [row for row in rows if row["provenance"] == "counted"]
    if not counted:
        raise BadInput(f"--store: no figure of {name} was counted here")
    board = f" --board {kernel_board().name}" if EXPERIMENTS[name][2] else ""
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            file.write(f"# consort bench {name}{board} --store\n# {compilers(name)}\n")
            writer = csv.DictWriter(file, list(counted[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(counted)
    except OSError as error:
        raise BadInput(f"cannot be written ({error.strerror})", file=path) from error


def load(path: Path) -> tuple[str, list[dict[str, str]]]:
    """The compilers, and the rows as texts."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return lines[1].removeprefix("# "), list(csv.DictReader(lines[2:]))
