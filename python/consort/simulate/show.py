# SPDX-License-Identifier: Apache-2.0
"""A simulation's results beside the bounds, for a terminal: 80 columns, nothing cut, every time in µs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from consort.analysis.result import Bound, in_words
from consort.base.units import THIN_SPACE, counted, jobs_of, microseconds, number
from consort.judge.changes import Change
from consort.model import Duration
from consort.report.lines import Brief, Timed, heads_line, largest_part, worst, wrapped
from consort.report.terminal import MARKS, UNSERVED, figures_line
from consort.simulate.chains import ChainFigures
from consort.simulate.engine import TaskFigures
from consort.simulate.outcome import InMode, Outcome

_HEADS = ("deadline", "bound", "largest", "smallest")


def simulated_lines(one: InMode) -> list[str]:
    """The lines that `consort simulate -v` prints of a mode; none is longer than 80 columns.

    A mark says where a time is above its bound or its deadline.
    """
    return [line.replace(THIN_SPACE, ",") for line in _lines(one)]


def change_lines(changes: Sequence[Change], runs: int) -> Iterator[str]:
    """The lines on changes of mode: when each was idle and released, beside its bound."""
    what = "changes of mode" if runs == 1 else "slowest change of mode of each kind"
    yield f"{what}:" if changes else "no change of mode was asked for in this time"
    for change in changes:
        bound = "none" if change.bound is None else in_words(change.bound)
        yield f"  {change.old} -> {change.new}"
        idle = in_words(change.drained - change.requested)
        yield f"    requested at {in_words(change.requested)}, idle {idle} later"
        yield f"    released after {in_words(change.latency)}, bound {bound}"


def _lines(one: InMode) -> Iterator[str]:
    found, chains = one.found, one.chains
    yield from wrapped(
        f"{counted(found.runs, 'run')} of {Duration(found.duration)}, from seed {found.seed}. Largest and"
        " smallest are simulated; all times in µs."
    )
    yield heads_line(_HEADS)
    of = {(bound.task, bound.kind): bound.response for bound in one.bounds}
    # Tasks that failed come first.
    for task in sorted(found.figures.values(), key=lambda figures: not figures.misses):
        yield from _task(task, of.get((task.task, "response time")))
    for name, chain in sorted(chains.items(), key=lambda item: item[1].kept):
        yield from wrapped(f"chain {name}", indent="")
        for quantity, kind, seen, allowed in _quantities(chain):
            yield _row(quantity, allowed, of.get((name, kind)), seen, None)
    if any(task.unserved for task in found.figures.values()):
        yield from wrapped(f"{UNSERVED}.")
    if any(task.held for task in found.figures.values()):
        yield from wrapped("outputs held: no answer came in time, and the output before stands.")
    if found.stopped is not None:
        yield f"a miss stopped the system at {Duration(found.stopped)}"


def _task(task: TaskFigures, bound: int | None) -> Iterator[str]:
    yield from wrapped(f"{task.task} on {task.core}", indent="")
    counts = f"{jobs_of(task.jobs)}, {number(task.misses)} missed, {number(task.unserved)} unserved"
    for count, words in ((task.held, "outputs held"), (task.fallbacks, "local fallbacks")):
        counts += f", {number(count)} {words}" if count else ""
    if task.max_response is not None:
        counts += f"; largest response with seed {task.seed}"
    yield from wrapped(counts, first="  ")
    yield _row("response", task.deadline, bound, task.max_response, task.min_response)


def _row(quantity: str, required: int | None, bound: int | None, seen: int | None, least: int | None) -> str:
    late = seen is not None and any(limit is not None and seen > limit for limit in (required, bound))
    mark = "" if seen is None else MARKS["late" if late else "holds"][0]
    cells = [_us(required), "none" if bound is None else _us(bound), _us(seen), _us(least)]
    return figures_line(quantity, cells, mark)


def _us(ps: int | None) -> str:
    return microseconds(None if ps is None else ps / 1000)


def brief_of_simulation(outcome: Outcome, description: str) -> Brief:
    """The five lines on a simulation; `description`: the system as a command line names it."""
    of = {(one.mode, b.task, b.kind): b for one in outcome.modes for b in one.bounds}
    tasks = {
        (one.mode, task.task): _timed_task(one.mode, task, of.get((one.mode, task.task, "response time")))
        for one in outcome.modes
        for task in one.found.figures.values()
    }
    times = [
        timed
        for one in outcome.modes
        for chain in one.chains.values()
        for timed in _timed_chain(one.mode, chain, of)
    ]
    top = worst(tasks.values())
    key = next((key for key, one in tasks.items() if one is top), None)
    bound = None if key is None else of.get((*key, "response time"))
    part = "" if bound is None else largest_part(bound.task, bound.response, bound.parts)
    return Brief(
        f"{outcome.answer} ({outcome.span})",
        list(tasks.values()),
        times,
        outcome.cause or part or "no bound says of what it is made",
        outcome.following(description),
    )


def _limits(**limits: int | None) -> tuple[tuple[str, float], ...]:
    return tuple((name, ps / 1000) for name, ps in limits.items() if ps is not None)


def _timed(
    name: str, quantity: str, ps: int | None, limits: tuple[tuple[str, float], ...], fails: bool
) -> Timed:
    ns = None if ps is None else ps / 1000
    late = ns is not None and any(ns > limit for _, limit in limits)
    return Timed(name, quantity, ns, limits, fails or late)


def _timed_task(mode: str, task: TaskFigures, bound: Bound | None) -> Timed:
    limits = _limits(deadline=task.deadline, bound=None if bound is None else bound.response)
    # As its bound names it: where it is released, which waits for a worker's answer.
    core = task.core if bound is None else bound.core
    name = f"{task.task} on {core}{f' in {mode}' if mode else ''}"
    return _timed(name, "response", task.max_response, limits, task.misses > 0)


def _timed_chain(mode: str, chain: ChainFigures, of: Mapping[tuple[str, str, str], Bound]) -> Iterator[Timed]:
    for quantity, kind, seen, allowed in _quantities(chain):
        bound = of.get((mode, chain.chain, kind))
        limits = _limits(allowed=allowed, bound=None if bound is None else bound.response)
        name = f"{chain.chain}{f' in {mode}' if mode else ''}"
        yield _timed(name, quantity, seen, limits, False)


def _quantities(chain: ChainFigures) -> Iterator[tuple[str, str, int | None, int | None]]:
    yield "reaction", "reaction time", chain.reaction, chain.allowed_reaction
    yield "age", "data age", chain.age, chain.allowed_age
