# SPDX-License-Identifier: Apache-2.0
"""The order in which the board's scratchpad kernel did things, held against the simulator's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from consort.board.kernel_plan import KernelPlan
from consort.board.scratchpad import KernelResult
from consort.record.status import SLICES
from consort.simulate.build import prepare as prepare_simulation
from consort.simulate.engine import simulate

Events = list[tuple[str, int, int, int]]  # what, core, task, job
# Events of every job.
ORDINARY = ("release", "load_begin", "load_end", "unload_begin", "unload_end")


def compared_until(planned: KernelPlan, result: KernelResult) -> int | None:
    """Until when every event and every job is recorded [ns]; None: to the end."""
    if planned.run.recorded is None or sum(planned.jobs.values()) <= planned.run.recorded:
        return None
    # Behind the last recorded end some jobs are under way that have no record.
    known = {(int(j["core"]), int(j["task"]), int(j["job"])) for j in result.jobs}
    loads = result.of_kind("load_begin")
    unknown = [int(e["at"]) for e in loads if (int(e["core"]), int(e["task"]), int(e["job"])) not in known]
    last = min([*unknown, int(result.events["at"][-1])])
    return last // 10**6 * 10**6


def board_events(
    result: KernelResult, until: int | None = None, slots: Sequence[int] = ()
) -> tuple[Events, dict[int, Events]]:
    """Events of the I/O core in its order, and those that each core saw: its transfers and its executions.

    With `slots` a transfer begins and ends with its slot: what the I/O core decides is of that instant,
    however long after it the core looked.
    """
    ends = np.cumsum([0, *slots])

    def slot_begin(at: int) -> int:
        cycle = int(ends[-1])
        return at // cycle * cycle + int(ends[ends <= at % cycle][-1]) if cycle else at

    kernel: list[tuple[int, int, str, int, int, int]] = []
    for n, e in enumerate(result.events):
        if result.kinds[e["kind"]] in ORDINARY[1:]:
            at = slot_begin(int(e["at"]))
            kernel.append((at, n, result.kinds[e["kind"]], int(e["core"]), int(e["task"]), int(e["job"])))
    jobs = result.jobs
    order = len(result.events)
    cores = {}
    for core in sorted({k[3] for k in kernel}):
        mine = [k for k in kernel if k[3] == core]
        for j in jobs[jobs["core"] == core]:
            who = (core, int(j["task"]), int(j["job"]))
            mine += [(int(j["start"]), order, "start", *who), (int(j["finish"]), -1, "finish", *who)]
        cores[core] = [k[2:] for k in sorted(mine) if until is None or k[0] < until]
    return [k[2:] for k in kernel if until is None or k[0] < until], cores


def slots_of(planned: KernelPlan) -> Sequence[int]:
    """Slots with which transfers begin and end; none without TDMA."""
    return planned.run.slots if planned.run.arbitration == "tdma" else ()


def simulated_events(planned: KernelPlan, until: int | None = None) -> tuple[Events, dict[int, Events]]:
    """The same of the simulator, with every execution as long as its WCET; jobs released until then [ns]."""
    prepared = prepare_simulation(planned.system)
    duration = planned.duration if until is None else min(until, planned.duration)
    found = simulate(prepared, duration * 1000, choice="worst", trace=True)
    assert found.slices is not None
    place = {t.name: (c, n) for c, core in enumerate(planned.cores) for n, t in enumerate(core.tasks)}
    # At one instant: what ends comes before what begins, and a core begins once the DMA has been given on.
    rank = {"finish": 0, "load_end": 1, "unload_end": 1, "load_begin": 2, "unload_begin": 2, "start": 3}
    rows: list[tuple[int, int, str, int, int, int]] = []
    executed: dict[tuple[int, int, int], tuple[int, int]] = {}
    for s in found.slices:
        core, task = place[prepared.tasks[s["task"]]]
        who = (core, task, int(s["seq"]))
        doing, begin, end = SLICES[s["doing"]], int(s["begin"]), int(s["end"])
        if doing in ("load", "unload"):
            rows.append((begin, rank[f"{doing}_begin"], f"{doing}_begin", *who))
            rows.append((end, rank[f"{doing}_end"], f"{doing}_end", *who))
        else:
            # Context switches belong to the execution, as in its bound.
            before = executed.get(who, (begin, end))
            executed[who] = (min(before[0], begin), max(before[1], end))
    kernel = sorted(rows)
    for who, (begin, end) in executed.items():
        rows += [(begin, rank["start"], "start", *who), (end, rank["finish"], "finish", *who)]
    cores = {c: [r[2:] for r in sorted(rows) if r[3] == c] for c in sorted({r[3] for r in rows})}
    return [k[2:] for k in kernel], cores


def first_difference(planned: KernelPlan, result: KernelResult, until: int | None) -> str | None:
    """The first difference between the board's order of events and the simulator's; None: there is none.
    `until`: `compared_until`."""
    theirs, ours = board_events(result, until, slots_of(planned)), simulated_events(planned, until)
    sequences = [("the I/O core", theirs[0], ours[0])]
    sequences += [
        (planned.cores[c].core, theirs[1].get(c, []), ours[1].get(c, []))
        for c in sorted(ours[1].keys() | theirs[1].keys())
    ]
    for where, board, simulated in sequences:
        # In a run that is not recorded to its end, the simulation goes on behind the last event.
        for n in range(len(board) if until is not None else max(len(board), len(simulated))):
            pair = [
                _said(planned, events[n]) if n < len(events) else "nothing" for events in (board, simulated)
            ]
            if pair[0] != pair[1]:
                return f"{where}: event {n} is '{pair[0]}' on the board and '{pair[1]}' in the simulation"
    return None


def _said(planned: KernelPlan, event: tuple[str, int, int, int]) -> str:
    what, core, task, job = event
    name = planned.cores[core].tasks[task].name
    return f"{what.replace('_', ' ')} of {name}, job {job}"
