# SPDX-License-Identifier: Apache-2.0
"""A system description as the engine takes it. Ticks are picoseconds: nothing is rounded."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from consort import _engine
from consort.analysis.accelerators import asks_of
from consort.analysis.figures import Figures, MissingFigure
from consort.analysis.jitters import without_number
from consort.analysis.offload_costs import checkpoint, offload_costs
from consort.analysis.system import with_jitters
from consort.analysis.three_phase import moved
from consort.base.errors import BadInput
from consort.model import BadDescription, System
from consort.model.channel import Service, Wait
from consort.model.document import Location
from consort.plan import Plan, PlannedTask, plan_of
from consort.plan.channels import releasing
from consort.plan.lacks import SIMULATION, Places, entry_of, lacking

Demand = tuple[int, int, int, int, int, int, int, int, int, int]


def served_by(plan: Plan, core: str, made: _engine.SimCore) -> None:
    """Gives a core the clients of the accelerator that it serves, if it serves one."""
    for accelerator in plan.accelerators.values():
        if accelerator.core == core:
            made.serve(
                accelerator.arbitration,
                accelerator.round_ps,
                [(c.rank, c.slot_from_ps, c.slot_ps, c.budget_ps, c.period_ps) for c in accelerator.clients],
            )


def demands_of(figures: Figures, task: str, cores: list[str], *, sleeps: bool) -> list[Demand]:
    """The demands of a task's jobs; `MissingFigure` for a cost that nobody gave.

    The arbitration counts with the costs under load, and requests take those without: no bound may rest on
    the difference.
    """
    plan = figures.plan
    found: list[Demand] = []
    longest = asks_of(figures, task, sleeps=sleeps)
    for ask, most in zip(asks_of(figures, task, sleeps=sleeps, loaded=False), longest, strict=True):
        accelerator = plan.accelerators[ask.accelerator]
        operation = accelerator.operations[ask.operation]
        assert operation.wcet_ps is not None and operation.bcet_ps is not None
        client = next(k for k, one in enumerate(accelerator.clients) if one.task == task)
        found.append(
            (
                cores.index(accelerator.core),
                client,
                ask.times,
                most.cost,
                min(ask.cost, most.cost),
                min(ask.cost - operation.wcet_ps + operation.bcet_ps, most.cost),
                ask.send,
                ask.receive,
                ask.request,
                ask.answer,
            )
        )
    return found


@dataclass(frozen=True)
class Prepared:
    """The engine's system, and the names of its parts."""

    plan: Plan
    engine: _engine.SimSystem
    tasks: list[str]
    cores: list[str]
    # The parts of `engine`.
    engine_cores: list[_engine.SimCore] = field(default_factory=list, repr=False)
    engine_tasks: list[_engine.SimTask] = field(default_factory=list, repr=False)


def prepare(
    subject: System | Plan,
    *,
    dense: bool = False,
    discipline: Service | None = None,
    waiting: Wait | None = None,
    offsets: dict[str, int] | None = None,
    skips: bool = False,
    keeps: Collection[str] = (),
    time_scale: int = 1,
) -> Prepared:
    """The system for the engine; `BadDescription` names the figures that a simulation needs and are missing.

    Sporadic releases come up to twice as late as they may, or with `dense` as early as they may; those by
    `arrival` with the blocks of the channel's writer, or, of a device, like sporadic ones. `offsets`
    [ps], `discipline` and `waiting` take the place of the plan's. As `consort run` has it: with `skips` a job
    that could begin only after release + max(period, deadline) is not begun; of the three-phase tasks in
    `keeps`, which have a state, one job is in flight at a time; `time_scale` stretches releases, deadlines
    and slots, and no execution.
    """
    plan = with_jitters(plan_of(subject), waiting=waiting, serving=discipline)
    names, cores = list(plan.tasks), list(plan.cores)
    problems = list(lacking(plan, SIMULATION, Places(plan.file, plan.mode)))
    problems += [_place(plan, ("tasks", name, "jitter"), why) for name, why in without_number(plan).items()]
    engine_cores, dmas = [], []
    figures = Figures(plan)
    for planned in plan.cores.values():
        made = _engine.SimCore("worker" if planned.serves else planned.policy)
        served_by(plan, planned.name, made)
        if planned.tasks:
            made.context_switch = _context_switch(figures, planned.name, problems)
        made.cache_reload = planned.cache_reload_ps or 0
        made.set_reload = 0 if planned.cache is None else planned.cache.per_set_ps
        made.inherits = [
            n for n, one in enumerate(plan.resources.values()) if one.inherits and planned.name in one.cores
        ]
        # Only a core that has all of its time, and whose jobs hold nothing, is kept for one that waits.
        whole = planned.supply is None and not made.cache_reload and not made.set_reload
        whole = whole and not any(plan.tasks[task].sections for task in planned.tasks)
        made.keeps = whole and (planned.wait if waiting is None else waiting) == "spin"
        if planned.supply is not None:
            given = planned.supply
            made.supply = (given.period_ps * time_scale, given.budget_ps * time_scale, given.fixed)
        made.by_rank = (discipline or planned.service) == "priority"
        if planned.slot is not None:
            made.slot = planned.slot.length_ps * time_scale
            made.slot_phase = planned.slot.phase_ps * time_scale
            made.partitions = planned.slot.partitions
        elif planned.slot_missing:
            problems.append(_place(plan, entry_of(plan, planned.name, "policy"), planned.slot_missing))
        engine_cores.append(made)
    slots = [planned.slot for planned in plan.cores.values() if planned.slot is not None]
    if slots:
        dma = _engine.SimDma()
        dma.round = slots[0].round_ps * time_scale
        dma.round_robin = slots[0].arbitration == "round-robin"
        dmas.append(dma)
    tasks = []
    for name in names:
        master = engine_cores[cores.index(plan.tasks[name].core)]
        made_task = _task(figures, plan.tasks[name], cores, dense, not master.keeps, problems)
        if offsets is not None and name in offsets:
            made_task.offset = offsets[name]
        for time in ("period", "extra_gap", "offset", "jitter", "deadline", "give_up"):
            setattr(made_task, time, getattr(made_task, time) * time_scale)
        made_task.distances = [distance * time_scale for distance in plan.tasks[name].min_distances_ps]
        made_task.skip = skips and plan.tasks[name].execution != "three-phase"
        made_task.one_in_flight = name in keeps
        tasks.append(made_task)
    if problems:
        raise BadDescription(problems)
    try:
        engine = _engine.SimSystem(engine_cores, dmas, tasks)
    except ValueError as error:
        raise BadInput(str(error), file=plan.file) from None
    return Prepared(plan, engine, names, cores, engine_cores, tasks)


