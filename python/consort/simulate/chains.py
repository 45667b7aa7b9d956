# SPDX-License-Identifier: Apache-2.0
"""Reaction times and data ages of the chains of a simulation, found as those of every recording are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.judge.chains import chain_times, hops_of
from consort.record.description import Described
from consort.simulate.engine import Simulation
from consort.simulate.recording import TICKS_PER_NS, jobs_of, operations_of, system_of


@dataclass(frozen=True)
class ChainFigures:
    """What was seen of a chain; times in ps, None where it was never seen whole (consort.judge.chains).

    `age_at_output` is the reduced age: to when an output is written, not to when it is replaced.
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

    def with_more(self, other: ChainFigures) -> ChainFigures:
        """What was seen of the chain in two stretches of time."""

        def longest(a: int | None, b: int | None) -> int | None:
            return max((time for time in (a, b) if time is not None), default=None)

        return replace(
            self,
            reaction=longest(self.reaction, other.reaction),
            age=longest(self.age, other.age),
            age_at_output=longest(self.age_at_output, other.age_at_output),
            reactions=self.reactions + other.reactions,
        )

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
    described = simulation.prepared.plan.chains
    if not described:
        return {}
    system = Described.model_validate(system_of(simulation))
    jobs = jobs_of(simulation)
    operations = operations_of(simulation, jobs, system)
    found = {}
    for chain in system.chains:
        times = chain_times(hops_of(jobs, operations, chain, system, TICKS_PER_NS))
        allowed = described[chain.name]
        found[chain.name] = ChainFigures(
            chain.name,
            _largest(times.reactions),
            _largest(times.ages),
            _largest(times.reduced_ages),
            times.reactions.size,
            allowed.reaction_ps,
            allowed.age_ps,
        )
    return found


def _largest(times: NDArray[np.int64]) -> int | None:
    return int(times.max()) if times.size else None
