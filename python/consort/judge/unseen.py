# SPDX-License-Identifier: Apache-2.0
"""Estimates of the jobs that a host hit unseen: its stops in a guest's jobs leave no trace. Its stops of
a core that waits do, and their rate says how many hit jobs to expect."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from consort.judge.disturbance import HOST, Disturbances
from consort.judge.samples import Samples
from consort.judge.verdict import Row, Unseen

_MEASURED = ("compute", "response")


def hits_unseen(samples: Samples, rows: Sequence[Row], found: Disturbances) -> tuple[Unseen, ...]:
    """An estimate for each task with undisturbed jobs above a bound: in how many the host may have come
    between.

    It is an estimate from below and excuses nothing: the waits of a core are taken to last as long as the
    whole run, and only what lasted as long as the smallest excess counts. Without such a job, or where the
    host took nothing, there is nothing to say.
    """
    above = [row for row in rows if row.kind == "task" and row.above and row.quantity in _MEASURED]
    # One a task: of its responses, where those are above their bound.
    chosen = {row.subject: row for quantity in _MEASURED for row in above if row.quantity == quantity}
    estimates = (_of_task(samples, row, found) for row in chosen.values())
    return tuple(one for one in estimates if one.taken)


def _of_task(samples: Samples, row: Row, found: Disturbances) -> Unseen:
    task = samples.number(row.subject)
    mine = samples.rows_of(task)
    quiet = mine[~found.disturbed[mine]]
    over = _seen(samples, row)[quiet] - (row.bound or 0.0)
    excess = float(over[over > 0].min(initial=np.inf))
    taken, hits = 0, 0.0
    for core, busy in _busy(samples, task, quiet).items():
        gaps = found.gaps[core]
        lasted = (gaps.end - gaps.begin) / samples.ticks_per_ns
        here = int(np.count_nonzero((gaps.culprit == HOST) & (lasted >= excess)))
        taken += here
        hits += here * busy
    return Unseen(row.subject, row.above, excess, taken, hits)


def _seen(samples: Samples, row: Row) -> NDArray[np.float64]:
    """The row's quantity of each job, in ns."""
    return samples.response if row.quantity == "response" else samples.ns(samples.jobs["compute"])


def _busy(samples: Samples, task: int, rows: NDArray[np.int64]) -> dict[int, float]:
    """The share of the run in which the jobs of those rows execute, on each of the task's cores."""
    jobs = samples.jobs[rows]
    start, finish = jobs["start"].astype(np.int64), jobs["finish"].astype(np.int64)
    ended = finish > 0
    whole = max(1, samples.released_for)
    names = samples.system.core_names
    facts = samples.system.tasks[task]
    shares = {int(jobs["core"][0]): float((finish - start)[ended].sum()) / whole} if jobs.size else {}
    if facts.worker in names and "worker_send" in (jobs.dtype.names or ()):
        served = (jobs["worker_receive"] > 0) & (jobs["worker_send"] > 0)
        spent = jobs["worker_send"].astype(np.int64) - jobs["worker_receive"].astype(np.int64)
        shares[names.index(facts.worker)] = float(spent[served].sum()) / whole
    return shares
