# SPDX-License-Identifier: Apache-2.0
"""`consort bench soundness`: schedules that exceed a bound of three-phase tasks, looked for at length.

Random task sets at the edge of what a bound accepts, each attacked by a hill climb over releases, gaps and
execution times. The bound as printed must be refuted, and so must every lowered lemma: a search that does not
find those says nothing about the bounds that it does not refute.
"""

from __future__ import annotations

import os
from itertools import product
from typing import Any

from consort import _engine
from consort.record import environment

from consort_bench.registry import BenchResult, Options, goal

SETS, QUICK = 100_000, 5_000
# A part of the work at a time, so that progress is seen and an interrupt heard; a small one where the first
# violation ends the search.
PORTION, SMALL_PORTION = 20_000, 4_000
# Each lowers one length that a lemma proves (docs/explanation/three-phase.md).
MUTANTS: tuple[dict[str, int], ...] = (
    {"interval_slots": 0},
    {"interval_rounds": 1},
    {"threshold_rounds": 3},
    {"extra_waste": 0},
    {"final_rounds": 1},
    {"final_slots": 0},
    {"final_short_rounds": 2},
    {"final_short_slots": 0},
    {"blocking_slots": 1},
    {"window_slots": 2},
    {"window_slots": 4},
    {"early_return": 0},
)
# Each leaves jitter out in one place.
JITTER_MUTANTS: tuple[dict[str, int], ...] = ({"window_jitter": 0}, {"own_jitter": 0}, {"start_jitter": 0})
MUTANT_SETS = 40_000


def campaign(
    method: str,
    sets: int,
    options: Options,
    what: str,
    *,
    lemmas: dict[str, int] | None = None,
    jitter: bool = False,
) -> dict[str, Any]:
    """Portions of a campaign, added up; one that must be refuted ends with the first violation."""
    total: dict[str, Any] = {
        "sets": 0,
        "simulations": 0,
        "violated_sets": 0,
        "largest_ratio": 0.0,
        "tightness": None,
        "example": None,
    }
    refutable = bool(lemmas) or method == "literal"
    size = SMALL_PORTION if refutable else PORTION
    for seed in range(1, -(-sets // size) + 1):
        portion = min(size, sets - (seed - 1) * size)
        options.progress(what, (seed - 1) * size / sets)
        found = _engine.spm_campaign(
            method, portion, seed, os.cpu_count() or 1, 1, 4, 3, 100, "fifo", lemmas or {}, jitter
        )
        for key in ("sets", "simulations", "violated_sets"):
            total[key] += found[key]
        total["largest_ratio"] = max(total["largest_ratio"], found["largest_ratio"])
        before = total["tightness"] or [0] * len(found["tightness"])
        total["tightness"] = [a + b for a, b in zip(before, found["tightness"], strict=True)]
        total["example"] = total["example"] or found["example"]
        if total["violated_sets"] and refutable:
            break
    return total


def run(options: Options) -> BenchResult:
    """`iterations` is the number of task sets that each bound is attacked with."""
    sets = options.iterations or (QUICK if options.quick else SETS)
    rows: list[dict[str, Any]] = []
    tightness: dict[str, list[int]] = {}
    examples: dict[str, Any] = {}
    violations = 0
    for method, jitter in product(("corrected", "round-robin"), (False, True)):
        name = f"{method}, jitter" if jitter else method
        found = campaign(method, sets, options, f"{name}: bound", jitter=jitter)
        rows.append(_row(name, found))
        tightness[name] = found["tightness"]
        violations += found["violated_sets"]
        if found["example"]:
            examples[name] = found["example"]
    printed = campaign("literal", max(sets, 20_000), options, "bound as printed")
    rows.append(_row("literal (as printed)", printed))
    examples["literal"] = printed["example"]
    survived = []
    for lemmas in (*MUTANTS, *JITTER_MUTANTS):
        jitter = lemmas in JITTER_MUTANTS
        name = ", ".join(f"{k} = {v}" for k, v in lemmas.items())
        found = campaign(
            "corrected", MUTANT_SETS, options, f"corrected with {name}", lemmas=lemmas, jitter=jitter
        )
        rows.append(_row(f"corrected with {name}", found))
        if not found["violated_sets"]:
            survived.append(name)
    attacked = sum(row["sets"] for row in rows[:4])
    goals = [
        goal("soundness_violations", violations, "sets", "<=", 0, provenance="simulated"),
        goal("soundness_sets", attacked, "sets", ">=", 4 * sets * 0.95, provenance="counted"),
        goal("literal_violations", printed["violated_sets"], "sets", ">=", 1, provenance="simulated"),
        goal("mutants_survived", len(survived), "mutants", "<=", 0, provenance="counted"),
    ]
    notes = [f"survived: {name}" for name in survived]
    notes += [
        "tightness: largest simulated response of each task over its bound, share of tasks in steps of 10 %",
        *(
            f"  {method:20}" + " ".join(f"{share:6.1%}" for share in _tenths(bins))
            for method, bins in tightness.items()
        ),
    ]
    extra = {"tightness": tightness, "examples": examples}
    return BenchResult(goals, rows, environment(), notes, extra)


def _row(what: str, found: dict[str, Any]) -> dict[str, Any]:
    return {
        "what": what,
        "sets": found["sets"],
        "simulations": found["simulations"],
        "violated_sets": found["violated_sets"],
        "largest_simulated_over_bound": round(found["largest_ratio"], 4),
        "provenance": "simulated",
    }


def _tenths(bins: list[int]) -> list[float]:
    whole = sum(bins) or 1
    width = len(bins) // 10
    return [sum(bins[i * width : (i + 1) * width]) / whole for i in range(10)]
