# SPDX-License-Identifier: Apache-2.0
"""All that is known of a simulated system: its figures beside their bounds, and whether it held."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from consort.analysis.lacking import named, remedies
from consort.analysis.result import Bound
from consort.base.errors import SystemFails
from consort.base.units import counted
from consort.judge.changes import Change
from consort.model import Duration
from consort.record import Held, Run
from consort.record.ran import SLICES
from consort.simulate.build import Prepared
from consort.simulate.chains import ChainFigures, Chains
from consort.simulate.engine import Choice, Simulation, TaskFigures, simulate

if TYPE_CHECKING:
    from consort.simulate.record import Rows

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


@dataclass(frozen=True)
class InMode:
    """The figures of one mode, with its bounds; a system that changes no mode has one, whose name is ""."""

    mode: str
    found: Simulation
    """All runs taken together."""
    chains: Chains
    bounds: Sequence[Bound]
    excesses: Sequence[Excess] = ()
    """Responses above their bounds."""

    @property
    def above(self) -> Iterator[str]:
        """Sentences on times above their bounds: each is a defect of Consort, or a figure that is wrong."""
        where = f"in {self.mode}: " if self.mode else ""
        for line in [*map(str, self.excesses), *self._late_chains()]:
            yield where + line

    def _late_chains(self) -> Iterator[str]:
        for bound in self.bounds:
            chain = self.chains.get(bound.task)
            if chain is None or bound.kind not in ("reaction time", "data age") or bound.response is None:
                continue
            seen = chain.reaction if bound.kind == "reaction time" else chain.age
            if seen is not None and seen > bound.response:
                yield (
                    f"{bound.task}: simulated {bound.kind} {Duration(seen)} is above its bound"
                    f" {Duration(bound.response)} ({bound.source})"
                )

    @property
    def dropped(self) -> Iterator[str]:
        """Sentences on blocks that found no room."""
        where = f"in {self.mode}: " if self.mode else ""
        for name, count in self.found.dropped.items():
            yield f"{where}{name}: {counted(count, 'block')} dropped because there was no room"

    def to_json(self) -> dict[str, Any]:
        return {
            "tasks": [task.to_json() for task in self.found.figures.values()],
            "dropped": dict(self.found.dropped),
            "chains": [chain.to_json() for chain in self.chains.values()],
        }


@dataclass(frozen=True)
class Outcome:
    """A system's simulation, in one run or several, and the record of the run that was kept."""

    modes: Sequence[InMode]
    duration: int
    seed: int
    runs: int
    lacking: Sequence[str]
    """The places of figures that nobody gave and that bounds need: here they count nothing."""
    unseen: Sequence[str]
    """Sentences on tasks, chains and requests of which nothing was seen."""
    changes: Sequence[Change] | None = None
    """Changes of mode, of several runs the slowest of each kind; None: the system changes no mode."""
    recorded: Rows | None = None
    """Those of the one run that was recorded, of a system that changes no mode."""
    run: Run | None = None

    @property
    def tasks(self) -> Iterator[TaskFigures]:
        return (task for one in self.modes for task in one.found.figures.values())

    @property
    def chains(self) -> Iterator[ChainFigures]:
        return (chain for one in self.modes for chain in one.chains.values())

    @property
    def excesses(self) -> list[Excess]:
        return [excess for one in self.modes for excess in one.excesses]

    @property
    def misses(self) -> int:
        return sum(one.found.misses for one in self.modes)

    @property
    def above(self) -> list[str]:
        """Sentences on times above their bounds."""
        late = [change.excess for change in self.changes or () if not change.kept]
        return [*(line for one in self.modes for line in one.above), *late]

    @property
    def early(self) -> list[str]:
        """Sentences on blocks that came before the tasks that they release allow."""
        return [line for one in self.modes for line in one.found.early]

    @property
    def dropped(self) -> list[str]:
        """Sentences on blocks that found no room."""
        return [line for one in self.modes for line in one.dropped]

    @property
    def held(self) -> Held:
        """The one answer of the figures and of the record: what was never seen did not hold."""
        wrong = (self.misses, self.above, self.early, self.dropped)
        if any(wrong) or not all(chain.kept for chain in self.chains):
            return Held.NOT_HELD
        if self.run is not None:
            return Held(self.run.verdict["ok"])
        return Held.of((), [*self.unseen, *self.lacking])

    # --- in words

    @property
    def answer(self) -> str:
        """One line: the system held, or why not."""
        if self.misses:
            return counted(self.misses, "deadline miss", "deadline misses")
        if self.held is Held.UNDECIDED:
            open_ = "; ".join([*self.unseen, *([named(self.lacking)] if self.lacking else [])])
            return f"undecided: {open_ or 'the record says what was not seen'}"
        if self.held:
            return "every deadline was met"
        if not all(chain.kept for chain in self.chains):
            return "a chain took too long"
        if not all(change.kept for change in self.changes or ()):
            return "a change of mode took too long"
        if self.dropped and not self.above:
            return "blocks were dropped because there was no room"
        return "a time is above its bound" if self.above else "the record says what did not hold"

    @property
    def span(self) -> str:
        text = f"{counted(self.runs, 'run')} of {Duration(self.duration)}, from seed {self.seed}"
        if self.changes is None:
            return text
        return f"{text}, {counted(len(self.changes), 'change of mode', 'changes of mode')}"

    @property
    def cause(self) -> str:
        """Why it did not hold; empty where it held."""
        if self.held:
            return ""
        for line in [*self.above, *self.early]:
            return line
        for task in (task for task in self.tasks if task.misses):
            kinds = ((task.unserved, "never served"), (task.held, "answered with the output before"))
            more = "".join(f", {count:,} of them {words}" for count, words in kinds if count)
            return (
                f"{task.task}: {counted(task.misses, 'deadline miss', 'deadline misses')} in"
                f" {counted(task.jobs, 'job')}{more}, with seed {task.seed}"
            )
        for chain in (chain for chain in self.chains if not chain.kept):
            return f"{chain.chain}: the longest took more than is allowed, with seed {chain.seed}"
        for line in self.dropped:
            return line
        if self.held is Held.UNDECIDED and self.lacking:
            return "simulated time counts nothing for what nobody gave"
        reasons = [] if self.run is None else self.run.verdict["reasons"]
        return str(reasons[0]) if reasons else "what the verdict names was not seen in this time"

    def following(self, description: str) -> str:
        """The command that comes next; `description`: the system as a command line names it."""
        if self.held:
            bare = any(one.found.prepared.plan.lacks_steps for one in self.modes)
            how = "--stand-ins, as tasks have no step" if bare else "the steps themselves"
            gap = " " if bare else ", "
            return f"consort run {description} --for virtual{gap}{how}; -v prints every figure"
        if self.held is Held.UNDECIDED and self.lacking:
            return remedies(self.lacking)
        if self.run is not None:
            return f"consort report {self.run.path} --open, which shows every job; -v prints every figure"
        return f"consort simulate {description} without --no-record: a report then shows every job"

    def to_json(self) -> dict[str, Any]:
        run = self.run
        head = {
            "ok": self.held,
            "run": None if run is None else run.path.name,
            "path": None if run is None else str(run.path),
            "verdict": None if run is None else run.verdict,
            "missing": list(self.lacking),
            "duration_ps": self.duration,
            "seed": self.seed,
            "runs": self.runs,
        }
        if self.changes is not None:
            return {
                **head,
                "modes": [{"mode": one.mode, **one.to_json()} for one in self.modes],
                "changes": [change.to_json() for change in self.changes],
                "above_bound": self.above,
            }
        (one,) = self.modes
        return {
            **head,
            "stopped_ps": one.found.stopped,
            **one.to_json(),
            "bounds": [
                {"name": b.task, "kind": b.kind, "bound_ps": b.response, "provenance": "bound"}
                for b in one.bounds
            ],
            "above_bound": self.above,
        }


def unseen_of(found: Simulation, chains: Chains) -> list[str]:
    """A sentence on the tasks and chains of which a simulation in one mode shows nothing."""
    tasks = [name for name, task in found.figures.items() if not task.jobs]
    names = [*tasks, *(f"chain {name}" for name, chain in chains.items() if chain.unseen)]
    return [f"nothing was seen of {', '.join(names)}"] if names else []
