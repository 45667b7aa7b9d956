# SPDX-License-Identifier: Apache-2.0
"""`consort bench analysis`: how fast the analyses are, on sets whose answers are checked, beside peers.

All on one thread but Figure 7 and the soundness campaign, which use what the machine has.
"""

from __future__ import annotations

import heapq
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from consort import _engine
from consort.analysis.generate import task_sets
from consort.base.environment import environment
from consort.base.errors import ConsortError, EnvironmentLacks
from numpy.typing import NDArray

from consort_bench import figure7
from consort_bench.programs import python_peer
from consort_bench.published import experiment_folder, read_published
from consort_bench.registry import BenchResult, Options, goal

TASKS = 10
UTILISATIONS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
SETS, QUICK = 20_000, 2_000
CAMPAIGN_SETS, CAMPAIGN_QUICK = 20_000, 2_000
SLOT_NS, CORES = 155_250, 2
# Simulated time of each set [ns], and how many sets: ours, and those of the peer, which takes long.
SIMULATED_NS, SIMULATED, QUICK_SIMULATED, PEER_SETS = 10_000_000_000, 100, 20, 5
# Tasks and cores of one large system.
LARGE, LARGE_QUICK, LARGE_CORES = 10_000, 1_000, 64
# The most processor time of a command on it, over that of this floor: the same file read by PyYAML in C and
# held to the types by pydantic, with the modules that this takes.
LARGE_LIMIT = 6
BARE_LOAD = """
import sys
import yaml
from consort.model import System
with open(sys.argv[1]) as file:
    System.model_validate(yaml.load(file, yaml.CBaseLoader) | {"consort": 1})
"""
Sets = tuple[NDArray[np.int64], NDArray[np.int64]]


def best(call: Callable[[], Any], times: int = 5) -> tuple[float, Any]:
    """The shortest of several runs [s], and the last result: other programs only ever lengthen a run."""
    shortest, result = float("inf"), None
    for _ in range(times):
        begin = time.perf_counter()
        result = call()
        shortest = min(shortest, time.perf_counter() - begin)
    return shortest, result


