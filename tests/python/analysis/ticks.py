# SPDX-License-Identifier: Apache-2.0
"""The simulators of locks.py, caches.py and regulated.py, compiled (ticks.cpp), with their arguments."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
from array import array
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random

import caches
import regulated as memory

SOURCE = Path(__file__).with_name("ticks.cpp")
BUILT = Path(__file__).resolve().parents[3] / "build" / "ticks"


@cache
def library() -> ctypes.CDLL:
    """The compiled simulators; they are built again where their source has changed."""
    made = BUILT / f"{hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]}.so"
    if not made.exists():
        compiler = shutil.which("g++") or shutil.which("clang++")
        assert compiler is not None, "campaigns need a C++ compiler, as Consort's own build does"
        BUILT.mkdir(parents=True, exist_ok=True)
        # Several processes may build it: each under a name of its own.
        mine = made.with_suffix(f".{os.getpid()}")
        flags = ["-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
        subprocess.run([compiler, *flags, str(SOURCE), "-o", str(mine)], check=True)
        mine.replace(made)
    return ctypes.CDLL(str(made))


def words(numbers: Sequence[int]) -> ctypes.c_void_p:
    held = array("i", numbers)
    found = ctypes.c_void_p(held.buffer_info()[0])
    found.held = held  # type: ignore[attr-defined]  # as long as the pointer lives
    return found


def flat(programs: Sequence[Sequence[int]]) -> tuple[ctypes.c_void_p, ctypes.c_void_p, int]:
    """One behind another, their lengths, and how many."""
    together = [word for program in programs for word in program]
    return words(together), words([len(program) for program in programs]), len(programs)


def with_locks(
    programs: list[list[int | None]],
    periods: list[int],
    offsets: list[int],
    until: int,
    eager: bool,
    ceiling: bool = True,
    inherits: bool = False,
) -> list[int]:
    """As `locks.with_locks`."""
    used = sorted({r for program in programs for r in program if r is not None})
    numbers: dict[int | None, int] = {r: k for k, r in enumerate(used)} | {None: -1}
    longest = array("i", [0] * len(programs))
    twice = library().with_locks(
        *flat([[numbers[r] for r in program] for program in programs]),
        words(periods),
        words(offsets),
        until,
        len(used),
        eager,
        ceiling,
        inherits,
        ctypes.c_void_p(longest.buffer_info()[0]),
    )
    assert not twice, "two jobs hold one resource"
    return longest.tolist()


def with_a_cache(
    programs: Sequence[Sequence[int]],
    periods: Sequence[int],
    offsets: Sequence[int],
    until: int,
    cache: caches.Cache,
    reload: int,
) -> list[int]:
    """As `caches.simulated`, with an empty cache like the one that is given."""
    assert not any(cache.held)
    longest = array("i", [0] * len(programs))
    library().with_a_cache(
        *flat(programs),
        words(periods),
        words(offsets),
        until,
        cache.sets,
        cache.ways,
        reload,
        ctypes.c_void_p(longest.buffer_info()[0]),
    )
    return longest.tolist()


def alone(program: Sequence[int], cache: caches.Cache, reload: int) -> int:
    """As `caches.alone`."""
    return with_a_cache([program], [1], [0], 1, cache, reload)[0]


def useful(program: Sequence[int], sets: int, ways: int) -> list[dict[int, int]]:
    """As `caches.useful`."""
    points = len(program) - 1
    counts = array("i", [0] * max(1, points * sets))
    library().useful(words(program), len(program), sets, ways, ctypes.c_void_p(counts.buffer_info()[0]))
    rows = (counts[k * sets : (k + 1) * sets] for k in range(points))
    return [{s: count for s, count in enumerate(row) if count} for row in rows]


def regulated(
    programs: Sequence[str],
    periods: Sequence[int],
    offsets: Sequence[int],
    until: int,
    ports: Sequence[memory.Port],
    access: tuple[int, int],
    random: Random,
) -> list[int]:
    """As `regulated.simulated`; it draws the same from the same `random`, and leaves it in the same state."""
    version, state, kept = random.getstate()
    drawn = array("I", state)
    longest = array("i", [0] * len(programs))
    described = [
        word
        for port in ports
        for word in (-1 if port.budget is None else port.budget, port.period, port.phase, port.late)
    ]
    library().regulated(
        *flat([[int(step == "a") for step in program] for program in programs]),
        words(periods),
        words(offsets),
        until,
        words(described),
        len(ports),
        words(access),
        ctypes.c_void_p(drawn.buffer_info()[0]),
        ctypes.c_void_p(longest.buffer_info()[0]),
    )
    random.setstate((version, tuple(drawn), kept))
    return longest.tolist()
