# SPDX-License-Identifier: Apache-2.0
"""Gaps in the outputs of tasks whose core died in a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from consort.analysis.mode_changes import ModeBounds
from consort.judge import Verdict
from consort.judge.fail_over import Gap
from consort.plan import ModePlans
from consort.record.columns import JOBS
from consort.record.raw import RawRun
from consort.record.status import STATUS
from consort.record.stays import Death, Stay, deaths_of

PS = 10**12


def gaps_of(
    plans: ModePlans,
    bounds: ModeBounds | None,
    scale: int,
    raw: RawRun,
    stays: Sequence[Stay],
    verdicts: Sequence[tuple[RawRun, Verdict]],
) -> list[Gap]:
    """The gaps of the tasks of each core that died, in the mode in which it did."""
    found = []
    names, cores = list(plans.modes), list(plans.whole.cores)
    for death in deaths_of(raw):
        at = max((k for k, stay in enumerate(stays) if stay.begin <= death.noticed), default=0)
        mode, core = names[stays[at].mode], cores[death.core]
        for task in plans.modes[mode].tasks.values():
            if task.core == core:
                found.append(_gap(plans, bounds, scale, raw, stays, at, death, core, task.name, verdicts))
    return found


def _gap(
    plans: ModePlans,
    bounds: ModeBounds | None,
    scale: int,
    raw: RawRun,
    stays: Sequence[Stay],
    at: int,
    death: Death,
    core: str,
    task: str,
    verdicts: Sequence[tuple[RawRun, Verdict]],
) -> Gap:
    names = list(plans.modes)
    mode = names[stays[at].mode]
    changes = plans.whole.changes
    assert changes is not None
    after = stays[at + 1] if at + 1 < len(stays) else None
    follows = names[after.mode] if after is not None else changes.fail_over[core]
    rate = raw.manifest.clock.ticks_per_second
    config = raw.manifest.config
    end = int(config["start_tick"] + config["duration_ns"] * rate / 1e9)

    def ps(tick: int | None) -> int | None:
        return None if tick is None else round((tick - death.sign) * PS / rate)

    jobs = np.asarray(raw.tables[JOBS].rows)
    mine = jobs[(jobs["task"] == list(plans.whole.tasks).index(task)) & (jobs["core"] != death.core)]
    done = mine[(mine["release"] > death.sign) & (mine["status"] & STATUS["unserved"] == 0)]
    first = int(done["finish"].min()) if done.size else None
    until = int(done["release"].min()) if done.size else end
    planned = plans.modes[mode].tasks[task]
    gave = jobs[(jobs["task"] == list(plans.whole.tasks).index(task)) & (jobs["release"] < until)]
    last = int(gave["release"].max()) if gave.size else stays[at].begin
    goes_on = task in plans.modes[follows].tasks
    lost = max(0, round((until - last) * PS / rate) - 1) // (planned.period_ps * scale)
    bound = None
    if bounds is not None and follows == changes.fail_over[core]:
        known = bounds.gap(task, core, mode)
        bound = None if known is None or known.response is None else known.response * scale
    noticed = ps(death.noticed)
    left = ps(end)
    assert noticed is not None and left is not None
    return Gap(
        core,
        mode,
        task,
        noticed,
        ps(stays[at].idle),
        ps(None if after is None else after.begin),
        ps(first),
        lost if goes_on else None,
        goes_on,
        bound,
        left,
        raw.manifest.clock.provenance,
        disturbed_between(death.sign, first or end, verdicts),
    )


def disturbed_between(begin: int, end: int, verdicts: Sequence[tuple[RawRun, Verdict]]) -> bool:
    """True if the machine disturbed a job that was under way meanwhile."""
    for raw, verdict in verdicts:
        jobs = np.asarray(raw.tables[JOBS].rows)[verdict.disturbed]
        if ((jobs["release"] < end) & (jobs["finish"] >= begin)).any():
            return True
    return False
