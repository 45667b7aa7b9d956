# SPDX-License-Identifier: Apache-2.0
"""The tasks and cores of a plan: who releases and computes what, in which order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from consort.model import Duration, System, Task
from consort.model.channel import STAND_IN, Communication, TimeBase
from consort.model.figures import Figure
from consort.model.sharing import Bandwidth, Cache, RemoteState, Supply
from consort.model.task import AUTO
from consort.plan.channels import channel_communication
from consort.plan.sharing import (
    PlannedBandwidth,
    PlannedCache,
    PlannedCacheSets,
    PlannedResource,
    PlannedSection,
    requests_of,
)
from consort.plan.types import (
    AutoJitter,
    Binding,
    CorePolicy,
    PlannedCore,
    PlannedFootprint,
    PlannedRemoteState,
    PlannedSupply,
    PlannedTask,
    Release,
    Slot,
)

# A master that falls back gives an answer up after this part of the deadline, to have the rest for itself.
GIVE_UP = (4, 5)


def plan_tasks(system: System, *, stand_ins: bool) -> dict[str, PlannedTask]:
    """All tasks, in the order of the description. With `stand_ins` those without a step have one."""
    ranks: dict[str, int] = {}
    for core in dict.fromkeys(task.released_by for task in system.tasks.values()):
        ranks |= _ranks(system, core, released_on(system, core))
    worker_ranks: dict[str, int] = {}
    for worker in system.workers():
        worker_ranks |= _ranks(system, worker, served_by(system, worker))
    kinds = {name: channel_communication(system, name) for name in system.channels}
    return {
        name: _task(system, name, ranks[name], worker_ranks.get(name), kinds, stand_ins)
        for name in system.tasks
    }


def released_on(system: System, core: str) -> list[str]:
    """The tasks that a core releases, the most urgent first."""
    return _by_urgency(system, core, (n for n, t in system.tasks_at(core).items() if t.released_by == core))


def served_by(system: System, core: str) -> list[str]:
    """The offloaded tasks that a core computes, the most urgent first."""
    names = (n for n, t in system.tasks_at(core).items() if t.execution == "offloaded" and t.on == core)
    return _by_urgency(system, core, names)


def _by_urgency(system: System, core: str, names: Iterable[str]) -> list[str]:
    order = system.priorities(core)
    return sorted(names, key=lambda name: -order[name])


def _ranks(system: System, core: str, names: list[str]) -> dict[str, int]:
    if system.scheduling_of(core).policy == "edf":
        return {name: rank for rank, name in enumerate(names)}
    order = system.priorities(core)
    ranks = {priority: rank for rank, priority in enumerate(dict.fromkeys(order[name] for name in names))}
    return {name: ranks[order[name]] for name in names}


def bindings(system: System, name: str, key: str) -> tuple[Binding, ...]:
    """A task's reads or writes: its own bindings, then those that channels state."""
    task = system.tasks[name]
    found = []
    for member, source in task.bound_to("reads" if key == "reads" else "writes"):
        owner, dot, part = source.rpartition(".")
        if dot and system.device(owner) is not None:
            found.append(Binding(member, owner, part))
        else:
            found.append(Binding(member, source, ""))
    named = {binding.source for binding in found}
    read, written = system.ends_of(name)
    for channel in read if key == "reads" else written:
        if "." not in channel and channel not in named:
            found.append(Binding("", channel, ""))
    return tuple(found)


def _communication(
    system: System, name: str, ends: Iterable[Binding], of_channels: Mapping[str, Communication]
) -> Communication:
    """let where one of its channels is let, or where it has only chains that are let.

    The executive then gives its channels the instants of logical execution time; those that are not let take
    no notice of them.
    """
    kinds = {chain.communication for chain in system.chains.values() if name in chain.path}
    is_let = any(of_channels.get(end.source) == "let" for end in ends)
    return "let" if is_let or kinds == {"let"} else "implicit"


