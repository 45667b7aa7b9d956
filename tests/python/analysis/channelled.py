# SPDX-License-Identifier: Apache-2.0
"""Random writers and readers of a double buffer, which is played, against theorems 15 and 16."""

from __future__ import annotations

from random import Random

from consort.analysis.channels import age_when_read, whole

Counts = tuple[int, int, int]
Interval = tuple[int, int]


def torn(updates: list[Interval], read: Interval) -> bool:
    """True if a read (first access, end) of a double buffer is torn by updates (first access, end)."""
    begin, end = read
    published = sum(done <= begin for _, done in updates)
    # Updates write the two halves in turn; the one after the next writes where the newest is.
    over = updates[published + 1 :: 2] if published else updates[1::2]
    return any(start < end for start, _ in over)


def attack(seed: int, longer: int = 0, younger: int = 0) -> Counts:
    """Reads that may not be torn, and ages; `longer` reads and `younger` ages are weaker forms."""
    random = Random(seed)
    period = random.randint(4, 12)
    response = random.randint(2, period)
    due, updates, instants = 0, list[Interval](), list[int]()
    late = random.random() < 0.5
    for k in range(12):
        begin = random.choice((0, response - 1, random.randint(0, response - 1)))
        # In turn as late and as early as may be, or at random.
        first, last = (response - 1, response) if late == (k % 2 == 0) else (0, 1)
        if random.random() < 0.3:
            first, last = begin, random.randint(begin + 1, response)
        updates.append((due + first, due + last))
        instants.append(due)
        due += period
    held = reached = exceeded = 0
    for _ in range(8):
        length = random.randint(1, period)
        begin = random.choice([end for _, end in updates[2:9]]) + random.choice((-1, 0, 0, 1))
        read = (begin, begin + length)
        bound = whole("b", writer_period=period, writer_response=response, read=length - longer)
        if bound.schedulable:
            held += 1
            exceeded += torn(updates, read)
        age = age_when_read("b", writer_period=period, writer_response=response, read=length).response
        assert age is not None
        newest = max(at for at, (_, done) in zip(instants, updates, strict=True) if done <= begin)
        held += 1
        # A read in whole ticks begins at least one before the next update is there.
        reached += read[1] - newest == age - 1
        exceeded += read[1] - newest > age - younger
    return held, reached, exceeded
