# SPDX-License-Identifier: Apache-2.0
"""Cache reloads of preempted jobs, from the sets of the cache that tasks use: a charge for each job, or what
is loaded again counted for a busy window as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import lcm

from consort.analysis.figures import Figures, MissingFigure
from consort.analysis.result import UNSOURCED, Bound, Step, Steps, Used, in_words, with_theorem
from consort.analysis.uniprocessor import FP_PREEMPTIVE, RELEASES, reloaded
from consort.analysis.unitask import HasSets, Matrix, Reloads, UniTask
from consort.plan import Plan

Blockers = Sequence[frozenset[int]]


@dataclass(frozen=True)
class Blocks:
    """The sets of the cache that a task's jobs touch, and those in which they use a block again."""

    evicting: frozenset[int]
    useful: frozenset[int]


def ecb_union(tasks: Sequence[Blocks], per_set: int, blockers: Blockers = ()) -> Matrix:
    """The ECB-union charge: blocks that each preempted task can lose to the preempting one and all that may
    preempt that in turn."""
    evicted = [_evicted(tasks, j) for j in range(len(tasks))]

    def charge(i: int, j: int) -> int:
        return per_set * max(len(tasks[g].useful & evicted[j]) for g in _below(i, j, blockers))

    return _matrix(tasks, charge)


def ucb_union(tasks: Sequence[Blocks], per_set: int, blockers: Blockers = ()) -> Matrix:
    """The UCB-union charge: blocks that the preempting task can take from all that may be preempted at
    once."""

    def charge(i: int, j: int) -> int:
        useful = frozenset[int]().union(*(tasks[g].useful for g in _below(i, j, blockers)))
        return per_set * len(useful & tasks[j].evicting)

    return _matrix(tasks, charge)


def _matrix(tasks: Sequence[Blocks], charge: Callable[[int, int], int]) -> Matrix:
    return [[charge(i, j) if j < i else 0 for j in range(len(tasks))] for i in range(len(tasks))]


def _evicted(tasks: Sequence[Blocks], upto: int) -> frozenset[int]:
    return frozenset[int]().union(*(task.evicting for task in tasks[: upto + 1]))


def _below(i: int, j: int, blockers: Blockers) -> list[int]:
    """The tasks whose jobs a job of j may preempt in a window of i."""
    return [*range(j + 1, i + 1), *sorted(blockers[i] if blockers else ())]


@dataclass(frozen=True)
class Lost:
    """Blocks that the jobs of one task, j, make others load again in a window of task i."""

    sizes: tuple[tuple[int, int], ...]
    """By preempted task: what a job of it loads again after one preemption, the most first [blocks]."""
    shared: tuple[tuple[tuple[int, ...], int], ...]
    """How many sets of j are useful to just these preempted tasks."""


def lost_to(tasks: Sequence[Blocks], i: int, j: int, blockers: Blockers = ()) -> Lost:
    """The counts of the multiset approaches, of the tasks that a job of j may preempt in a window of i."""
    below, evicted = _below(i, j, blockers), _evicted(tasks, j)
    sizes = sorted(((len(tasks[g].useful & evicted), g) for g in below), reverse=True)
    users = Counter(tuple(g for g in below if s in tasks[g].useful) for s in tasks[j].evicting)
    return Lost(
        tuple((g, size) for size, g in sizes if size),
        tuple((task, count) for task, count in sorted(users.items()) if task),
    )


def ecb_multiset(lost: Lost, jobs: int, preempted: Callable[[int], int]) -> int:
    """Sets loaded again because of so many jobs of j: the largest, each as often as it may happen."""
    total = 0
    for g, size in lost.sizes:
        count = min(jobs, preempted(g))
        total += count * size
        jobs -= count
    return total


def ucb_multiset(lost: Lost, jobs: int, preempted: Callable[[int], int]) -> int:
    """The same counted by set: each as often as jobs to which it is useful may be preempted by one of j."""
    total = 0
    for users, sets in lost.shared:
        total += sets * min(jobs, sum(preempted(g) for g in users))
    return total


STATED = "docs/explanation/analyses.md, theorem 21 (a stated cost of each preemption), with "
SETS = "docs/explanation/analyses.md, theorem 21 (Tan & Mooney 2007; Altmeyer, Davis & Maiza 2012), with "