def response_times_in_python(c: list[int], t: list[int]) -> bool:
    """The peer that everyone writes: response-time analysis as the textbook has it."""
    for i in range(len(c)):
        response, last = c[i], -1
        while response != last and response <= t[i]:
            last = response
            response = c[i] + sum(-(-last // t[j]) * c[j] for j in range(i))
        if response > t[i]:
            return False
    return True


def simulated_in_python(c: list[int], t: list[int], duration: int) -> tuple[int, list[int]]:
    """The peer that everyone writes: one preemptive core, rate monotonic. Jobs, and the largest responses."""
    releases = [(0, task) for task in range(len(c))]
    ready: list[tuple[int, int, int]] = []
    left, worst, now, jobs = {}, [0] * len(c), 0, 0
    while releases or ready:
        if not ready:
            now = max(now, releases[0][0])
        while releases and releases[0][0] <= now:
            at, task = heapq.heappop(releases)
            heapq.heappush(ready, (task, at, jobs))
            left[jobs] = c[task]
            jobs += 1
            if at + t[task] < duration:
                heapq.heappush(releases, (at + t[task], task))
        task, at, job = ready[0]
        until = now + left[job]
        if releases and releases[0][0] < until:
            left[job] = until - releases[0][0]
            now = releases[0][0]
            continue
        heapq.heappop(ready)
        now = until
        worst[task] = max(worst[task], now - at)
    return jobs, worst


def _row(what: str, amount: float, unit: str, seconds: float, note: str = "") -> dict[str, Any]:
    return {
        "what": what,
        "amount": amount,
        "unit": unit,
        "seconds": seconds,
        "per_second": amount / seconds,
        "note": note,
        "provenance": "measured",
    }


def run(options: Options) -> BenchResult:
    rng = np.random.default_rng(2016)
    sets = QUICK if options.quick else SETS
    made = task_sets(sets, TASKS, UTILISATIONS, "log-uniform", rng)
    rows: list[dict[str, Any]] = []
    goals: list[dict[str, Any]] = []
    parts = (_response_times, _three_phase, _simulator, _large, _figure7, _soundness)
    for index, part in enumerate(parts):
        options.progress(part.__name__.strip("_").replace("_", " "), index / len(parts))
        part(made, options, rows, goals)
    return BenchResult(goals, rows, environment(), [f"sets: {TASKS} tasks, U in {UTILISATIONS}, seed 2016"])


def _response_times(
    made: Sets, options: Options, rows: list[dict[str, Any]], goals: list[dict[str, Any]]
) -> None:
    c, t = made
    seconds, verdicts = best(lambda: _engine.fp_schedulable(c=c, t=t, d=t))
    rate = len(c) / seconds
    rows.append(_row("response-time analysis", len(c), "sets", seconds, f"{int(verdicts.sum())} schedulable"))
    few = min(len(c), 1000)
    lists = [(ci.tolist(), ti.tolist()) for ci, ti in zip(c[:few], t[:few], strict=True)]
    peer_seconds, peer = best(lambda: [response_times_in_python(ci, ti) for ci, ti in lists], 3)
    rows.append(_row("the same in eight lines of Python", few, "sets", peer_seconds))
    one_seconds, one = best(lambda: _engine.fp_schedulable(c=c, t=t, d=t, unit="none"))
    different = int(np.sum(np.array(peer) != verdicts[:few]) + np.sum(one != verdicts))
    units = _engine.vector_units()
    rows.append(_row("the same, one set after another", len(c), "sets", one_seconds, "no vector unit used"))
    if units:
        goals.append(goal("rta_vector_over_scalar", one_seconds / seconds, "", ">=", 3))
    else:
        reason = "this processor has none of the vector units that the analysis is written for"
        goals.append(goal("rta_vector_over_scalar", None, "", ">=", 3, reason=reason))
    goals.append(goal("rta_over_python", rate * peer_seconds / few, "", ">=", 20))
    goals.append(goal("rta_different_answers", different, "sets", "<=", 0, provenance="counted"))
    reason = "cannot be had from a package registry"
    goals.append(goal("rta_over_pycpa", None, "", ">=", 10_000, reason="pyCPA " + reason))
    goals.append(goal("rta_over_schedcat", None, "", ">=", 30, reason="SchedCAT " + reason))


def _three_phase(
    made: Sets, options: Options, rows: list[dict[str, Any]], goals: list[dict[str, Any]]
) -> None:
    c, t = made
    for method in ("corrected", "literal", "round-robin"):
        judge = partial(_engine.spm_schedulable, c, t, CORES * SLOT_NS, SLOT_NS, method)
        seconds, verdicts = best(judge, 3)
        note = f"{int(verdicts.sum())} schedulable"
        rows.append(_row(f"three-phase bound, {method}", len(c), "sets", seconds, note))
        if method == "corrected":
            each_seconds, each = best(partial(judge, each=True), 3)
            rows.append(_row("the same, the bound of each task computed", len(c), "sets", each_seconds, ""))
            goals.append(goal("spm_corrected_over_each", each_seconds / seconds, "", ">=", 3))
            different = int((each != verdicts).sum())
            goals.append(goal("spm_different_answers", different, "sets", "<=", 0, provenance="counted"))


def _simulator(
    made: Sets,
    options: Options,
    rows: list[dict[str, Any]],
    goals: list[dict[str, Any]],
) -> None:
    """Ten seconds of each set at U = 0.7, preemptive, rate monotonic: in bulk, traced, by a peer."""
    c, t = (times[2 :: len(UTILISATIONS)] for times in made)
    c, t = (times[: QUICK_SIMULATED if options.quick else SIMULATED].copy() for times in (c, t))
    duration = SIMULATED_NS // (10 if options.quick else 1)
    seconds, (worst, _misses, jobs) = best(lambda: _engine.sim_bulk("fixed-priority", c, t, duration), 3)
    rate = jobs / seconds
    rows.append(_row("simulation in bulk", jobs, "jobs", seconds, f"{len(c)} sets"))
    traced_seconds, traced = best(lambda: [_trace(ci, ti, duration) for ci, ti in zip(c, t, strict=True)], 2)
    traced_jobs = sum(count for count, _ in traced)
    rows.append(_row("simulation with a full trace", traced_jobs, "jobs", traced_seconds))
    different = sum(not np.array_equal(w, traced[k][1]) for k, w in enumerate(worst))
    few = 1 if options.quick else PEER_SETS
    sets = [(ci.tolist(), ti.tolist()) for ci, ti in zip(c[:few], t[:few], strict=True)]
    plain_seconds, plain = best(lambda: [simulated_in_python(ci, ti, duration) for ci, ti in sets], 2)
    plain_jobs = sum(count for count, _ in plain)
    different += sum(w.tolist() != r for w, (_, r) in zip(worst, plain, strict=False))
    rows.append(_row("the same in thirty lines of Python", plain_jobs, "jobs", plain_seconds, f"{few} sets"))
    goals.append(goal("sim_over_python", rate * plain_seconds / plain_jobs, "", ">=", 5))
    goals.append(goal("sim_traced_over_bulk", traced_jobs / traced_seconds / rate, "", ">=", 0.2))
    try:
        peer = _simso(c[:few], t[:few], duration)
    except EnvironmentLacks as lack:
        goals.append(goal("sim_over_simso", None, "", ">=", 500, reason=str(lack)))
    else:
        rows.append(_row("the same by SimSo 0.8.5", peer["jobs"], "jobs", peer["seconds"], f"{few} sets"))
        goals.append(goal("sim_over_simso", rate * peer["seconds"] / peer["jobs"], "", ">=", 500))
        different += sum(w.tolist() != r for w, r in zip(worst, peer["responses"], strict=False))
    goals.append(goal("sim_different_answers", different, "sets", "<=", 0, provenance="counted"))


def _trace(c: NDArray[np.int64], t: NDArray[np.int64], duration: int) -> tuple[int, list[int]]:
    """Jobs and largest responses of one set, every job and every slice of execution recorded."""
    tasks = []
    for index, (execution, period) in enumerate(zip(c.tolist(), t.tolist(), strict=True)):
        task = _engine.SimTask()
        task.period = task.deadline = period
        task.wcet = task.bcet = execution
        task.rank = index
        tasks.append(task)
    system = _engine.SimSystem([_engine.SimCore("fixed-priority")], [], tasks)
    found = _engine.sim_run(system, duration, trace=True)
    return sum(task["jobs"] for task in found["tasks"]), [task["max_response"] for task in found["tasks"]]


def _simso(c: NDArray[np.int64], t: NDArray[np.int64], duration: int) -> dict[str, Any]:
    python, program = python_peer("simso")
    sets = [list(zip(ci.tolist(), ti.tolist(), strict=True)) for ci, ti in zip(c, t, strict=True)]
    order = json.dumps({"sets": sets, "duration": duration})
    done = subprocess.run([str(python), str(program)], input=order, capture_output=True, text=True)
    if done.returncode != 0:
        raise EnvironmentLacks(f"SimSo failed: {done.stderr[-300:]}", "see bench/peers/simso")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def _large(made: Sets, options: Options, rows: list[dict[str, Any]], goals: list[dict[str, Any]]) -> None:
    """One system of 10,000 tasks on 64 cores, by the commands that a user runs, on one CPU."""
    tasks = LARGE_QUICK if options.quick else LARGE
    consort = str(Path(sys.executable).with_name("consort"))
    simulate = [consort, "simulate", "--duration", "1s"]
    with tempfile.TemporaryDirectory() as folder:
        fixed, offsets, edf = (
            large_system(Path(folder) / kind, tasks, LARGE_CORES, kind)
            for kind in ("fixed", "offsets", "edf")
        )
        commands = {
            "check": [consort, "check", fixed],
            "analyze": [consort, "analyze", fixed],
            "analyze_offsets": [consort, "analyze", offsets],
            "analyze_edf": [consort, "analyze", edf],
            "simulate": [*simulate, "--no-record", fixed],
            "record": [*simulate, "--root", Path(folder) / "runs", fixed],
        }
        floor = cpu_seconds([sys.executable, "-c", BARE_LOAD, fixed])
        rows.append(_row("PyYAML and pydantic read it", tasks, "tasks", floor, "the floor, CPU time"))
        for name, words in commands.items():
            seconds = cpu_seconds(words)
            rows.append(_row(f"large: {name}", tasks, "tasks", seconds, f"{LARGE_CORES} cores, CPU time"))
            goals.append(goal(f"large_{name}_over_load", seconds / floor, "", "<=", LARGE_LIMIT))


def cpu_seconds(command: list[Any]) -> float:
    """The processor time that a command takes, in the program and in the kernel."""
    begin = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0:
        raise ConsortError(
            f"{' '.join(map(str, command[1:3]))} failed on a large system: {done.stderr[-300:]}"
        )
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime


def large_system(folder: Path, tasks: int, cores: int, kind: str = "fixed") -> Path:
    """Writes a description of that many periodic tasks, spread over cores that are used to 60 %.

    `kind`: fixed priorities, the same with random offsets, or EDF.
    """
    folder.mkdir(exist_ok=True)
    platform = folder / "large.yaml"
    platform.write_text(
        "consort: 1\nname: large\nprocessors:\n  cpu: {isa: x86_64}\ncores:\n"
        f"  c: {{processor: cpu, count: {cores}, assumed: made up, context_switch: 0us,"
        " timer_lateness: 0us}\n"
    )
    lines = ["consort: 1", "name: large", f"platform: {platform.name}", "assumed: made up"]
    if kind == "edf":
        lines.append("scheduling: {c: {policy: edf}}")
    lines.append("tasks:")
    rng = np.random.default_rng(19)
    for number, period in enumerate(rng.choice([1, 2, 5, 10, 20, 50, 100, 200, 1000], tasks).tolist()):
        wcet = max(1, period * 600_000 * cores // tasks)
        offset = f"offset: {rng.integers(period * 1000)}us, " if kind == "offsets" else ""
        given = f"period: {period}ms, {offset}wcet: {{cpu: {wcet}ns}}, on: c-{number % cores}"
        lines.append(f"  t{number}: {{{given}}}")
    file = folder / "system.yaml"
    file.write_text("\n".join(lines) + "\n")
    return file


def _figure7(made: Sets, options: Options, rows: list[dict[str, Any]], goals: list[dict[str, Any]]) -> None:
    load = figure7.workload(read_published(experiment_folder(figure7.PAPER, figure7.NAME) / "published.csv"))
    sets = figure7.QUICK if options.quick else figure7.SETS
    curves = ("three-phase", "contended")
    seconds, _shares = best(
        lambda: figure7.shares(load, curves, load.fitted_slot, "scratchpad", figure7.UTILISATIONS, sets),
        3,
    )
    points = len(figure7.UTILISATIONS)
    rows.append(
        _row("Figure 7, two curves", 2 * sets * points, "set verdicts", seconds, f"{sets} sets a point")
    )
    judge = partial(_engine.spm_schedulable, *made, CORES * SLOT_NS, SLOT_NS, "corrected")
    bounds_seconds, verdicts = best(judge, 3)
    each = seconds / (2 * sets * points) / (bounds_seconds / len(verdicts))
    # What is drawn, scaled and counted beside a verdict, over a verdict alone.
    goals.append(goal("figure7_over_bounds", each, "", "<=", 10))


def _soundness(made: Sets, options: Options, rows: list[dict[str, Any]], goals: list[dict[str, Any]]) -> None:
    sets = CAMPAIGN_QUICK if options.quick else CAMPAIGN_SETS
    violations = 0
    for method in ("corrected", "round-robin"):
        begin = time.perf_counter()
        found = _engine.spm_campaign(method, sets, 77, os.cpu_count() or 1)
        note = f"{found['simulations']} schedules, largest response / bound {found['largest_ratio']:.4f}"
        rows.append(
            _row(f"{method} bound attacked", found["sets"], "sets", time.perf_counter() - begin, note)
        )
        violations += found["violated_sets"]
    goals.append(goal("soundness_violations", violations, "sets", "<=", 0, provenance="simulated"))
