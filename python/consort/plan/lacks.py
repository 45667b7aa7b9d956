# SPDX-License-Identifier: Apache-2.0
"""The features that targets lack: the one table of features that a target cannot honour, and why.

What a target has of each kind stands in `consort.plan.targets`. What neither names works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from consort.base.errors import BadInput
from consort.model.channel import STAND_IN
from consort.model.document import Document, Location
from consort.model.mode import Override, place_in
from consort.model.reading import read_document
from consort.model.sources import StepReference
from consort.plan.channels import not_followed, releasing
from consort.plan.types import Plan, PlannedCore, PlannedTask

SIMULATION, LINUX, VIRTUAL, BOARD, KERNEL = "simulation", "linux", "virtual", "board", "scratchpad kernel"
# Bounds as theorems that Coq checks.
CERTIFICATE = "certificate"
EXECUTED = (LINUX, VIRTUAL, BOARD)


@dataclass
class Places:
    """Problems at their places in a description: at what a mode changes, where it is that."""

    file: Path
    mode: str | None = None
    changed: Mapping[str, Override] = field(default_factory=dict)
    """By task: what the mode changes."""
    read: Document | None = None
    """The file as it was read, where that is at hand."""

    @cached_property
    def document(self) -> Document:
        if self.read is not None:
            return self.read
        return read_document(self.file) if self.file.is_file() else Document.of_data({}, self.file)

    def __call__(self, location: Location, message: str, *, at_key: bool = False) -> BadInput:
        if self.mode is not None and location[0] == "tasks" and len(location) > 2:
            # A plan alone does not say what its mode changes; the file does, where there is one.
            override: Location = ("modes", self.mode, "overrides", *location[1:])
            written = override[:5] in self.document.values
            location = override if written else place_in(self.mode, self.changed, location)
        return self.document.problem(location, message, at_key=at_key)


@dataclass(frozen=True)
class Found:
    """A feature in a plan: where it is described, and what a reason may name of it."""

    place: Location
    names: dict[str, Any] = field(default_factory=dict)


Feature = Callable[[Plan], Iterator[Found]]


def entry_of(plan: Plan, core: str, key: str) -> Location:
    """The location of a key of a core's scheduling."""
    entry = plan.cores[core].entry
    return ("scheduling",) if entry is None else ("scheduling", entry, key)


def _tasks(key: str, true: Callable[[PlannedTask], object]) -> Feature:
    def found(plan: Plan) -> Iterator[Found]:
        for name, task in plan.tasks.items():
            if true(task):
                names = {"task": name, "core": task.core, "execution": task.execution, "key": key}
                yield Found(("tasks", name, key), names)

    return found


def _cores(key: str, true: Callable[[PlannedCore], object]) -> Feature:
    def found(plan: Plan) -> Iterator[Found]:
        for name, core in plan.cores.items():
            if true(core):
                away = [task for task in core.tasks if plan.tasks[task].worker is not None]
                names = {"core": name, "policy": core.policy, "away": next(iter(away), ""), "key": key}
                yield Found(entry_of(plan, name, key), names)

    return found


def _parts(key: str) -> Feature:
    def found(plan: Plan) -> Iterator[Found]:
        for name in getattr(plan, key):
            yield Found((key, name), {"name": name})

    return found


def _sleeping(policy: str, most: int) -> Feature:
    """Cores that sleep for answers, with a policy and more tasks than that."""

    def found(plan: Plan) -> Iterator[Found]:
        asleep = _cores("wait", lambda core: core.wait == "sleep" and core.policy == policy)
        for one in asleep(plan):
            if one.names["away"] and len(plan.cores[one.names["core"]].tasks) > most:
                yield one

    return found


def _remote_states(true: Callable[[Plan, PlannedTask], object]) -> Feature:
    def found(plan: Plan) -> Iterator[Found]:
        for name, task in plan.tasks.items():
            if task.remote_state is not None and true(plan, task):
                yield Found(("tasks", name, "remote_state"))

    return found


def _changes(plan: Plan) -> Iterator[Found]:
    if plan.changes is not None:
        modes = " or ".join(f"--mode {mode}" for mode in plan.changes.modes)
        yield Found(("mode_changes",), {"modes": modes})


