# SPDX-License-Identifier: Apache-2.0
"""The parts of a plan that the rows of a record number, and facts that stand beside its tables."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

from consort.plan.types import Plan, PlannedChain, PlannedChannel, PlannedCore, PlannedTask


def ns(picoseconds: int | None, scale: int = 1) -> int | float | None:
    """A time in nanoseconds, stretched; whole where it is."""
    if picoseconds is None:
        return None
    stretched = picoseconds * scale
    return stretched / 1000 if stretched % 1000 else stretched // 1000


def core_facts(core: PlannedCore) -> dict[str, Any]:
    return {
        "name": core.name,
        "policy": core.policy,
        "wait": core.wait,
        "time_base": core.time_base,
        "processor": core.processor,
    }


def task_facts(task: PlannedTask, scale: int = 1) -> dict[str, Any]:
    """A task's facts; its execution time is never stretched."""
    return {
        "name": task.name,
        "core": task.core,
        "worker": task.worker,
        "execution": task.execution,
        "release": task.release,
        "arrival": task.arrival,
        "period_ns": ns(task.period_ps, scale),
        "deadline_ns": ns(task.deadline_ps, scale),
        "offset_ns": ns(task.offset_ps, scale),
        "jitter_ns": ns(task.jitter_ps, scale),
        "wcet_ns": None if task.computes_ps is None else task.computes_ps / 1000,
        "rank": task.rank,
        "on_miss": task.on_miss,
        "communication": task.communication,
        "step": None if task.step is None else str(task.step),
    }


def chain_facts(plan: Plan, scale: int = 1) -> list[dict[str, Any]]:
    return [
        {
            "name": chain.name,
            "path": list(chain.path),
            "communication": chain.communication,
            "reaction_ns": ns(chain.reaction_ps, scale),
            "age_ns": ns(chain.age_ps, scale),
        }
        for chain in plan.chains.values()
    ]


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
