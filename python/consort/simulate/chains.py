# SPDX-License-Identifier: Apache-2.0
"""Reaction times and data ages of the chains of a simulation, found as those of every recording are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.base.errors import BadInput
from consort.judge import Limit
from consort.judge.chains import chain_times, hops_of
from consort.plan import Plan
from consort.plan.channels import dropping, sent_by_devices
from consort.record.ran import Ran
from consort.record.raw import packed
from consort.simulate.build import Prepared, prepare
from consort.simulate.engine import Choice, Report, Simulation, joined, repeated, simulate
from consort.simulate.recording import TICKS_PER_NS, in_order_channels, jobs_of, operations_of, system_of
from consort.simulate.room import dropped_of, waiting_in


@dataclass(frozen=True)
class ChainFigures:
    """Times of a chain in ps, None if it was never seen whole (consort.judge.chains).

    `age_at_output` is the reduced age: to when an output is written, not to when it is replaced. `seed` is
    that of the run which took the largest share of what is allowed.
    """

    chain: str
    reaction: int | None
    age: int | None
    age_at_output: int | None
    reactions: int
    allowed_reaction: int | None = None
    allowed_age: int | None = None
    seed: int = 1

    @property
    def kept(self) -> bool:
        return self.share <= 1

    @property
    def unseen(self) -> bool:
        """True if a time of it was never seen whole: then nothing says that it keeps its limits."""
        return self.reaction is None or self.age is None

    @property
    def share(self) -> Fraction:
        """The largest share of a limit; 0 if nothing was seen, or there is no limit."""
        pairs = ((self.reaction, self.allowed_reaction), (self.age, self.allowed_age))
        shares = (Fraction(seen, allowed) for seen, allowed in pairs if seen is not None and allowed)
        return max(shares, default=Fraction(0))

    def with_more(self, other: ChainFigures) -> ChainFigures:
        """The chain's figures over two stretches of time, or two runs."""

        def longest(a: int | None, b: int | None) -> int | None:
            return max((time for time in (a, b) if time is not None), default=None)

        return replace(
            self,
            seed=other.seed if other.share > self.share else self.seed,
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
            "kept": None if self.kept and self.unseen else self.kept,
            "provenance": "simulated",
        }


Chains = dict[str, ChainFigures]


def simulate_with_chains(
    prepared: Prepared,
    duration: int,
    seed: int = 1,
    *,
    runs: int = 1,
    choice: Choice = "uniform",
    report: Report | None = None,
) -> tuple[Simulation, Chains]:
    """Simulates as `simulate`, without a trace, and gives the chains' figures of all runs, too.

    The jobs of one run at a time are kept, of a description that has chains or channels that may drop blocks.
    """
    if not followed(prepared.plan):
        return simulate(prepared, duration, seed, runs=runs, choice=choice, report=report), {}

    def single(seed: int, share: Report | None) -> tuple[Simulation, Chains]:
        one = simulate(prepared, duration, seed, choice=choice, trace=True, report=share)
        one, chains = measured(one)
        return replace(one, jobs=None, slices=None), chains

    def together(a: tuple[Simulation, Chains], b: tuple[Simulation, Chains]) -> tuple[Simulation, Chains]:
        return joined(a[0], b[0]), {name: seen.with_more(b[1][name]) for name, seen in a[1].items()}

    return repeated(single, together, seed, runs=runs, trace=False, report=report)


def measure_chains(simulation: Simulation) -> Chains:
    """All chains of the description, from a run with a trace."""
    return measured(simulation)[1]


def followed(plan: Plan) -> bool:
    """True if jobs tell more than figures do: of chains, or of blocks that are dropped."""
    return bool(plan.chains or dropping(plan))


def measured(simulation: Simulation) -> tuple[Simulation, Chains]:
    """A run with a trace, with the blocks that its channels dropped, and its chains."""
    described = simulation.prepared.plan.chains
    if not followed(simulation.prepared.plan):
        return simulation, {}
    ran = Ran.of(simulation.prepared.plan, system_of(simulation))
    jobs = jobs_of(simulation)
    operations, rows = operations_of(simulation, jobs, ran), packed(jobs)
    found = {}
    for chain in ran.chains:
        times = chain_times(hops_of(rows, operations, chain, ran, TICKS_PER_NS))
        allowed = described[chain.name]
        found[chain.name] = ChainFigures(
            chain.name,
            _largest(times.reactions),
            _largest(times.ages),
            _largest(times.reduced_ages),
            times.reactions.size,
            allowed.reaction_ps,
            allowed.age_ps,
            simulation.seed,
        )
    dropped, waiting = dropped_of(operations, ran), _waiting(simulation.prepared.plan, operations, ran)
    return replace(simulation, dropped=dropped, waiting=waiting), found


def _waiting(plan: Plan, operations: NDArray[np.void], ran: Ran) -> frozenset[str]:
    left = {ran.channel_names[number] for number in waiting_in(operations, in_order_channels(plan, ran))}
    return frozenset(left | {channel.name for channel in sent_by_devices(plan)})


def _largest(times: NDArray[np.int64]) -> int | None:
    return int(times.max()) if times.size else None


# Enough for the rare coincidences of a small system, few enough for a second of computing.
JOBS = 200_000
SECOND_PS = 10**12


def simulated_limits(plan: Plan) -> tuple[Limit, ...]:
    """Maxima of responses, reaction times and data ages in one simulation, with their source.

    It lasts for a second of the system's own time, or for fewer jobs than `JOBS`. Empty for a plan that lacks
    figures which a simulation needs (execution times): nothing is made up for them.
    """
    rate = sum(1 / float(task.long_run_ps) for task in plan.tasks.values() if task.period_ps)
    rate += sum(1 / float(channel.messages_apart_ps) for channel in sent_by_devices(plan))
    longest = max((task.period_ps for task in plan.tasks.values()), default=0)
    duration = max(min(SECOND_PS, int(JOBS / rate) if rate else SECOND_PS), 2 * longest)
    try:
        found = simulate(prepare(plan), duration, plan.run.seed, choice="edges", trace=True)
    except BadInput:
        return ()
    source = f"simulated for {duration / 1e9:g} ms, seed {plan.run.seed}"
    limits = []
    for name, figures in found.figures.items():
        if figures.max_response is not None:
            limits.append(Limit(name, "response", figures.max_response / 1000, source))
    for chain in measure_chains(found).values():
        if chain.reaction is not None:
            limits.append(Limit(chain.chain, "reaction", chain.reaction / 1000, source))
        if chain.age is not None:
            limits.append(Limit(chain.chain, "age", chain.age / 1000, source))
    return tuple(limits)
