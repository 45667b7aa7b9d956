# SPDX-License-Identifier: Apache-2.0
"""A task of one core as theorems take it: numbers alone; and the supply that a hypervisor gives the core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd
from operator import attrgetter
from typing import Any, Protocol

from consort import _engine
from consort.analysis.result import Bound, Later, Step, Steps, in_words, with_theorem, within_range
from consort.model.figures import kept_without_jitter, long_run
from consort.plan.types import PlannedSupply, PlannedTask

_DOC = "docs/explanation/analyses.md"
TIMES = ("execution", "period", "deadline", "jitter", "blocking")
_times = attrgetter(*TIMES)


@dataclass(frozen=True)
class Remote:
    """A job's part on a worker; times in ps.

    `compute` is all the time that the worker is busy with the job: reading the request, the step, writing the
    answer, and publishing its checkpoint. `request` and `answer` are what passes from the end of a write to
    its being seen.
    """

    worker: str
    compute: int
    request: int = 0
    answer: int = 0
    # Among the worker's tasks, 0 the most urgent; used by the discipline `priority`.
    level: int = 0


@dataclass(frozen=True)
class UniTask:
    """A task of one core; times in picoseconds. `execution` is what its own core computes for a job.

    `level` is its place in the order of priorities, 0 the most urgent. Tasks of one level may be served in
    any order: each may have to wait for the other. Without levels each task has one of its own, in the order
    given. `offset`: its jobs are due then and whole periods later; None: at any moment. `threshold`: a job
    that has begun is preempted only by tasks of levels below it; None: its own level. `distances`: from a
    release to the next, the one after that, …, at least; a job comes at most `late` after its release, which
    is part of its jitter.
    """

    name: str
    execution: int
    period: int
    deadline: int
    jitter: int = 0
    blocking: int = 0
    level: int | None = None
    offset: int | None = None
    threshold: int | None = None
    distances: tuple[int, ...] = ()
    late: int = 0
    # Waits, for the analyses of offload.py: besides that for a worker, all of them, and in how many stretches
    # at most. Offsets are made use of where no job gives the core up, thresholds where none waits.
    suspension: int = 0
    stretches: int = 1
    # The part of it that the job waits for answers of accelerators; a core that spins is kept meanwhile.
    asked: int = 0
    asks: int = 0
    remote: Remote | None = None
    # Times of the DMA, for those of three_phase.py; 0 stands for a whole slot.
    load: int = 0
    unload: int = 0

    def __post_init__(self) -> None:
        least_execution = 0 if self.waits else 1
        rest = self.period < 1 or self.deadline < 1 or self.jitter < 0 or self.blocking < 0
        if self.execution < least_execution or rest:
            for what, least in zip(TIMES, (least_execution, 1, 1, 0, 0), strict=True):
                value = getattr(self, what)
                if value < least:
                    raise ValueError(f"{self.name}: {what} is {value} ps; at least {least} ps is needed")
        if self.offset is not None and self.offset < 0:
            raise ValueError(f"{self.name}: offset is {self.offset} ps; at least 0 ps is needed")

    @property
    def waits(self) -> bool:
        """True if a job may give its core up before it ends."""
        return self.remote is not None or self.suspension > 0

    @property
    def returns(self) -> int:
        """The most times that a job comes back to a core that it has given up."""
        return (self.stretches if self.suspension else 0) + (self.remote is not None)

    def without_waits(self) -> UniTask:
        """The task as one whose jobs never give the core up, without offset and threshold."""
        return UniTask(
            self.name,
            self.execution,
            self.period,
            self.deadline,
            self.jitter,
            self.blocking,
            self.level,
            distances=self.distances,
            late=self.late,
        )

    def with_cost(self, execution: int, blocking: int = 0) -> UniTask:
        """The same task, each job of which executes and is blocked for so much longer; none of them waits."""
        if self.waits:
            raise ValueError(
                f"{self.name}: its jobs give their core up, and this analysis takes none that do"
            )
        return UniTask(
            self.name,
            self.execution + execution,
            self.period,
            self.deadline,
            self.jitter,
            self.blocking + blocking,
            self.level,
            self.offset,
            self.threshold,
            self.distances,
            self.late,
        )


# The charge of each task for each job of each other one [ps].
Matrix = Sequence[Sequence[int]]


@dataclass(frozen=True)
class HasSets:
    """Cache reloads of jobs that others preempted, from the sets of the cache that they use."""

    per_set: int
    """The longest reload by a job of a set in which it lost something [ps]."""


@dataclass(frozen=True)
class Reloads(HasSets):
    """The same as a charge for each preempting job."""

    charges: Matrix
    name: str


def reloading(tasks: Sequence[UniTask], index: int, reload: int | Reloads) -> Sequence[UniTask]:
    """The tasks as one of them sees them, where each job of the others may preempt one that loads again."""
    if not reload:
        return tasks
    charges = [reload] * len(tasks) if isinstance(reload, int) else reload.charges[index]
    return [t.with_cost(charges[k]) if k != index and charges[k] else t for k, t in enumerate(tasks)]


def utilization(tasks: Sequence[UniTask]) -> Fraction:
    """The tasks' load, as a share of the core."""
    return sum((task.execution / long_run(task.period, task.distances) for task in tasks), Fraction(0))


