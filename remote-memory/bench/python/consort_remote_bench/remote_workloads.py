# SPDX-License-Identifier: Apache-2.0
"""`consort bench remote-workloads`: ordinary programs with only part of their working set here.

experiments/remap/stream-linux says what is measured, and what is not.
"""

from __future__ import annotations

import json
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from consort.base.errors import EnvironmentLacks
from consort_bench.registry import BenchResult, Options, goal
from consort_bench.run_folder import series
from consort_remote import pager

from consort_remote_bench import swap_here
from consort_remote_bench.remote_programs import Workload, programs, with_memory

Row = dict[str, Any]

SHARES = (25, 50, 75, 100)
PATIENCE = 600.0
# How much faster than swap random access is to be.
OVER_SWAP = 5.0


@contextmanager
def server(size: int) -> Iterator[tuple[dict[str, str], Path]]:
    """A server of its own: where it is reached, by the way there, and its key."""
    with tempfile.TemporaryDirectory(prefix="consort-") as folder:
        key = Path(folder) / "key"
        key.touch(0o600)
        key.write_text(secrets.token_hex(32))
        socket = Path(folder) / "socket"
        command = pager.serve_command(size, socket, key, "127.0.0.1:0", 0, False)
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                words = process.stdout.readline().split()
                if words[:1] != ["ready"]:
                    raise EnvironmentLacks("the server did not start", "run consort remote serve by hand")
                yield {"tcp": f"127.0.0.1:{words[1]}", "shared memory": str(socket)}, key
            finally:
                process.terminate()


def measured(command: list[str]) -> Row:
    """The output of one run."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode == 3:
        raise EnvironmentLacks(
            done.stderr.strip()[-300:], "remote-memory/docs/remote-pager.md says what is needed"
        )
    if done.returncode not in (0, 1) or not done.stdout.startswith("{"):
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    found: Row = json.loads(done.stdout)
    return found


def rows_of(workload: Workload, way: str, share: int, found: Row, here: Row, provenance: str) -> list[Row]:
    return [
        {
            "workload": workload.name,
            "figure": figure,
            "unit": unit,
            "where": way,
            "local": share,
            "value": found[figure],
            "all_local": here[figure],
            "over_all_local": found[figure] / here[figure],
            "provenance": provenance,
        }
        for figure, unit in workload.units.items()
    ]


def on_this_machine(workload: Workload) -> tuple[list[Row], list[bool], Row]:
    """Its rows over each transport and for each share, whether each result was right, and all local."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="consort-") as folder:
        command = workload.command(str(Path(folder) / "program"))
        here = measured(command)
        right = [bool(here["right"])]
        size = workload.segment_bytes(here["set"])
        # Room for two: a server sees the end of a client a moment later.
        with server(2 * size) as (places, key):
            for way, place in places.items():
                for share in SHARES:
                    cache = here["set"] * share // 100 // pager.PAGE * pager.PAGE
                    cache = max(pager.LEAST_CACHE[pager.PAGE], cache)
                    segment = pager.Attachment((place,), key, size, cache)
                    variables = pager.environment(
                        [segment],
                        threshold=workload.threshold,
                        faults=workload.faults,
                        prefetch=64,
                        patience_ms=60_000,
                        reconnect_ms=0,
                        report=None,
                    )
                    found = measured(with_memory(command, workload.at, variables))
                    right.append(bool(found["right"]))
                    rows += rows_of(workload, way, share, found, here, "measured")
    return rows, right, here


def on_swap(workload: Workload, here: dict[str, Row], way: str) -> tuple[list[Row], list[bool]]:
    """Its rows with swap of one kind, for each share, and whether each result was right."""
    found = swap_here.measured(workload, way, SHARES)
    rows: list[Row] = []
    for share, got in found.items():
        of_share = rows_of(workload, way, share, got, here[workload.name], "measured")
        rows += [row | {"pages_swapped_in": got["swapped_in"]} for row in of_share]
    return rows, [bool(each["right"]) for each in found.values()]


def over_swap(rows: list[Row], way: str) -> float | None:
    """The least of the pager's random accesses over those with swap, of all shares in which it swapped."""

    def of(where: str) -> dict[int, Row]:
        return {row["local"]: row for row in rows if (row["figure"], row["where"]) == ("accesses", where)}

    pages, swapped = of("shared memory"), of(way)
    return min(
        (
            pages[share]["value"] / row["value"]
            for share, row in swapped.items()
            if share in pages and row["pages_swapped_in"]
        ),
        default=None,
    )


def figures(rows: list[Row]) -> list[Row]:
    """A plot of each figure of each workload, beside its all-local."""
    made = []
    for workload, figure in dict.fromkeys((row["workload"], row["figure"]) for row in rows):
        mine = [row for row in rows if (row["workload"], row["figure"]) == (workload, figure)]
        made.append(
            {
                "title": f"{workload}, {figure}",
                "x": {"label": "working set that is local", "unit": "%"},
                "y": {"label": figure.replace("_", " "), "unit": mine[0]["unit"], "log": True},
                "series": [
                    series(
                        way, "measured", [(row["local"], row["value"]) for row in mine if row["where"] == way]
                    )
                    for way in dict.fromkeys(row["where"] for row in mine)
                ]
                + [series("all local", "measured", [(share, mine[0]["all_local"]) for share in SHARES])],
                "note": "",
            }
        )
    return made


def run(options: Options) -> BenchResult:
    """Each workload with all of its memory here and with parts of it, in one run."""
    rows: list[Row] = []
    right: list[bool] = []
    here: dict[str, Row] = {}
    workloads = programs(8 if options.quick else 1)
    # The quick run swaps what the goal needs; an eighth of its set would fit into what a group has anyway.
    swapping = [each for each in programs(1) if each.name == "random"] if options.quick else workloads
    for workload in [*workloads, *(each for each in swapping if each not in workloads)]:
        found, well, here[workload.name] = on_this_machine(workload)
        rows = [row for row in rows if row["workload"] != workload.name] + found
        right += well
    notes = []
    if shutil.which("redis-server") is None:
        notes.append("Redis: not measured; it is not installed (apt-get install redis-server)")
    lacking: dict[str, str] = {}
    for way in (swap_here.FILE, swap_here.COMPRESSED):
        for workload in swapping:
            try:
                found, well = on_swap(workload, here, way)
            except EnvironmentLacks as error:
                lacking[way] = f"{workload.name} with {way}: {error}"
                notes.append(lacking[way])
                continue
            rows += found
            right += well
    over = {way: over_swap(rows, way) for way in (swap_here.FILE, swap_here.COMPRESSED)}
    zram = over[swap_here.COMPRESSED]
    if zram is not None:
        notes.append(f"random access over swap on zram: {zram:.2f} times")
    goals = [
        goal("results_that_are_right", sum(right) / len(right), "ratio", ">=", 1.0),
        goal(
            "random_over_swap",
            over[swap_here.FILE],
            "ratio",
            ">=",
            OVER_SWAP,
            reason=lacking.get(swap_here.FILE, "nothing was swapped in: the group was not short of memory"),
        ),
    ]
    without = goals[1]["value"] is None
    return BenchResult(goals, rows, notes=notes, figures=figures(rows), lacking=without)
