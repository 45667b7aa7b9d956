# SPDX-License-Identifier: Apache-2.0
"""`consort bench executive`: wake-ups, CPU time, virtual time and record of the executive.

Wake-ups and CPU time are ratios of rounds that alternate on one CPU in one run: the executive, cyclictest and
a loop written by hand, with one SCHED_FIFO priority, one period and one kind of wait (clock_nanosleep). A
machine's mood changes from second to second; so each round gives a ratio, and the median of these counts.
"""

from __future__ import annotations

import json
import math
import shutil
import statistics
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from consort.base.environment import environment
from consort.base.errors import EnvironmentLacks
from consort.base.waiting import Progress, silent
from consort.record import RawRun
from consort.record.columns import JOBS
from consort.record.ran import STATUS
from consort.record.store import default_root
from consort.record.writer import scratch_folder

from consort_bench.executive_rounds import (
    Executive,
    Round,
    cyclictest_round,
    executive_round,
    loop_round,
    refused,
)
from consort_bench.icc import processor
from consort_bench.programs import cpp_program
from consort_bench.registry import BenchResult, Options, goal

ROUNDS, QUICK_ROUNDS = 12, 3
ROUND_SECONDS, QUICK_ROUND_SECONDS = 2.0, 0.5
LONG_SECONDS, QUICK_LONG_SECONDS = 600.0, 10.0
# A job has parts, preemptions and their record beside its release: the most over a queue and a row.
VIRTUAL_LIMIT = 20
# Bytes of a job and its output in the long run's recording: the disk must have room for them, twice.
BYTES_A_JOB = 2 * 160

Rounds = dict[str, list[Round]]
T = TypeVar("T")


def run(options: Options) -> BenchResult:
    """Goals that could not be had have no value and say why; `lacking` then says so to the command."""
    progress = options.progress
    count = QUICK_ROUNDS if options.quick else ROUNDS
    length = QUICK_ROUND_SECONDS if options.quick else ROUND_SECONDS
    seconds = options.seconds or (QUICK_LONG_SECONDS if options.quick else LONG_SECONDS)
    progress("building", None)
    waits = Executive.of("system", progress)
    rounds, reasons = alternating(waits, count, length, progress)
    progress("virtual time", None)
    virtual, virtual_reason = or_reason(lambda: virtual_over_floor(0.2 if options.quick else 0.5))
    long, long_reason = or_reason(lambda: long_run(seconds, options.root, progress))
    wakeup = paired(rounds, median_lateness, "executive", "cyclictest")
    cost = paired(rounds, whole_cpu, "executive", "loop")
    goals = [
        goal(
            "wakeup_over_cyclictest",
            wakeup,
            "ratio",
            "<=",
            1.1,
            reason=reasons.get("executive") or reasons.get("cyclictest", ""),
        )
        # Far out, two equal loops differ by more on most machines than a limit could tell apart: not gated.
        | {"rounds": count, "p999": paired(rounds, far_percentile, "executive", "cyclictest")},
        goal(
            "job_over_loop",
            cost,
            "ratio",
            "<=",
            1.15,
            reason=reasons.get("executive") or reasons.get("loop", ""),
        )
        | {"rounds": count, "without_recorder": paired(rounds, thread_cpu, "executive", "loop")},
        goal("virtual_over_floor", virtual, "ratio", "<=", VIRTUAL_LIMIT, reason=virtual_reason),
        goal(
            "records_lost",
            None if long is None else long["lost"],
            "records",
            "<=",
            0,
            provenance="counted",
            reason=long_reason,
        )
        | {"seconds": seconds},
    ]
    chip = processor()
    named = ", ".join(f"{key} {value}" for key, value in chip.items() if value is not None)
    notes = [
        f"processor: {named}",
        f"{count} rounds of {length:g} s each on CPU {waits.cpu} at SCHED_FIFO {waits.priority}, every"
        f" {waits.period_ps // 1_000_000} µs; a ratio is the median of the rounds' ratios",
        f"records_lost: {seconds:g} s at 20 kHz",
    ]
    return BenchResult(
        goals,
        rows_of(rounds) + ([] if long is None else [long]),
        environment(),
        notes,
        extra={"processor": chip},
        lacking=any(made["value"] is None for made in goals),
    )


def alternating(
    executive: Executive, count: int, seconds: float, progress: Progress
) -> tuple[Rounds, dict[str, str]]:
    """Rounds of each in turn, in alternating order; and, for one that cannot be had, the reason."""
    period_ns = executive.period_ps // 1000
    jobs = max(1, round(seconds * 1e9 / period_ns))
    cpu, priority = executive.cpu, executive.priority
    measure: dict[str, Callable[[], Round]] = {
        "executive": lambda: executive_round(executive, jobs, silent),
        "cyclictest": lambda: cyclictest_round(cpu, priority, period_ns, jobs),
        "loop": lambda: loop_round(cpu, priority, period_ns, jobs),
    }
    rounds: Rounds = {name: [] for name in measure}
    reasons: dict[str, str] = {}
    order = list(measure)
    for number in range(count):
        for name in order:
            if name in reasons:
                continue
            progress("executive, cyclictest, loop", number / count)
            made, reason = or_reason(measure[name])
            if made is None:
                reasons[name], rounds[name] = reason, []
            else:
                rounds[name].append(made)
        order = [*order[1:], order[0]]
    return rounds, reasons


