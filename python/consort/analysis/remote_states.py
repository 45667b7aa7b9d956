# SPDX-License-Identifier: Apache-2.0
"""Tasks whose states lie in remote memory: the times that their faults add to jobs, and the assumptions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from consort.analysis.figures import Cost, Figures
from consort.analysis.result import Bound, in_words, with_theorem
from consort.plan import Plan

REMOTE = "docs/explanation/analyses.md, theorem 32 (states in remote memory), with "
# Switches of a fault that gives the core up: out of the job and back into it, and one under way when it comes
# back.
SWITCHES = 3


def pages_on(plan: Plan, core: str) -> list[str]:
    """The tasks of a core whose states lie in remote memory."""
    return [name for name in plan.cores[core].tasks if plan.tasks[name].remote_state is not None]


def faults_of(figures: Figures, task: str, switch: Cost) -> Cost:
    """The execution that a job's faults add, with the switches of the core that they may give up."""
    state = figures.plan.tasks[task].remote_state
    waits = figures.faults(task)
    if state is None:
        return waits
    assert state.faults is not None  # `faults` raises without it
    return waits + switch.times(SWITCHES * state.faults)


def with_faults(plan: Plan, bound: Bound, paged: Sequence[str]) -> Bound:
    """A bound of a core some of whose jobs wait for pages, with its assumptions. `paged`: its `pages_on`."""
    if not paged or bound.response is None:
        return bound
    said = []
    for name in paged:
        state = plan.tasks[name].remote_state
        assert state is not None and state.fault_ps is not None
        said.append(
            f"a job of {name} has at most {state.faults} faults on its state in {state.memory}, each of at"
            f" most {in_words(state.fault_ps)}; its execution time is that without faults"
        )
    return replace(bound, source=with_theorem(REMOTE, bound), assumptions=(*bound.assumptions, *said))
