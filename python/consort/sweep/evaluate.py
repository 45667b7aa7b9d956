# SPDX-License-Identifier: Apache-2.0
"""The figures of one cell."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort import _engine
from consort.analysis.generate import set_block
from consort.sweep.cells import Cells, Row
from consort.sweep.model import LARGEST, LARGEST_OF_SET

Sets = tuple[NDArray[np.int64], NDArray[np.int64]]
# The engine's names.
METHODS = {
    "three-phase": "corrected",
    "three-phase-printed": "literal",
    "three-phase-round-robin": "round-robin",
    "contended": "contended",
}
# A search until the first violation looks that often whether there is one.
PORTION = 4_000


def evaluate(cells: Cells, combination: int, block: int) -> list[Row]:
    """The rows of a cell; their columns are those of FIGURES."""
    chosen = cells.combinations[combination]
    seed, sets = cells.seed(combination, block), cells.sets(block)
    if cells.kind == "task_sets":
        return [(sets, task_sets(chosen.analysis, chosen.parameters, seed, sets))]
    if cells.kind == "programs":
        return [(sets, programs(cells.spec["programs"], chosen.analysis, chosen.parameters, seed, sets))]
    if cells.kind == "attack":
        return [attack(cells, chosen.analysis, chosen.parameters, seed, sets)]
    from consort.sweep.description import describe

    return describe(cells, chosen.analysis, chosen.parameters, seed)


# A cell's neighbours judge the same sets.
@lru_cache(maxsize=1)
def _made(
    tasks: int, utilisation: float, periods: Any, shortest: int, longest: int, seed: int, sets: int
) -> Sets:
    rng = np.random.Generator(np.random.PCG64(seed))
    return set_block(sets, tasks, utilisation, periods, rng, shortest, longest)


def task_sets(analysis: str, parameters: dict[str, Any], seed: int, sets: int) -> int:
    """The number of schedulable sets."""
    p = parameters
    c, t = _made(p["tasks"], p["utilisation"], p["periods"], p["shortest"], p["longest"], seed, sets)
    preemptive = not analysis.endswith("non-preemptive")
    if analysis.startswith("fixed-priority"):
        verdicts = _engine.fp_schedulable(c=c, t=t, d=t, preemptive=preemptive)
    elif analysis.startswith("edf"):
        verdicts = _engine.edf_schedulable(c=c, t=t, d=t, preemptive=preemptive)
    elif analysis.startswith("simulated-"):
        policy = analysis.removeprefix("simulated-")
        _, misses, _ = _engine.sim_bulk(policy, c, t, p["duration"], seed=seed)
        verdicts = misses.sum(axis=1) == 0
    else:
        slot = p["slot"]
        verdicts = _engine.spm_schedulable(c, t, p["cores"] * slot, slot, METHODS[analysis])
    return int(np.count_nonzero(verdicts))


def programs(table: list[list[int]], analysis: str, parameters: dict[str, Any], seed: int, sets: int) -> int:
    """The number of schedulable sets."""
    p = parameters
    switches = 2 * p["context_switch"]
    slot = p.get("slot", LARGEST_OF_SET)
    counts = _engine.spm_sweep(
        [(row[0], row[1], row[2], row[3]) for row in table],
        [p["utilisation"]],
        [METHODS[analysis]],
        max(max(row[2:]) for row in table) if slot == LARGEST else slot,
        0,
        p.get("cores", 1),
        [p["shortest"], p["longest"]],
        [switches, switches],
        p["utilisation_of"] == "contended",
        p["keep_last"],
        sets,
        seed,
    )
    return counts[0][0]


def attack(cells: Cells, analysis: str, parameters: dict[str, Any], seed: int, sets: int) -> Row:
    """Sets, schedules tried, sets violated, largest ratio, tightness, an example."""
    p = parameters
    lowered = cells.spec["lowered"].get(p["lowered"], {})
    until = cells.spec["until_refuted"]
    size = min(PORTION, sets) if until else sets
    counts, ratio, example = [0, 0, 0], 0.0, None
    tightness = np.zeros(0, dtype=np.int64)
    for first in range(0, sets, size):
        found = _engine.spm_campaign(
            METHODS[analysis],
            min(size, sets - first),
            seed + first,
            1,
            p["fewest_cores"],
            p["most_cores"],
            lemmas=lowered,
            jitter=p["jitter"],
        )
        for place, name in enumerate(("sets", "simulations", "violated_sets")):
            counts[place] += found[name]
        ratio = max(ratio, found["largest_ratio"])
        seen = np.array(found["tightness"], dtype=np.int64)
        tightness = tightness + seen if tightness.size else seen
        example = example or found["example"]
        if until and counts[2]:
            break
    text = None if example is None else json.dumps(example, sort_keys=True)
    return (*counts, ratio, tightness.tolist(), text)
