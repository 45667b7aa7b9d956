# SPDX-License-Identifier: Apache-2.0
"""The targets of a plan, and the features that each can honour."""

from __future__ import annotations

from dataclasses import dataclass, field

from consort.base.errors import BadInput
from consort.base.problems import nearest
from consort.model import Duration
from consort.plan.types import ChannelImplementation, CorePolicy, DeviceKind, Release

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
    """Said of a time that is no whole number of the ticks of a target's clock."""
    return (
        f"{Duration.spelled(picoseconds)} is not a whole number of nanoseconds, which is what the clock of"
        f" {target} counts; round it"
    )


def target_named(name: str) -> Target:
    """A target by its name; `BadInput` names the nearest one."""
    if name not in TARGETS:
        raise BadInput(f"there is no target {name!r}; {nearest(name, TARGETS, 'targets')}", field="--for")
    return TARGETS[name]
