# SPDX-License-Identifier: Apache-2.0
"""The work of a sweep's worker: the figures of cells, put together into tasks of about one length."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from consort import __version__, _engine
from consort.analysis.generate import set_block
from consort.analysis.lacking import held, lacking_figures
from consort.analysis.system import analyze_system
from consort.base.errors import Held
from consort.model import BadDescription, System
from consort.plan import plan_of
from consort.sweep.cells import Cells, Row, cells_of
from consort.sweep.load import changed
from consort.sweep.model import FIGURES, LARGEST, LARGEST_OF_SET

if TYPE_CHECKING:
    from consort.simulate.chains import Chains
    from consort.simulate.engine import Simulation

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


# The parts of Consort that figures depend on.
PARTS = ("analysis", "model", "plan", "simulate", "sweep")
Cell = tuple[int, int]


class OtherCode(Exception):
    """An error: a worker has other code than the client, so their results might differ."""


@dataclass
class Done:
    """A worker's results: the rows of each cell, and the time of each analysis."""

    rows: list[tuple[int, int, list[tuple[Any, ...]]]] = field(default_factory=list)
    seconds: dict[str, tuple[int, float]] = field(default_factory=dict)


@lru_cache(maxsize=1)
def code() -> dict[str, str]:
    """The versions of the code: Consort's version, its engine and its Python code as hashes, and numpy's
    version."""
    package = Path(__file__).resolve().parents[1]
    python = hashlib.blake2b(digest_size=8)
    for part in PARTS:
        for file in sorted((package / part).rglob("*.py")):
            python.update(str(file.relative_to(package)).encode() + b"\0" + file.read_bytes())
    engine = hashlib.blake2b(Path(str(_engine.__file__)).read_bytes(), digest_size=8)
    return {
        "consort": __version__,
        "engine": engine.hexdigest(),
        "python": python.hexdigest(),
        "numpy": np.__version__,
    }


def run_cells(text: str, chosen: list[Cell], expected: dict[str, str]) -> Done:
    """The figures of some cells of a spec's JSON text, on a worker that has the client's code."""
    here = code()
    if here != expected:
        raise OtherCode(
            ", ".join(f"{k} {here[k]} instead of {v}" for k, v in expected.items() if here[k] != v)
        )
    cells = cells_of(text)
    done = Done()
    for combination, block in chosen:
        began = time.perf_counter()
        done.rows.append((combination, block, evaluate(cells, combination, block)))
        analysis = cells.combinations[combination].analysis
        count, seconds = done.seconds.get(analysis, (0, 0.0))
        done.seconds[analysis] = count + 1, seconds + time.perf_counter() - began
    return done


# A task costs a scheduler about a millisecond; it does a hundred of them a second at ease.
TASK_SECONDS, TASKS_PER_SECOND = 1.0, 100.0
# A task is at most one of so many parts of the rest for each worker, and no shorter than that [s].
SHARES, SHORTEST_SECONDS = 4, 0.1
# The data that one task sends back stays small, and so does the loss when its worker dies.
MOST_CELLS = 2_000


class Batches:
    """Hands out the cells that are to be done, so many at a time as take `TASK_SECONDS`."""

    def __init__(self, cells: Cells, finished: set[Cell], workers: int) -> None:
        self.cells = cells
        self.workers = workers
        self.seconds = max(TASK_SECONDS, workers / TASKS_PER_SECOND)
        self.left = len(cells) - len(finished)
        """Cells that were not handed out yet."""
        self._waiting = (cell for cell in cells if cell not in finished)
        self._returned: list[list[Cell]] = []
        self._held: Cell | None = None
        # Seconds of a cell by its analysis; one that is not known is tried by itself.
        self._cost: dict[str, float] = {}

    def learn(self, done: Done) -> None:
        """Takes the newest times into account; a cost changes along a sweep."""
        for analysis, (count, seconds) in done.seconds.items():
            before = self._cost.get(analysis, seconds / count)
            self._cost[analysis] = (before + seconds / count) / 2

    def again(self, batch: list[Cell]) -> None:
        """Hands a batch out once more, before others."""
        self._returned.append(batch)

    def __iter__(self) -> Iterator[list[Cell]]:
        return self

    def __next__(self) -> list[Cell]:
        if self._returned:
            return self._returned.pop()
        batch: list[Cell] = []
        seconds, wanted = 0.0, self._wanted()
        while len(batch) < MOST_CELLS and seconds < wanted:
            cell = self._held if self._held is not None else next(self._waiting, None)
            self._held = None
            if cell is None:
                break
            cost = self._cost.get(self.cells.combinations[cell[0]].analysis)
            if batch and (cost is None or seconds + cost > 1.5 * wanted):
                self._held = cell
                break
            batch.append(cell)
            seconds += wanted if cost is None else cost
        if not batch:
            raise StopIteration
        self.left -= len(batch)
        return batch

    def _wanted(self) -> float:
        """The wanted time of a batch [s]: shorter towards the end, so that all workers end together."""
        if not self._cost:
            return self.seconds
        ahead = self.left * sum(self._cost.values()) / len(self._cost)
        return min(self.seconds, max(ahead / (SHARES * self.workers), SHORTEST_SECONDS))


