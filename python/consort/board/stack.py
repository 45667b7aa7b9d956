# SPDX-License-Identifier: Apache-2.0
"""A bound on the stack of a board's core: its program, and the jobs and interrupts on top of it.

All jobs of a core run on one stack. A job lies on top of what it preempts, so of each level of urgency
one job at most is there at once; under earliest deadline first, where a late job's deadline says nothing of
its length, one of each task. The bound is the program's own use, for each level an interrupt and the job that
needs most of it, and one more interrupt. docs/how-to/boards.md says what it rests on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

from consort.base.errors import BadInput
from consort.board.call_graph import BOTTOM, FRAME, POINTER, TOP, CallGraph, Function
from consort.board.data_flow import THREE_PHASE
from consort.board.description import CoreSpec
from consort.plan import Plan, PlannedTask

# The program; and what ends a run for good, on whatever stack there is.
MAIN = "consort_main"
END = {"consort_exception", "consort_stack_overflow"}
# Where the job of a core without interrupts is preempted (consort/bare/stand_in.hpp).
POINT = "consort_preemption_point"
# A job's computation: functions of LocalStep, OffloadedStep and ThreePhaseStep, with the task's number
# (consort/bare/steps.hpp, three_phase.hpp).
_COMPUTATION = re.compile(
    r"(?:Local|Offloaded|ThreePhase)Step.*Lj(\d+)E(?:Lb[01]E|Lj\d+ELj\d+E)?E(?:11computation|9departure)"
)
# Functions that read and write a job's channels and devices, by pointers to their ends and to nothing else
# (consort/app/job_runner.hpp).
_ENDS = re.compile(r"app9JobRunner.*(?:take_inputs|complete|unloaded)E")


class Unbounded(Exception):
    """A call whose use of the stack has no bound. `chain`: from a task's job or the program to it."""

    def __init__(self, reason: str, chain: Sequence[str]) -> None:
        super().__init__(reason)
        self.chain = tuple(chain)


@dataclass(frozen=True)
class Level:
    """Jobs of which one at most is on the stack."""

    tasks: tuple[str, ...]
    bytes: int
    """The need of an interrupt and of the job that needs most."""


@dataclass(frozen=True)
class StackBound:
    """The stack that a core may need, in bytes."""

    given: int
    program: int
    levels: tuple[Level, ...]
    interrupt: int
    """The need of an interrupt that comes on top of all jobs; 0 if none comes."""

    @property
    def bytes(self) -> int:
        return self.program + sum(level.bytes for level in self.levels) + self.interrupt

    @property
    def parts(self) -> str:
        """The parts of the bound, in words."""
        levels = [f"{level.bytes} for {' or '.join(level.tasks)}" for level in self.levels]
        last = [f"{self.interrupt} for an interrupt"] if self.interrupt else []
        return ", ".join([f"{self.program} for the program", *levels, *last])


@dataclass
class _Needs:
    """Stack needs of functions with all that they call. `tasks`: whose computations a pointer may lead to."""

    graph: CallGraph
    computations: Mapping[str, int]
    tasks: frozenset[int]
    # By number of a task: what was stated of calls in its step that nothing bounds.
    stated: Mapping[int, int]
    # On a worker, which has no computations: the most of its tasks.
    of_worker: int | None
    known: dict[str, int] = field(default_factory=dict)

    @cached_property
    def pointers(self) -> list[str]:
        taken = sorted(self.graph.taken)
        return [key for key in taken if self.computations.get(key) in (None, *self.tasks)]

    def of(self, key: str, chain: tuple[str, ...] = ()) -> int:
        if key in self.known:
            return self.known[key]
        function = self.graph.functions.get(key)
        # A task that preempts a job counts as a level of its own.
        if function is None or key in END or (key == POINT and chain):
            return 0
        if key in chain:
            return self._unbounded(self._circle((*chain[chain.index(key) :], key)), (*chain, key))
        if function.bytes is None:
            why = f"{_named(function)} takes of the stack what it only knows when it runs"
            return self._unbounded(why, (*chain, key))
        called = [c for c in function.calls if c != POINTER]
        if POINTER in function.calls:
            ends = _ENDS.search(key) is not None
            called += [p for p in self.pointers if not ends or p not in self.computations]
        self.known[key] = function.bytes + max((self.of(c, (*chain, key)) for c in called), default=0)
        return self.known[key]

    def _unbounded(self, reason: str, chain: tuple[str, ...]) -> int:
        numbers = [self.computations[key] for key in chain if key in self.computations]
        stated = self.stated.get(numbers[0]) if numbers else self.of_worker
        if stated is None:
            raise Unbounded(reason, chain)
        return stated

    def _circle(self, keys: tuple[str, ...]) -> str:
        functions = self.graph.functions
        for caller, callee in pairwise(keys):
            if callee not in functions[caller].calls:
                where = functions[caller].calls[POINTER]
                return f"{_named(functions[caller])} calls through a pointer ({where})"
        names = [_named(functions[key]) for key in keys]
        return f"{names[0]} calls itself" + (f", by way of {', '.join(names[1:-1])}" if names[2:] else "")