def with_reloads(plan: Plan, bound: Bound) -> Bound:
    """A bound of a core whose jobs reload, with its assumptions."""
    core = plan.cores[bound.core]
    if (core.cache_reload_ps is None and core.cache is None) or bound.response is None:
        return bound
    source = STATED if core.cache is None else SETS
    return replace(bound, source=with_theorem(source, bound))


SOURCE = f"{FP_PREEMPTIVE}, by multisets"
# Evaluations of a window before the search gives up.
_STEPS = 20_000
_LONGEST = 1 << 62


@dataclass(frozen=True)
class CachedCore(HasSets):
    """The sets of the cache that a core's tasks use."""

    blocks: Sequence[Blocks]
    blockers: Blockers = ()


@dataclass(frozen=True)
class _Window:
    length: int
    jobs: tuple[int, ...]
    reload: int


class _Search:
    """The windows of one task; `responses` are those of the more urgent ones."""

    def __init__(
        self, tasks: Sequence[UniTask], index: int, cache: CachedCore, responses: Sequence[int | None]
    ) -> None:
        self._tasks, self._index, self._cache = tasks, index, cache
        self._lost: list[Lost] = [lost_to(cache.blocks, index, j, cache.blockers) for j in range(index)]
        # How many jobs of j come while one of g is under way: all of the window where nothing bounds that.
        self._while = {
            (g, j): -(-(response + tasks[j].jitter) // tasks[j].period)
            for g, response in enumerate(responses)
            if response is not None
            for j in range(g)
        }
        self.steps = _STEPS

    def _reloaded(self, jobs: Sequence[int]) -> int:
        """The reloads in a window with so many jobs of each more urgent task."""
        by_ecb = 0
        by_ucb = 0
        for j, (lost, count) in enumerate(zip(self._lost, jobs, strict=True)):

            def preempted(g: int, j: int = j, count: int = count) -> int:
                most = self._while.get((g, j))
                return count if most is None else jobs[g] * most

            by_ecb += ecb_multiset(lost, count, preempted)
            by_ucb += ucb_multiset(lost, count, preempted)
        return self._cache.per_set * min(by_ecb, by_ucb)

    def jobs_to_look_at(self) -> int | None:
        """After so many jobs of a window none responds later; 0: windows need not end; None: not known."""
        tasks = self._tasks[: self._index + 1]
        common = lcm(*(task.period for task in tasks))
        # Reloads grow in proportion to the jobs: there are so many in a common period.
        jobs = [common // task.period for task in tasks]
        load = sum(n * task.execution for n, task in zip(jobs, tasks, strict=True))
        load += self._reloaded(jobs[:-1])
        if load < common:
            return None
        # As in theorem 1: what is loaded again in a window and a common period is no more than in both.
        return jobs[-1] if load == common else 0

    def window(self, earlier: int, length: int) -> _Window | None:
        """The window up to the end of the job after so many of its own; it has at least that length."""
        task = self._tasks[self._index]
        own = task.blocking + (earlier + 1) * task.execution
        length = max(length, own)
        before = self._tasks[: self._index]
        while self.steps > 0 and length < _LONGEST:
            self.steps -= 1
            jobs = tuple(-(-(length + k.jitter) // k.period) for k in before)
            reload = self._reloaded(jobs)
            after = own + reload + sum(n * k.execution for n, k in zip(jobs, before, strict=True))
            if after == length:
                return _Window(length, jobs, reload)
            length = after
        return None


def by_windows(
    tasks: Sequence[UniTask],
    cache: CachedCore,
    known: Sequence[int | None] = (),
    *,
    context_switch: int = 0,
    core: str = "",
) -> list[Bound]:
    """Worst-case response times under preemptive fixed priorities, the most urgent first.

    `known`: other bounds of the same tasks, which count in those of the less urgent ones where they are
    lower. Context switches as in `fixed_priority`.
    """
    if any(task.level not in (None, index) for index, task in enumerate(tasks)):
        raise ValueError("tasks of equal priority have no bounds by sets of a cache")
    charged = [
        task.with_cost(2 * context_switch, context_switch if index < len(tasks) - 1 else 0)
        for index, task in enumerate(tasks)
    ]
    found: list[Bound] = []
    least: list[int | None] = []
    for index, task in enumerate(charged):
        worst = _worst(_Search(charged, index, cache, least), task)
        responses = [one for one in (None if worst is None else worst[0], *known[index : index + 1]) if one]
        least.append(min(responses, default=None))
        found.append(_bound(charged, index, worst, cache, context_switch, core))
    return found


def _worst(search: _Search, task: UniTask) -> tuple[int, int, _Window] | None:
    """The longest response, of the job after so many others of its window."""
    last = search.jobs_to_look_at()
    worst: tuple[int, int, _Window] | None = None
    earlier, length = 0, 0
    while last is None or earlier < last:
        window = search.window(earlier, length)
        if window is None:
            return None
        length = window.length
        response = length + task.jitter - earlier * task.period
        if worst is None or response > worst[0]:
            worst = (response, earlier, window)
        if length + task.jitter <= (earlier + 1) * task.period:
            break
        earlier += 1
    return worst


def _bound(
    tasks: Sequence[UniTask],
    index: int,
    worst: tuple[int, int, _Window] | None,
    cache: CachedCore,
    context_switch: int,
    core: str,
) -> Bound:
    task = tasks[index]
    assumptions = reloaded(["one core, preemptive fixed priorities", *RELEASES], cache)
    if context_switch:
        assumptions.append(f"two context switches of {in_words(context_switch)} are charged to each job")
    return Bound(
        task=task.name,
        response=None if worst is None else worst[0],
        deadline=task.deadline,
        source=SOURCE,
        assumptions=tuple(assumptions),
        explanation=() if worst is None else _explain(tasks, index, worst),
        notes=("with what is loaded again its busy window has no end that is found",)
        if worst is None
        else (),
        core=core,
    )


def _explain(tasks: Sequence[UniTask], index: int, worst: tuple[int, int, _Window]) -> tuple[Step, ...]:
    task, (_, earlier, window) = tasks[index], worst
    steps = Steps(-earlier * task.period)
    late = f"{task.name} comes late" if not earlier else "the window's first job comes late"
    steps.put("jitter", late, task.jitter)
    steps.put("blocking", "what holds the core", task.blocking)
    for count, other in zip(window.jobs, tasks, strict=False):
        steps.put("interference", f"{count} x {other.name}", count * other.execution, count)
    steps.put("interference", "blocks loaded again after preemptions", window.reload)
    steps.put("own", f"{earlier} earlier x {task.name}", earlier * task.execution, earlier)
    steps.put("own", task.name, task.execution)
    return steps.done()


@dataclass(frozen=True)
class CacheCosts:
    """Cache reloads of a core's tasks, the most urgent first, by each way to bound them."""

    reloads: tuple[Reloads, ...]
    """By a charge for each job."""
    windows: CachedCore
    """By counting in each window."""
    own: tuple[int, ...]
    """The largest reload of each task's job, whatever ran meanwhile [ps]."""
    used: tuple[Used, ...]


def cache_costs(figures: Figures, core: str, blockers: Blockers) -> CacheCosts | None:
    """None where the core says nothing of its cache. `blockers`: of each task those that may block it."""
    plan = figures.plan
    planned = plan.cores[core]
    if planned.cache is None:
        return None
    here = f"scheduling.{planned.entry}.cache"
    block = figures.time(f"{here}.block")
    used = [*block.used]
    tasks = []
    for name in planned.tasks:
        task, place = plan.tasks[name], f"tasks.{name}.cache_sets"
        if task.cache_sets is None:
            raise MissingFigure(place, f"the sets of the cache that {name} uses")
        tasks.append(Blocks(frozenset(task.cache_sets.evicting), frozenset(task.cache_sets.useful)))
        known = task.cache_sets_from
        text = f"{len(task.cache_sets.evicting)} evicting, {len(task.cache_sets.useful)} useful"
        used.append(Used(place, text, *((UNSOURCED, "") if known is None else (known.kind, known.source))))
    per_set = planned.cache.per_set_ps
    return CacheCosts(
        tuple(
            Reloads(per_set, how(tasks, per_set, blockers), name)
            for how, name in ((ecb_union, "ECB-union"), (ucb_union, "UCB-union"))
        ),
        CachedCore(per_set, tasks, blockers),
        tuple(per_set * len(task.useful) for task in tasks),
        tuple(used),
    )
