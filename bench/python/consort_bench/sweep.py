# SPDX-License-Identifier: Apache-2.0
"""`consort bench sweep`: a sweep on a local Dask cluster beside a bare loop, and its result after kills.

The raw rate is that of one process that makes the same sets and analyses them in a loop: no Dask, no files.
It is taken before and after the cluster's run. As many such processes at once show what a machine whose
processors share caches and clock leaves to workers.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from consort.base.environment import environment
from consort.sweep.cells import Cells, spec_of
from consort.sweep.load import load_sweep
from consort.sweep.run import run as run_sweep
from consort.sweep.store import CELLS, RESULT

from consort_bench.registry import BenchResult, Options, goal
from consort_bench.sweeps import sweep_file

# Analyses of the whole, in the full benchmark and in a quick look; and how often the sweep is killed.
ANALYSES, QUICK = 10_000_000, 400_000
KILLS, QUICK_KILLS = 6, 2
# How long the raw rate is taken, each time [s].
RAW_SECONDS, QUICK_RAW_SECONDS = 8.0, 2.0
_RAW = """
import sys, time
from consort.sweep.cells import Cells, spec_of
from consort.sweep.work import evaluate
from consort.sweep.load import load_sweep
cells = Cells(spec_of(load_sweep(sys.argv[1], int(sys.argv[2]))))
# The first blocks of every combination: each analysis has its share, as in the whole.
blocks = max(1, min(cells.blocks, 200 // len(cells.combinations)))
order = [cell for cell in cells if cell[1] < blocks]
for cell in order[:8]:
    evaluate(cells, *cell)
print("ready", flush=True)
sys.stdin.readline()
began, done, analyses = time.perf_counter(), 0, 0
while time.perf_counter() - began < float(sys.argv[3]):
    for cell in order:
        analyses += evaluate(cells, *cell)[0][0]
print(analyses / (time.perf_counter() - began), flush=True)
"""


def raw_rate(file: Path, sets: int, seconds: float, processes: int) -> float:
    """Analyses a second of all processes together."""
    command = [sys.executable, "-c", _RAW, str(file), str(sets), str(seconds)]
    started = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    for one in started:
        assert one.stdout is not None
        one.stdout.readline()
    for one in started:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    return sum(float(one.communicate()[0]) for one in started)


def run(options: Options) -> BenchResult:
    """`iterations` is the number of analyses."""
    file = sweep_file("bench")
    wanted = options.iterations or (QUICK if options.quick else ANALYSES)
    points = len(Cells(spec_of(load_sweep(file))).combinations)
    sets = max(1, wanted // points)
    cells = Cells(spec_of(load_sweep(file, sets)))
    analyses = sets * points
    seconds = QUICK_RAW_SECONDS if options.quick else RAW_SECONDS
    workers = len(os.sched_getaffinity(0))
    rows: list[dict[str, Any]] = []

    def row(what: str, rate: float, processes: int, note: str = "") -> None:
        rows.append(
            {
                "what": what,
                "processes": processes,
                "analyses_per_s": rate,
                "note": note,
                "provenance": "measured",
            }
        )

    with tempfile.TemporaryDirectory(prefix="consort-sweep-") as made:
        folder = Path(made)
        options.progress("raw rate", 0.0)
        single = raw_rate(file, sets, seconds, 1)
        together = raw_rate(file, sets, seconds, workers)
        options.progress("one process", 0.1)
        few = Cells(spec_of(load_sweep(file, max(1, sets // 4))))
        alone = run_sweep(few, folder / "alone", "bench", workers=0)
        rate_alone = max(1, sets // 4) * points / alone.seconds
        options.progress("workers", 0.3)
        outcome = run_sweep(cells, folder / "whole", "bench", workers=workers)
        rate = analyses / outcome.seconds
        after = raw_rate(file, sets, seconds, 1)
        # Other programs only ever take away: the higher of both is what a process can do.
        raw = max(single, after)
        row("raw loop", raw, 1, "the higher of before and after")
        row("raw loops side by side", together, workers)
        row("sweep in one process", rate_alone, 1, f"{few.spec['sets']} sets a point")
        note = f"{outcome.cells} cells in {outcome.tasks} tasks"
        row("sweep on Dask's workers", rate, workers, note)
        kept = sum(f.stat().st_size for f in (folder / "whole" / CELLS).iterdir())
        whole = (folder / "whole" / RESULT).read_bytes()
        kills = QUICK_KILLS if options.quick else KILLS
        options.progress("interrupted", 0.6)
        done_kills, different = interrupted(file, sets, folder / "killed", whole, kills)
    goals = [
        goal("dask_over_raw", rate / (raw * workers), "", ">=", 0.85),
        goal("resume_differences", different, "results", "<=", 0, provenance="counted"),
    ]
    notes = [
        f"{analyses} analyses on {workers} workers in {outcome.seconds:.1f} s, without the start of workers",
        f"raw loops side by side: {together / (raw * workers):.2f} of as many alone; Dask over them"
        f" {rate / together:.2f}",
        f"{done_kills} times the client or a worker was killed at a random moment",
        f"{kept / len(cells):.0f} bytes a cell in {CELLS}/",
    ]
    extra = {
        "kills": done_kills,
        "bytes_per_cell": kept / len(cells),
        "dask_over_raw_together": rate / together,
    }
    return BenchResult(goals, rows, environment(), notes, extra)


def interrupted(file: Path, sets: int, folder: Path, whole: bytes, kills: int) -> tuple[int, int]:
    """Runs the sweep as a command that is killed, or whose workers are, at random moments, until it ends by
    itself: how often that was, and whether the result differs from an undisturbed one (0 or 1)."""
    command = [str(Path(sys.executable).with_name("consort")), "sweep", str(file)]
    command += ["--out", str(folder), "--sets", str(sets)]
    moments = random.Random(19)
    done = 0
    while True:
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        ) as client:
            gone = False
            # Workers and clients in turn; a client outlives its workers.
            while done < kills and not gone:
                gone = done % 2 == 1
                if not _strike(client, moments.uniform(1.0, 3.5), gone):
                    gone = False
                    break
                done += 1
            if gone:
                continue
            if client.wait() != 0:
                return done, 1
        return done, int((folder / RESULT).read_bytes() != whole)


def _strike(client: subprocess.Popen[bytes], after: float, whole: bool) -> bool:
    """Kills the client, or one of its workers, after a time; False where it ended before."""
    try:
        client.wait(after)
    except subprocess.TimeoutExpired:
        victim = client.pid if whole else _worker_of(client.pid)
        if victim is None:
            return False
        os.kill(victim, signal.SIGKILL)
        time.sleep(0.1)
        return True
    return False


def _worker_of(pid: int) -> int | None:
    """A worker process of a client."""
    for entry in Path("/proc").iterdir():
        try:
            stat = (entry / "stat").read_text().rpartition(") ")[2].split()
            line = (entry / "cmdline").read_bytes()
        except (OSError, ValueError):
            continue
        if entry.name.isdecimal() and int(stat[1]) == pid and b"spawn_main" in line:
            return int(entry.name)
    return None