def _not_followed(plan: Plan) -> Iterator[Found]:
    for name, channel, why in not_followed(plan):
        yield Found(("tasks", name, "arrival"), {"channel": channel, "why": why})


def _released_by_devices(plan: Plan) -> Iterator[Found]:
    for name, task in plan.tasks.items():
        if task.arrival is not None and releasing(plan, name) is None:
            names = {"channel": task.arrival, "device": plan.channels[task.arrival].writer}
            yield Found(("tasks", name, "arrival"), names)


def _bound_data(plan: Plan) -> Iterator[Found]:
    """Data that steps read and write, but for members of rows that are known before a run."""
    for name, task in plan.tasks.items():
        for key, bindings in (("reads", task.reads), ("writes", task.writes)):
            for binding in bindings:
                device = plan.devices.get(binding.source)
                rows = key == "reads" and device is not None and device.kind in ("recording", "function")
                if device is None or device.kind == "described" or (rows and not binding.member):
                    continue
                yield Found(("tasks", name, key), {"source": binding.source})


def _no_board(plan: Plan) -> Iterator[Found]:
    if plan.platform.emulation is None:
        yield Found(("platform",), {"platform": plan.platform.name})


FEATURES: dict[str, Feature] = {
    "supply": _cores("supply", lambda core: core.supply),
    "bandwidth": _cores("bandwidth", lambda core: core.bandwidth),
    "cache_reload": _cores("cache_reload", lambda core: core.cache_reload_ps is not None),
    "cache_reload above 0": _cores("cache_reload", lambda core: core.cache_reload_ps),
    "cache": _cores("cache", lambda core: core.cache),
    "three-phase": _cores("policy", lambda core: core.policy == "three-phase"),
    "policy other than fixed-priority": _cores("policy", lambda core: core.policy != "fixed-priority"),
    "service: fifo": _cores("service", lambda core: core.service != "priority"),
    "wait: sleep, without preemption": _sleeping("fixed-priority-non-preemptive", 1),
    "wait: sleep, by deadline": _sleeping("edf", 2),
    "resources": _parts("resources"),
    "accelerators": _parts("accelerators"),
    "chains": _parts("chains"),
    "mode_changes": _changes,
    "platform without emulation": _no_board,
    "remote_state": _remote_states(lambda plan, task: True),
    "remote_state, with mode_changes": _remote_states(lambda plan, task: plan.changes is not None),
    "remote_state of a stand-in": _remote_states(
        lambda plan, task: plan.changes is None and task.step == STAND_IN
    ),
    "self_suspension of an offloaded task": _tasks(
        "self_suspension", lambda task: task.self_suspension_ps and task.worker is not None
    ),
    "suspensions": _tasks(
        "suspensions", lambda task: task.self_suspension_ps and task.worker is None and task.suspensions != 1
    ),
    "self_suspension of a three-phase task": _tasks(
        "self_suspension", lambda task: task.self_suspension_ps and task.execution == "three-phase"
    ),
    "preemption_threshold": _tasks("preemption_threshold", lambda task: task.threshold is not None),
    "requests": _tasks("requests", lambda task: task.requests),
    "jobs that wait for no page": _tasks(
        "on", lambda task: task.worker is not None or task.self_suspension_ps
    ),
    "jitter": _tasks("jitter", lambda task: task.jitter_ps),
    "jitter of a three-phase task": _tasks(
        "jitter", lambda task: task.jitter_ps and task.execution == "three-phase"
    ),
    "min_interarrival": _tasks("min_interarrival", lambda task: task.sporadic),
    "min_interarrival of a three-phase task": _tasks(
        "min_interarrival", lambda task: task.sporadic and task.execution == "three-phase"
    ),
    "min_distances": _tasks("min_distances", lambda task: task.min_distances_ps and not task.comes_in_bursts),
    "burst": _tasks("burst", lambda task: task.comes_in_bursts),
    "arrival": _tasks("arrival", lambda task: task.arrival),
    "arrival of blocks that are not followed": _not_followed,
    "arrival of a device's blocks": _released_by_devices,
    "restart_worker": _tasks("restart_worker", lambda task: task.restart_worker),
    "golden": _tasks("golden", lambda task: task.golden),
    "execution other than three-phase": _tasks("execution", lambda task: task.execution != "three-phase"),
    "no step": _tasks("step", lambda task: not isinstance(task.step, StepReference)),
    "reads and writes": _bound_data,
}


