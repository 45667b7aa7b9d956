# SPDX-License-Identifier: Apache-2.0
"""A simulation's results beside the bounds, for a terminal: 80 columns, nothing cut, every time in µs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from consort.analysis.result import Bound
from consort.model import Duration
from consort.report.lines import heads_line, wrapped
from consort.report.terminal import MARKS, figures_line
from consort.report.units import THIN_SPACE, microseconds, number
from consort.simulate.chains import ChainFigures
from consort.simulate.engine import Simulation, TaskFigures

_HEADS = ("deadline", "bound", "largest", "smallest")


def simulated_lines(
    found: Simulation, chains: Mapping[str, ChainFigures], bounds: Sequence[Bound]
) -> list[str]:
    """The lines that `consort simulate` prints; none is longer than 80 columns.

    A mark says where a time is above its bound or its deadline.
    """
    return [line.replace(THIN_SPACE, ",") for line in _lines(found, chains, bounds)]


def _lines(found: Simulation, chains: Mapping[str, ChainFigures], bounds: Sequence[Bound]) -> Iterator[str]:
    runs = "1 run" if found.runs == 1 else f"{number(found.runs)} runs"
    yield from wrapped(
        f"{runs} of {Duration(found.duration)}, from seed {found.seed}. Largest and smallest are simulated;"
        " all times in µs."
    )
    yield heads_line(_HEADS)
    of = {(bound.task, bound.kind): bound.response for bound in bounds}
    # Tasks that failed come first.
    for task in sorted(found.figures.values(), key=lambda figures: not figures.misses):
        yield from _task(task, of.get((task.task, "response time")))
    for name, chain in sorted(chains.items(), key=lambda item: item[1].kept):
        yield from wrapped(f"chain {name}", indent="")
        for quantity, kind, seen, allowed in (
            ("reaction", "reaction time", chain.reaction, chain.allowed_reaction),
            ("age", "data age", chain.age, chain.allowed_age),
        ):
            yield _row(quantity, allowed, of.get((name, kind)), seen, None)
    if found.stopped is not None:
        yield f"a miss stopped the system at {Duration(found.stopped)}"


def _task(task: TaskFigures, bound: int | None) -> Iterator[str]:
    yield from wrapped(f"{task.task} on {task.core}", indent="")
    counts = f"{number(task.jobs)} jobs, {number(task.misses)} missed, {number(task.unserved)} unserved"
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
