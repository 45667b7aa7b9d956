# SPDX-License-Identifier: Apache-2.0
"""Random sets held against the crate `response-time-analysis`: all bounds are equal."""

from __future__ import annotations

from pathlib import Path

import pytest
from consort.base.errors import EnvironmentLacks
from consort_bench.programs import rust_peer
from crate import MODES, held, random_sets


@pytest.fixture(scope="session")
def program() -> Path:
    try:
        return rust_peer("response-time-analysis", "verified-bounds")
    except EnvironmentLacks as lacks:
        pytest.skip(f"the crate's program cannot be built: {lacks}")


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_twenty_thousand_sets(program: Path, mode: str) -> None:
    for seed in range(10):
        ours, crate = held(program, mode, seed, 2_000)
        assert (ours == crate).all(), (mode, seed, (ours != crate).nonzero())


def test_the_sets_are_what_the_comparison_says() -> None:
    sets = random_sets(3, 500)
    assert len(sets) == 500 and ((sets.c / sets.t).sum(axis=1) <= 0.98).all()
    assert (sets.segment <= sets.c).all() and (sets.below[:, 0] >= sets.below[:, -1]).all()
    part = random_sets(3, 500, part=True)
    share = part.supply[:, 1] / part.supply[:, 0]
    assert ((part.c / part.t).sum(axis=1) <= 0.95 * share).all()