@dataclass(frozen=True)
class Lack:
    """A feature that some targets cannot honour. `why` may name the {target} and what the feature has."""

    feature: str
    targets: tuple[str, ...]
    why: str
    at_key: bool = False


LACKS: tuple[Lack, ...] = (
    # How cores are scheduled.
    Lack(
        "supply",
        EXECUTED,
        "{target} gives a core all of its time; 'supply' is for the analysis and the simulation of a"
        " hypervisor's partition: remove it",
        at_key=True,
    ),
    Lack(
        "bandwidth",
        EXECUTED,
        "{target} regulates no core's memory accesses; 'bandwidth' is for the analysis of a system with a"
        " regulator: remove it",
        at_key=True,
    ),
    Lack(
        "bandwidth",
        (SIMULATION,),
        "a simulation has no single accesses and stalls no core; remove it to simulate, or analyze",
        at_key=True,
    ),
    *(
        Lack(
            key,
            (VIRTUAL,),
            "in virtual time a preempted job loads nothing again; remove {key!r}, which is for bounds,"
            " 'simulate' and machines with caches",
        )
        for key in ("cache_reload", "cache")
    ),
    Lack(
        "service: fifo",
        EXECUTED,
        "a worker of {target} serves the most urgent request it finds; write 'service: priority', or"
        " remove it",
    ),
    Lack(
        "wait: sleep, without preemption",
        (LINUX,),
        "on this machine the tasks of {core!r} are one thread, which serves no other job while it sleeps for"
        " an answer to {away!r}; write 'wait: spin', or 'policy: fixed-priority'",
    ),
    Lack(
        "wait: sleep, by deadline",
        (LINUX,),
        "on this machine the other jobs of {core!r} are in no order of deadlines while {away!r} sleeps for an"
        " answer; write 'wait: spin', or 'policy: fixed-priority'",
    ),
    # Resources that jobs hold, request and wait for.
    Lack(
        "resources",
        EXECUTED,
        "a step of {target} holds no resource: nothing would raise its priority; 'resources' are for the"
        " analysis and the simulation: remove it, or use a channel",
        at_key=True,
    ),
    Lack(
        "accelerators",
        EXECUTED,
        "a step of {target} asks no accelerator while it runs; 'accelerators' are for the analysis and the"
        " simulation, and include/consort/accel for programs of your own: remove it, or offload the task that"
        " asks",
        at_key=True,
    ),
    Lack(
        "remote_state",
        (VIRTUAL, BOARD),
        "{target} pages nothing from remote memory; remove 'remote_state', or run the system on Linux",
        at_key=True,
    ),
    Lack(
        "remote_state",
        (SIMULATION,),
        "a simulation has no pages and no faults; remove it to simulate, or analyze",
        at_key=True,
    ),
    Lack(
        "remote_state, with mode_changes",
        (LINUX,),
        "a run that goes from mode to mode hands states over, which may not lie in remote memory; remove"
        " 'remote_state', or run one mode with --mode",
        at_key=True,
    ),
    Lack(
        "remote_state of a stand-in",
        (LINUX,),
        "a stand-in has no state that could lie in remote memory; give the task a step, or remove"
        " 'remote_state'",
        at_key=True,
    ),
    *(
        Lack(
            feature,
            (VIRTUAL,),
            "in virtual time a local job waits once, for what is not modelled; remove {key!r}, or let"
            " `consort simulate` show it",
        )
        for feature in ("self_suspension of an offloaded task", "suspensions")
    ),
    Lack(
        "self_suspension of a three-phase task",
        (SIMULATION, VIRTUAL),
        "a three-phase task executes without a stop; remove it",
    ),
    Lack("restart_worker", (BOARD,), "a board's worker is not started again; remove it"),
    # Releases.
    Lack(
        "jitter of a three-phase task",
        (LINUX,),
        "the scratchpad kernel on {target} releases its tasks by the clock, at whole periods; remove"
        " 'jitter'",
    ),
    Lack(
        "min_interarrival of a three-phase task",
        (LINUX,),
        "the scratchpad kernel on {target} releases its tasks by the clock, at whole periods; remove"
        " 'min_interarrival' and write 'period'",
    ),
    Lack("jitter", (KERNEL,), "the kernel releases its tasks at whole periods; remove it"),
    Lack("min_interarrival", (KERNEL,), "only periodic tasks are run; write 'period'"),
    *(
        Lack(key, (target,), f"{whose} releases are a period apart; remove it")
        for key in ("min_distances", "burst")
        for target, whose in ((KERNEL, "the kernel's"), (BOARD, "a board's"))
    ),
    Lack("arrival", (BOARD,), "a board's cores release by their clocks, and by no block"),
    Lack(
        "arrival of blocks that are not followed",
        (VIRTUAL, SIMULATION),
        "no job is released by blocks of {channel!r} in simulated or virtual time: {why}; write"
        " 'min_interarrival' only",
    ),
    Lack(
        "arrival of a device's blocks",
        (VIRTUAL,),
        "in virtual time only blocks of tasks release jobs, and {channel!r} comes from the device {device!r};"
        " write 'min_interarrival' only",
    ),
    # Modes and platforms.
    Lack(
        "mode_changes",
        (BOARD,),
        "{target} runs a system in one mode, and changes none while it runs; name the mode ({modes}), or let"
        " `consort simulate` change it",
        at_key=True,
    ),
    Lack(
        "platform without emulation",
        (BOARD,),
        "no emulated board stands for {platform}; its file says which with 'emulation'",
    ),
    # The scratchpad kernel on a board.
    Lack(
        "execution other than three-phase",
        (KERNEL,),
        "the board's scratchpad kernel runs three-phase tasks only",
    ),
    Lack("no step", (KERNEL,), "the kernel moves a step's image; give the task a step"),
    Lack(
        "golden",
        (KERNEL,),
        "a task keeps its state when its inputs begin again, which golden outputs do not; remove it",
    ),
    Lack("reads and writes", (KERNEL,), "the kernel does not bind {source!r}; give the task an 'input'"),
    Lack(
        "chains",
        (KERNEL,),
        "the kernel records no data on its way, so that no chain can be judged; remove it",
    ),
    # Certificates of bounds, which are theorems on preemptive fixed priorities.
    Lack("bandwidth", (CERTIFICATE,), "accesses to memory on {core} have a budget"),
    Lack("three-phase", (CERTIFICATE,), "{core} executes three-phase tasks"),
    Lack(
        "policy other than fixed-priority",
        (CERTIFICATE,),
        "certificates are for preemptive fixed priorities, and {core} has {policy}",
    ),
    Lack("supply", (CERTIFICATE,), "{core} has a supply"),
    *(
        Lack(key, (CERTIFICATE,), "jobs on {core} load their caches again after preemptions")
        for key in ("cache", "cache_reload above 0")
    ),
    Lack("preemption_threshold", (CERTIFICATE,), "{task} has a preemption threshold"),
    Lack("jobs that wait for no page", (CERTIFICATE,), "{task} gives {core} up while it waits"),
    Lack("requests", (CERTIFICATE,), "{task} asks accelerators, and waits for them"),
)


def _lacks(plan: Plan, target: str) -> Iterator[tuple[Lack, Found, str]]:
    """The rows of a target that a plan meets, where it does, and the reason in words."""
    for row in LACKS:
        for found in FEATURES[row.feature](plan) if target in row.targets else ():
            yield row, found, row.why.format(target=target, **found.names)


def lacking(plan: Plan, target: str, at: Callable[..., BadInput]) -> Iterator[BadInput]:
    """Features of a plan that a target cannot honour; `at` places a problem."""
    return (at(found.place, why, at_key=row.at_key) for row, found, why in _lacks(plan, target))


def lacking_on(plan: Plan, target: str) -> dict[str, str]:
    """By core: the first reason that a target cannot honour what is on it."""
    reasons: dict[str, str] = {}
    for _, found, why in _lacks(plan, target):
        reasons.setdefault(str(found.names["core"]), why)
    return reasons
