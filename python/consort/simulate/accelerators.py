# SPDX-License-Identifier: Apache-2.0
"""Accelerators, and what tasks ask of them, as the engine takes them."""

from __future__ import annotations

from consort import _engine
from consort.analysis.accelerators import asks_of
from consort.analysis.figures import Figures
from consort.plan import Plan

Demand = tuple[int, int, int, int, int, int, int, int, int, int]


def served_by(plan: Plan, core: str, made: _engine.SimCore) -> None:
    """Gives a core the clients of the accelerator that it serves, if it serves one."""
    for accelerator in plan.accelerators.values():
        if accelerator.core == core:
            made.serve(
                accelerator.arbitration,
                accelerator.round_ps,
                [(c.rank, c.slot_from_ps, c.slot_ps, c.budget_ps, c.period_ps) for c in accelerator.clients],
            )


def demands_of(figures: Figures, task: str, cores: list[str], *, sleeps: bool) -> list[Demand]:
    """The demands of a task's jobs; `MissingFigure` for a cost that nobody gave.

    The arbitration counts with the costs under load, and requests take those without: no bound may rest on
    the difference.
    """
    plan = figures.plan
    found: list[Demand] = []
    longest = asks_of(figures, task, sleeps=sleeps)
    for ask, most in zip(asks_of(figures, task, sleeps=sleeps, loaded=False), longest, strict=True):
        accelerator = plan.accelerators[ask.accelerator]
        operation = accelerator.operations[ask.operation]
        assert operation.wcet_ps is not None and operation.bcet_ps is not None
        client = next(k for k, one in enumerate(accelerator.clients) if one.task == task)
        found.append(
            (
                cores.index(accelerator.core),
                client,
                ask.times,
                most.cost,
                min(ask.cost, most.cost),
                min(ask.cost - operation.wcet_ps + operation.bcet_ps, most.cost),
                ask.send,
                ask.receive,
                ask.request,
                ask.answer,
            )
        )
    return found
