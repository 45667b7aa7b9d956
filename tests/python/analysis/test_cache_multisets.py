# SPDX-License-Identifier: Apache-2.0
"""Weaker ways to count what a window loads again by multisets: each is refuted by the simulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from consort.analysis import reloads
from consort.analysis.reloads import Blocks, CachedCore, Lost, by_windows, ecb_multiset, ucb_multiset
from consort.analysis.uniprocessor import UniTask
from test_cache_sets import attack, by_multisets, unlimited

Multiset = Callable[[Lost, int, Callable[[int], int]], int]


def once_each(lost: Lost, jobs: int, preempted: Callable[[int], int]) -> int:
    """ECB-multiset with each preempted task once, however often its jobs are preempted."""
    return ecb_multiset(lost, jobs, lambda g: min(1, preempted(g)))


def smallest_first(lost: Lost, jobs: int, preempted: Callable[[int], int]) -> int:
    return ecb_multiset(Lost(lost.sizes[::-1], lost.shared), jobs, preempted)


def one_job_less(lost: Lost, jobs: int, preempted: Callable[[int], int]) -> int:
    return ecb_multiset(lost, max(0, jobs - 1), preempted)


def one_user(lost: Lost, jobs: int, preempted: Callable[[int], int]) -> int:
    """UCB-multiset that counts each set for one of the tasks to which it is useful only."""
    return ucb_multiset(Lost(lost.sizes, tuple((u[:1], n) for u, n in lost.shared)), jobs, preempted)


@pytest.mark.parametrize(
    ("name", "mutant"),
    [
        ("ecb_multiset", once_each),
        ("ecb_multiset", smallest_first),
        ("ecb_multiset", one_job_less),
        ("ucb_multiset", one_user),
    ],
)
def test_a_multiset_that_lacks_something_is_refuted(
    name: str, mutant: Multiset, monkeypatch: pytest.MonkeyPatch
) -> None:
    for way in ("ecb_multiset", "ucb_multiset"):
        monkeypatch.setattr(reloads, way, mutant if way == name else unlimited)
    assert any(attack(seed, by_multisets)[2] for seed in range(20_000))


def test_a_job_that_is_preempted_as_often_as_others_come() -> None:
    """Not only once: the mutant counts one job of each more urgent task while another is under way."""
    assert any(attack(seed, _at_most_once_while)[2] for seed in range(20_000))


def _at_most_once_while(
    tasks: Sequence[UniTask], blocks: Sequence[Blocks], per_set: int, switch: int
) -> list[int | None]:
    known = [1] * len(tasks)
    cache = CachedCore(per_set, blocks)
    return [b.response for b in by_windows(tasks, cache, known, context_switch=switch)]
