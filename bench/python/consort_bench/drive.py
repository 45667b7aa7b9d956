# SPDX-License-Identifier: Apache-2.0
"""`consort bench drive`: ten million jobs of the drive's control loop on this machine, held to their bounds.

As `make demo` does it: what this machine costs is probed, the steps are profiled, the bounds rest on both.
The loop runs at 20 kHz on two CPUs, local and offloaded, without and with interference in turn. Each part of
a million jobs is kept with what it was judged by: a call that was ended goes on where it was, and one of
other sources, or on another processor, begins anew.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from consort.base.environment import environment
from consort.base.errors import EnvironmentLacks, environment_errors
from consort.base.toolchain.builds import digest, kept, need_source_tree
from consort.base.waiting import signals_to_exceptions, silent
from consort.judge import Verdict
from consort.judge.samples import Samples
from consort.model import Configuration, load_system
from consort.record.ran import STATUS
from consort.record.writer import scratch_folder
from consort.run import Options as RunOptions
from consort.run import prepare
from consort.run.flow import judged
from consort.run.process import prepared_machine
from numpy.typing import NDArray

from consort_bench.icc import processor
from consort_bench.registry import BenchResult, Options, goal

JOBS, QUICK = 10_000_000, 40_000
PART, QUICK_PART = 1_000_000, 10_000
# Jobs that give one longest response: what a host does unseen is then in few of them.
BLOCK = 10_000
CONFIGURATIONS: tuple[Configuration, ...] = ("local-off", "offloaded-off", "local-on", "offloaded-on")
# Sources of the description, the program, the bounds and the judgement.
SOURCES = (
    "examples/drive",
    "examples/servo",
    "include/consort",
    "ports/linux",
    "engine",
    "python/consort/analysis",
    "python/consort/judge",
)
KINDS = (".cpp", ".hpp", ".py", ".yaml")


@environment_errors()
def run(options: Options) -> BenchResult:
    """`--iterations` says how many jobs, `--seconds` for how long new parts are begun."""
    signals_to_exceptions()
    asked = options.iterations or (QUICK if options.quick else JOBS)
    length = min(asked, QUICK_PART if options.quick else PART)
    parts: list[dict[str, Any]] = []
    notes = []
    try:
        for part in _parts(asked, length, options):
            parts.append(part)
    except EnvironmentLacks as lack:
        if not parts:
            raise
        notes.append(f"The next part was not recorded: {lack}")
    rows = rows_of(parts)
    total = sum(part["jobs"] for part in parts)
    above = sum(part["above"] for part in parts)
    host = sum(part["host"] for part in parts)
    median = tightness(parts)
    goals = [
        goal("drive_jobs", total, "jobs", ">=", asked),
        goal("drive_undisturbed_above_bound", above, "jobs", "<=", 0),
        goal("drive_wrong_outputs", sum(part["wrong"] for part in parts), "outputs", "<=", 0),
        goal("drive_records_lost", sum(part["lost"] for part in parts), "records", "<=", 0),
    ]
    disturbed = sum(part["disturbed"] for part in parts)
    notes += [
        f"{total:,} jobs in {len(parts)} parts, {disturbed:,} of them disturbed by the machine; of the"
        f" others {above:,} took longer than their bounds.",
        "A host leaves no trace in a job that it stops. By how often it took cores that waited, it came into"
        f" {host:,.1f} of these jobs or more.",
    ]
    if median is not None:
        notes.append(
            f"Median tightness, of blocks of {BLOCK:,} jobs (longest undisturbed over bound): {median:.3f}."
        )
    return BenchResult(goals, rows, environment(), notes, {"median_tightness": median, "parts": parts})


def tightness(parts: Sequence[dict[str, Any]]) -> float | None:
    """The median over blocks of jobs: the longest undisturbed response over its bound."""
    found = [(inf if one is None else one) / part["bound"] for part in parts for one in part["longest"]]
    median = statistics.median(found) if found else inf
    return median if math.isfinite(median) else None


def rows_of(parts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for each configuration; times in µs."""
    rows = []
    for name in dict.fromkeys(part["configuration"] for part in parts):
        mine = [part for part in parts if part["configuration"] == name]
        longest = [inf if one is None else one for part in mine for one in part["longest"]]
        rows.append(
            {
                "configuration": name,
                "jobs": sum(part["jobs"] for part in mine),
                "disturbed": sum(part["disturbed"] for part in mine),
                "above": sum(part["above"] for part in mine),
                "host_unseen": sum(part["host"] for part in mine),
                "bound_us": max(part["bound"] for part in mine) / 1000,
                "longest_us": max(longest, default=inf) / 1000,
                "median_tightness": tightness(mine),
                "provenance": "measured",
            }
        )
    return rows


