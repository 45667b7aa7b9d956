# SPDX-License-Identifier: Apache-2.0
"""The targets of a plan, and the features that each can honour."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from consort.base.errors import BadInput, nearest
from consort.model import Duration
from consort.model.channel import STAND_IN
from consort.model.document import Location
from consort.plan.types import ChannelImplementation, CorePolicy, DeviceKind, Plan, PlannedTask, Release

ALL_POLICIES: frozenset[CorePolicy] = frozenset(
    ("fixed-priority", "fixed-priority-non-preemptive", "edf", "worker", "three-phase")
)
ALL_CHANNELS: frozenset[ChannelImplementation] = frozenset(
    ("mailbox", "queue", "snapshot", "double-buffer", "versions")
)
ALL_DEVICES: frozenset[DeviceKind] = frozenset(
    ("recording", "function", "plant", "driver", "record", "described")
)
ALL_RELEASES: frozenset[Release] = frozenset(("periodic", "sporadic", "arrival"))


@dataclass(frozen=True)
class Target:
    """A target, and the parts of a description that it can honour."""

    name: str
    summary: str
    executes: bool
    """True if steps are executed there: a plan for it then needs steps, or stand-ins, and their data."""
    policies: frozenset[CorePolicy] = ALL_POLICIES
    channels: frozenset[ChannelImplementation] = ALL_CHANNELS
    devices: frozenset[DeviceKind] = ALL_DEVICES
    releases: frozenset[Release] = ALL_RELEASES
    offloading: bool = True
    restarts_workers: bool = True
    """True if a worker that died can be started again."""
    tick_ps: int = 1
    """The clock's resolution: times of releases and deadlines are whole multiples."""
    most_tasks_a_core: int = 2**31
    """The ranks that it can tell apart."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Why it cannot honour a policy, a channel, a device or a release, by its name."""
    in_modes: bool = True
    """True if it takes the tasks of a mode; else all tasks as they stand."""
    changes_modes: bool = False
    """True if it goes from mode to mode while it runs."""
    notes: tuple[str, ...] = ()


# The target of plans for boards; such a plan's own target is the board's name.
BOARD = "board"
TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Target("analysis", "no machine: bounds and simulation", executes=False, changes_modes=True),
        Target(
            "linux",
            "this machine: a core is a process on a CPU, a task a thread",
            executes=True,
            tick_ps=1000,
            # SCHED_FIFO has 99 priorities; the dispatcher and the recorder need some beside the tasks.
            most_tasks_a_core=64,
            changes_modes=True,
            notes=("every memory of the platform is shared memory of this machine",),
        ),
        Target(
            "virtual",
            "the executive in one process, driven by a deterministic clock",
            executes=True,
            devices=ALL_DEVICES - {"driver"},
            # The executive's releases and deadlines are in nanoseconds everywhere.
            tick_ps=1000,
            most_tasks_a_core=64,
            changes_modes=True,
            reasons={
                "driver": "what is outside of this process has a time of its own",
            },
            notes=("time is logical: an execution takes what the description says, and nothing else does",),
        ),
        Target(
            BOARD,
            "the emulated board that stands for the platform",
            executes=True,
            tick_ps=1000,
            most_tasks_a_core=64,
            notes=(
                "every channel lies in the memory that all of the board's cores and processes share,"
                " whichever memory is described: an access costs an instruction there, wherever it goes",
            ),
        ),
    )
}


def not_whole(picoseconds: int, target: str) -> str:
    """Said of a time that is not a whole number of the ticks of a target's clock."""
    return (
        f"{Duration.spelled(picoseconds)} is not a whole number of nanoseconds, which is what the clock of"
        f" {target} counts; round it"
    )


def target_named(name: str, field: str = "--for") -> Target:
    """A target by its name; `BadInput` names the nearest one, and the field that has the name."""
    if name not in TARGETS:
        raise BadInput(f"there is no target {name!r}; {nearest(name, TARGETS, 'targets')}", field=field)
    return TARGETS[name]


# Limits of the scratchpad kernel in virtual time (ports/virtual/src/scratchpads.hpp).
MOST_CORES, MOST_TASKS = 16, 32
Refuse = Callable[[Location, str], BadInput]


def virtual_problems(plan: Plan, refuse: Refuse) -> Iterator[BadInput]:
    """Tasks whose jobs take an unknown time, and systems that its kernels have no room for."""
    for task in plan.tasks.values():
        yield from _execution(plan, task, refuse)
    cores = plan.three_phase_cores
    if len(cores) > MOST_CORES:
        last = next(task for task in plan.tasks.values() if task.core == cores[-1])
        yield refuse(
            ("tasks", last.name, "on"),
            f"{len(cores)} three-phase cores share a DMA, and in virtual time at most {MOST_CORES} do",
        )
    for core in cores:
        tasks = plan.cores[core].tasks
        if len(tasks) > MOST_TASKS:
            yield refuse(
                ("tasks", tasks[-1], "on"),
                f"{len(tasks)} three-phase tasks are on {core!r}; in virtual time at most {MOST_TASKS} are",
            )


def _execution(plan: Plan, task: PlannedTask, refuse: Refuse) -> Iterator[BadInput]:
    processor = plan.processor_of(task.name)
    if task.step == STAND_IN and task.wcet_ps is None:
        return  # refused on every target
    if task.wcet_ps is None:
        yield refuse(
            ("tasks", task.name, "wcet"),
            f"in virtual time a job takes what the description says, and the execution time of"
            f" {task.execution} execution on {processor} is not said; add it, for example"
            f" 'wcet: {{{processor}: 50us}}'",
        )
    if task.give_up_ps is not None and task.fallback_ps is None:
        kind = plan.cores[task.core].processor
        yield refuse(
            ("tasks", task.name, "wcet"),
            f"with 'on_miss: local-fallback' the master computes the step itself; add '{kind}: {{local: …}}'",
        )
