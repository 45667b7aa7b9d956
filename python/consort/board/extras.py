# SPDX-License-Identifier: Apache-2.0
"""The numbers that a core's program has beside those of each core and task (data_flow.py says where)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from consort.board.data_flow import DataFlow
from consort.board.policies import THREE_PHASE
from consort.board.window import Window

if TYPE_CHECKING:
    from consort.board.executive import Request


def extra_numbers(request: Request, core: str, duration_ps: int, window: Window) -> list[int]:
    """The numbers of a core's devices and stand-ins, as in its program (data_flow.py)."""
    flow = DataFlow(request.where.plan, core)
    values = [(plant.period_ps or 0) // 1000 for plant in flow.plants]
    for task, binding in flow.rows:
        rows = request.members[task.name][binding.member][: max(1, task.releases_until(duration_ps))]
        values += [len(rows), window.put(rows.tobytes())]
    if flow.stand_ins:
        values.append(request.seed)
    for task in flow.stand_ins:
        assert task.wcet_ps is not None and task.bcet_ps is not None, "a stand-in without a wcet is refused"
        values += [task.bcet_ps // 1000, task.wcet_ps // 1000]
    planned = request.where.plan.cores[core]
    if planned.policy == THREE_PHASE:
        values += [task.releases_until(duration_ps) for task in flow.tasks]
    return values