def _task(
    system: System,
    name: str,
    rank: int,
    worker_rank: int | None,
    communications: Mapping[str, Communication],
    stand_ins: bool,
) -> PlannedTask:
    task = system.tasks[name]
    processor = system.core_of(name).processor_name
    wcet, bcet, energy = system.wcet(name), system.bcet(name), task.energy_on(processor)
    reads, writes = bindings(system, name, "reads"), bindings(system, name, "writes")
    offloaded = task.execution == "offloaded"
    falls_back = offloaded and task.on_miss == "local-fallback"
    fallback = _fallback(system, task) if falls_back else None
    dispatch = task.dispatch
    release: Release = "periodic"
    if task.sporadic:
        release = "sporadic" if task.arrival is None else "arrival"
    return PlannedTask(
        name=name,
        core=task.released_by,
        worker=task.on if offloaded else None,
        execution=task.execution,
        rank=rank,
        threshold=_threshold(system, task),
        worker_rank=worker_rank,
        release=release,
        arrival=task.arrival,
        period_ps=task.interval.picoseconds,
        offset_ps=task.offset.picoseconds,
        jitter_ps=0 if task.jitter == AUTO else task.jitter_time.picoseconds,
        min_distances_ps=tuple(distance.picoseconds for distance in task.distances),
        comes_in_bursts=task.burst is not None,
        deadline_ps=task.deadline.picoseconds,
        wcet_ps=None if wcet is None else wcet.picoseconds,
        bcet_ps=None if bcet is None else bcet.picoseconds,
        fallback_ps=fallback,
        send_ps=None if dispatch is None else _picoseconds(dispatch.send),
        receive_ps=None if dispatch is None else _picoseconds(dispatch.receive),
        give_up_ps=give_up(task.deadline.picoseconds) if falls_back else None,
        self_suspension_ps=None if task.self_suspension is None else task.self_suspension.picoseconds,
        suspensions=task.suspensions,
        energy_pj=None if energy is None else energy.picojoules,
        footprint=_footprint(system, task),
        on_miss=task.on_miss,
        restart_worker=task.restart_worker,
        communication=_communication(system, name, (*reads, *writes), communications),
        step=STAND_IN if task.step is None and stand_ins else task.step,
        types=task.types,
        input=task.input,
        golden=task.golden,
        reads=reads,
        writes=writes,
        sections=tuple(
            PlannedSection(resource, section.length.value.picoseconds, section.times)
            for resource, section in task.sections.items()
        ),
        requests=requests_of(task),
        cache_sets=None
        if task.cache_sets is None
        else PlannedCacheSets(task.cache_sets.evicting, task.cache_sets.useful),
        accesses=None if task.accesses is None else task.accesses.most,
        remote_state=None if task.remote_state is None else _remote_state(system, task.remote_state),
        has_offset=task.has_offset,
        has_bcet=task.bcet is not None,
        auto_jitter=AutoJitter() if task.jitter == AUTO else None,
        accesses_from=None if task.accesses is None else task.accesses.provenance,
        cache_sets_from=None if task.cache_sets is None else task.cache_sets.provenance,
    )


def _remote_state(system: System, given: RemoteState) -> PlannedRemoteState:
    fault = system.platform_description.memories[given.memory].fault
    longest = None if fault is None else fault.picoseconds(given.prefetch)
    return PlannedRemoteState(given.memory, given.cache.bytes, given.prefetch, given.faults, longest)


def _threshold(system: System, task: Task) -> int | None:
    """The first rank of its core, the most urgent first, that its preemption threshold keeps waiting."""
    if task.preemption_threshold is None:
        return None
    order = system.priorities(task.released_by)
    names = released_on(system, task.released_by)
    return len({order[name] for name in names if order[name] > task.preemption_threshold})


def give_up(deadline_ps: int) -> int:
    """The longest wait of a master for an answer before it falls back."""
    part, whole = GIVE_UP
    return deadline_ps - deadline_ps * (whole - part) // whole


def _picoseconds(figure: Figure[Duration] | None) -> int | None:
    return None if figure is None else figure.value.picoseconds


def _fallback(system: System, task: Task) -> int | None:
    assert task.master is not None
    processor = system.platform_description.core(task.master).processor_name
    found = task.wcet_on(processor, "local")
    return None if found is None else found.picoseconds


def _footprint(system: System, task: Task) -> PlannedFootprint | None:
    given = task.footprint
    if given is None:
        return None
    platform = system.platform_description
    load, unload = platform.transfer_ps(given.load_bytes), platform.transfer_ps(given.unload_bytes)
    parts = (given.code, given.data, given.inputs, given.outputs, given.stack)
    code, data, inputs, outputs, stack = (None if part is None else part.value.bytes for part in parts)
    return PlannedFootprint(code, data, inputs, outputs, load, unload, stack)


