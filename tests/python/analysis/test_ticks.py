# SPDX-License-Identifier: Apache-2.0
"""The compiled simulators of campaigns against those in Python, which say what is simulated."""

from __future__ import annotations

from random import Random

import caches
import locks
import pytest
import regulated as memory
import ticks


def test_locks_are_the_same() -> None:
    for seed in range(300):
        random = Random(seed)
        programs, periods = locks.tiny(random)
        offsets = [random.randint(0, period) for period in periods]
        eager, ceiling = random.random() < 0.5, random.random() < 0.5
        given = (programs, periods, offsets, 120, eager, ceiling)
        # Neither ceilings nor inheritance: then two jobs may take one resource, which both find.
        for inherits in (False, True):
            try:
                expected = locks.with_locks(*given, inherits)
            except AssertionError:
                with pytest.raises(AssertionError, match="two jobs hold one resource"):
                    ticks.with_locks(*given, inherits)
            else:
                assert ticks.with_locks(*given, inherits) == expected


def test_caches_are_the_same() -> None:
    for seed in range(150):
        random = Random(seed)
        sets, ways, reload = random.choice((2, 4, 8)), random.choice((1, 2)), random.randint(1, 6)
        programs = [caches.a_program(random, sets) for _ in range(random.randint(1, 4))]
        for program in programs:
            assert ticks.useful(program, sets, ways) == caches.useful(program, sets, ways)
            alone = caches.alone(program, caches.Cache(sets, ways), reload)
            assert ticks.alone(program, caches.Cache(sets, ways), reload) == alone
        periods = [random.randint(40, 300) for _ in programs]
        offsets = [random.randint(0, period) for period in periods]
        given = (programs, periods, offsets, 400)
        found = ticks.with_a_cache(*given, caches.Cache(sets, ways), reload)
        assert found == caches.simulated(*given, caches.Cache(sets, ways), reload)


def test_regulated_memories_are_the_same_and_draw_the_same() -> None:
    for seed in range(150):
        random = Random(seed)
        programs = [
            "".join(random.choices("ca", k=random.randint(1, 9))) for _ in range(random.randint(1, 3))
        ]
        periods = [random.randint(50, 200) for _ in programs]
        offsets = [random.randrange(60) for _ in programs]
        shortest = random.randint(1, 3)
        access = (shortest, shortest + random.randint(0, 3))
        described = [
            (
                random.choice((None, 2, 5, 1_000)) if k else random.choice((2, 5, 1_000)),
                random.choice((10, 20, 37)),
                random.randrange(10),
                random.random() < 0.5,
            )
            for k in range(random.randint(1, 3))
        ]
        results = []
        for simulate in (memory.simulated, ticks.regulated):
            drawn = Random(seed)
            ports = [memory.Port(*one) for one in described]
            found = simulate(programs, periods, offsets, 300, ports, access, drawn)
            results.append((found, drawn.getstate()))
        assert results[0] == results[1]
