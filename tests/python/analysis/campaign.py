#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds bounds against simulators on as many random systems as wanted, and records it in campaigns.csv.

`tests/python/analysis/campaign.py supply 1000000` simulates a million systems for the theorem of supplies, by
the same generator and the same check as the test of that name, from the first seed that no line of the record
has. It stops where a bound is exceeded, and names the seed. A signal ends it early, what it did is recorded.
A call that goes on where one of the same day and commit ended adds to its line. Without a term it prints the
record as a table.
"""

from __future__ import annotations

import argparse
import csv
import fcntl
import importlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RECORD = HERE / "campaigns.csv"
COLUMNS = ("date", "commit", "term", "first", "systems", "bounds", "reached", "exceeded", "seconds")
# Below that the tests have their seeds.
FIRST = 1_000_000


@dataclass(frozen=True)
class Term:
    """A term of the bounds: its theorem, and whose attack holds it against which simulator."""

    theorem: int
    module: str
    attack: str
    simulator: str
    # How many systems were tried before there was a record, with other seeds.
    before: int = 0
    options: tuple[tuple[str, Any], ...] = ()

    def hold(self, seed: int) -> tuple[int, int, int]:
        """Counts of one random system: bounds held against the simulator, reached and exceeded."""
        attack = getattr(importlib.import_module(self.module), self.attack)
        found = attack(seed, **dict(self.options))
        if isinstance(found, int):
            return found, 0, 0  # it raises where a bound is exceeded
        counts = (*found, 0, 0)
        return counts[0], counts[1], counts[2]


ENGINE, TICKS, CACHE, MEMORY = "the engine's", "tick by tick", "a cache's blocks", "a memory's accesses"
BUFFER = "a double buffer's halves"
TERMS = {
    "offsets": Term(17, "test_offsets", "attack", ENGINE, 100_000),
    "offsets-edf": Term(25, "test_offsets_edf", "attack", ENGINE, 300_000),
    "min-distances": Term(31, "distances", "attack", ENGINE),
    "suspension": Term(6, "suspending", "attack", ENGINE),
    "supply": Term(18, "test_supply", "attack", ENGINE, 100_000),
    "ceilings": Term(20, "test_resources", "attack", ENGINE, 1_000_000),
    "ceilings-locks": Term(20, "test_resources", "attack_with_locks", TICKS, 100_000),
    "ceilings-edf": Term(20, "test_resources_edf", "attack", ENGINE, 200_000),
    "inheritance": Term(30, "test_inheritance", "attack", ENGINE, 100_000),
    "inheritance-locks": Term(30, "test_inheritance", "attack_with_locks", TICKS, 10_000),
    "preemption-delay": Term(21, "test_preemption", "attack", ENGINE, 200_000),
    "preemption-delay-cache": Term(21, "test_preemption", "attack_with_a_cache", CACHE, 10_000),
    "cache-sets": Term(21, "test_cache_sets", "attack", ENGINE, 300_000),
    "cache-sets-cache": Term(21, "test_cache_sets", "attack_with_a_cache", CACHE, 168_000),
    "cache-sections": Term(21, "test_cache_sections", "attack", ENGINE, 200_000),
    "bandwidth": Term(22, "test_bandwidth", "attack", MEMORY, 20_157),
    "accelerators-fixed-priority": Term(
        33, "accelerated", "attack", ENGINE, options=(("rule", "fixed-priority"),)
    ),
    "accelerators-tdma": Term(34, "accelerated", "attack", ENGINE, options=(("rule", "tdma"),)),
    "accelerators-budget": Term(35, "accelerated", "attack", ENGINE, options=(("rule", "budget"),)),
    "channels": Term(15, "channelled", "attack", BUFFER),
    "chains": Term(11, "chained", "attack", ENGINE),
    "chains-kinds": Term(37, "queued", "attack", ENGINE),
    "chains-let": Term(13, "chained", "attack_let", "its moments"),
    "jitter-three-phase": Term(0, "test_three_phase_jitter", "hold", ENGINE, 100_000),
    "sizes": Term(0, "typed", "attack", "random layouts of types"),
}


# The subjects of terms without a numbered theorem.
UNNUMBERED = {"jitter-three-phase": "three-phase", "sizes": "–"}


def table() -> str:
    """The record as a table, a row for each term."""
    lines = ["| term | theorem | simulator | systems before | of the record | bounds |"]
    lines.append("| --- | --- | --- | --- | --- | --- |")
    for name, term in TERMS.items():
        mine = [row for row in recorded() if row["term"] == name]
        sums = [sum(int(row[key]) for row in mine) for key in ("systems", "bounds")]
        theorem = str(term.theorem) if term.theorem else UNNUMBERED[name]
        cells = [f"`{name}`", theorem, term.simulator, *(f"{n:,}" for n in (term.before, *sums))]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def recorded() -> list[dict[str, str]]:
    if not RECORD.exists():
        return []
    with RECORD.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def next_seed(term: str) -> int:
    """The first seed that no line of the record has used for a term."""
    used = [int(row["first"]) + int(row["systems"]) for row in recorded() if row["term"] == term]
    return max([FIRST, *used])


def totals(term: Term, seeds: Sequence[int]) -> Iterator[list[int]]:
    """The counts so far, after each system."""
    counts = [0, 0, 0]
    for seed in seeds:
        found = term.hold(seed)
        if found[2]:
            raise SystemExit(f"seed {seed}: {found[2]} of {found[0]} bounds are exceeded")
        counts = [a + b for a, b in zip(counts, found, strict=True)]
        yield counts


def commit() -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--short=7", "HEAD"], cwd=HERE, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def run(name: str, systems: int, seconds: float) -> dict[str, str]:
    """Simulates, and returns the line of the record."""
    # That of the code which is about to be loaded, whatever is committed meanwhile.
    first, tried = next_seed(name), commit()
    begin, done, counts = time.monotonic(), 0, [0, 0, 0]
    ended = False

    def end(*_: object) -> None:
        nonlocal ended
        ended = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    for so_far in totals(TERMS[name], range(first, first + systems)):
        done, counts = done + 1, so_far
        if ended or time.monotonic() - begin > seconds:
            break
    spent = round(time.monotonic() - begin)
    day = time.strftime("%Y-%m-%d", time.gmtime())
    return dict(zip(COLUMNS, (day, tried, name, *map(str, (first, done, *counts, spent))), strict=True))


def added(rows: list[dict[str, str]], row: dict[str, str]) -> list[dict[str, str]]:
    """The record with a line more, or with a longer one where that goes on."""
    for known in rows:
        end = int(known["first"]) + int(known["systems"])
        if all(known[key] == row[key] for key in ("date", "commit", "term")) and end == int(row["first"]):
            sums = {key: str(int(known[key]) + int(row[key])) for key in COLUMNS[4:]}
            return [one | sums if one is known else one for one in rows]
    return [*rows, row]


def record(row: dict[str, str]) -> None:
    """Two campaigns may end at once."""
    with RECORD.open("a+", encoding="utf-8", newline="") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        rows = added(recorded(), row)
        file.seek(0)
        file.truncate()
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("term", choices=TERMS, nargs="?")
    parser.add_argument("systems", type=int, nargs="?", default=1_000_000, help="how many random systems")
    parser.add_argument("--seconds", type=float, default=1e9, help="ends, and records, after that time")
    arguments = parser.parse_args()
    if arguments.term is None:
        print(table(), end="")
        return
    sys.path[:0] = [str(HERE), str(HERE.parents[1])]
    row = run(arguments.term, arguments.systems, arguments.seconds)
    record(row)
    print(", ".join(f"{key} {value}" for key, value in row.items()))


if __name__ == "__main__":
    main()
