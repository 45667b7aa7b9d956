# SPDX-License-Identifier: Apache-2.0
"""The numbers and orders that a bare-metal core's program has: its window, reads and writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from consort.model.channel import STAND_IN
from consort.plan import Binding, Plan, PlannedChannel, PlannedDevice, PlannedTask
from consort.run.blocks import ROW_DEVICES
from consort.run.source import channel_type, identifier, member_offset, member_type, plant_part, step_of

if TYPE_CHECKING:
    from consort.board.executive import Request


# The longest name of a region's object, without what its channels add to it.
OBJECT_NAME = 28
# How many times an execution of a stand-in has: consort/app/stand_in.hpp.
STAND_IN_LIMITS = 3


def object_name(kind: str, number: int, name: str) -> str:
    """The name of an object in a board's region: unlike others, and short."""
    return f"{kind}{number}:{name}"[:OBJECT_NAME]


@dataclass(frozen=True)
class DataFlow:
    """Channels, plants and recordings of the tasks that one core of a plan releases."""

    plan: Plan
    core: str

    @property
    def tasks(self) -> list[PlannedTask]:
        return [self.plan.tasks[name] for name in self.plan.cores[self.core].tasks]

    @cached_property
    def sources(self) -> set[str]:
        """The names of the channels and devices that the tasks use."""
        return {binding.source for task in self.tasks for binding in (*task.reads, *task.writes)}

    @cached_property
    def channels(self) -> list[PlannedChannel]:
        return [channel for channel in self.plan.carried if channel.name in self.sources]

    @cached_property
    def plants(self) -> list[PlannedDevice]:
        devices = self.plan.devices.items()
        return [device for name, device in devices if device.kind == "plant" and name in self.sources]

    @cached_property
    def rows(self) -> list[tuple[PlannedTask, Binding]]:
        """Members that a recording or a function fills."""
        return [
            (task, binding)
            for task in self.tasks
            for binding in task.reads
            if binding.member
            and (device := self.plan.devices.get(binding.source)) is not None
            and device.kind in ROW_DEVICES
        ]

    @cached_property
    def stand_ins(self) -> list[PlannedTask]:
        """The tasks without a step. The extra numbers of the core have the seed, where there are some, and
        how long the jobs of each execute at least, at most, and where their master falls back."""
        return [task for task in self.tasks if task.step == STAND_IN]

    @property
    def releases(self) -> dict[str, bool]:
        """The random choices that releases make."""
        return {
            "sporadic": any(task.sporadic for task in self.tasks),
            "jitter": any(task.jitter_ps for task in self.tasks),
        }

    @property
    def jobs(self) -> int:
        """The index of a three-phase core's first extra number: how many jobs each of its tasks has."""
        stand_ins = 1 + STAND_IN_LIMITS * len(self.stand_ins) if self.stand_ins else 0
        return len(self.plants) + 2 * len(self.rows) + stand_ins

    def channel(self, channel: PlannedChannel) -> dict[str, Any]:
        """A channel as a template has it."""
        number = [known.name for known in self.plan.carried].index(channel.name)
        return {
            "type": f"Channel_{identifier(channel.name)}",
            "of": channel_type(self.plan, channel, "Access"),
            "shared": f"channel_{identifier(channel.name)}",
            "object": object_name("c", number, channel.name),
            "number": number,
        }

    def plant(self, device: PlannedDevice) -> dict[str, Any]:
        """A plant as a template has it. Its period is an extra number of the core."""
        return {
            "type": f"Plant_{identifier(device.name)}",
            "object": f"plant_{identifier(device.name)}",
            "step": step_of(device),
            "extra": self.plants.index(device),
        }

    def ends(self, task: PlannedTask) -> dict[str, list[dict[str, Any]]]:
        """The ends of a task's bindings as a template has them."""
        made: dict[str, list[dict[str, Any]]] = {"reads": [], "writes": []}
        if task.step == STAND_IN:
            made["reads"].append(self._execution(task))
        for way, bindings in (("reads", task.reads), ("writes", task.writes)):
            for number, binding in enumerate(bindings):
                found = self._end(task, binding, reads=way == "reads")
                if found is not None:
                    made[way].append({"name": f"{way}_{number}_{identifier(task.name)}", **found})
        return made

    def _execution(self, task: PlannedTask) -> dict[str, Any]:
        """The source of a stand-in's execution time, job by job."""
        seed = len(self.plants) + 2 * len(self.rows)
        at = seed + 1 + STAND_IN_LIMITS * self.stand_ins.index(task)
        limits = [
            f"static_cast<consort::app::Time>(executive.extra({at + n}))" for n in range(STAND_IN_LIMITS)
        ]
        number = list(self.plan.tasks).index(task.name)
        return {
            "name": f"execution_{identifier(task.name)}",
            "offset": "0",
            "check": "",
            "channel": "consort::app::no_channel",
            "logical": "true",
            "type": "consort::app::StandInInput",
            "arguments": f"consort::app::Draw(executive.extra({seed}), {number}U),"
            f" consort::app::StandInInput::Limits{{{', '.join(limits)}}}",
        }

    def _end(self, task: PlannedTask, binding: Binding, *, reads: bool) -> dict[str, Any] | None:
        part, noun = ("In", "Reader") if reads else ("Out", "Writer")
        kind = member_type(task, part, binding.member)
        end: dict[str, Any] = {"offset": member_offset(task, part, binding.member), "check": ""}
        channel = self.plan.channels.get(binding.source)
        if channel is not None:
            known = self.channel(channel)
            place = [f"{channel.readers.index(task.name)}U"] if reads else []
            if task.step == STAND_IN:
                types = [known["type"]] if reads else ["RunTime", known["type"]]
                end["type"] = f"consort::app::StandIn{noun}<{', '.join(types)}>"
            else:
                types = ["RunTime", known["type"], *([kind] if reads else [])]
                end["type"] = f"consort::app::Channel{noun}<{', '.join(types)}>"
            return {
                **end,
                "arguments": ", ".join([f"*{known['shared']}", *place]),
                "channel": f"{known['number']}U",
                "logical": str(channel.communication == "let").lower(),
            }
        # Data of devices belongs to the release and the deadline, and is not recorded.
        end |= {"channel": "consort::app::no_channel", "logical": "true"}
        device = self.plan.devices[binding.source]
        if device.kind == "plant":
            plant, at, check = plant_part(task, binding, device, part)
            of = f"consort::app::Plant<{plant}, RunTime>"
            return {
                **end,
                "type": f"consort::app::Device{noun}<{of}, {kind}>",
                "arguments": f"*{self.plant(device)['object']}, {at}",
                "check": check,
            }
        if (task, binding) in self.rows:
            place_of_rows = len(self.plants) + 2 * self.rows.index((task, binding))
            rows = f"reinterpret_cast<const std::byte*>(window() + executive.extra({place_of_rows + 1}))"
            return {
                **end,
                "type": "consort::app::RowsReader",
                "arguments": f"{rows}, executive.extra({place_of_rows}),"
                f" static_cast<std::uint32_t>(sizeof({kind}))",
            }
        return None

    def headers(self) -> Iterator[str]:
        """Headers of the plants' steps; those of tasks are listed with the tasks."""
        for device in self.plants:
            yield str(self.plan.path(str(device.reference).partition("::")[0]).resolve())


