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

from consort.errors import EnvironmentLacks
from consort.remote import pager

from consort_bench import swap_guest
from consort_bench.registry import BenchResult, Options, goal
from consort_bench.remote_programs import Workload, programs, with_memory
from consort_bench.run_folder import series

Row = dict[str, Any]

SHARES = (25, 50, 75, 100)
PATIENCE = 600.0
# Emulated processors: a quarter of the working sets, and still minutes.
GUEST_SCALE, GUEST_PATIENCE = 4, 3600.0
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
    """What one run printed."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode == 3:
        raise EnvironmentLacks(done.stderr.strip()[-300:], "docs/how-to/remote-pager.md says what is needed")
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


def on_this_machine(workload: Workload) -> tuple[list[Row], list[bool]]:
    """Its rows over each transport and for each share, and whether each result was right."""
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
                    cache = max(pager.LEAST_CACHE, here["set"] * share // 100 // pager.PAGE * pager.PAGE)
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
    return rows, right


def in_a_guest(workloads: list[Workload], shares: tuple[int, ...]) -> tuple[list[Row], list[bool], list[str]]:
    """Rows of swap beside the pager, whether each result was right, and what is lacking."""
    jobs = [job for each in workloads for job in swap_guest.jobs_of(each, shares)]
    found, wrong = swap_guest.run(jobs, GUEST_PATIENCE)
    rows: list[Row] = []
    for workload in workloads:
        here = found.get(f"{workload.name}/all-local/100")
        for way in swap_guest.WAYS if here is not None else ():
            for share in shares:
                got = found.get(f"{workload.name}/{way.replace(' ', '-')}/{share}")
                if got is not None and here is not None:
                    of_job = rows_of(workload, f"guest: {way}", share, got, here, "emulated")
                    rows += [row | {"pages_swapped_in": got.get("swapped_in")} for row in of_job]
    return rows, [bool(each["right"]) for each in found.values()], wrong


def over_swap(rows: list[Row], way: str) -> float | None:
    """The least of the pager's random accesses over those with swap, of all shares in which it swapped."""

    def of(where: str) -> dict[int, Row]:
        wanted = ("accesses", where)
        return {row["local"]: row for row in rows if (row["figure"], row["where"]) == wanted}

    pages, swapped = of(f"guest: {swap_guest.PAGER}"), of(f"guest: {way}")
    return min(
        (
            pages[share]["value"] / row["value"]
            for share, row in swapped.items()
            if share in pages and row["pages_swapped_in"]
        ),
        default=None,
    )


def figures(rows: list[Row]) -> list[Row]:
    """A plot of each figure of each workload: this machine and the guest apart, each beside its all-local."""
    made = []
    for workload, figure in dict.fromkeys((row["workload"], row["figure"]) for row in rows):
        mine = [row for row in rows if (row["workload"], row["figure"]) == (workload, figure)]
        for place, provenance in (("this machine", "measured"), ("a guest", "emulated")):
            of_place = [row for row in mine if row["provenance"] == provenance]
            if not of_place:
                continue
            made.append(
                {
                    "title": f"{workload}, {figure}: {place}",
                    "x": {"label": "working set that is local", "unit": "%"},
                    "y": {"label": figure.replace("_", " "), "unit": mine[0]["unit"], "log": True},
                    "series": [
                        series(
                            way,
                            provenance,
                            [(row["local"], row["value"]) for row in of_place if row["where"] == way],
                        )
                        for way in dict.fromkeys(row["where"] for row in of_place)
                    ]
                    + [series("all local", provenance, [(s, of_place[0]["all_local"]) for s in SHARES])],
                    "note": ""
                    if provenance == "measured"
                    else "The guest's processors are emulated: its times are compared with each other only.",
                }
            )
    return made


def run(options: Options) -> BenchResult:
    """Each workload with all of its memory here and with parts of it, in one run."""
    rows: list[Row] = []
    right: list[bool] = []
    for workload in programs(8 if options.quick else 1):
        found, well = on_this_machine(workload)
        rows += found
        right += well
    notes = ["swap over nbd: not measured; a disk of the guest, a file here, is in its place"]
    if shutil.which("redis-server") is None:
        notes.append("Redis: not measured; it is not installed (apt-get install redis-server)")
    small = programs(GUEST_SCALE)
    try:
        # The quick run has what the goal needs.
        found, well, wrong = (
            in_a_guest([each for each in small if each.name == "random"], (50,))
            if options.quick
            else in_a_guest(small, SHARES)
        )
        rows += found
        right += well
        notes += [f"in the guest: {each}" for each in wrong]
        lacking = ""
    except EnvironmentLacks as error:
        lacking = f"no guest to swap in: {error}"
    zram = over_swap(rows, swap_guest.ZRAM)
    if zram is not None:
        notes.append(f"random access over swap on zram, in the guest: {zram:.2f} times (emulated)")
    goals = [
        goal("results_that_are_right", sum(right) / len(right), "ratio", ">=", 1.0),
        goal(
            "random_over_swap",
            over_swap(rows, swap_guest.FILE),
            "ratio",
            ">=",
            OVER_SWAP,
            provenance="emulated",
            reason=lacking or "the guest has no figure; the notes say why",
        ),
    ]
    return BenchResult(goals, rows, notes=notes, figures=figures(rows), lacking=bool(lacking))
