# SPDX-License-Identifier: Apache-2.0
"""Reaction times and data ages of cause-effect chains, measured in a simulation.

A job reads when it begins (three-phase: when its load begins) and writes when it ends; under logical
execution time it reads when it is due and writes at its deadline. What is written at an instant can be read
at that instant. A job whose output is held writes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.simulate.engine import Simulation
from consort.simulate.rows import DOING

Times = NDArray[np.int64]


@dataclass(frozen=True)
class ChainFigures:
    """What was seen of a chain; times in ps, None where it was never seen whole.

    The reaction time counts from a stimulus just after a job of the first task read, to the first output of
    the last task that knows of it. The age counts from the reading of the first task to when the output
    that rests on it is replaced; `age_at_output` to when it is written.
    """

    chain: str
    reaction: int | None
    age: int | None
    age_at_output: int | None
    reactions: int
    allowed_reaction: int | None = None
    allowed_age: int | None = None

    @property
    def kept(self) -> bool:
        pairs = ((self.reaction, self.allowed_reaction), (self.age, self.allowed_age))
        return all(seen is None or allowed is None or seen <= allowed for seen, allowed in pairs)

    def to_json(self) -> dict[str, Any]:
        return {
            "chain": self.chain,
            "max_reaction_ps": self.reaction,
            "max_age_ps": self.age,
            "max_age_at_output_ps": self.age_at_output,
            "reactions": self.reactions,
            "allowed_reaction_ps": self.allowed_reaction,
            "allowed_age_ps": self.allowed_age,
            "kept": self.kept,
            "provenance": "simulated",
        }


def measure_chains(simulation: Simulation) -> dict[str, ChainFigures]:
    """All chains of the description, from a run with a trace."""
    system = simulation.prepared.system
    found = {}
    for name, chain in system.chains.items():
        moments = [_moments(simulation, task, chain.communication == "let") for task in chain.path]
        reactions = reaction_times(moments)
        whole, written = data_ages(moments)
        found[name] = ChainFigures(
            name,
            _largest(reactions),
            _largest(whole),
            _largest(written),
            reactions.size,
            chain.reaction.picoseconds if chain.reaction is not None else None,
            chain.age.picoseconds if chain.age is not None else None,
        )
    return found


def reaction_times(moments: list[tuple[Times, Times]]) -> Times:
    """From just after each read of the first task; only those whose effect was seen."""
    reads, writes = moments[0]
    stimulus, at = reads[:-1], writes[1:]
    for reads, writes in moments[1:]:
        index = np.searchsorted(reads, at, side="left")
        seen = index < reads.size
        stimulus, at = stimulus[seen], writes[index[seen]]
    return at - stimulus


def data_ages(moments: list[tuple[Times, Times]]) -> tuple[Times, Times]:
    """Of each output of the last task: how old its data is when it is replaced, and when it is written."""
    reads, writes = moments[-1]
    source, written, replaced = reads[:-1], writes[:-1], writes[1:]
    for reads, writes in reversed(moments[:-1]):
        index = np.searchsorted(writes, source, side="right") - 1
        seen = index >= 0
        source, written, replaced = reads[index[seen]], written[seen], replaced[seen]
    return replaced - source, written - source


def _moments(simulation: Simulation, task: str, let: bool) -> tuple[Times, Times]:
    """When the jobs of a task read and when they wrote."""
    jobs = simulation.jobs_of(task)
    described = simulation.prepared.system.tasks[task]
    if let:
        due = np.ascontiguousarray(jobs["release"])
        return due, due + described.deadline.picoseconds
    reads = np.ascontiguousarray(jobs["start"])
    if described.execution == "three-phase":
        assert simulation.slices is not None
        s = simulation.slices
        loads = s[(s["task"] == simulation.prepared.tasks.index(task)) & (s["doing"] == DOING.index("load"))]
        # Both in the order of the jobs.
        reads = np.ascontiguousarray(loads["begin"])[np.argsort(loads["seq"], kind="stable")]
    wrote = (jobs["status"] & 2) == 0
    return reads[wrote], np.ascontiguousarray(jobs["finish"])[wrote]


def _largest(times: Times) -> int | None:
    return int(times.max()) if times.size else None
