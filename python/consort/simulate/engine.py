# SPDX-License-Identifier: Apache-2.0
"""Running the engine: single runs, many runs, all release offsets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from consort import _engine
from consort.base.errors import BadInput
from consort.simulate.build import Prepared

ABSENT = -1
TIMES = (
    "release",
    "ready",
    "start",
    "finish",
    "deadline",
    "sent",
    "worker_receive",
    "worker_send",
    "received",
)
JOBS: np.dtype[Any] = np.dtype(_engine.row_layouts()["jobs"])
SLICES: np.dtype[Any] = np.dtype(_engine.row_layouts()["slices"])


# Execution times: any between best and worst, always the worst, or mostly one of the two.
Choice = Literal["uniform", "worst", "edges"]
# Jitter, gaps between sporadic releases and parts of suspensions, as on every target: the same description
# and seed have the same releases.
ARRIVAL: Choice = "edges"
Report = Callable[[float], None]
T = TypeVar("T")


@dataclass(frozen=True)
class TaskFigures:
    """Figures of a simulated task; times in ps. The responses are None where no job ended."""

    task: str
    core: str
    deadline: int
    jobs: int
    misses: int
    held: int
    fallbacks: int
    # Releases that were skipped (`skip` of an engine task): in `jobs` and `misses`, in no response.
    unserved: int
    # Jobs of a task with `arrival` whose block came before min_interarrival and min_distances allow: bounds
    # do not count it.
    early: int
    max_response: int | None
    min_response: int | None
    worst_job: int | None
    # The seed of the run in which the largest response was seen.
    seed: int

    def to_json(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "core": self.core,
            "deadline_ps": self.deadline,
            "jobs": self.jobs,
            "deadline_misses": self.misses,
            "outputs_held": self.held,
            "local_fallbacks": self.fallbacks,
            "unserved": self.unserved,
            "early_arrivals": self.early,
            "max_response_ps": self.max_response,
            "min_response_ps": self.min_response,
            "worst_job": self.worst_job,
            "seed": self.seed,
            "provenance": "simulated",
        }


@dataclass(frozen=True)
class Simulation:
    """One run, or several taken together; then without jobs and slices."""

    prepared: Prepared
    duration: int
    seed: int
    runs: int
    figures: dict[str, TaskFigures]
    # When a task whose policy is `stop` ended the run [ps]; of several runs the earliest.
    stopped: int | None = None
    jobs: NDArray[np.void] | None = field(default=None, repr=False)
    slices: NDArray[np.void] | None = field(default=None, repr=False)
    dropped: Mapping[str, int] = field(default_factory=dict)
    """By channel: blocks that found no room, once its operations were followed (`measured`)."""
    waiting: frozenset[str] = frozenset()
    """Channels in which blocks wait at the end, or whose device goes on sending; as `dropped`."""

    @property
    def misses(self) -> int:
        return sum(f.misses for f in self.figures.values())

    @property
    def drops(self) -> int:
        """Blocks that found no room."""
        return sum(self.dropped.values())

    @property
    def early(self) -> list[str]:
        """Notes on blocks that came before they may release a job, by task."""
        return [
            f"{f.task}: {f.early} of {f.jobs} blocks came before min_interarrival and min_distances allow;"
            " their jobs waited"
            for f in self.figures.values()
            if f.early
        ]

    def jobs_of(self, task: str) -> NDArray[np.void]:
        """The recorded jobs of a task, in their order."""
        assert self.jobs is not None, "only a run with a trace has jobs"
        # Jobs of one task end in their order.
        mine: NDArray[np.void] = self.jobs[self.jobs["task"] == self.prepared.tasks.index(task)]
        return mine


def simulate(
    prepared: Prepared,
    duration: int,
    seed: int = 1,
    *,
    runs: int = 1,
    choice: Choice = "uniform",
    trace: bool = False,
    report: Report | None = None,
) -> Simulation:
    """Runs that release jobs for `duration` [ps] and go on until all are done.

    Several runs have the seeds from `seed` on; a trace is kept of a single one. The same arguments give the
    same result everywhere.
    """

    def single(seed: int, share: Report | None) -> Simulation:
        return _single(prepared, duration, seed, choice, trace, share)

    return repeated(single, joined, seed, runs=runs, trace=trace, report=report)


def repeated(
    single: Callable[[int, Report | None], T],
    together: Callable[[T, T], T],
    seed: int,
    *,
    runs: int,
    trace: bool,
    report: Report | None,
) -> T:
    """Runs with the seeds from `seed` on, taken together; a trace is kept of a single one only."""
    if trace and runs != 1:
        raise ValueError("a trace is kept of a single run")
    total: T | None = None
    for number in range(runs):
        one = single((seed + number) % 2**64, report and _part(report, number, runs))
        total = one if total is None else together(total, one)
    assert total is not None
    return total


def _part(report: Report, number: int, runs: int) -> Report:
    return lambda share: report((number + share) / runs)


def _single(
    prepared: Prepared, duration: int, seed: int, choice: Choice, trace: bool, report: Report | None
) -> Simulation:
    progress = _engine.SimProgress()
    raw = watched(
        lambda: _engine.sim_run(prepared.engine, duration, seed, choice, ARRIVAL, trace, progress),
        progress,
        duration,
        report,
    )
    return Simulation(
        prepared,
        duration,
        seed,
        1,
        figures_of(prepared, dict(zip(prepared.tasks, raw["tasks"], strict=True)), seed),
        raw["stopped"],
        raw["jobs"].view(JOBS) if trace else None,
        raw["slices"].view(SLICES) if trace else None,
    )


def figures_of(prepared: Prepared, found: dict[str, dict[str, Any]], seed: int) -> dict[str, TaskFigures]:
    """The engine's figures for the tasks of a plan, by name."""
    figures = {}
    for name in prepared.tasks:
        task = prepared.plan.tasks[name]
        figures[name] = TaskFigures(
            task=name, core=task.computed_on, deadline=task.deadline_ps, seed=seed, **found[name]
        )
    return figures


