# SPDX-License-Identifier: Apache-2.0
"""Rules about budgets of memory accesses."""

from __future__ import annotations

from collections.abc import Iterator

from consort.errors import BadInput
from consort.model.quantities import Duration
from consort.model.view import View

Problems = Iterator[BadInput]


def check_bandwidth(view: View) -> Problems:
    """A budget is of a core with preemptive fixed priorities whose jobs neither wait nor hold anything."""
    for name in view.mapping("scheduling"):
        if view.mapping("scheduling", name, "bandwidth"):
            yield from _of_a_core(view, name)
    for task in view.tasks():
        core = view.core(task)
        if core is None or not view.mapping("tasks", task, "accesses"):
            continue
        if not view.scheduled(core.name, "bandwidth"):
            yield view.problem(
                ("tasks", task, "accesses"),
                f"{core.name!r} has no budget of accesses; add 'bandwidth' for it under 'scheduling', or"
                " remove 'accesses'",
                at_key=True,
            )


def _of_a_core(view: View, name: str) -> Problems:
    here = ("scheduling", name, "bandwidth")
    period = view.parsed(Duration, *here, "period")
    if period is not None and period.value == 0:
        yield view.problem((*here, "period"), "the period is 0; more than 0 is needed")
    shortest, longest = (view.figure(Duration, *here, key) for key in ("shortest", "longest"))
    if shortest is not None and longest is not None and shortest > longest:
        text = f"the shortest access is longer than the longest, {longest}; correct one of them"
        yield view.problem((*here, "shortest"), text)
