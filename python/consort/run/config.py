# SPDX-License-Identifier: Apache-2.0
"""The configuration of one run of the executive on this machine (ports/linux/.../executive/config.hpp)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from consort.analysis.channel_bounds import transfers
from consort.analysis.figures import Figures, MissingFigure
from consort.base.environment import throttled_ns, throttling
from consort.base.errors import BadInput, nearest
from consort.base.packages import Server
from consort.plan import Plan, PlannedAsker, PlannedCore, PlannedTask
from consort.plan.channels import links_of, on_link
from consort.run.plan_image import acting

# A transaction is ended as timed out after so many times what the platform says of the link's largest block.
TIMES_ITS_BLOCK = 100
LEAST_LIMIT_NS = 10_000_000
# An engine without a sign of life for so much longer is ended. It sleeps for 10 ms at most.
LEAST_SILENCE_NS = 200_000_000

LinkFaultKind = Literal["kill", "stop", "fail", "hang"]
LINK_FAULTS: dict[LinkFaultKind, str] = {
    "kill": "the engine's process is killed",
    "stop": "it gives no sign of life",
    "fail": "its next transaction ends with an error",
    "hang": "its next transaction does not end",
}


@dataclass(frozen=True)
class LinkFault:
    """A fault of a link's engine that the user asks for."""

    link: str
    kind: LinkFaultKind
    at_ns: int


def link_configs(
    plan: Plan, cpus: Mapping[str, int], channels: Sequence[str], scale: int
) -> list[dict[str, Any]]:
    """The engines of a plan. `cpus`: of those that have one of their own; `channels`: the run's, in order."""
    return [_one(plan, link, cpus, channels, scale) for link in links_of(plan)]


def _one(
    plan: Plan, link: str, cpus: Mapping[str, int], channels: Sequence[str], scale: int
) -> dict[str, Any]:
    try:
        costs = {name: cost.ps for name, cost in transfers(Figures(plan), link).items()}
    except MissingFigure as missing:
        if plan.target == "virtual":
            raise BadInput(missing.unplaced, file=plan.file, field=missing.place) from None
        costs = {}  # the engine takes what it takes; the bounds say what is missing
    longest_ns = max(costs.values(), default=0) * scale // 1000
    limit = max(LEAST_LIMIT_NS, TIMES_ITS_BLOCK * longest_ns)
    return {
        "name": link,
        "cpu": cpus.get(link, -1),
        "limit_ns": limit,
        "silence_ns": LEAST_SILENCE_NS + 2 * limit,
        "carries": [
            {"channel": channels.index(channel.name), "transfer": costs.get(channel.name, 0) * scale}
            for channel in on_link(plan, link)
            if channel.name in channels
        ],
    }


def parse_link_fault(text: str, nanoseconds: int | None) -> LinkFault:
    """`LINK:KIND` of `--link-fault LINK:KIND@TIME`, whose time is known."""
    link, _, kind = text.rpartition(":")
    if nanoseconds is None or not link or kind not in LINK_FAULTS:
        raise BadInput(
            f"{text!r} names no link and fault; write link-0:kill@1s, where the fault is one of"
            f" {', '.join(LINK_FAULTS)}",
            field="--link-fault",
        )
    return LinkFault(link, kind, nanoseconds)


def check_link_faults(plan: Plan, faults: Sequence[LinkFault]) -> None:
    """`BadInput` for a fault of a link that carries nothing in this run."""
    known = links_of(plan)
    for fault in faults:
        if fault.link not in known:
            raise BadInput(
                f"no channel is on {fault.link!r}"
                + (f"; {nearest(fault.link, known, 'links that carry channels')}" if known else ""),
                file=plan.file,
                field="--link-fault",
            )
        if plan.target != "linux":
            raise BadInput(
                "the engine is a process on this machine's own clock only; leave it out",
                file=plan.file,
                field="--link-fault",
            )


def fault_configs(plan: Plan, faults: Sequence[LinkFault]) -> list[dict[str, Any]]:
    """Faults as the executive reads them."""
    names = links_of(plan)
    return [{"kind": f"{one.kind}-link", "at_ns": one.at_ns, "link": names.index(one.link)} for one in faults]


def asker_config(
    plan: Plan, asker: PlannedAsker, layouts: Mapping[str, Any], modes: Sequence[str]
) -> dict[str, Any]:
    """Its entry of a configuration; `BadInput` where the step's outputs have no such number."""
    layout = next(known for known in layouts["tasks"] if known["name"] == asker.task)["out"]
    whole = [m for m in layout["members"] if m["type"][0] in "ui" and m["count"] == 1]
    member = next((m for m in whole if m["name"] == asker.member), None)
    if member is None:
        names = [str(m["name"]) for m in whole]
        raise BadInput(
            f"the outputs of {asker.task} have no whole number {asker.member!r}; they have"
            f" {', '.join(names) or 'none'}",
            file=plan.file,
            field="mode_changes.asked_by",
        )
    return {
        "task": list(plan.tasks).index(asker.task),
        "offset": member["offset"],
        "bytes": int(member["type"][1:]),
        "signed": member["type"][0] == "i",
        "modes": [modes.index(mode) for mode in asker.modes],
    }


