# SPDX-License-Identifier: Apache-2.0
"""The configuration of one run of the executive on this machine (ports/linux/.../executive/config.hpp)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from consort.model.kinds import STAND_IN
from consort.plan import Plan, PlannedChannel, PlannedCore, PlannedTask
from consort.plan.over_links import link_of, links_of
from consort.plan.recorded import chain_facts, core_facts, ns, task_facts
from consort.record.environment import throttled_ns, throttling
from consort.remote_memory import Server
from consort.run.askers import asker_config
from consort.run.links import link_configs
from consort.run.source import carried

# How long before a release a hybrid wait stops sleeping.
MARGIN_NS = 100_000
# A core that spins sleeps through one wait in so many, or the kernel throttles it for 50 ms of each second.
SLEEP_ONE_IN = 12
# A worker that died is started again this often; one that dies more often is broken.
MAX_RESTARTS = 100
# The record bridges this many seconds in which the recorder gets no processor.
RING_SECONDS = 8
LEAST_RING, LARGEST_RING = 1 << 18, 1 << 24
# A job that takes this many times its deadline is stuck.
STUCK = 100
LEAST_BUDGET_NS = 1_000_000_000


@dataclass(frozen=True)
class Placement:
    """The CPU that plays each core. `io` is that of the three-phase cores' I/O core."""

    cpus: Mapping[str, int]
    io: int | None
    shared: bool
    """Some CPU plays more than one core: none of them may spin."""
    links: Mapping[str, int] = field(default_factory=dict)
    """The CPUs of links' engines that have one of their own; others sleep until something is posted."""


@dataclass(frozen=True)
class TaskData:
    """Files of a task's inputs: rows of its whole In, and rows for single members."""

    whole: Path | None = None
    members: Mapping[str, Path] | None = None


def device_period_ps(plan: Plan, channel: PlannedChannel) -> int:
    """The period at which a device that is only described writes a channel: as often as its messages may
    come; without a figure, once for each period of its fastest reader. 0: no task reads it."""
    if channel.min_interarrival_ps is not None:
        return channel.min_interarrival_ps
    readers = [plan.tasks[name].period_ps for name in channel.readers if name in plan.tasks]
    return min(readers, default=0)


def run_config(
    plan: Plan,
    placement: Placement,
    data: Mapping[str, TaskData],
    layouts: Mapping[str, Any],
    *,
    configuration: str,
    duration_ps: int,
    time_scale: int = 1,
    realtime: bool = True,
    faults: Sequence[Mapping[str, Any]] = (),
    image: Path | None = None,
    modes: Mapping[str, Plan] | None = None,
    servers: Mapping[str, Server] | None = None,
) -> dict[str, Any]:
    """The configuration file's content. All times of the description are stretched by `time_scale`.

    `image`: the file of the plan image, which a program in virtual time reads. `modes`: the plans of a run
    that goes from mode to mode; `plan` is then that of all of them. `servers`: those of the memories in which
    states of tasks lie.
    """
    made = _Config(plan, placement, layouts, time_scale, servers or {})
    duration = duration_ps * time_scale // 1000
    in_modes = [*modes.values()] if modes else []
    return {
        "cores": [
            made.core(core)
            | _largest([made.core(one.cores[name], one) for one in in_modes if name in one.cores])
            for name, core in plan.cores.items()
        ],
        "tasks": [
            made.task(task, data[name])
            | _largest([made.task(one.tasks[name], data[name]) for one in in_modes if name in one.tasks])
            for name, task in plan.tasks.items()
        ],
        "channels": [
            {
                "name": channel.name,
                "let": channel.communication == "let",
                "device_period_ns": made.device_period(channel, in_modes),
            }
            for channel in carried(plan)
        ],
        "links": link_configs(plan, placement.links, made.channels, time_scale),
        "clusters": made.clusters(),
        "devices": [
            {
                "name": device.name,
                "period_ns": 0 if device.period_ps is None else device.period_ps * time_scale // 1000,
            }
            for device in plan.devices.values()
            if device.kind in ("plant", "driver") and (device.readers or device.writers)
        ],
        "faults": [dict(fault) for fault in faults],
        "duration_ns": duration,
        "seed": plan.run.seed,
        "realtime": realtime,
        "throttled_ns": throttled_ns(throttling()),
        "image": "" if image is None else str(image),
        "changes": made.changes(modes, data) if modes else None,
        "record": {
            "target": plan.target,
            "mode": plan.mode,
            "configuration": configuration,
            "time_scale": time_scale,
            "duration_ns": duration,
            "seed": plan.run.seed,
            "stand_ins": [t.name for t in plan.tasks.values() if t.step == STAND_IN],
            "cores": [made.core_facts(core) for core in plan.cores.values()],
            "tasks": [task_facts(task, time_scale) for task in plan.tasks.values()],
            "channels": [
                {
                    "name": channel.name,
                    "implementation": channel.implementation,
                    "writer": channel.writer,
                    "readers": list(channel.readers),
                    "communication": channel.communication,
                    **({"link": channel.memory} if link_of(plan, channel) is not None else {}),
                }
                for channel in carried(plan)
            ],
            "links": links_of(plan),
            "chains": chain_facts(plan, time_scale),
            **({"modes": made.mode_facts(modes)} if modes else {}),
        },
    }