def joined(a: Simulation, b: Simulation) -> Simulation:
    """Two runs taken together, the second one after the others."""
    figures = {}
    for name, one in a.figures.items():
        other = b.figures[name]
        worse = (other.max_response or -1) > (one.max_response or -1)
        figures[name] = replace(
            other if worse else one,
            jobs=one.jobs + other.jobs,
            misses=one.misses + other.misses,
            held=one.held + other.held,
            fallbacks=one.fallbacks + other.fallbacks,
            unserved=one.unserved + other.unserved,
            early=one.early + other.early,
            min_response=min(
                (r for r in (one.min_response, other.min_response) if r is not None), default=None
            ),
        )
    stops = [s for s in (a.stopped, b.stopped) if s is not None]
    return Simulation(
        a.prepared,
        a.duration,
        a.seed,
        a.runs + 1,
        figures,
        min(stops, default=None),
        dropped=summed(a.dropped, b.dropped),
    )


def summed(a: Mapping[str, int], b: Mapping[str, int]) -> dict[str, int]:
    """Counts of both by name."""
    return dict(Counter(a) + Counter(b))


def watched(work: Callable[[], T], progress: _engine.SimProgress, duration: int, report: Report | None) -> T:
    """Does the work beside this thread, which tells how far it is and can be interrupted."""
    with ThreadPoolExecutor(1) as pool:
        future: Future[T] = pool.submit(work)
        try:
            while True:
                try:
                    return future.result(timeout=0.1)
                except TimeoutError:
                    if future.done():
                        raise
                    if report is not None:
                        report(min(1.0, progress.reached / max(duration, 1)))
        except KeyboardInterrupt:
            progress.cancel()
            raise
        except ValueError as error:
            raise BadInput(str(error)) from None
        except OverflowError as error:
            raise BadInput(f"{error}; or simulate a shorter time") from None


@dataclass(frozen=True)
class Offsets:
    """The largest response of each task over all combinations of release offsets on a grid; times in ps."""

    max_response: dict[str, int | None]
    # For each task the offsets of all tasks in the run with its largest response.
    offsets: dict[str, dict[str, int]]
    runs: int
    step: int
    duration: int


def explore_offsets(
    prepared: Prepared, step: int, duration: int, *, limit: int = 1_000_000, report: Report | None = None
) -> Offsets:
    """Simulates every combination of offsets 0, step, 2 * step … below each period, at worst-case execution.

    What is seen is exact for these offsets and this duration; it bounds nothing else. `BadInput` when there
    are more than `limit` combinations.
    """
    if step <= 0:
        raise BadInput("the step of the offsets must be above 0")
    count = _engine.sim_combinations(prepared.engine, step, 0)
    if count > limit:
        raise BadInput(
            f"{count} combinations of offsets are more than {limit}; take a larger step or fewer tasks"
        )
    progress = _engine.SimProgress()
    raw = watched(
        lambda: _engine.sim_explore(prepared.engine, duration, step, 0, progress), progress, duration, report
    )
    names = prepared.tasks
    return Offsets(
        {name: None if r < 0 else r for name, r in zip(names, raw["max_response"], strict=True)},
        {
            name: dict(zip(names, found, strict=False))
            for name, found in zip(names, raw["offsets"], strict=True)
        },
        raw["runs"],
        step,
        duration,
    )