def _named(function: Function) -> str:
    return f"{function.title.partition('(')[0].split(' ')[-1]} ({function.place})"


def stack_bound(
    plan: Plan, name: str, core: CoreSpec, graph: CallGraph, *, synchronizer: bool = False
) -> StackBound:
    """The bound for one core of a plan; `BadInput` if there is no bound, or the stack is too short for it.

    `synchronizer`: also a core without tasks is interrupted, to stop the board for processes beside it.
    """
    missing = [one for one in (BOTTOM, TOP) if one not in graph.symbols]
    if missing:
        raise _of_board(
            core, "linker_script", f"it does not define {' and '.join(missing)}, the stack's ends"
        )
    planned = plan.cores[name]
    tasks = [plan.tasks[task] for task in planned.tasks]
    if (tasks or synchronizer) and core.timer_interrupt and FRAME not in graph.symbols:
        raise _of_board(core, "sources", f"none defines {FRAME}, what an interrupt puts on the stack [bytes]")
    numbers = {task.name: n for n, task in enumerate(plan.tasks.values())}
    computations = {
        key: int(match[1]) for key in graph.taken if (match := _COMPUTATION.search(key)) is not None
    }
    stated = {n: size for task, n in numbers.items() if (size := _stated(plan, task)) is not None}
    of_worker = [stated.get(numbers[task]) for task in planned.serves]
    most = None if None in of_worker else max((s for s in of_worker if s is not None), default=None)

    def needs(of: Sequence[PlannedTask], keys: Sequence[str]) -> int:
        made = _Needs(graph, computations, frozenset(numbers[task.name] for task in of), stated, most)
        try:
            return max((made.of(key) for key in keys), default=0)
        except Unbounded as found:
            raise _refused(plan, name, found, computations) from None

    interrupts = sorted(graph.entered - {MAIN, *END})
    points = [POINT] if POINT in graph.functions and tasks and not core.timer_interrupt else []
    if points and planned.policy == THREE_PHASE:
        # Called by the core's loop; only what moves them comes on top.
        found = StackBound(_given(graph), needs(tasks, [MAIN]), (), needs([], points))
    elif points:
        levels = _counted(
            plan,
            tasks,
            (
                Level(tuple(t.name for t in level), needs(level, points))
                for level in _levels(planned.policy, tasks)
            ),
        )
        found = StackBound(_given(graph), needs([], [MAIN]), levels, needs([], points))
    elif not tasks or not core.timer_interrupt:
        stops = graph.symbols[FRAME] + needs([], interrupts) if synchronizer else 0
        found = StackBound(_given(graph), needs(tasks, [MAIN]), (), stops)
    else:
        frame = graph.symbols[FRAME]
        levels = _counted(
            plan,
            tasks,
            (
                Level(tuple(t.name for t in level), frame + needs(level, interrupts))
                for level in _levels(planned.policy, tasks)
            ),
        )
        found = StackBound(_given(graph), needs([], [MAIN]), levels, frame + needs([], interrupts))
    if found.bytes > found.given:
        largest = max(found.levels, key=lambda level: level.bytes, default=None)
        task = largest.tasks[0] if largest else (planned.tasks or planned.serves)[0]
        raise BadInput(
            f"{name!r} may need {found.bytes} bytes of its stack ({found.parts}); the {core.title} has"
            f" {found.given}, by its linker script; let the step take less, or give the core more",
            file=plan.file,
            field=f"tasks.{task}.step",
        )
    return found


