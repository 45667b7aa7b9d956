# SPDX-License-Identifier: Apache-2.0
"""Least distances of releases: how many a task may have, and what they mean in the long run."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

# include/consort/app/spacing.hpp keeps so many releases of a task.
MOST_DISTANCES = 256


def long_run(interval: int, distances: Sequence[int]) -> Fraction:
    """The time from one release to the next in the long run, at least."""
    return max([Fraction(interval), *(Fraction(least, steps) for steps, least in enumerate(distances, 1))])


def kept_without_jitter(interval: int, distances: Sequence[int]) -> tuple[int, ...]:
    """The distances of releases that are a minimum inter-arrival time apart, too."""
    return tuple(max(steps * interval, least) for steps, least in enumerate(distances, 1))
