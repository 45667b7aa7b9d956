# SPDX-License-Identifier: Apache-2.0
"""A system description as the engine takes it. Ticks are picoseconds: nothing is rounded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from consort import _engine
from consort.analysis.scratchpad import NotAnalysable, moved, slot_of, three_phase_cores
from consort.errors import BadInput
from consort.model import BadDescription, System

# How a worker chooses among the requests it finds, and what a master's core does while a job waits.
Discipline = Literal["priority", "fifo"]
Waiting = Literal["suspend", "spin"]


@dataclass(frozen=True)
class Prepared:
    """What the engine runs, and the names of its parts."""

    system: System
    engine: _engine.SimSystem
    tasks: list[str]
    cores: list[str]


def prepare(
    system: System,
    *,
    dense: bool = False,
    discipline: Discipline = "priority",
    waiting: Waiting = "suspend",
    offsets: dict[str, int] | None = None,
) -> Prepared:
    """The system for the engine; `BadDescription` names the figures that a simulation needs and are missing.

    Sporadic releases come up to twice as late as they may, or with `dense` as early as they may. `offsets`
    [ps] take the place of the description's.
    """
    names, cores = list(system.tasks), system.cores()
    problems: list[BadInput] = []
    workers = set(system.workers())
    engine_cores, dmas = [], []
    three_phase = three_phase_cores(system)
    slots = _slots(system, three_phase, problems)
    for core in cores:
        scheduling = system.scheduling_of(core)
        policy = "worker" if core in workers else scheduling.policy
        made = _engine.SimCore(policy)
        made.context_switch = system.context_switch(core).picoseconds
        made.keeps = waiting == "spin"
        made.by_priority = discipline == "priority"
        if core in slots:
            made.slot = slots[core]
            made.slot_phase = sum(slots[other] for other in three_phase[: three_phase.index(core)])
            scratchpad = system.platform_description.core(core).scratchpad
            made.partitions = scratchpad.partitions if scratchpad is not None else 2
        engine_cores.append(made)
    if three_phase:
        dma = _engine.SimDma()
        dma.round = sum(slots.values())
        dma.round_robin = _arbitration(system, three_phase, problems) == "round-robin"
        dmas.append(dma)
    tasks = []
    for name in names:
        made_task = _task(system, name, cores, dense, problems)
        if offsets is not None and name in offsets:
            made_task.offset = offsets[name]
        tasks.append(made_task)
    if problems:
        raise BadDescription(problems)
    try:
        engine = _engine.SimSystem(engine_cores, dmas, tasks)
    except ValueError as error:
        raise BadInput(str(error), file=system.file) from None
    return Prepared(system, engine, names, cores)


def _problem(system: System, field: str, message: str) -> BadInput:
    return BadInput(message, file=system.file, field=field)


def _slots(system: System, cores: list[str], problems: list[BadInput]) -> dict[str, int]:
    found = {}
    for core in cores:
        try:
            found[core] = slot_of(system, core)
        except NotAnalysable as error:
            problems.append(BadInput(str(error), file=system.file))
            found[core] = 1
    return found


def _arbitration(system: System, cores: list[str], problems: list[BadInput]) -> str:
    chosen = {system.scheduling_of(core).arbitration or "tdma" for core in cores}
    if len(chosen) > 1:
        problems.append(
            _problem(
                system,
                "scheduling",
                f"{' and '.join(cores)} share one DMA engine; give them one arbitration, tdma or round-robin",
            )
        )
    return chosen.pop()


def _task(
    system: System, name: str, cores: list[str], dense: bool, problems: list[BadInput]
) -> _engine.SimTask:
    task = system.tasks[name]
    made = _engine.SimTask(task.on_miss)
    made.core, made.master = cores.index(task.on), cores.index(task.released_by)
    made.period = task.interval.picoseconds
    made.extra_gap = made.period if task.sporadic and not dense else 0
    made.offset, made.jitter = task.offset.picoseconds, task.jitter.picoseconds
    made.deadline = task.deadline.picoseconds
    made.priority = system.priorities(task.released_by)[name]
    wcet, bcet = system.wcet(name), system.bcet(name)
    if wcet is None or bcet is None:
        kind = system.core_of(name).processor_name
        problems.append(
            _problem(
                system,
                f"tasks.{name}.wcet",
                f"a simulation needs the execution time of {task.execution} execution on {kind};"
                f" add it, for example 'wcet: {{{kind}: 50us}}'",
            )
        )
        return made
    made.wcet, made.bcet = wcet.picoseconds, bcet.picoseconds
    if task.execution == "offloaded":
        _offload(system, name, made, problems)
    elif task.self_suspension is not None:
        if task.execution == "three-phase" and task.self_suspension.picoseconds:
            problems.append(
                _problem(
                    system, f"tasks.{name}.self_suspension", "a three-phase task executes without a stop"
                )
            )
        else:
            made.suspension = task.self_suspension.picoseconds
    if task.execution == "three-phase":
        operations = moved(system, name)
        if operations is not None:
            made.load, made.unload = operations
    return made


def _offload(system: System, name: str, made: _engine.SimTask, problems: list[BadInput]) -> None:
    task = system.tasks[name]
    assert task.master is not None
    made.offloaded = True
    made.worker_priority = system.priorities(task.on)[name]
    if made.bcet == 0:
        problems.append(
            _problem(system, f"tasks.{name}.bcet", "an offloaded job takes some time; write more than 0")
        )
    if task.dispatch is not None:
        made.send = task.dispatch.send.value.picoseconds if task.dispatch.send is not None else 0
        made.receive = task.dispatch.receive.value.picoseconds if task.dispatch.receive is not None else 0
    made.request = message_latency(system, f"{name}.in", task.master, task.on)
    made.response = message_latency(system, f"{name}.out", task.on, task.master)
    if task.on_miss == "local-fallback":
        kind = system.platform_description.core(task.master).processor_name
        fallback = task.wcet_on(kind, "local")
        if fallback is None:
            problems.append(
                _problem(
                    system,
                    f"tasks.{name}.wcet",
                    f"with 'on_miss: local-fallback' the master computes the step itself; add"
                    f" '{kind}: {{local: …}}'",
                )
            )
        else:
            made.fallback = fallback.picoseconds


def message_latency(system: System, channel: str, writer: str, reader: str) -> int:
    """From a message's sending to its being there [ps]: its write and its read, without load; 0 where the
    platform has no figures or the description no size."""
    described = system.channel(channel)
    memory = system.platform_description.memories.get(described.memory or "")
    if memory is None or described.size is None:
        return 0
    size = described.size.bytes
    kinds = (system.platform_description.core(core).processor_name for core in (writer, reader))
    return sum(memory.access_picoseconds(size, kind) or 0 for kind in kinds)