def ticks_of(tasks: Sequence[UniTask], *others: int) -> tuple[dict[str, list[int]], int]:
    """The tasks' times in the largest unit that they and others are multiples of, and that unit in ps."""
    spaced = (time for task in tasks if task.distances for time in (*task.distances, task.late))
    columns = list(zip(*map(_times, tasks), strict=True)) or [()] * len(TIMES)
    tick = gcd(*(time for column in columns for time in column), *spaced, *others) or 1
    return {
        field: [time // tick for time in column] for field, column in zip(TIMES, columns, strict=True)
    }, tick


class Spaced(Protocol):
    """A task with least distances: a task of a core as an analysis takes it."""

    @property
    def name(self) -> str: ...
    @property
    def distances(self) -> tuple[int, ...]: ...
    @property
    def late(self) -> int: ...


def distances_in(tasks: Sequence[Spaced], tick: int) -> list[tuple[list[int], int]]:
    """The tasks' least distances as the engine takes them; empty where none has any."""
    if not any(task.distances for task in tasks):
        return []
    return [
        ([time // tick for time in task.distances], task.late // tick if task.distances else 0)
        for task in tasks
    ]


def least_distances(task: PlannedTask) -> tuple[int, ...]:
    """Those of a description; releases without jitter are their minimum inter-arrival time apart, too."""
    given = task.min_distances_ps
    return given if task.jitter_ps else kept_without_jitter(task.period_ps, given)


def spacing_of(tasks: Sequence[Spaced]) -> tuple[str, ...]:
    """The assumption on releases that keep least distances."""
    names = [task.name for task in tasks if task.distances]
    if not names:
        return ()
    return (f"releases of {', '.join(names)} keep their min_distances ({_DOC}, theorem 31)",)


OFFSETS = "docs/explanation/analyses.md, theorem 17 (Tindell 1994; Palencia & Gonzalez Harbour 1998)"
EDF_OFFSETS = "docs/explanation/analyses.md, theorem 25 (Spuri 1996, with the windows of theorem 17)"
ANY_MOMENT = "releases at any moment: offsets between tasks are not made use of"
_KNOWN = "periodic tasks are due at their offsets and whole periods later, by one clock; others at any moment"
_TOO_MANY = (
    f"{ANY_MOMENT}, since a common period holds too many busy windows to look at each, or they need not end"
)


@dataclass(frozen=True)
class Timed:
    """The tasks of a core where some have offsets, as the engine takes them."""

    tasks: Sequence[UniTask]
    arguments: dict[str, Any]
    tick: int
    analysis: Callable[..., dict[str, Any]] = _engine.fp_offset_response
    source: str = OFFSETS


def timed(
    tasks: Sequence[UniTask], levels: Sequence[int], preemptive: bool, supply: PlannedSupply | None
) -> Timed | None:
    """The analysis with offsets; None if all tasks come at any moment."""
    if all(task.offset is None for task in tasks):
        return None
    common, _, tick = _common(tasks, supply)
    return Timed(tasks, common | {"level": list(levels), "preemptive": preemptive}, tick)


def timed_under_edf(tasks: Sequence[UniTask], supply: PlannedSupply | None) -> Timed | None:
    """The same for preemptive EDF."""
    if all(task.offset is None for task in tasks):
        return None
    common, deadlines, tick = _common(tasks, supply)
    return Timed(tasks, common | {"d": deadlines}, tick, _engine.edf_offset_response, EDF_OFFSETS)


def _common(tasks: Sequence[UniTask], supply: PlannedSupply | None) -> tuple[dict[str, Any], list[int], int]:
    """Arguments of both analyses, the deadlines, and a tick [ps]."""
    arrays, tick = ticks_of(tasks, *(task.offset or 0 for task in tasks), *times_of(supply))
    arguments = {
        "c": arrays["execution"],
        "t": arrays["period"],
        "offsets": [-1 if task.offset is None else task.offset // tick for task in tasks],
        "jitter": arrays["jitter"],
        "blocking": arrays["blocking"],
        "supply": ticks_of_supply(supply, tick),
    }
    return arguments, arrays["deadline"], tick


def with_offsets(bound: Bound, core: Timed | None, index: int) -> Bound:
    """The bound that makes use of the tasks' offsets, where it is lower."""
    if bound.response is None or core is None:
        return bound
    tasks = core.tasks
    if core.source == EDF_OFFSETS and tasks[index].offset is None:
        return bound  # at any moment, and so is each of its deadlines
    raw = within_range(core.analysis, task=index, **core.arguments)
    if raw["bound"] is None:
        return _assuming(bound, _TOO_MANY)
    if raw["bound"] * core.tick >= bound.response:
        return bound
    explanation = Later(lambda: _steps(core, index, raw))
    found = replace(bound, response=raw["bound"] * core.tick, source=core.source, explanation=explanation)
    return _assuming(found, _KNOWN)


def _steps(core: Timed, index: int, raw: dict[str, Any]) -> tuple[Step, ...]:
    tasks, tick = core.tasks, core.tick
    task, earlier, begin = tasks[index], raw["earlier"], raw["begin"] * tick
    steps = Steps(min(begin, 0))
    steps.put("jitter", f"{task.name} comes late", max(begin, 0))
    steps.put("blocking", "what holds the core", raw["blocking"] * tick)
    for other, count in zip(tasks, raw["jobs"], strict=True):
        steps.put("interference", f"{count} x {other.name}", count * other.execution, count)
    steps.put("own", f"{earlier} earlier x {task.name}", earlier * task.execution, earlier)
    steps.put("own", task.name, task.execution)
    return steps.done()


def _assuming(bound: Bound, text: str) -> Bound:
    """The bound with this assumption on offsets in place of `ANY_MOMENT`."""
    return replace(bound, assumptions=tuple(text if a == ANY_MOMENT else a for a in bound.assumptions))


_SUPPLIED = "docs/explanation/analyses.md, theorem 18 (Shin & Lee 2003), with "


def times_of(supply: PlannedSupply | None) -> tuple[int, ...]:
    return () if supply is None else (supply.period_ps, supply.budget_ps, supply.gap_ps)


def ticks_of_supply(supply: PlannedSupply | None, tick: int) -> tuple[int, int, int] | None:
    """The supply as the engine takes it."""
    if supply is None:
        return None
    return supply.period_ps // tick, supply.budget_ps // tick, supply.gap_ps // tick


def under(bound: Bound, supply: PlannedSupply | None) -> Bound:
    """A bound that was found under a supply, with its assumptions."""
    if supply is None:
        return bound
    where = "at one place of each" if supply.fixed else "anywhere in each"
    text = (
        f"the core has {in_words(supply.budget_ps)} in each {in_words(supply.period_ps)}, {where}; a"
        " hypervisor's own switches take nothing of that"
    )
    notes = bound.notes
    if bound.response is None and any("of the core" in note for note in notes):
        share = supply.budget_ps / supply.period_ps
        notes = (*notes, f"the supply is {share:.6g} of it, of which less than all may be asked for")
    return replace(
        bound,
        source=with_theorem(_SUPPLIED, bound),
        assumptions=(*bound.assumptions, text),
        explanation=_with_gaps(bound),
        notes=notes,
    )


def _with_gaps(bound: Bound) -> Sequence[Step]:
    """The steps with the time without supply: they execute, and the rest of the bound is that time."""
    steps = bound.explanation
    if not steps or bound.response is None:
        return steps
    executed = steps[-1].start + steps[-1].length
    # It lies in front of what executes: after the jitter, which passes anyway.
    first = 1 if steps[0].kind == "jitter" else 0
    at = steps[first].start
    length = bound.response - executed
    if not length:
        return steps
    gap = Step("supply", "the core is not supplied", at, length, note="all of it, before and in between")
    return (*steps[:first], gap, *(replace(step, start=step.start + length) for step in steps[first:]))
