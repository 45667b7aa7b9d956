# SPDX-License-Identifier: Apache-2.0
"""The five lines on a recorded run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from math import inf
from typing import Any

from consort.base.units import duration, figure_unit, jobs_of, microseconds, number, times
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
    judged = [c for c in run.configurations if c.get("verdict") is not None]
    tasks = [one for c in judged for one in _times(run, c, "task", _OF_TASKS, len(judged) > 1)]
    chains = [one for c in judged for one in _times(run, c, "chain", _OF_CHAINS, len(judged) > 1)]
    return Brief(
        _verdict(run, judged), tasks, chains, _cause(run, judged), _next(run, judged, description, removable)
    )


def _times(
    run: Run, configuration: Configuration, kind: str, quantities: tuple[str, ...], named: bool
) -> Iterator[Timed]:
    unit = figure_unit(configuration["clock"]).split(",")[0]
    plan = run.plan(configuration["key"])
    for row in configuration["verdict"]["rows"]:
        if row["kind"] != kind or row["quantity"] not in quantities:
            continue
        where = ""
        if kind == "task" and plan is not None:
            # As a bound names it: where it is released, which waits for a worker's answer.
            where = f" on {plan.tasks[row['subject']].core}"
        limits = (("deadline" if kind == "task" else "allowed", row["required"]), ("bound", row["bound"]))
        yield Timed(
            f"{row['subject']}{where}" + (f" in {configuration['key']}" if named else ""),
            row["quantity"],
            # The machine's share of a job says nothing of the system.
            _number(row["seen"] if row["undisturbed"] is None else row["undisturbed"]),
            tuple((name, float(ns)) for name, ns in limits if ns is not None),
            row["outcome"] in _FAILED,
            why="never seen whole" if kind == "chain" else "never seen",
            unit=unit,
        )


def _number(ns: float | str | None) -> float | None:
    return None if ns is None else float(ns)


def _verdict(run: Run, judged: list[Configuration]) -> str:
    keys = {ok: [c["key"] for c in judged if c["verdict"]["ok"] == ok] for ok in Held}
    head = run.held.headline
    if not judged:
        return outcome(run)
    if run.held:
        jobs = jobs_of(sum(task["released"] for c in judged for task in c["verdict"]["tasks"]))
        if len(judged) == 1:
            return str(judged[0]["verdict"]["summary"])
        return f"{head} in {listed(keys[Held.HELD])}: {jobs} in all"
    reasons = len(run.verdict["reasons"])
    more = f"; {reasons} reasons" if reasons > 1 else ""
    failed = keys[run.held]
    if len(judged) == 1 or not failed:
        return f"{head}{more}"  # of one configuration, or of a change between modes
    held = f"; it held in {listed(keys[Held.HELD])}" if keys[Held.HELD] else ""
    return f"{head} in {listed(failed)}{more}{held}"


def _cause(run: Run, judged: list[Configuration]) -> str:
    reasons = run.verdict["reasons"]
    if reasons:
        return _beginning(str(reasons[0]))
    disturbed = [c for c in judged if any(task["disturbed"] for task in c["verdict"]["tasks"])]
    if disturbed:
        return f"the machine: {_disturbed(disturbed[-1]['verdict'])}"
    return _parts(run, judged)


def _beginning(reason: str) -> str:
    """The clauses of a reason that fit into two lines; it goes on with all that was not as it should be."""
    first, *more = reason.split("; ")
    while more and len(first) + len(more[0]) < CAUSE:
        first += f"; {more.pop(0)}"
    return f"{first}; the report has the rest" if more else first


def _parts(run: Run, judged: list[Configuration]) -> str:
    """The largest part of the worst response: computing, the exchange with a worker, or the wait."""
    rows = [(c, row) for c in judged for row in c["verdict"]["rows"] if row["kind"] == "task"]
    times = {
        (c["key"], row["subject"], row["quantity"]): _number(row["undisturbed"])
        for c, row in rows
        if row["undisturbed"] is not None
    }
    found = {
        (c["key"], one.name.partition(" ")[0]): one
        for c in judged
        for one in _times(run, c, "task", ("response",), False)
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


def _next(run: Run, judged: list[Configuration], description: str, removable: Collection[str]) -> str:
    page = f"consort report {run.path} --open"
    culprits = [pause["culprit"] for c in judged for pause in c["verdict"]["pauses"]]
    removed = [culprit for culprit in culprits if culprit in removable]
    if removed and description and not run.data["environment"].get("prepared"):
        return f"consort run {description} --prepare, as root, which keeps away: {listed(removed)}; or {page}"
    if run.held is Held.UNDECIDED and culprits:
        return f"consort doctor, which says what disturbs; or {page}"
    return f"{page}, which shows every job; -v prints every figure"


def _disturbed(verdict: Mapping[str, Any]) -> str:
    """How much the machine disturbed, and how it stops a core that does nothing else."""
    total = {
        name: sum(task[name] for task in verdict["tasks"])
        for name in ("released", "disturbed", "disturbed_misses")
    }
    said = (
        f"it disturbed {number(total['disturbed'])} of {jobs_of(total['released'])}, of which"
        f" {number(total['disturbed_misses'])} missed their deadlines"
    )
    stops = verdict.get("stops") or {"count": 0}
    if stops["count"]:
        said += (
            f"; in {duration(stops['seconds'] * 1e9)} after the run it stopped the cores"
            f" {times(stops['count'])}, for up to {duration(stops['longest_ns'])}"
        )
    in_run = stops.get("in_run") or {"count": 0}
    if in_run["count"]:
        said += (
            f"; in the run it stopped waiting cores {times(in_run['count'])}, for up to"
            f" {duration(in_run['longest_ns'])}"
        )
    return said


def opening_of_page(run: Run) -> list[tuple[str, str]]:
    """The page's lines below the system's verdict: the machine's, and what to run next."""
    judged = [c for c in run.configurations if c.get("verdict") is not None]
    if not judged:
        return []
    plan = run.plan(judged[0]["key"])
    file = "system.yaml" if plan is None else plan.file
    if not any(c["clock"]["provenance"] == "measured" for c in judged):
        simulated = "simulate" in run.data["command"][:2]
        where = "its own target" if plan is None else plan.platform.name
        here = f"`consort run {file}` without the option that names a target, on {where}"
        if any(c["clock"]["provenance"] == "counted" for c in judged):
            here = f"`consort run {file} --for virtual`: the same with the description's execution times"
        if simulated:
            bare = plan is not None and plan.lacks_steps
            here = f"`consort run {file} --for virtual{' --stand-ins' if bare else ''}`, which executes steps"
        return [("The machine", "has no part in these times: they are the same everywhere"), ("Next", here)]
    machine = [f"{c['key']}: {_disturbed(c['verdict'])}" for c in judged if c["verdict"]["machine"]]
    after = "`consort doctor` says what disturbs, `consort run --prepare` takes away what can be taken away"
    if not machine:
        after = f"`consort simulate {file}`, which sees what this run did not"
    return [("The machine", "; ".join(machine) or "it was not seen to disturb"), ("Next", after)]
