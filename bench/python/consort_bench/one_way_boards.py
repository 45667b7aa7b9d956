# SPDX-License-Identifier: Apache-2.0
"""The emulated boards on which messages go one way between two clusters, and between which cores."""

from __future__ import annotations

from consort.board.boards import all_boards
from consort.board.description import BoardSpec, CoreSpec


def sides_of(spec: BoardSpec) -> tuple[CoreSpec, CoreSpec] | None:
    """The first pair of cores that board.yaml's `exchanges` list with on-chip memory.

    The side with the first control block, which bench/board/one_way.cpp takes for the first, stands first.
    """
    for pair in spec.exchanges:
        if pair.on_chip and {pair.asker, pair.answerer} <= spec.named_cores.keys():
            first, second = sorted((spec.core(pair.asker), spec.core(pair.answerer)), key=lambda c: c.place)
            if first.place == 0:
                return first, second
    return None


def one_way_boards() -> list[str]:
    return [spec.name for spec in all_boards() if sides_of(spec) is not None]
