# SPDX-License-Identifier: Apache-2.0
"""`consort bench analysis`: how fast the analyses are, on sets whose answers are checked, beside peers.

All on one thread but Figure 7 and the soundness campaign, which use what the machine has.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort import _engine
from consort.analysis.generate import task_sets
from consort.bench import figure7
from consort.bench.published import experiment_folder, read_published
from consort.bench.registry import BenchResult, Options, goal
from consort.record import environment

TASKS = 10
UTILISATIONS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
SETS, QUICK = 20_000, 2_000
CAMPAIGN_SETS, CAMPAIGN_QUICK = 20_000, 2_000
SLOT_NS, CORES = 155_250, 2
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
    for index, part in enumerate((_response_times, _three_phase, _figure7, _soundness)):
        options.progress(part.__name__.strip("_").replace("_", " "), index / 4)
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
    different = int(np.sum(np.array(peer) != verdicts[:few]))
    goals.append(goal("rta_sets_per_s", rate, "sets/s", ">=", 1e6))
    goals.append(goal("rta_over_python", rate * peer_seconds / few, "", ">=", 20))
    goals.append(goal("rta_different_answers", different, "sets", "<=", 0, provenance="counted"))
    reason = "cannot be had from a package registry"
    goals.append(goal("rta_over_pycpa", None, "", ">=", 10_000, reason="pyCPA " + reason))
    goals.append(goal("rta_over_schedcat", None, "", ">=", 30, reason="SchedCAT " + reason))


def _three_phase(
    made: Sets, options: Options, rows: list[dict[str, Any]], goals: list[dict[str, Any]]
) -> None:
    c, t = made
    for method, name in (("corrected", "spm_corrected_sets_per_s"), ("literal", ""), ("round-robin", "")):
        judge = partial(_engine.spm_schedulable, c, t, CORES * SLOT_NS, SLOT_NS, method)
        seconds, verdicts = best(judge, 3)
        note = f"{int(verdicts.sum())} schedulable"
        rows.append(_row(f"three-phase bound, {method}", len(c), "sets", seconds, note))
        if name:
            goals.append(goal(name, len(c) / seconds, "sets/s", ">=", 100_000))


def _figure7(made: Sets, options: Options, rows: list[dict[str, Any]], goals: list[dict[str, Any]]) -> None:
    load = figure7.workload(read_published(experiment_folder(figure7.PAPER, figure7.NAME) / "published.csv"))
    sets = figure7.QUICK if options.quick else figure7.SETS
    curves = ("corrected", "contended")
    seconds, _shares = best(
        lambda: figure7.sweep(load, curves, load.fitted_slot, False, figure7.UTILISATIONS, sets), 3
    )
    points = len(figure7.UTILISATIONS)
    rows.append(
        _row("Figure 7, two curves", 2 * sets * points, "set verdicts", seconds, f"{sets} sets a point")
    )
    # A quick look is scaled to the whole.
    goals.append(goal("figure7_s", seconds * figure7.SETS / sets, "s", "<=", 1))


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
