# SPDX-License-Identifier: Apache-2.0
"""The crate `response-time-analysis`, whose analyses PROSA has verified, as a peer for many sets.

`bench/peers/response-time-analysis` is the program that calls it. Its time is discrete, as pyRTA's:
doubled times make its bounds, rounded up, ours (see `verified.py`).
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from consort import _engine
from numpy.typing import NDArray

Times = NDArray[np.int64]
SCALE = 2
# In the order of the program's `ANALYSES`; a part of a processor is given with the set.
ANALYSES = (
    "preemptive",
    "floating",
    "non_preemptive",
    "with_jitter",
    "with_curves",
    "edf_preemptive",
    "edf_non_preemptive",
    "first_in_first_out",
)


@dataclass(frozen=True)
class Sets:
    """Task sets of one size; a row for each set, its most urgent task first."""

    c: Times
    t: Times
    d: Times
    jitter: Times
    segment: Times
    """The longest stretch without preemption of each task."""
    supply: Times
    """Period and budget; 0 and 0: the whole processor."""

    def __len__(self) -> int:
        return len(self.c)

    @property
    def below(self) -> Times:
        """The longest stretch of the less urgent tasks."""
        return _longest_below(self.segment)


def _longest_below(values: Times) -> Times:
    found = np.zeros_like(values)
    for i in range(values.shape[1] - 1):
        found[:, i] = values[:, i + 1 :].max(axis=1)
    return found


def random_sets(seed: int, count: int, *, part: bool = False) -> Sets:
    """Sets of a load below 0.98, or of 0.95 of what a part of a processor gives."""
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 7))
    kept: list[tuple[Times, ...]] = []
    found = 0
    while found < count:
        shape = (4 * count, n)
        few = random.choice(np.array([5, 10, 20, 40]), shape)
        t = np.where(random.random(shape) < 0.5, few, random.integers(4, 61, shape))
        c = random.integers(1, np.maximum(1, t // (3 if n < 4 else n)) + 1)
        d = random.integers(c, 3 * t + 1)
        jitter = np.where(random.random(shape) < 0.5, 0, random.integers(0, t))
        segment = random.integers(1, c + 1)
        period = random.choice(np.array([3, 5, 8, 10, 20]), 4 * count)
        budget = random.integers(1, period + 1)
        share = 0.95 * budget / period if part else np.full(4 * count, 0.98)
        good = (c / t).sum(axis=1) <= share
        supply = np.stack([period, budget], axis=1) if part else np.zeros((4 * count, 2), np.int64)
        kept.append(tuple(a[good].astype(np.int64) for a in (c, t, d, jitter, segment, supply)))
        found += int(good.sum())
    c, t, d, jitter, segment, supply = (
        np.ascontiguousarray(np.concatenate(parts)[:count]) for parts in zip(*kept, strict=True)
    )
    return Sets(c, t, d, jitter, segment, supply)


def theirs(program: Path, analysis: str, sets: Sets, blocking: Times | None = None) -> Times:
    """The crate's bounds of doubled times, rounded up."""
    count, n = sets.c.shape
    held = np.zeros_like(sets.c) if blocking is None else blocking
    rows = np.stack([SCALE * sets.c, SCALE * sets.t, SCALE * sets.d, SCALE * sets.jitter, held], axis=2)
    body = np.concatenate([SCALE * sets.supply, rows.reshape(count, -1)], axis=1)
    head = np.array([ANALYSES.index(analysis), count, n], np.int64)
    done = subprocess.run(
        [program], input=head.tobytes() + body.astype("<i8").tobytes(), capture_output=True, check=True
    )
    bounds = np.frombuffer(done.stdout, "<i8").reshape(count, n)
    assert (bounds >= 0).all()
    return -(-bounds // SCALE)


def by_fixed_priorities(sets: Sets, *, preemptive: bool = True) -> Times:
    found: Times = _engine.fp_responses(c=sets.c, t=sets.t, d=_any(sets), preemptive=preemptive)
    return found


def _any(sets: Sets) -> Times:
    """Deadlines that no bound exceeds: above them the engine says that there is none."""
    return np.full_like(sets.d, 10**9)


def one_by_one(sets: Sets, bound: Callable[[int, int], int | None]) -> Times:
    """By place in the sets and among the tasks."""
    count, n = sets.c.shape
    rows = [[bound(s, i) for i in range(n)] for s in range(count)]
    return np.array([[-1 if one is None else one for one in row] for row in rows], np.int64)


def by_edf(sets: Sets, *, preemptive: bool = True) -> Times:
    c, t, d = sets.c.tolist(), sets.t.tolist(), sets.d.tolist()
    return one_by_one(
        sets,
        lambda s, i: _engine.edf_response(c=c[s], t=t[s], d=d[s], task=i, preemptive=preemptive)["bound"],
    )


def by_jitter(sets: Sets) -> Times:
    """Arrivals of a task that itself comes when it is due."""
    c, t, jitter = sets.c.tolist(), sets.t.tolist(), sets.jitter.tolist()
    return one_by_one(
        sets,
        lambda s, i: _engine.fp_response(
            c=c[s], t=t[s], jitter=[*jitter[s][:i], 0, *jitter[s][i + 1 :]], task=i
        )["bound"],
    )


def on_a_part(sets: Sets) -> Times:
    c, t, supply = sets.c.tolist(), sets.t.tolist(), sets.supply.tolist()
    return one_by_one(
        sets,
        lambda s, i: _engine.fp_response(
            c=c[s], t=t[s], task=i, supply=(*supply[s], 2 * (supply[s][0] - supply[s][1]))
        )["bound"],
    )


def with_floating_stretches(sets: Sets) -> Times:
    """In doubled ticks the blocking is one short of the stretch."""
    blocking = np.maximum(0, SCALE * sets.below - 1)
    bounds = _engine.fp_responses(
        c=SCALE * sets.c, t=SCALE * sets.t, d=_any(sets), blocking=np.ascontiguousarray(blocking)
    )
    return -(-bounds // SCALE)


def held(program: Path, mode: str, seed: int, count: int) -> tuple[Times, Times]:
    """Our bounds and the crate's, of random sets."""
    sets = random_sets(seed, count, part=mode == "part")
    if mode == "preemptive":
        return by_fixed_priorities(sets), theirs(program, mode, sets)
    if mode == "floating":
        blocking = np.maximum(0, SCALE * sets.below - 1)
        return with_floating_stretches(sets), theirs(program, mode, sets, blocking)
    if mode == "non_preemptive":
        blocking = np.maximum(0, SCALE * _longest_below(sets.c) - 1)
        return by_fixed_priorities(sets, preemptive=False), theirs(program, mode, sets, blocking)
    if mode in ("with_jitter", "with_curves"):
        return by_jitter(sets), theirs(program, mode, sets)
    if mode == "edf_preemptive":
        return by_edf(sets), theirs(program, mode, sets)
    if mode == "edf_non_preemptive":
        return by_edf(sets, preemptive=False), theirs(program, mode, sets)
    if mode == "part":
        return on_a_part(sets), theirs(program, "preemptive", sets)
    same = Sets(sets.c, sets.t, np.full_like(sets.d, 100), sets.jitter, sets.segment, sets.supply)
    longest = by_edf(same).max(axis=1, keepdims=True)
    return np.broadcast_to(longest, same.c.shape), theirs(program, mode, same)


MODES = (*ANALYSES, "part")
