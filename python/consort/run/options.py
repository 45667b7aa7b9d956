# SPDX-License-Identifier: Apache-2.0
"""The choices for a run: its options, the plan that they make, and the configurations to run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Literal

from consort.analysis.jitters import without_number
from consort.analysis.system import with_jitters
from consort.base.environment import usable_cpus
from consort.base.errors import BadInput, EnvironmentLacks, nearest
from consort.base.packages import OPTION, Server
from consort.judge.verdict import UNDECIDED_ABOVE
from consort.model import BadDescription, Configuration, System
from consort.model.quantities import Duration
from consort.plan import ModePlans, Place, Plan, plan, plan_in_modes
from consort.plan.channels import links_of
from consort.plan.lacks import Places
from consort.run.config import LinkFault, Placement, check_link_faults

NAMES: dict[str, str] = {
    "local-off": "local, interference off",
    "local-on": "local, interference on",
    "offloaded-off": "offloaded, interference off",
    "offloaded-on": "offloaded, interference on",
}


@dataclass(frozen=True)
class CoreFault:
    """A core's process is killed, or stopped, so long after the start."""

    core: str
    at_ns: int
    kind: Literal["kill-core", "stop-core"]


@dataclass(frozen=True)
class JobFault:
    """The process of a task's core dies in one of its jobs, after so many of the job's steps beside the
    computation: before and after it is committed, at each word of the checkpoint, around each write."""

    task: str
    job: int
    step: int


@dataclass(frozen=True)
class Options:
    """A run's options, which override the description. `duration_ps` goes before `iterations`."""

    target: str = "linux"
    """`linux`, `virtual` or `board`."""
    seed: int | None = None
    """Instead of run.seed."""
    iterations: int | None = None
    duration_ps: int | None = None
    configurations: Sequence[Configuration] | None = None
    time_base: str | None = None
    """Instead of run.time_base."""
    time_scale: int = 1
    realtime: bool = True
    undecided_above: float = UNDECIDED_ABOVE
    """The share of jobs, 0 to 1, up to which the machine may disturb a task before nothing is known of it."""
    stand_ins: bool = False
    mode: str | None = None
    sanitize: bool = False
    kill_worker_at_ns: int | None = None
    stop_worker_for_ns: int | None = None
    core_faults: Sequence[CoreFault] = ()
    link_faults: Sequence[LinkFault] = ()
    remote: Mapping[str, Server] = field(default_factory=dict)
    """Servers of remote memory in which states of tasks lie; for a memory without one the run has its own."""
    dies_in_job: JobFault | None = None
    must_count: bool = False
    """On a board: refused where time is not instructions executed."""
    shift: int = 0
    """On a board that counts, an instruction takes 2 to this nanoseconds: more than a tick of its timer."""
    rt_linux: bool = False
    """On a board: PREEMPT_RT Linux on the worker's core."""
    kernel_board: str | None = None
    """The board whose scratchpad kernel serves the cores."""
    name: str | None = None
    root: Path | None = None
    command: list[str] | None = None


def asked_for(system: System, options: Options) -> System:
    """The description with the values of the options: bounds are then of the system that is run."""
    given = {"seed": options.seed, "time_base": options.time_base}
    changes = {key: value for key, value in given.items() if value is not None}
    return system.model_copy(update={"run": system.run.model_copy(update=changes)}) if changes else system


def planned(system: System, options: Options, *, mode: str | None = None, place: Place = "described") -> Plan:
    """The plan of a run: for its target, with its seed and time base."""
    asked = asked_for(system, options)
    return with_jitters(plan(asked, options.target, mode=mode, stand_ins=options.stand_ins, place=place))


def planned_in_modes(system: System, options: Options, *, place: Place = "described") -> ModePlans:
    """The plans of a run that goes from mode to mode, or that of one that does not."""
    if options.mode is not None or system.mode_changes is None:
        return ModePlans(planned(system, options, mode=options.mode, place=place))
    asked = asked_for(system, options)
    return plan_in_modes(asked, options.target, stand_ins=options.stand_ins, place=place)


