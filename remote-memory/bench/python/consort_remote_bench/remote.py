# SPDX-License-Identifier: Apache-2.0
"""`consort bench remote`: the user-level pager against what the kernel lets a fault take, in one run.

Each round measures floor and pager one after the other; a goal's value is the median of the rounds' ratios.
"""

from __future__ import annotations

import json
import statistics
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from consort.base.errors import EnvironmentLacks
from consort_bench.programs import cpp_program
from consort_bench.registry import BenchResult, Options, goal

Row = dict[str, Any]

# The median round trip of a floor is at most so many times its least.
SPREAD = 4

# Name, value of a round, sense, limit, and whether the round measured what the goal is about.
WANTED: tuple[tuple[str, Callable[[Row], float], str, float, Callable[[Row], bool]], ...] = (
    (
        "fault_over_floor",
        lambda row: row["fault"] / row["floor_fault"],
        "<=",
        1.2,
        lambda row: row["fault_evicted"] == 0,
    ),
    (
        "fault_evicting_over_floor",
        # Its accesses are writes, and so are the floor's: the kernel allocates and zeroes a page for a write,
        # and frees it again when it finds that the page comes by userfaultfd. No pager is asked before.
        lambda row: row["fault_evicting"] / row["floor_write_fault"],
        "<=",
        1.2,
        # As many pages left as came, but for what the cache had room for.
        lambda row: row["fault_evicting_evicted"] > row["set_pages"] / 2,
    ),
    ("stream_copy_over_floor", lambda row: row["stream"] / row["floor_stream"], ">=", 0.8, lambda _: True),
    (
        "stream_continue_over_floor",
        lambda row: row["stream_continue"] / row["floor_stream_continue"],
        ">=",
        0.8,
        lambda _: True,
    ),
    (
        "tcp_fault_over_floor",
        lambda row: row["tcp_fault"] / (row["floor_fault"] + row["floor_tcp"]),
        "<=",
        1.3,
        # Both sides spin: where other work takes their processors the time is the scheduler's, and no floor.
        lambda row: row["floor_tcp"] <= SPREAD * row["floor_tcp_least"],
    ),
)


def run(options: Options) -> BenchResult:
    """Builds and runs bench/programs; EnvironmentLacks where a library or userfaultfd is missing."""
    for header, package in (("sodium.h", "libsodium-dev"), ("isa-l/crc.h", "libisal-dev")):
        if not (Path("/usr/include") / header).is_file():
            raise EnvironmentLacks(
                f"the header {header} is missing", f"install it: apt-get install {package}"
            )
    program = cpp_program("remote_faults", "remote-memory/bench/programs")
    rounds = options.iterations or (3 if options.quick else 11)
    done = subprocess.run([str(program), str(rounds)], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        raise RuntimeError(f"{program} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    if done.returncode == 3:
        raise EnvironmentLacks(
            f"measuring failed: {done.stderr.strip()[-500:]}",
            "remote-memory/docs/remote-pager.md says what is needed",
        )
    measured = json.loads(done.stdout)
    rows: list[Row] = measured["rounds"]
    notes = ["other work on the machine spreads the rounds: see least and most of each goal"]
    if all("stream_huge" in row for row in rows):
        for name, other in (
            ("floor_stream_huge", "a bare copy of 2 MiB a fault"),
            ("stream", "pages of 4 KiB"),
        ):
            ratio = statistics.median(row["stream_huge"] / row[name] for row in rows)
            notes.append(f"pages of 2 MiB, read in order: {ratio:.2f} times as fast as {other} (no goal)")
    else:
        notes.append(f"pages of 2 MiB were not measured: {measured['no_huge_pages']}")
    return BenchResult(goals(rows), rows, notes=notes)


def goals(rows: list[Row]) -> list[dict[str, Any]]:
    """Each goal over the rounds that measured it."""
    made = []
    for name, value, sense, limit, counts in WANTED:
        values = [value(row) for row in rows if counts(row)]
        made.append(
            goal(
                name,
                statistics.median(values) if values else None,
                "ratio",
                sense,
                limit,
                reason="no round measured what this goal is about: other work had the processors",
            )
            | {"rounds": len(values), "least": min(values, default=None), "most": max(values, default=None)}
        )
    return made
