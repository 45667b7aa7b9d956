# SPDX-License-Identifier: Apache-2.0
"""The five lines on a recorded run."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from math import inf
from typing import NamedTuple

from consort.base.units import duration, figure_unit, jobs_of, microseconds, number, times
from consort.record.findings import Findings
from consort.record.sections import Held
from consort.record.store import Run
from consort.record.summary import Configuration
from consort.report.lines import Brief, Timed, listed, worst
from consort.report.terminal import outcome

_FAILED = ("above bound", "late", "not seen")
# The length that a cause may have, where it has several clauses.
CAUSE = 160
_OF_TASKS, _OF_CHAINS = ("response",), ("reaction", "age")


def brief_of_run(run: Run, description: str = "", removable: Collection[str] = ()) -> Brief:
    """`description`: the file that ran, as its user named it; `removable`: what kept cores from their threads
    and would not have with `--prepare`."""
    judged = _judged(run)
    tasks = [one for part in judged for one in _times(run, part, "task", _OF_TASKS, len(judged) > 1)]
    chains = [one for part in judged for one in _times(run, part, "chain", _OF_CHAINS, len(judged) > 1)]
    return Brief(
        _verdict(run, judged), tasks, chains, _cause(run, judged), _next(run, judged, description, removable)
    )


class _Part(NamedTuple):
    """A configuration that was judged."""

    configuration: Configuration
    found: Findings

    @property
    def key(self) -> str:
        return self.configuration["key"]


def _judged(run: Run) -> list[_Part]:
    return [_Part(*one) for one in run.judged]


def _times(run: Run, part: _Part, kind: str, quantities: tuple[str, ...], named: bool) -> Iterator[Timed]:
    unit = figure_unit(part.configuration["clock"]).split(",")[0]
    plan = run.plan(part.key)
    for row in part.found.rows:
        if row.kind != kind or row.quantity not in quantities:
            continue
        where = ""
        if kind == "task" and plan is not None:
            # As a bound names it: where it is released, which waits for a worker's answer.
            where = f" on {plan.tasks[row.subject].core}"
        limits = (("deadline" if kind == "task" else "allowed", row.required), ("bound", row.bound))
        yield Timed(
            f"{row.subject}{where}" + (f" in {part.key}" if named else ""),
            row.quantity,
            # The machine's share of a job says nothing of the system.
            row.seen if row.undisturbed is None else row.undisturbed,
            tuple((name, ns) for name, ns in limits if ns is not None),
            row.outcome in _FAILED,
            why="never seen whole" if kind == "chain" else "never seen",
            unit=unit,
        )


def _verdict(run: Run, judged: list[_Part]) -> str:
    keys = {ok: [part.key for part in judged if part.found.ok is ok] for ok in Held}
    head = run.held.headline
    if not judged:
        return outcome(run)
    if run.held:
        jobs = jobs_of(sum(task.released for part in judged for task in part.found.tasks))
        if len(judged) == 1:
            return judged[0].found.summary
        return f"{head} in {listed(keys[Held.HELD])}: {jobs} in all"
    reasons = len(run.verdict["reasons"])
    more = f"; {reasons} reasons" if reasons > 1 else ""
    failed = keys[run.held]
    if len(judged) == 1 or not failed:
        return f"{head}{more}"  # of one configuration, or of a change between modes
    held = f"; it held in {listed(keys[Held.HELD])}" if keys[Held.HELD] else ""
    return f"{head} in {listed(failed)}{more}{held}"


def _cause(run: Run, judged: list[_Part]) -> str:
    reasons = run.verdict["reasons"]
    if reasons:
        return _beginning(str(reasons[0]))
    disturbed = [part.found for part in judged if any(task.disturbed for task in part.found.tasks)]
    if disturbed:
        return f"the machine: {_disturbed(disturbed[-1])}"
    return _parts(run, judged)


def _beginning(reason: str) -> str:
    """The clauses of a reason that fit into two lines; it goes on with all that was not as it should be."""
    first, *more = reason.split("; ")
    while more and len(first) + len(more[0]) < CAUSE:
        first += f"; {more.pop(0)}"
    return f"{first}; the report has the rest" if more else first


def _parts(run: Run, judged: list[_Part]) -> str:
    """The largest part of the worst response: computing, the exchange with a worker, or the wait."""
    times: dict[tuple[str, ...], float | None] = {
        (part.key, row.subject, row.quantity): row.undisturbed
        for part in judged
        for row in part.found.rows
        if row.kind == "task"
    }
    found = {
        (part.key, one.name.partition(" ")[0]): one
        for part in judged
        for one in _times(run, part, "task", ("response",), False)
    }
    top = worst(found.values())
    key = next((key for key, one in found.items() if one is top), None)
    if key is None or top is None or top.ns is None or top.ns == inf:
        return "nothing was seen of a task"
    parts = {
        "computing its step": times.get((*key, "compute")) or 0.0,
        "the exchange with its worker": times.get((*key, "communication")) or 0.0,
    }
    parts["waiting, dispatching and writing"] = max(0.0, top.ns - sum(parts.values()))
    name, longest = max(parts.items(), key=lambda part: part[1])
    # The worst task's line says at which rate instructions are counted.
    unit = top.unit.partition(" at ")[0]
    return (
        f"the largest part of the {microseconds(top.ns)} {unit} of {key[1]} is {name}:"
        f" up to {microseconds(longest)} {unit}"
    )


def _next(run: Run, judged: list[_Part], description: str, removable: Collection[str]) -> str:
    page = f"consort report {run.path} --open"
    culprits = [pause.culprit for part in judged for pause in part.found.pauses]
    removed = [culprit for culprit in culprits if culprit in removable]
    if removed and description and not run.data["environment"].get("prepared"):
        return f"consort run {description} --prepare, as root, which keeps away: {listed(removed)}; or {page}"
    if run.held is Held.UNDECIDED and culprits:
        return f"consort doctor, which says what disturbs; or {page}"
    return f"{page}, which shows every job; -v prints every figure"


def _disturbed(found: Findings) -> str:
    """How much the machine disturbed, and how it stops a core that does nothing else."""
    disturbed = sum(task.disturbed for task in found.tasks)
    released = sum(task.released for task in found.tasks)
    missed = sum(task.disturbed_misses for task in found.tasks)
    said = (
        f"it disturbed {number(disturbed)} of {jobs_of(released)}, of which {number(missed)} missed their"
        " deadlines"
    )
    stops = found.stops
    if stops is not None and stops.count:
        said += (
            f"; in {duration(stops.seconds * 1e9)} after the run it stopped the cores"
            f" {times(stops.count)}, for up to {duration(stops.longest_ns)}"
        )
    if stops is not None and stops.in_run is not None and stops.in_run.count:
        said += (
            f"; in the run it stopped waiting cores {times(stops.in_run.count)}, for up to"
            f" {duration(stops.in_run.longest_ns)}"
        )
    return said


def opening_of_page(run: Run) -> list[tuple[str, str]]:
    """The page's lines below the system's verdict: the machine's, and what to run next."""
    judged = _judged(run)
    if not judged:
        return []
    plan = run.plan(judged[0].key)
    file = "system.yaml" if plan is None else plan.file
    clocks = {part.configuration["clock"]["provenance"] for part in judged}
    if "measured" not in clocks:
        simulated = "simulate" in run.data["command"][:2]
        where = "its own target" if plan is None else plan.platform.name
        here = f"`consort run {file}` without the option that names a target, on {where}"
        if "counted" in clocks:
            here = f"`consort run {file} --for virtual`: the same with the description's execution times"
        if simulated:
            bare = plan is not None and plan.lacks_steps
            here = f"`consort run {file} --for virtual{' --stand-ins' if bare else ''}`, which executes steps"
        return [("The machine", "has no part in these times: they are the same everywhere"), ("Next", here)]
    machine = [f"{part.key}: {_disturbed(part.found)}" for part in judged if part.found.machine]
    after = "`consort doctor` says what disturbs, `consort run --prepare` takes away what can be taken away"
    if not machine:
        after = f"`consort simulate {file}`, which sees what this run did not"
    return [("The machine", "; ".join(machine) or "it was not seen to disturb"), ("Next", after)]