def check_choice(made: Plan, options: Options) -> None:
    """`BadInput` where a jitter has no number; where configurations with interference are asked for, and time
    is virtual; and where a fault is asked for that cannot be: of a core that nobody goes on for, of a worker
    that is not there."""
    _check_jitters(made)
    mortal = {} if made.changes is None else made.changes.fail_over
    for fault in options.core_faults:
        if fault.core not in mortal:
            raise BadInput(
                f"{fault.core!r} is not a core that may die here; {nearest(fault.core, mortal, 'such cores')}"
                if mortal
                else f"nobody goes on when {fault.core!r} dies; say who under 'mode_changes': 'fail_over'",
                file=made.file,
                field=f"--{fault.kind}",
            )
    _check_worker_faults(made, options)
    check_link_faults(made, options.link_faults)
    _check_servers(made, options.remote)
    if options.target != "virtual":
        return
    here = options.configurations is None
    chosen = made.run.configurations if made.run.chosen else ()
    given = chosen if here else options.configurations
    away = [key for key in given or () if key.endswith("-on")]
    if away:
        raise BadInput(
            f"in virtual time nothing interferes, so that there is no {away[0]}; write"
            f" {away[0].removesuffix('on')}off",
            file=made.file,
            field="run.configurations" if here else "--only",
        )


def _check_jitters(made: Plan) -> None:
    for name, why in without_number(made).items():
        raise Places(made.file, made.mode)(("tasks", name, "jitter"), why)


def check_scale(plans: ModePlans, options: Options) -> None:
    """`BadInput` where a stretched time is longer than the longest one: no executive counts so far."""
    most = Duration.largest // options.time_scale
    place, longest = max(_stretched(plans, options), key=lambda one: one[1])
    if longest > most:
        raise BadInput(
            f"{options.time_scale} times {place}, {Duration.spelled(longest)}, is longer than 1000000s; write"
            f" {Duration.largest // longest} or less",
            file=plans.whole.file,
            field="--time-scale",
        )


def _stretched(plans: ModePlans, options: Options) -> Iterator[tuple[str, int]]:
    """The times that a scale stretches, each with its place."""
    whole = plans.whole
    yield "the run", duration_of(whole, options)
    for made in plans.modes.values() or (whole,):
        for name, task in made.tasks.items():
            here = f"tasks.{name}"
            yield f"{here}.{'min_interarrival' if task.sporadic else 'period'}", task.period_ps
            yield f"{here}.deadline", task.deadline_ps
            yield f"{here}.offset", task.offset_ps
            yield f"{here}.jitter", task.jitter_ps
            yield f"{here}.min_distances", max(task.min_distances_ps, default=0)
    if whole.changes is not None:
        yield "mode_changes.agreement", whole.changes.agreement_ps
        yield "mode_changes.detection", whole.changes.detection_ps or 0
        yield "mode_changes.requests", max((at for at, _ in whole.changes.requests), default=0)


def _check_worker_faults(made: Plan, options: Options) -> None:
    lasts_ns = duration_of(made, options) * options.time_scale // 1000
    for name, ns in (
        ("kill-worker-at", options.kill_worker_at_ns),
        ("stop-worker-for", options.stop_worker_for_ns),
    ):
        if ns is None:
            continue
        wrong = ""
        if not made.workers:
            wrong = "no task is offloaded, so that there is no worker; leave it out"
        elif options.configurations and all(key.startswith("local") for key in options.configurations):
            wrong = f"{options.configurations[0]} has no worker; write --only offloaded-off"
        elif name == "kill-worker-at" and ns >= lasts_ns:
            wrong = f"the run is over after {Duration.spelled(lasts_ns * 1000)}; write an earlier instant"
        if wrong:
            raise BadInput(wrong, file=made.file, field=f"--{name}")


def title_of(made: Plan, key: Configuration) -> str:
    """The title of a configuration in a report."""
    if made.target == "virtual":
        return f"{key.partition('-')[0]}, in virtual time" if made.workers else "in virtual time"
    if made.workers:
        return NAMES[key]
    return "interference on" if key.endswith("-on") else "interference off"


def possible(system: System, made: Plan, options: Options) -> list[Configuration]:
    """The configurations to run where none is asked for: without those that the plan's masters cannot do.

    A master may lack what computing its offloaded tasks itself needs, such as a stand-in's WCET there.
    """
    if made.run.chosen:
        return list(made.run.configurations)
    found = []
    for key in made.run.configurations:
        if made.target == "virtual" and key.endswith("-on"):
            continue
        try:
            configured(system, ModePlans(made), key, options)
        except BadDescription:
            continue
        found.append(key)
    return found


def configured(system: System, made: ModePlans, key: Configuration, options: Options) -> ModePlans:
    """The plans of a configuration: where it is local, masters compute their offloaded tasks themselves."""
    if key.startswith("local") and made.whole.workers:
        made = planned_in_modes(system, options, place="local")
    _check_jitters(made.whole)
    return made


