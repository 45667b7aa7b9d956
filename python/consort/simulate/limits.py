# SPDX-License-Identifier: Apache-2.0
"""The largest times that a short simulation of a plan shows, to stand beside bounds and what a run shows."""

from __future__ import annotations

from consort.base.errors import BadInput
from consort.judge import Limit
from consort.plan import Plan
from consort.simulate.build import prepare
from consort.simulate.chains import measure_chains
from consort.simulate.engine import simulate

# Enough for the rare coincidences of a small system, few enough for a second of computing.
JOBS = 200_000
SECOND_PS = 10**12


def simulated_limits(plan: Plan) -> tuple[Limit, ...]:
    """Maxima of responses, reaction times and data ages in one simulation, with their source.

    It lasts for a second of the system's own time, or for fewer jobs than `JOBS`. Empty for a plan that lacks
    figures which a simulation needs (execution times): nothing is made up for them.
    """
    rate = sum(1 / float(task.long_run_ps) for task in plan.tasks.values() if task.period_ps)
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