_COLUMNS = tuple(figure.name for figure in FIGURES["description"])


def describe(cells: Cells, analysis: str, changes: dict[str, Any], seed: int) -> list[Row]:
    """One row for each bound, simulated task or factor; a first one for the system."""
    try:
        system = changed(cells.system, changes)
        if analysis == "bounds":
            return bounds(system)
        if analysis == "simulation":
            return simulation(system, cells.spec["simulate"], seed)
        from consort.analysis.scaling import sensitivity

        return [
            _row(name=one.of or "", kind=one.kind, factor=one.factor, note=one.note)
            for one in sensitivity(system)
        ]
    except BadDescription as error:
        first = error.problems[0]
        return [_row(name="", kind="system", holds=False, note=f"{first.field}: {first.message}")]


def bounds(system: System) -> list[Row]:
    found = analyze_system(system)
    rows = [_row(name="", kind="system", holds=_shown(held(system, found)))]
    for one in found:
        rows.append(
            _row(
                name=one.task,
                kind=one.kind,
                core=one.core or None,
                bound_ps=one.response,
                allowed_ps=one.deadline,
                holds=_shown(one.held),
                note="; ".join(one.notes) if one.response is None else None,
            )
        )
    return rows


def _shown(answer: Held) -> bool | None:
    return None if answer is Held.UNDECIDED else bool(answer)


def simulation(system: System, how: dict[str, Any], seed: int) -> list[Row]:
    from consort.simulate.build import prepare
    from consort.simulate.chains import simulate_with_chains

    found, chains = simulate_with_chains(
        prepare(system, dense=how["dense"]),
        how["duration"],
        seed,
        runs=how["runs"],
        choice=how["execution"],
    )
    limits = analyze_system(system)
    lacking = {(one.task, one.kind) for one in limits if one.missing}
    rows = [
        _row(
            name="",
            kind="system",
            holds=_holds(found, chains, bool(lacking_figures(plan_of(system), limits))),
            jobs=sum(f.jobs for f in found.figures.values()),
            misses=found.misses,
        )
    ]
    for one in found.figures.values():
        rows.append(
            _row(
                name=one.task,
                kind="response time",
                core=one.core,
                allowed_ps=one.deadline,
                holds=_seen(one.misses == 0 if one.jobs else None, (one.task, "response time") in lacking),
                simulated_ps=one.max_response,
                jobs=one.jobs,
                misses=one.misses,
            )
        )
    for chain in chains.values():
        for kind, seen, allowed in (
            ("reaction time", chain.reaction, chain.allowed_reaction),
            ("data age", chain.age, chain.allowed_age),
        ):
            if seen is None and allowed is None:
                continue
            kept = None if seen is None else allowed is None or seen <= allowed
            holds = _seen(kept, (chain.chain, kind) in lacking)
            rows.append(_row(name=chain.chain, kind=kind, allowed_ps=allowed, holds=holds, simulated_ps=seen))
    return rows


def _seen(held: bool | None, lacking: bool) -> bool | None:
    """Nothing is known to hold for which a figure is missing."""
    return None if held and lacking else held


def _holds(found: Simulation, chains: Chains, lacking: bool) -> bool | None:
    """The verdict of `consort simulate`; None where one of them was never seen, or a figure is missing."""
    if found.misses or found.early or found.drops or not all(chain.kept for chain in chains.values()):
        return False
    unseen = any(chain.unseen for chain in chains.values())
    return None if lacking or unseen or any(not task.jobs for task in found.figures.values()) else True


def _row(**figures: Any) -> Row:
    return tuple(figures.get(name) for name in _COLUMNS)