def _place(plan: Plan, location: Location, message: str) -> BadInput:
    """A problem with its line in the description."""
    return Places(plan.file, plan.mode)(location, message)


def _problem(plan: Plan, field: str, message: str) -> BadInput:
    return BadInput(message, file=plan.file, field=field)


def _context_switch(figures: Figures, core: str, problems: list[BadInput]) -> int:
    """The cost of a context switch; adds a problem if nobody gave one."""
    try:
        return figures.context_switch(core).ps
    except MissingFigure as missing:
        problems.append(_problem(figures.plan, missing.place, missing.unplaced))
        return 0


def _task(
    figures: Figures,
    task: PlannedTask,
    cores: list[str],
    dense: bool,
    sleeps: bool,
    problems: list[BadInput],
) -> _engine.SimTask:
    plan = figures.plan
    made = _engine.SimTask(task.on_miss)
    made.core, made.master = cores.index(task.computed_on), cores.index(task.core)
    made.period = task.period_ps
    made.extra_gap = made.period if task.sporadic and not dense else 0
    channel = releasing(plan, task.name)
    if channel is not None:
        made.extra_gap = 0
        made.arrival = list(plan.tasks).index(channel.writer), channel.communication == "let"
    made.offset, made.jitter = task.offset_ps, task.jitter_ps
    made.deadline = task.deadline_ps
    made.rank, made.threshold = task.rank, task.threshold
    if task.wcet_ps is None or task.bcet_ps is None:
        kind = plan.processor_of(task.name)
        problems.append(
            _place(
                plan,
                ("tasks", task.name, "wcet"),
                f"a simulation needs the execution time of {task.execution} execution on {kind};"
                f" add it, for example 'wcet: {{{kind}: 50us}}'",
            )
        )
        return made
    try:
        saved = checkpoint(figures, task, loaded=False).ps
        made.demands = demands_of(figures, task.name, cores, sleeps=sleeps)
    except MissingFigure as missing:
        problems.append(_problem(plan, missing.place, missing.unplaced))
        return made
    made.wcet, made.bcet = task.wcet_ps + saved, task.shortest_ps + saved
    if task.worker is not None:
        _offload(figures, task, made, sleeps, problems)
    if task.self_suspension_ps is not None:
        made.suspension, made.stretches = task.self_suspension_ps, task.suspensions
    resources = list(plan.resources)
    if task.cache_sets is not None:
        made.evicting, made.useful = list(task.cache_sets.evicting), list(task.cache_sets.useful)
    made.sections = [(resources.index(s.resource), s.length_ps, s.times) for s in task.sections]
    if task.execution == "three-phase":
        operations = moved(plan, task.name)
        if operations is not None:
            made.load, made.unload = operations
    return made


def _offload(
    figures: Figures, task: PlannedTask, made: _engine.SimTask, sleeps: bool, problems: list[BadInput]
) -> None:
    plan = figures.plan
    assert task.worker is not None and task.worker_rank is not None
    made.offloaded, made.give_up = True, task.patience_ps
    made.worker_rank = task.worker_rank
    if made.wcet == 0:
        problems.append(
            _place(
                plan,
                ("tasks", task.name, "wcet"),
                "an offloaded job takes some time; write more than 0",
            )
        )
    try:
        costs = offload_costs(figures, task.name, sleeps=sleeps, loaded=False)
    except MissingFigure as missing:
        problems.append(_problem(plan, missing.place, missing.unplaced))
    else:
        made.send, made.receive = costs.send, costs.receive
        made.request, made.response = costs.request + costs.read, costs.write + costs.answer
    if task.give_up_ps is not None:
        if task.fallback_ps is None:
            kind = plan.cores[task.core].processor
            problems.append(
                _place(
                    plan,
                    ("tasks", task.name, "wcet"),
                    f"with 'on_miss: local-fallback' the master computes the step itself; add"
                    f" '{kind}: {{local: …}}'",
                )
            )
        else:
            made.fallback = task.fallback_ps
