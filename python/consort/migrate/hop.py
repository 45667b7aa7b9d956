# SPDX-License-Identifier: Apache-2.0
"""A job that is moved from processor to processor, compared with the same job that stays."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from consort.migrate.module import Step
from consort.migrate.programs import Done, Server


@dataclass(frozen=True)
class Hopped:
    """`same`: whether state and output are those of the job that never moved, bit for bit."""

    order: tuple[str, ...]
    every: int
    moves: int
    largest_image: int
    same: bool
    state: bytes
    out: bytes


def hop(step: Step, order: Sequence[str], every: int, given: bytes, state: bytes) -> Hopped:
    """Moves a job at each `every`-th safepoint to the next processor of `order`, and round again."""
    with ExitStack() as stack:
        servers = [stack.enter_context(Server(step, name)) for name in order]
        stayed = servers[0].start(given, state)
        assert isinstance(stayed, Done)
        moves = largest = 0
        said = servers[0].start(given, state, every - 1)
        while not isinstance(said, Done):
            moves += 1
            largest = max(largest, len(said))
            said = servers[moves % len(servers)].resume(said, every - 1)
    same = (said.state, said.out) == (stayed.state, stayed.out)
    return Hopped(tuple(order), every, moves, largest, same, said.state, said.out)
