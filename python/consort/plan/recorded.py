# SPDX-License-Identifier: Apache-2.0
"""The channels and chains of a plan as the rows of a record number them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from consort.plan.types import Plan, PlannedChain, PlannedChannel


def carried(plan: Plan) -> list[PlannedChannel]:
    """The channels that a run carries: those of tasks' own data. Exchanges with workers go with the tasks."""
    return [channel for channel in plan.channels.values() if channel.exchange_of is None]


def steps_of_chains(plan: Plan) -> tuple[tuple[PlannedChannel, ...], tuple[PlannedChain, ...]]:
    """A channel for each step from task to task of a chain, and the chains with them in their paths."""
    channels: dict[str, PlannedChannel] = {}
    chains = []
    for chain in plan.chains.values():
        path = list(chain.path[:1])
        for writer, reader in pairwise(chain.path):
            name = f"{writer} to {reader}" + (" (let)" if chain.communication == "let" else "")
            channels[name] = PlannedChannel(
                name=name,
                # No more is claimed of it than that a read gets a block.
                implementation="snapshot",
                writer=writer,
                readers=(reader,),
                writer_core=plan.tasks[writer].core,
                reader_cores=(plan.tasks[reader].core,),
                capacity=None,
                memory=None,
                bytes=None,
                communication=chain.communication,
                described=False,
            )
            path += [name, reader]
        chains.append(replace(chain, path=tuple(path)))
    return tuple(channels.values()), tuple(chains)
