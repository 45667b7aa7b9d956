# SPDX-License-Identifier: Apache-2.0
"""Budgets of memory accesses as the regulators take them: MemGuard for Linux, Jailhouse forks with it.

Both count events of a core and stop it until its period ends. What passes before they act is part of the
description's budget, so their own is lower by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from consort.base.errors import BadInput
from consort.model import System

US = 10**6
# Both hold budgets in 32 bits, of which MemGuard's module has a sign; this many are no limit.
MOST_EVENTS = 2**31 - 1
LONGEST_US = 10**6


@dataclass(frozen=True)
class Regulation:
    """A regulator's configuration for one core."""

    events: int
    """After so many of a period it acts."""
    period_us: int
    place: str
    file: Path


def regulation_of(system: System, core: str, overshoot: int | None) -> Regulation | None:
    """None where the core has no budget; `overshoot`: the accesses that pass before a regulator acts."""
    given = system.scheduling_of(core).bandwidth
    if given is None:
        return None
    place = f"scheduling.{system.scheduling_entry(core)}.bandwidth"
    if overshoot is None:
        raise BadInput(
            f"{core} has a budget of {given.budget} accesses, with those that pass before its regulator stops"
            " it; say how many these are at most",
            file=system.file,
            field="--overshoot",
        )
    events = given.budget - overshoot
    if not 2 <= events < MOST_EVENTS:
        raise BadInput(
            f"{given.budget} less an overshoot of {overshoot} are {events} accesses; a regulator takes"
            f" 2 to {MOST_EVENTS - 1}",
            file=system.file,
            field=f"{place}.budget",
        )
    period, rest = divmod(given.period.picoseconds, US)
    if rest or not 1 <= period <= LONGEST_US:
        raise BadInput(
            f"{given.period} is not taken: a regulator's period is a whole number of microseconds, up to 1 s",
            file=system.file,
            field=f"{place}.period",
        )
    return Regulation(events, period, place, system.file)


def refuse_regulation(given: Sequence[Regulation | None], why: str) -> None:
    """Refuses regulation, for a form that has no regulator."""
    for one in given:
        if one is not None:
            raise BadInput(f"{why}; remove 'bandwidth', or use another --for", file=one.file, field=one.place)


def one_period(given: Sequence[Regulation | None]) -> int | None:
    """MemGuard's module has one period for all CPUs; None where nothing is regulated."""
    periods = {one.period_us: one for one in given if one is not None}
    if len(periods) > 1:
        first, other, *_ = periods.values()
        raise BadInput(
            f"the period is {other.period_us} us, and that of {first.place} {first.period_us} us; MemGuard's"
            " module has one for all CPUs",
            file=other.file,
            field=f"{other.place}.period",
        )
    return next(iter(periods), None)