POLICIES = ("fixed-priority", "fixed-priority-non-preemptive", "edf")
# Not a way to dispatch: the core has an executive of its own (consort/bare/three_phase.hpp).
THREE_PHASE = "three-phase"


# Offset in the window behind the control blocks.
DATA = 0x20000
ALIGNMENT = 64
# The bytes of a region: its header, one worker's control, and a task's channels beside their values; more
# than they need, and the core that makes the region says where it is not enough.
REGION_BYTES, WORKER_BYTES, TASK_BYTES = 4096, 512, 4096
# How often a region may hold a value or its description: a state in two snapshots of four places each.
COPIES, LEAF_BYTES = 8, 64
# A channel's entry in the region, and what its blocks have beside their values.
OBJECT_BYTES, NUMBERED_LEAVES = 512, 4


class WindowIsFull(Exception):
    """Inputs and record of a run find no room."""


class Window:
    """Places things in the shared window, one behind the other."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.at = DATA
        self.contents: dict[int, bytes] = {}

    def reserve(self, count: int) -> int:
        where = self.at
        self.at = up(where + count, ALIGNMENT)
        if self.at > self.room:
            raise WindowIsFull
        return where

    def put(self, content: bytes) -> int:
        where = self.reserve(len(content))
        self.contents[where] = content
        return where


def region_bytes(plan: Plan, described: Mapping[str, Any]) -> int:
    """Room for the plan's channels and those of the offloaded tasks."""
    found = REGION_BYTES + WORKER_BYTES * len(plan.workers)
    for known in described["tasks"]:
        if plan.tasks[known["name"]].worker is not None:
            parts = [known[part] for part in ("in", "out", "state")]
            values = sum(up(part["bytes"], ALIGNMENT) + ALIGNMENT for part in parts)
            leaves = sum(len(part["members"]) for part in parts)
            found += TASK_BYTES + COPIES * values + 2 * LEAF_BYTES * leaves
    for known in described["channels"]:
        # Where sides share no lines, words that lie together on this machine lie apart.
        leaves = len(known["block"]["members"]) + NUMBERED_LEAVES
        found += 2 * known["region_bytes"] + OBJECT_BYTES + LEAF_BYTES * leaves
    return up(found, ALIGNMENT)


def up(count: int, to: int) -> int:
    return (count + to - 1) // to * to


def extra_numbers(request: Request, core: str, duration_ps: int, window: Window) -> list[int]:
    """The numbers of a core's devices and stand-ins, as in its program (data_flow.py)."""
    flow = DataFlow(request.where.plan, core)
    values = [(plant.period_ps or 0) // 1000 for plant in flow.plants]
    for task, binding in flow.rows:
        rows = request.members[task.name][binding.member][: max(1, task.releases_until(duration_ps))]
        values += [len(rows), window.put(rows.tobytes())]
    if flow.stand_ins:
        values.append(request.seed)
    for task in flow.stand_ins:
        assert task.wcet_ps is not None and task.bcet_ps is not None, "a stand-in without a wcet is refused"
        values += [time // 1000 for time in (task.bcet_ps, task.wcet_ps, task.fallback_ps or 0)]
    planned = request.where.plan.cores[core]
    if planned.policy == THREE_PHASE:
        values += [task.releases_until(duration_ps) for task in flow.tasks]
    return values
