# SPDX-License-Identifier: Apache-2.0
"""Whole reads and ages of a double buffer on random systems, and weaker forms, which are refuted."""

from __future__ import annotations

import channelled
import pytest


def totals(seeds: range, longer: int = 0, younger: int = 0) -> list[int]:
    found = (channelled.attack(seed, longer, younger) for seed in seeds)
    return [sum(column) for column in zip(*found, strict=True)]


def test_no_read_is_torn_and_no_value_is_older() -> None:
    held, reached, exceeded = totals(range(1_000))
    assert exceeded == 0 and held > 10_000 and reached > 1_000


@pytest.mark.parametrize(("longer", "younger"), [(2, 0), (0, 2)], ids=["a longer read", "a lower age"])
def test_a_weaker_form_is_refuted(longer: int, younger: int) -> None:
    """By two: moments are whole ticks here, and the theorems' are dense."""
    assert totals(range(500), longer, younger)[2] > 0