def _parts(asked: int, length: int, options: Options) -> Iterator[dict[str, Any]]:
    system = described(options)
    over = time.monotonic() + (options.seconds or inf)
    done = 0
    for number in range(-(-asked // length)):
        wanted = part_key(system, length, number)
        if time.monotonic() >= over and not wanted.exists():
            return
        options.progress(f"{done:,} of {asked:,} jobs", done / asked)
        part = measured(system, length, number)
        done += part["jobs"]
        yield part


def described(options: Options) -> Path:
    """The description with the figures of this machine, made once for these sources and this processor."""
    tree = need_source_tree("this benchmark")
    below = (path for name in SOURCES for path in (tree / name).rglob("*"))
    paths = [*sorted(path for path in below if path.suffix in KINDS), Path(__file__).resolve()]
    names = [path.name for path in paths]
    contents = [path.read_bytes() for path in paths]
    key = digest([*names, *contents, json.dumps(processor(), sort_keys=True)])

    def make(target: Path, scratch: Path) -> None:
        target.mkdir()
        for name in ("drive", "servo"):
            shutil.copytree(tree / "examples" / name, target / name)
        system = target / "drive" / "system.yaml"
        options.progress("probing this machine", None)
        consort("probe", "-o", target / "here.yaml", "--seconds", 0.3, "--samples", 3000, "--quiet")
        text = system.read_text(encoding="utf-8")
        system.write_text(
            text.replace("\nplatform: linux-host\n", "\nplatform: ../here.yaml\n"), encoding="utf-8"
        )
        options.progress("profiling the steps", None)
        consort("profile", system, "--duration", "500ms", "--write", "--root", scratch / "runs")

    return kept("drive", key, "described", make) / "drive" / "system.yaml"


def part_key(system: Path, length: int, number: int) -> Path:
    """The file of a part, beside the description."""
    entry = system.parents[2]
    return entry.parent / f"{entry.name}-{length}-{number}" / "part.json"


def measured(system: Path, length: int, number: int) -> dict[str, Any]:
    """One part's result: from the call in which it ran, or run now."""
    where = part_key(system, length, number)

    def make(target: Path, scratch: Path) -> None:
        how = CONFIGURATIONS[number % len(CONFIGURATIONS)]
        target.write_text(json.dumps(_run(system, length, how, scratch)), encoding="utf-8")

    found = kept("drive", where.parent.name, where.name, make, root=where.parents[2])
    result: dict[str, Any] = json.loads(found.read_text(encoding="utf-8"))
    return result


def _run(system: Path, jobs: int, configuration: Configuration, scratch: Path) -> dict[str, Any]:
    options = RunOptions(
        iterations=jobs, mode="control", configurations=[configuration], root=scratch, command=[]
    )
    prepared = prepare(load_system(system), silent, options)
    machine = prepared_machine(prepared.plan, options) if os.getuid() == 0 else nullcontext()
    with machine, scratch_folder(scratch) as folder:
        (recording,) = prepared.recordings(configuration, options, silent, scratch=folder)
        found = judged(prepared, recording)
        samples = Samples.of(found.raw)
        part = part_of(found.verdict, samples.response)
        lost = (found.raw.manifest.counters or {}).get("records_lost", 0)
    return part | {"lost": lost, "configuration": configuration}


def part_of(verdict: Verdict, response: NDArray[np.float64]) -> dict[str, Any]:
    """The part of a run's verdict that counts. `longest`: of each block of jobs, that of undisturbed ones;
    None: not served."""
    (count,) = verdict.tasks
    (row,) = (row for row in verdict.rows if row.quantity == "response")
    if row.bound is None:
        raise EnvironmentLacks(
            f"the control loop has no bound on this machine: {row.missing}",
            "see what `consort analyze` says of it",
        )
    assert verdict.disturbed is not None and verdict.status is not None
    seen = np.where(verdict.disturbed, 0.0, response)
    blocks = [float(seen[k : k + BLOCK].max()) for k in range(0, seen.size, BLOCK)]
    return {
        "jobs": count.released,
        "disturbed": count.disturbed,
        "above": row.above,
        "host": sum(known.expected for known in verdict.unseen),
        "bound": row.bound,
        "longest": [one if math.isfinite(one) else None for one in blocks],
        "wrong": int(np.count_nonzero(verdict.status & STATUS["output_errors"])),
    }


def consort(*words: object) -> str:
    """The command's output; `EnvironmentLacks` if it fails."""
    command = [str(Path(sys.executable).with_name("consort")), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = done.stderr.strip()[-500:]
        raise EnvironmentLacks(
            f"consort {words[0]} ended with {done.returncode}: {last}", "see `consort doctor`"
        )
    return done.stdout
