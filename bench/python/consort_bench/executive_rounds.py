# SPDX-License-Identifier: Apache-2.0
"""Rounds of `consort bench executive`: of the executive, of cyclictest, of a hand-written loop."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from consort.base.environment import usable_cpus
from consort.base.errors import ConsortError, EnvironmentLacks
from consort.base.toolchain.builds import need_source_tree
from consort.base.waiting import Progress
from consort.model import load_system
from consort.plan import ModePlans
from consort.record import RawRun
from consort.record.columns import JOBS, to_ns
from consort.record.ran import STATUS
from consort.run.application import Prepared, prepare
from consort.run.blocks import write_rows
from consort.run.config import run_config
from consort.run.options import Options as RunOptions
from consort.run.options import place
from consort.run.plan_image import write_image
from consort.run.process import launch
from numpy.typing import NDArray

from consort_bench.programs import cpp_program

# The end of cyclictest's histogram [ns]: it counts later releases without saying how late.
LARGEST_NS = 1_000_000
BASE_PRIORITY = 50
NO_CYCLICTEST = EnvironmentLacks("cyclictest is not installed", "install it: apt-get install rt-tests")


@dataclass(frozen=True)
class Round:
    """The lateness of each release in ns (infinite: not served, or later than was counted), and CPU time.

    `cpu_ns` is that of one served job's thread (0: not known), `recorder_ns` that of the recorder for it.
    """

    lateness_ns: NDArray[np.float64]
    cpu_ns: float = 0.0
    recorder_ns: float = 0.0

    def percentile(self, p: float) -> float:
        """The smallest lateness that at least `p` percent of the releases do not exceed."""
        return float(np.percentile(self.lateness_ns, p, method="inverted_cdf"))


@dataclass(frozen=True)
class Executive:
    """A description of bench/executive made ready to run, on the CPU that it always gets."""

    prepared: Prepared
    cpu: int

    @staticmethod
    def of(name: str, progress: Progress) -> Executive:
        """The executive of bench/executive/<name>.yaml, built if it is not cached."""
        tree = need_source_tree("the executive's benchmark")
        system = load_system(tree / "bench" / "executive" / f"{name}.yaml")
        return Executive(prepare(system, progress, RunOptions()), usable_cpus()[0])

    @property
    def period_ps(self) -> int:
        return next(iter(self.prepared.plan.tasks.values())).period_ps

    @property
    def priority(self) -> int:
        """The priority of its one task's thread: one above the run's base."""
        return BASE_PRIORITY + 1

    def run(self, jobs: int, folder: Path, what: str, progress: Progress) -> RawRun:
        """Releases so many jobs; the recording lies in `folder`, which must be there and empty."""
        made = self.prepared.plan
        config = run_config(
            made,
            place(made, made.cores, share=False),
            write_rows(ModePlans(made, {}), self.prepared.rows, self.prepared.members, folder),
            self.prepared.described,
            image=write_image(ModePlans(made, {}), self.prepared.described, jobs * self.period_ps, folder),
            configuration="local-off",
            duration_ps=jobs * self.period_ps,
        ) | {"priority": BASE_PRIORITY}
        launched = launch(self.prepared.program, config, folder, what, progress, plan=self.prepared.plan)
        if launched.status != 0:
            raise ConsortError(f"{what}: the run ended before its last job: {launched.words}")
        return RawRun.load(launched.raw)


def refused(raw: RawRun) -> str:
    """The reason that the run was not in the real-time class; empty if it was."""
    realtime = raw.manifest.realtime
    if realtime.get("policy") == "SCHED_FIFO":
        return ""
    return "SCHED_FIFO was refused: " + "; ".join(realtime.get("notes", ()) or ["no reason was given"])


def executive_round(executive: Executive, jobs: int, progress: Progress) -> Round:
    """`EnvironmentLacks` where the machine gives no SCHED_FIFO."""
    with tempfile.TemporaryDirectory(prefix="consort-bench-") as folder:
        raw = executive.run(jobs, Path(folder), "executive", progress)
        if words := refused(raw):
            raise EnvironmentLacks(words, "see `consort doctor`")
        return round_of(raw)


def round_of(raw: RawRun) -> Round:
    """Lateness and CPU time of a recording of one task."""
    rows = raw.tables[JOBS].rows
    served = (rows["status"] & STATUS["unserved"]) == 0
    late = np.full(rows.size, np.inf)
    ticks = (rows["start"] - rows["release"])[served].view(np.int64)
    late[served] = to_ns(np.ascontiguousarray(ticks), raw.manifest.clock.ticks_per_second)
    counters = raw.manifest.counters
    count = max(1, int(served.sum()))
    return Round(late, counters["tasks_cpu_us"] * 1000 / count, counters["recorder_cpu_us"] * 1000 / count)


def loop_round(cpu: int, priority: int, period_ns: int, jobs: int) -> Round:
    """The hand-written loop, on the same CPU at the same priority and period."""
    program = cpp_program("loop", "bench/executive")
    numbers = ("--cpu", cpu, "--priority", priority, "--period-ns", period_ns, "--jobs", jobs)
    said = json.loads(_execute([str(program), *map(str, numbers)], jobs * period_ns / 1e9))
    if said["policy"] != "SCHED_FIFO":
        raise EnvironmentLacks("SCHED_FIFO was refused to the hand-written loop", "see `consort doctor`")
    late = np.array([np.inf if ns is None else ns for ns in said["lateness_ns"]], dtype=np.float64)
    return Round(late, said["cpu_ns"] / max(1, int(np.isfinite(late).sum())))


def cyclictest_round(cpu: int, priority: int, period_ns: int, jobs: int) -> Round:
    """cyclictest with clock_nanosleep, on the same CPU at the same priority and period."""
    program = shutil.which("cyclictest")
    if program is None:
        raise NO_CYCLICTEST
    others = [other for other in usable_cpus() if other != cpu] or [cpu]
    with tempfile.TemporaryDirectory(prefix="consort-bench-") as folder:
        file = Path(folder) / "cyclictest.json"
        command = [program, "-q", "-N", "-m", "-t", "1", "-a", f"{cpu}", f"--mainaffinity={others[0]}"]
        command += ["-p", f"{priority}", "-i", f"{period_ns // 1000}", "-l", f"{jobs}"]
        command += ["-h", f"{LARGEST_NS}", f"--json={file}"]
        _execute(command, jobs * period_ns / 1e9)
        return cyclictest_said(json.loads(file.read_text(encoding="utf-8")))


def cyclictest_said(said: dict[str, Any]) -> Round:
    """A round from cyclictest's JSON: a histogram in ns, and cycles beyond its end."""
    thread = said["thread"]["0"]
    counts = {int(ns): int(count) for ns, count in thread["histogram"].items()}
    late = np.repeat(
        np.array(list(counts), dtype=np.float64) * said["resolution_in_ns"],
        np.array(list(counts.values()), dtype=np.int64),
    )
    beyond = int(thread["cycles"]) - late.size
    return Round(np.concatenate([late, np.full(max(0, beyond), np.inf)]))


def _execute(command: list[str], seconds: float) -> str:
    name = Path(command[0]).name
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=5 * seconds + 60)
    except subprocess.TimeoutExpired as error:
        raise ConsortError(f"{name} did not end in time") from error
    if result.returncode != 0:
        words = (result.stderr or result.stdout).strip()[-500:]
        raise EnvironmentLacks(
            f"{name} ended with status {result.returncode}: {words}", "see `consort doctor`"
        )
    return result.stdout