# How long before a release a hybrid wait stops sleeping, at least.
MARGIN_NS = 100_000
# A wake-up that is later is not what timers of an idle machine take, where no figure says what it is.
LATE_NS = 50_000
# A core that spins rests in one wait of so many, or the kernel throttles it for 50 ms of each second.
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
class InputFiles:
    """Files of a task's inputs: rows of its whole In, and rows for single members."""

    whole: Path | None = None
    members: Mapping[str, Path] | None = None
    steps: Mapping[str | None, Sequence[int]] = field(default_factory=dict)
    """By member, None of the whole In: the rows that a job goes on by in each mode; without them by one."""


def run_config(
    plan: Plan,
    placement: Placement,
    data: Mapping[str, InputFiles],
    layouts: Mapping[str, Any],
    *,
    image: Path,
    configuration: str,
    duration_ps: int,
    time_scale: int = 1,
    realtime: bool = True,
    faults: Sequence[Mapping[str, Any]] = (),
    modes: Mapping[str, Plan] | None = None,
    servers: Mapping[str, Server] | None = None,
) -> dict[str, Any]:
    """The configuration file's content: what belongs to this run on this machine.

    The plan itself is in `image`, the file of the plan image. Times of the description are stretched by
    `time_scale`. `modes`: the plans of a run that goes from mode to mode; `plan` is then that of all of them.
    `servers`: those of the memories in which states of tasks lie.
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
        "channels": made.channels,
        "devices": [device.name for device in acting(plan)],
        "modes": [*modes] if modes else [],
        "asked_by": made.askers([*modes]) if modes else [],
        "links": link_configs(plan, placement.links, made.channels, time_scale),
        "faults": [dict(fault) for fault in faults],
        "io_cpu": -1 if placement.io is None else placement.io,
        "shared": placement.shared,
        "realtime": realtime,
        "throttled_ns": throttled_ns(throttling()),
        "image": str(image),
        "record": {
            "configuration": configuration,
            "time_scale": time_scale,
            "duration_ns": duration,
            "cpus": dict(placement.cpus),
            "shared": placement.shared,
        },
    }


def _late_ns(core: PlannedCore) -> int:
    """How late a timer may wake a core: what its bounds count."""
    if core.time_base == "hybrid":
        return 0
    return LATE_NS if core.timer_lateness_ps is None else -(-core.timer_lateness_ps // 1000)


def _largest(modes: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Sizes and limits that a process has once for all modes: the largest that any of them needs."""
    keys = [key for key in ("ring_bytes", "budget_ns", "max_restarts") if modes and key in modes[0]]
    return {key: max(one[key] for one in modes) for key in keys}


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
        self.channels = [channel.name for channel in plan.carried]
        self.servers = servers

    def time(self, picoseconds: int) -> int:
        return picoseconds * self.scale // 1000

    def core(self, core: PlannedCore, plan: Plan | None = None) -> dict[str, Any]:
        """`plan` is that of a mode, without it the whole one."""
        tasks = (plan or self.plan).tasks
        base = core.time_base
        restarts = any(tasks[name].restart_worker for name in core.serves)
        served = sum(1e12 / float(tasks[n].long_run_ps * self.scale) for n in core.serves)
        return {
            "name": core.name,
            "cpu": self.placement.cpus.get(core.name, -1),
            "time_base": base,
            "margin_ns": max(MARGIN_NS, -(-(core.margin_ps or 0) // 1000)),
            "late_ns": _late_ns(core),
            "sleep_one_in": SLEEP_ONE_IN if base == "hybrid" or core.policy == "worker" else 0,
            "max_restarts": MAX_RESTARTS if restarts else 0,
            "ring_bytes": _ring(served * 44),
        }

    def task(self, task: PlannedTask, data: InputFiles) -> dict[str, Any]:
        execution = task.wcet_ps if task.execution == "three-phase" else None
        return {
            "name": task.name,
            "budget_ns": max(LEAST_BUDGET_NS, STUCK * self.time(task.deadline_ps)),
            "execution_budget_ns": 0 if execution is None else self.time(execution),
            "input_file": "" if data.whole is None else str(data.whole),
            "input_steps": [*data.steps.get(None, ())],
            "member_rows": [
                {"member": member, "file": str(file), "steps": [*data.steps.get(member, ())]}
                for member, file in (data.members or {}).items()
            ],
            "ring_bytes": self.ring_of(task),
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

    def askers(self, modes: Sequence[str]) -> list[dict[str, Any]]:
        assert self.plan.changes is not None
        return [asker_config(self.plan, one, self.layouts, modes) for one in self.plan.changes.asked_by]

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
        return _ring(each * 1e12 / float(task.long_run_ps * self.scale))


def _ring(bytes_per_second: float) -> int:
    """A power of two that holds some seconds of record."""
    wanted = max(LEAST_RING, min(LARGEST_RING, bytes_per_second * RING_SECONDS))
    return 1 << math.ceil(math.log2(wanted))