def restricted(made: Plan, cores: Sequence[str]) -> Plan:
    """Some cores of a plan, whose tasks have nothing to do with the others.

    Three-phase cores that rest keep their slots, which pass empty.
    """
    tasks = {name: task for name, task in made.tasks.items() if task.core in cores}
    return replace(
        made,
        cores={
            name: core if name in cores else replace(core, tasks=(), serves=())
            for name, core in made.cores.items()
            if name in cores or core.slot is not None
        },
        tasks=tasks,
        channels={
            name: channel
            for name, channel in made.channels.items()
            if channel.writer in tasks or any(reader in tasks for reader in channel.readers)
        },
        chains={name: chain for name, chain in made.chains.items() if set(chain.path) <= set(tasks)},
    )


def duration_of(made: Plan, options: Options) -> int:
    """The time in which jobs are released, in the system's own time [ps]."""
    if options.duration_ps is not None:
        # Given in this machine's time.
        return options.duration_ps // options.time_scale
    first = next(iter(made.tasks.values()))
    iterations = options.iterations or made.run.iterations
    if iterations * first.period_ps > Duration.largest:
        raise BadInput(
            f"{iterations} periods of {first.name!r} last longer than 1000000s; write"
            f" {Duration.largest // first.period_ps} or less",
            file=made.file,
            field="run.iterations" if options.iterations is None else "--iterations",
        )
    return iterations * first.period_ps


def _check_servers(made: Plan, given: Mapping[str, Server]) -> None:
    """A server is given only for a memory in which a state lies."""
    used = dict.fromkeys(t.remote_state.memory for t in made.tasks.values() if t.remote_state is not None)
    for memory in given:
        if memory not in used:
            text = f"no task's state lies in {memory!r}; {nearest(memory, used, 'memories with states')}"
            raise BadInput(text, file=made.file, field=OPTION)


def place(plan: Plan, cores: Iterable[str], *, share: bool) -> Placement:
    """A CPU for each of `cores`, and one for the I/O core if some of them are three-phase.

    As the description says, else one of its own; workers choose first. With `share`, cores share CPUs where
    there are too few. `EnvironmentLacks` where there are too few and they may not.
    """
    usable = usable_cpus()
    wanted = list(cores)
    given = {name: cpu for name in wanted if (cpu := plan.cores[name].cpu) is not None}
    for core, cpu in given.items():
        if cpu not in usable:
            raise BadInput(
                f"CPU {cpu} is not usable here; usable are {', '.join(map(str, sorted(usable)))}",
                file=plan.file,
                field=f"run.cpus.{core}",
            )
    io = any(name in plan.three_phase_cores for name in wanted)
    free = [cpu for cpu in usable if cpu not in given.values()]
    lacking = len(wanted) - len(given) + io > len(free)
    if lacking and not share:
        needed = len(wanted) + io
        raise EnvironmentLacks(
            f"the system uses {needed} cores{' with the I/O core' if io else ''}, each on a CPU of its own,"
            f" and {len(usable)} CPUs are usable here",
            "run it on a machine with more CPUs, widen the affinity mask, or stretch its times with"
            " --time-scale, so that its cores can share CPUs",
        )
    workers = set(plan.workers)
    placed = dict(given)
    pool = free or usable
    used = 0
    for core in sorted((c for c in wanted if c not in given), key=lambda c: c not in workers):
        placed[core] = pool[used % len(pool)]
        used += 1
    io_cpu = pool[used % len(pool)] if io else None
    # The remaining CPUs go to the links' engines.
    left = [cpu for cpu in usable if cpu not in placed.values() and cpu != io_cpu]
    return Placement(placed, io_cpu, lacking, dict(zip(links_of(plan), left, strict=False)))


def groups(plan: Plan) -> list[list[str]]:
    """Cores that must run at the same time, by group; groups have nothing to do with one another.

    When a machine has too few CPUs for all cores, groups are run one after another.
    """
    names = list(plan.cores)
    leader = {name: name for name in names}

    def find(name: str) -> str:
        while leader[name] != name:
            name = leader[name]
        return name

    def join(first: str, second: str) -> None:
        a, b = find(first), find(second)
        if a != b:
            low, high = sorted((a, b), key=names.index)
            leader[high] = low

    for task in plan.tasks.values():
        if task.worker is not None:
            join(task.core, task.worker)
    for channel in plan.carried:
        ends = [end for end in (channel.writer, *channel.readers) if end in plan.tasks]
        for first, second in pairwise(ends):
            join(plan.tasks[first].core, plan.tasks[second].core)
    shared = [
        name
        for name in plan.three_phase_cores
        if (slot := plan.cores[name].slot) is not None and slot.arbitration == "round-robin"
    ]
    for first, second in pairwise(shared):
        join(first, second)
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(find(name), []).append(name)
    return list(found.values())