def _largest(modes: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Sizes and limits that a process has once for all modes: the largest that any of them needs."""
    keys = [key for key in ("ring_bytes", "budget_ns", "max_restarts") if modes and key in modes[0]]
    return {key: max(one[key] for one in modes) for key in keys}


def execution_limits(task: PlannedTask) -> dict[str, int]:
    """The least and the longest execution time of a stand-in's jobs."""
    assert task.wcet_ps is not None, "the plan refuses stand-ins without a wcet"
    best = task.bcet_ps if task.bcet_ps is not None else task.wcet_ps
    return {"wcet_ns": task.wcet_ps // 1000, "bcet_ns": best // 1000}


class _Config:
    def __init__(
        self,
        plan: Plan,
        placement: Placement,
        layouts: Mapping[str, Any],
        time_scale: int,
        servers: Mapping[str, Server],
    ) -> None:
        self.plan = plan
        self.placement = placement
        self.layouts = layouts
        self.scale = time_scale
        self.cores = list(plan.cores)
        self.channels = [channel.name for channel in carried(plan)]
        self.servers = servers

    def time(self, picoseconds: int) -> int:
        return picoseconds * self.scale // 1000

    def time_base_of(self, core: PlannedCore) -> str:
        return "sleep" if self.placement.shared else core.time_base

    def wait_of(self, core: PlannedCore) -> str:
        return "sleep" if self.placement.shared else core.wait

    def core(self, core: PlannedCore, plan: Plan | None = None) -> dict[str, Any]:
        """`plan` is that of a mode, without it the whole one."""
        tasks = (plan or self.plan).tasks
        base = self.time_base_of(core)
        restarts = any(tasks[name].restart_worker for name in core.serves)
        served = sum(1e12 / (tasks[n].period_ps * self.scale) for n in core.serves)
        return {
            "name": core.name,
            "policy": core.policy,
            "cpu": self.placement.cpus.get(core.name, -1),
            "time_base": base,
            "margin_ns": MARGIN_NS,
            "sleep_one_in": SLEEP_ONE_IN if base == "hybrid" or core.policy == "worker" else 0,
            "wait": self.wait_of(core),
            "max_restarts": MAX_RESTARTS if restarts else 0,
            "ring_bytes": _ring(served * 40),
        }

    def task(self, task: PlannedTask, data: TaskData) -> dict[str, Any]:
        execution = task.wcet_ps if task.execution == "three-phase" else None
        deadline = self.time(task.deadline_ps)
        # Computing cannot be stretched: a stand-in takes its time, and has `scale` times as long for it.
        stand_in = execution_limits(task) if task.step == STAND_IN else None
        return {
            "name": task.name,
            "core": self.cores.index(task.core),
            "worker": None if task.worker is None else self.cores.index(task.worker),
            "rank": task.rank,
            "threshold": task.rank if task.threshold is None else task.threshold,
            "worker_rank": task.worker_rank or 1,
            "period_ns": self.time(task.period_ps),
            "extra_gap_ns": self.time(task.extra_gap_ps),
            "distances_ns": [self.time(distance) for distance in task.min_distances_ps],
            "arrival": None if task.arrival is None else self.channels.index(task.arrival),
            "offset_ns": self.time(task.offset_ps),
            "jitter_ns": self.time(task.jitter_ps),
            "deadline_ns": deadline,
            "give_up_ns": deadline if task.give_up_ps is None else self.time(task.give_up_ps),
            "budget_ns": max(LEAST_BUDGET_NS, STUCK * deadline),
            "execution_budget_ns": 0 if execution is None else self.time(execution),
            "on_miss": task.on_miss,
            "input_file": "" if data.whole is None else str(data.whole),
            "member_rows": [
                {"member": member, "file": str(file)} for member, file in (data.members or {}).items()
            ],
            "stand_in": stand_in,
            "ring_bytes": self.ring_of(task),
            "checkpoint": task.checkpoint is not None,
            "remote_state": self.remote_state(task),
        }

    def remote_state(self, task: PlannedTask) -> dict[str, Any] | None:
        if task.remote_state is None:
            return None
        server = self.servers[task.remote_state.memory]
        return {
            "server": server.address,
            "key": str(server.key),
            "cache": task.remote_state.cache,
            "prefetch": task.remote_state.prefetch,
        }

    def changes(self, modes: Mapping[str, Plan], data: Mapping[str, TaskData]) -> dict[str, Any]:
        """The cores and tasks of each mode, at their places in the whole plan, and the requests."""
        given = self.plan.changes
        assert given is not None
        names = list(modes)
        return {
            "start": names.index(given.start),
            "agreement_ns": self.time(given.agreement_ps),
            "requests": [{"at_ns": self.time(at), "to": names.index(to)} for at, to in given.requests],
            "asked_by": [asker_config(self.plan, asker, self.layouts, names) for asker in given.asked_by],
            "fail_over": [
                {"core": self.cores.index(core), "to": names.index(to)}
                for core, to in given.fail_over.items()
            ],
            "detection_ns": self.time(given.detection_ps or 0),
            "modes": [
                {
                    "name": mode,
                    "cores": [
                        self.core(made.cores[name], made) if name in made.cores else self.core(core)
                        for name, core in self.plan.cores.items()
                    ],
                    "tasks": [
                        self.task(made.tasks[name], data[name]) if name in made.tasks else None
                        for name in self.plan.tasks
                    ],
                }
                for mode, made in modes.items()
            ],
        }

    def mode_facts(self, modes: Mapping[str, Plan]) -> list[dict[str, Any]]:
        """The record's facts on each mode: its tasks and chains as they are in it."""
        return [
            {
                "name": mode,
                "tasks": [task_facts(task, self.scale) for task in made.tasks.values()],
                "chains": chain_facts(made, self.scale),
            }
            for mode, made in modes.items()
        ]

    def device_period(self, channel: PlannedChannel, modes: Sequence[Plan]) -> int:
        """The period at which a device that is only described writes a channel; 0 if a task writes it.

        It is one process in all modes: the one whose reader is fastest counts.
        """
        if channel.writer in self.plan.tasks:
            return 0
        periods = [device_period_ps(one, channel) for one in modes] or [device_period_ps(self.plan, channel)]
        return self.time(min((period for period in periods if period), default=0))

    def ring_of(self, task: PlannedTask) -> int:
        layouts = {known["name"]: known for known in self.layouts["tasks"]}
        record = self.layouts["record"]
        operations = len(task.reads) + len(task.writes)
        each = (
            record["job"]["bytes"]
            + operations * (record["operation"]["bytes"] + 8)
            + layouts[task.name]["out"]["bytes"]
            # Two events of each job that has faults.
            + (64 if task.remote_state is not None else 0)
            + 64
        )
        return _ring(each * 1e12 / (task.period_ps * self.scale))

    def clusters(self) -> list[dict[str, Any]]:
        names = [name for name, core in self.plan.cores.items() if core.slot is not None]
        if not self.plan.three_phase_cores:
            return []
        slots = [self.plan.cores[name].slot for name in names]
        found = [slot for slot in slots if slot is not None]
        assert len(found) == len(slots), "the plan refuses three-phase cores without a slot"
        return [
            {
                "cores": [self.cores.index(name) for name in names],
                "slots_ns": [self.time(slot.length_ps) for slot in found],
                "round_robin": found[0].arbitration == "round-robin",
                "io_cpu": -1 if self.placement.io is None else self.placement.io,
                "shared": self.placement.shared,
            }
        ]

    def core_facts(self, core: PlannedCore) -> dict[str, Any]:
        return {
            **core_facts(core),
            "cpu": self.placement.cpus.get(core.name),
            "wait": self.wait_of(core),
            "time_base": self.time_base_of(core),
            "slot_ns": None if core.slot is None else ns(core.slot.length_ps, self.scale),
        }


def _ring(bytes_per_second: float) -> int:
    """A power of two that holds some seconds of record."""
    wanted = max(LEAST_RING, min(LARGEST_RING, bytes_per_second * RING_SECONDS))
    return 1 << math.ceil(math.log2(wanted))