def plan_resources(system: System, tasks: Mapping[str, PlannedTask]) -> dict[str, PlannedResource]:
    """The resources that tasks use, with their ceilings."""
    found = {}
    for name, resource in system.resources.items():
        users = [task for task in tasks.values() if any(s.resource == name for s in task.sections)]
        if users:
            users.sort(key=lambda task: task.rank)
            cores = tuple(dict.fromkeys(task.core for task in users))
            names = tuple(task.name for task in users)
            found[name] = PlannedResource(resource.protocol, names, cores, users[0].rank)
    return found


def plan_cores(system: System, tasks: Mapping[str, PlannedTask]) -> dict[str, PlannedCore]:
    """All cores that the system uses, masters and cores of local tasks first, then workers."""
    slots, missing = _slots(system, tasks)
    serving = {accelerator.on for accelerator in system.accelerators.values()}
    cores = {}
    for name in system.cores():
        core = system.platform_description.core(name)
        scheduling = system.scheduling_of(name)
        released, serves = released_on(system, name), served_by(system, name)
        policy: CorePolicy = "worker" if serves and not released else scheduling.policy
        sleeps = system.sleeps(name, released)
        base: TimeBase = "sleep" if sleeps else system.run.time_base
        late_ps = _picoseconds(core.description.timer_lateness)
        if name in serving:
            policy = "accelerator"
        switch = scheduling.context_switch or core.description.context_switch
        cores[name] = PlannedCore(
            name=name,
            processor=core.processor_name,
            policy=policy,
            wait=scheduling.wait or "spin",
            service=scheduling.service or "priority",
            time_base=base,
            context_switch_ps=_picoseconds(switch),
            timer_lateness_ps=late_ps if sleeps else None,
            cpu=system.run.cpus.get(name),
            tasks=tuple(released),
            serves=tuple(serves),
            slot=slots.get(name),
            supply=_supply(scheduling.supply),
            cache_reload_ps=_picoseconds(scheduling.cache_reload),
            cache=_cache(scheduling.cache),
            bandwidth=_bandwidth(scheduling.bandwidth),
            slot_missing=missing.get(name, ""),
            entry=system.scheduling_entry(name),
            margin_ps=late_ps if released and not sleeps and base == "hybrid" else None,
        )
    return cores


def _cache(given: Cache | None) -> PlannedCache | None:
    if given is None:
        return None
    return PlannedCache(given.replacement, given.ways, given.block.value.picoseconds)


def _bandwidth(given: Bandwidth | None) -> PlannedBandwidth | None:
    if given is None:
        return None
    times = (given.period, given.shortest.value, given.longest.value)
    return PlannedBandwidth(given.budget, *(time.picoseconds for time in times))


def _supply(given: Supply | None) -> PlannedSupply | None:
    if given is None:
        return None
    return PlannedSupply(given.budget.picoseconds, given.period.picoseconds, given.kind == "tdma")


def _slots(system: System, tasks: Mapping[str, PlannedTask]) -> tuple[dict[str, Slot], dict[str, str]]:
    """The slots of the three-phase cores, and which figure is missing where there is none."""
    cores = list(dict.fromkeys(t.core for t in tasks.values() if t.execution == "three-phase"))
    lengths: dict[str, int] = {}
    missing: dict[str, str] = {}
    for core in cores:
        length = _slot_length(system, core, [t for t in tasks.values() if t.core == core])
        if isinstance(length, str):
            missing[core] = length
        else:
            lengths[core] = length
    if missing:
        # The round has every core's slot in it.
        text = next(iter(missing.values()))
        return {}, {core: missing.get(core, text) for core in cores}
    slots, phase = {}, 0
    for core in cores:
        scratchpad = system.platform_description.core(core).scratchpad
        slots[core] = Slot(
            lengths[core],
            phase,
            sum(lengths.values()),
            system.scheduling_of(core).arbitration or "tdma",
            2 if scratchpad is None else scratchpad.partitions,
        )
        phase += lengths[core]
    return slots, missing


def _slot_length(system: System, core: str, tasks: list[PlannedTask]) -> int | str:
    """A slot as it is given, else as long as the core's largest load or unload; or what is missing."""
    given = system.scheduling_of(core).slot
    if given is not None and given != "auto":
        return given.picoseconds
    longest = 0
    for task in tasks:
        footprint = task.footprint
        if footprint is None or footprint.load_ps is None or footprint.unload_ps is None:
            return (
                f"to find the slot, {task.name} needs a footprint and the platform"
                " a DMA engine, each with a rate; or give the slot"
            )
        longest = max(longest, footprint.load_ps, footprint.unload_ps)
    return longest