def median_lateness(found: Round) -> float:
    return found.percentile(50)


def far_percentile(found: Round) -> float:
    return found.percentile(99.9)


def thread_cpu(found: Round) -> float:
    return found.cpu_ns


def whole_cpu(found: Round) -> float:
    return found.cpu_ns + found.recorder_ns


def paired(rounds: Rounds, value: Callable[[Round], float], one: str, other: str) -> float | None:
    """The median over rounds of one's value over the other's in the same round; None without both."""
    pairs = zip(rounds[one], rounds[other], strict=False)
    ratios = [value(a) / value(b) for a, b in pairs if math.isfinite(value(b)) and value(b) > 0]
    found = statistics.median(ratios) if ratios else math.nan
    return found if math.isfinite(found) else None


def rows_of(rounds: Rounds) -> list[dict[str, Any]]:
    """One row each: medians over the rounds, in µs; "inf": more releases than that were not served."""

    def micro(values: Sequence[float]) -> float | str:
        found = statistics.median(values)
        return found / 1000 if math.isfinite(found) else "inf"

    return [
        {
            "what": name,
            "rounds": len(found),
            "releases": sum(r.lateness_ns.size for r in found),
            "unserved": sum(int(np.isinf(r.lateness_ns).sum()) for r in found),
            "late_p50_us": micro([r.percentile(50) for r in found]),
            "late_p99_us": micro([r.percentile(99) for r in found]),
            "late_p999_us": micro([r.percentile(99.9) for r in found]),
            "cpu_a_job_us": micro([r.cpu_ns for r in found]) if name != "cyclictest" else None,
            "recorder_a_job_us": micro([r.recorder_ns for r in found]) if name == "executive" else None,
        }
        for name, found in rounds.items()
        if found
    ]


def virtual_over_floor(seconds: float) -> float:
    """The time of a job in virtual time over that of a queue's two steps and a row, with the number of cores
    that takes most, each measured for `seconds`."""
    program = cpp_program("virtual_jobs", "bench/executive")
    said = subprocess.run([str(program), f"{seconds}"], check=True, capture_output=True, text=True).stdout
    return float(json.loads(said)["virtual_over_floor"])


def lost_records(raw: RawRun, jobs: int) -> tuple[int, int]:
    """The number of the one task's `jobs` releases that are recorded, and the number of lost records.

    Three counts, of which the largest stands: what the rings say that they lost, releases without a row, and
    served releases without their output.
    """
    rows = raw.tables[JOBS].rows
    times = np.bincount(rows["seq"].astype(np.int64), minlength=jobs)[:jobs]
    recorded = int(np.count_nonzero(times))
    served = int(np.count_nonzero((rows["status"] & STATUS["unserved"]) == 0))
    outputs = raw.tables["outputs-0"].rows.size if "outputs-0" in raw.tables else 0
    counted = int(raw.manifest.counters["records_lost"])
    return recorded, max(counted, jobs - recorded, served - outputs)


def long_run(seconds: float, root: Path | None, progress: Progress) -> dict[str, Any]:
    """The task at 20 kHz for so long: how many records were lost."""
    executive = Executive.of("long_run", progress)
    jobs = round(seconds * 1e12 / executive.period_ps)
    base = root if root is not None else default_root()
    with scratch_folder(base) as folder:
        free = shutil.disk_usage(folder).free
        if free < jobs * BYTES_A_JOB:
            raise EnvironmentLacks(
                f"{base}: {free >> 20} MiB are free, and the record of {seconds:g} s needs up to"
                f" {jobs * BYTES_A_JOB >> 20} MiB",
                "give another folder with --root, or fewer --seconds",
            )
        raw = executive.run(jobs, folder, f"{seconds:g} s at 20 kHz", progress)
        if words := refused(raw):
            raise EnvironmentLacks(words, "see `consort doctor`")
        recorded, lost = lost_records(raw, jobs)
        counters = raw.manifest.counters
        return {
            "what": "record at 20 kHz",
            "seconds": seconds,
            "releases": jobs,
            "recorded": recorded,
            "lost": lost,
            "unserved": int(counters["unserved"]),
            "ring_fullest_kib": counters["ring_fullest_bytes"] / 1024,
            "recorder_longest_pause_ms": counters["recorder_longest_pause_us"] / 1000,
        }


def or_reason(work: Callable[[], T]) -> tuple[T | None, str]:
    """The result of `work`; or None, and the reason that the machine lacks something for it."""
    try:
        return work(), ""
    except EnvironmentLacks as error:
        return None, str(error)
