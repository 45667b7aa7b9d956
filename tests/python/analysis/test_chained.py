# SPDX-License-Identifier: Apache-2.0
"""The campaigns of chains find nothing above the bounds, and weaker forms of these at once."""

from __future__ import annotations

import pytest
from chained import FAULTS, attack, attack_let, over_link, seen_of


def test_no_chain_exceeds_its_bounds() -> None:
    results = [attack(seed) for seed in range(600)]
    assert sum(held for held, _, _ in results) > 800 and sum(reached for _, reached, _ in results) > 100
    assert sum(exceeded for _, _, exceeded in results) == 0


def test_a_block_that_comes_after_its_reader_has_begun_is_met() -> None:
    """The first system in which a writer that goes before its reader is on a link, and that matters."""
    assert attack(1_000_794) == (2, 0, 0)


@pytest.mark.parametrize("fault", FAULTS)
def test_each_weaker_form_is_refuted(fault: str) -> None:
    assert any(attack(seed, fault)[2] for seed in range(3_000))


def test_under_logical_execution_time_the_bounds_are_reached() -> None:
    assert all(attack_let(seed) == (2, 2, 0) for seed in range(150))
    assert all(attack_let(seed, less=1)[2] for seed in range(20))


def test_a_link_carries_a_block_at_a_time_and_its_channels_in_turn() -> None:
    assert over_link({0: [0, 1, 20], 1: [0]}, {0: 3, 1: 2}) == {0: [3, 8, 23], 1: [5]}


def test_a_chain_followed_by_hand() -> None:
    """Read at 0 and 10, written at 4 and 14; the second task reads 5 and 15, and writes a tick later."""
    jobs = [([0, 10], [4, 14]), ([5, 15], [6, 16])]
    assert seen_of([0, 1], jobs, {}) == (16, 16, 2)
    # Over a link the first block comes after the read at 5, and the second one just for that at 15.
    assert seen_of([0, 1], jobs, {0: [6, 15]}) == (16, 0, 1)
