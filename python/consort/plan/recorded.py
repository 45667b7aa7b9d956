# SPDX-License-Identifier: Apache-2.0
"""The facts on a plan's parts that a record has beside its tables (consort.record.description)."""

from __future__ import annotations

from typing import Any

from consort.plan.types import Plan, PlannedCore, PlannedTask


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
