# SPDX-License-Identifier: Apache-2.0
"""`consort bench soundness`: schedules that exceed a bound of three-phase tasks, looked for at length.

Random task sets at the edge of what a bound accepts, each attacked by a hill climb over releases, gaps and
execution times: the sweeps bench/sweeps/soundness*.yaml. The bound as printed must be refuted, and so must
every lowered lemma: a search that does not find those says nothing about the bounds that it does not refute.
"""

from __future__ import annotations

import json
from typing import Any

from consort.base.environment import environment
from consort.record.store import default_root
from consort.sweep.cluster import workers_here
from consort.sweep.store import Point

from consort_bench.registry import BenchResult, Options, goal
from consort_bench.sweeps import points_of

SETS, QUICK = 100_000, 5_000
MUTANT_SETS, PRINTED_SETS = 40_000, 20_000


def run(options: Options) -> BenchResult:
    """`iterations` is the number of task sets that each bound is attacked with."""
    sets = options.iterations or (QUICK if options.quick else SETS)
    root = options.root or default_root()
    with workers_here() as workers:
        attacked, printed, *lowered = (
            points_of(name, count, root, workers, options.progress)
            for name, count in (
                ("soundness", sets),
                ("soundness-printed", max(sets, PRINTED_SETS)),
                ("soundness-mutants", MUTANT_SETS),
                ("soundness-jitter-mutants", MUTANT_SETS),
            )
        )
    mutants = [point for some in lowered for point in some]
    rows = [_row(point) for point in (*attacked, *printed, *mutants)]
    tightness = {_name(point): point["tightness"] for point in attacked}
    examples = {
        _name(point): json.loads(point["example"]) for point in (*attacked, *printed) if point["example"]
    }
    survived = [_name(point) for point in mutants if not point["violated_sets"]]
    violations = sum(point["violated_sets"] for point in attacked)
    goals = [
        goal("soundness_violations", violations, "sets", "<=", 0, provenance="simulated"),
        goal(
            "soundness_sets",
            sum(point["sets"] for point in attacked),
            "sets",
            ">=",
            4 * sets * 0.95,
            provenance="counted",
        ),
        goal("literal_violations", printed[0]["violated_sets"], "sets", ">=", 1, provenance="simulated"),
        goal("mutants_survived", len(survived), "mutants", "<=", 0, provenance="counted"),
    ]
    notes = [f"survived: {name}" for name in survived]
    notes += [
        "tightness: largest simulated response of each task over its bound, share of tasks in steps of 10 %",
        *(
            f"  {name:32}" + " ".join(f"{share:6.1%}" for share in _tenths(bins))
            for name, bins in tightness.items()
        ),
    ]
    return BenchResult(goals, rows, environment(), notes, {"tightness": tightness, "examples": examples})


def _name(point: Point) -> str:
    """The name of the attacked analysis."""
    name: str = point["analysis"]
    if point["lowered"]:
        name += f" with {point['lowered']} lowered"
    return f"{name}, jitter" if point["jitter"] else name


def _row(point: Point) -> dict[str, Any]:
    return {
        "what": _name(point),
        "sets": point["sets"],
        "simulations": point["simulations"],
        "violated_sets": point["violated_sets"],
        "largest_simulated_over_bound": round(point["largest_ratio"], 4),
        "provenance": point["provenance"],
    }


def _tenths(bins: list[int]) -> list[float]:
    whole = sum(bins) or 1
    width = len(bins) // 10
    return [sum(bins[i * width : (i + 1) * width]) / whole for i in range(10)]