def _given(graph: CallGraph) -> int:
    return graph.symbols[TOP] - graph.symbols[BOTTOM]


def _levels(policy: str, tasks: Sequence[PlannedTask]) -> Iterator[list[PlannedTask]]:
    """The tasks by levels, the least urgent first: none preempts another one of its own level."""
    if "non-preemptive" in policy:
        yield list(tasks)
    elif policy == "edf":
        yield from ([task] for task in tasks)
    else:
        for rank in sorted({task.rank for task in tasks}, reverse=True):
            yield [task for task in tasks if task.rank == rank]


def _counted(plan: Plan, tasks: Sequence[PlannedTask], levels: Iterable[Level]) -> tuple[Level, ...]:
    """The levels that may lie on the stack at once."""
    found = tuple(levels)
    thresholds = any(task.threshold is not None for task in tasks)
    return _largest_pile(found, plan) if thresholds else found


def _largest_pile(levels: Sequence[Level], plan: Plan) -> tuple[Level, ...]:
    """The jobs of which each preempts the one below that need most together.

    The least urgent of `levels` comes first.
    """
    # The rank of the lowest, bytes, and levels from the lowest on.
    piles: list[tuple[int, int, tuple[Level, ...]]] = []
    for level in reversed(levels):
        tasks = [plan.tasks[name] for name in level.tasks]
        # Any of them may be the one that is preempted.
        limit = max(task.limit for task in tasks)
        above = [pile for pile in piles if pile[0] < limit]
        _, most, on_top = max(above, key=lambda pile: pile[1], default=(0, 0, ()))
        piles.append((tasks[0].rank, level.bytes + most, (level, *on_top)))
    return max(piles, key=lambda pile: pile[1])[2]


def _stated(plan: Plan, task: str) -> int | None:
    footprint = plan.tasks[task].footprint
    return None if footprint is None else footprint.stack


def _of_board(core: CoreSpec, key: str, says: str) -> BadInput:
    return BadInput(says, file=f"ports/{core.board.name}/board.yaml", field=f"cores.{core.name}.{key}")


def _refused(plan: Plan, core: str, found: Unbounded, computations: Mapping[str, int]) -> BadInput:
    """The step that a call without a bound belongs to, and what would be right."""
    numbers = [computations[key] for key in found.chain if key in computations]
    planned = plan.cores[core]
    task = list(plan.tasks)[numbers[0]] if numbers else (planned.tasks or planned.serves)[0]
    return BadInput(
        f"nothing bounds what it takes of the stack of {core!r}: {found}; write it without, or state what the"
        f" step takes: footprint: {{stack: 4KiB}}",
        file=plan.file,
        field=f"tasks.{task}.step",
    )


TITLE = "Stack of the board's cores"


def section(bounds: Mapping[str, StackBound], used: Mapping[str, int]) -> dict[str, Any]:
    """A table for the report. `used`: bytes that a run has seen used, by core."""
    names = {"given": "derived", "may be needed": "bound", "used": "counted"}
    columns = [{"name": name, "unit": "B", "provenance": of} for name, of in names.items()]
    return {
        "title": TITLE,
        "columns": [{"name": "core"}, *columns, {"name": "made of"}],
        "rows": [
            [core, found.given, found.bytes, used.get(core), found.parts] for core, found in bounds.items()
        ],
        "source": "bound: frames as the compiler gives them, summed over calls and preemptions",
    }


def excess(bounds: Mapping[str, StackBound], used: Mapping[str, int]) -> Iterator[str]:
    """Cores that used more than their bounds."""
    for core, found in bounds.items():
        if used.get(core, 0) > found.given:
            yield f"stack overflow on core {core}: it used {used[core]} bytes and has {found.given}"
        elif used.get(core, 0) > found.bytes:
            yield (
                f"{core} used {used[core]} bytes of its stack; its bound is {found.bytes} ({found.parts}):"
                " a frame that was stated or that start.S gives is too small"
            )
