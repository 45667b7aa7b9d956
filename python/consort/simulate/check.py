# SPDX-License-Identifier: Apache-2.0
"""Simulated against bound: a response above its bound is an error, with the schedule that shows it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from consort.analysis.result import Bound
from consort.base.errors import SystemFails
from consort.model import Duration
from consort.record.status import SLICES
from consort.simulate.build import Prepared
from consort.simulate.engine import Choice, Simulation, simulate

# A schedule longer than this says no more to a reader.
_LINES = 40


@dataclass(frozen=True)
class Excess:
    """A task whose simulated response is above its bound; times in ps."""

    task: str
    bound: Bound
    response: int
    seed: int
    schedule: str = ""

    def __str__(self) -> str:
        assert self.bound.response is not None
        said = (
            f"{self.task}: simulated response {Duration(self.response)} is above its bound"
            f" {Duration(self.bound.response)} ({self.bound.source}); seed {self.seed}"
        )
        return f"{said}\n{self.schedule}" if self.schedule else said


class BoundExceeded(SystemFails):
    """A simulation refutes a bound, or the description breaks one of its assumptions."""

    def __init__(self, excesses: list[Excess]) -> None:
        super().__init__("\n".join(str(e) for e in excesses))
        self.excesses = excesses


def simulate_against_bounds(
    prepared: Prepared,
    bounds: Iterable[Bound],
    duration: int,
    seed: int = 1,
    *,
    runs: int = 1,
    choice: Choice = "edges",
    late_too: bool = False,
) -> Simulation:
    """Simulates and holds the largest response of each task against its bound.

    `BoundExceeded` for a response above it, and for an output held or computed by the master although the
    bound meets the deadline. Tasks without a bound are only simulated; so are those whose bound is above the
    deadline, where many analyses end their search, but for `late_too`.
    """
    bounds = list(bounds)
    unknown = sorted({b.task for b in bounds if b.kind == "response time"} - set(prepared.tasks))
    if unknown:
        raise ValueError(f"there are bounds for {', '.join(unknown)}, which the system does not have")
    found = simulate(prepared, duration, seed, runs=runs, choice=choice)
    excesses = above_bounds(prepared, bounds, found, choice, late_too=late_too)
    if excesses:
        raise BoundExceeded(excesses)
    return found


def above_bounds(
    prepared: Prepared,
    bounds: Iterable[Bound],
    found: Simulation,
    choice: Choice,
    *,
    late_too: bool = False,
) -> list[Excess]:
    """The tasks that took longer than their bounds, as `simulate_against_bounds` counts them."""
    return [
        replace(
            excess,
            schedule=_schedule(
                prepared,
                found.duration,
                excess.seed,
                choice,
                excess.task,
                found.figures[excess.task].worst_job,
            ),
        )
        for excess in excesses_of(bounds, found, late_too=late_too)
    ]


def excesses_of(bounds: Iterable[Bound], found: Simulation, *, late_too: bool = False) -> list[Excess]:
    """The same without the schedules that show it."""
    excesses = []
    for bound in bounds:
        if bound.kind != "response time" or bound.response is None:
            continue
        figures = found.figures[bound.task]
        if figures.max_response is None or not (bound.schedulable or late_too):
            continue
        given_up = bound.schedulable and figures.held + figures.fallbacks > 0
        if figures.max_response > bound.response or given_up:
            excesses.append(Excess(bound.task, bound, figures.max_response, figures.seed))
    return excesses


def _schedule(
    prepared: Prepared, duration: int, seed: int, choice: Choice, name: str, job: int | None
) -> str:
    """The schedule from the release of a job to its end, one line a stretch, on the cores it needs."""
    again = simulate(prepared, duration, seed, choice=choice, trace=True)
    assert again.slices is not None
    mine = again.jobs_of(name)
    worst = mine[mine["seq"] == job][0]
    begin, end = int(worst["release"]), int(worst["finish"])
    task = prepared.plan.tasks[name]
    cores = {prepared.cores.index(core) for core in (task.computed_on, task.core)}
    lines = [f"  job {job} of {name}: due at {Duration(begin)}, done at {Duration(end)}"]
    within = again.slices[(again.slices["end"] > begin) & (again.slices["begin"] < end)]
    within = within[[int(s["core"]) in cores for s in within]]
    for s in within[within["begin"].argsort(kind="stable")]:
        span = f"{Duration(int(s['begin']))} to {Duration(int(s['end']))}"
        what = f"{SLICES[s['doing']]} {prepared.tasks[s['task']]}, job {s['seq']}"
        lines.append(f"  {span} on {prepared.cores[s['core']]}: {what}")
    if len(lines) > _LINES:
        lines[_LINES // 2 : -_LINES // 2] = [f"  … {len(lines) - _LINES} lines left out …"]
    return "\n".join(lines)
