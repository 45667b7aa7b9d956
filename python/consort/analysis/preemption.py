# SPDX-License-Identifier: Apache-2.0
"""Cache reloads of preempted jobs: the cases that have bounds, and what the bounds rest on."""

from __future__ import annotations

from dataclasses import replace

from consort.analysis.result import Bound, with_theorem
from consort.plan import Plan

STATED = "docs/explanation/analyses.md, theorem 21 (a stated cost of each preemption), with "
SETS = "docs/explanation/analyses.md, theorem 21 (Tan & Mooney 2007; Altmeyer, Davis & Maiza 2012), with "


def with_reloads(plan: Plan, bound: Bound) -> Bound:
    """A bound of a core whose jobs reload, with its assumptions."""
    core = plan.cores[bound.core]
    if (core.cache_reload_ps is None and core.cache is None) or bound.response is None:
        return bound
    source = STATED if core.cache is None else SETS
    return replace(bound, source=with_theorem(source, bound))
