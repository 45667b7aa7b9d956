# SPDX-License-Identifier: Apache-2.0
"""The program of a plan, in C++: its tasks' steps, the types of its channels, the bindings.

Everything else of a run stands in its configuration, so that a changed deadline compiles nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from consort.base.errors import BadInput
from consort.base.toolchain.builds import Templates
from consort.model.channel import STAND_IN
from consort.plan import Binding, Plan, PlannedChannel, PlannedDevice, PlannedTask
from consort.plan.channels import link_of

# The header of a program of this machine, also in virtual time; boards have their own.
LINUX = "consort/linux/executive/catalogue.hpp"
# A block between stand-ins whose size nobody gave.
STAND_IN_BYTES = 64

TEMPLATES = Templates("consort.run")


def identifier(name: str) -> str:
    """A C++ name: unlike names get unlike ones, whatever characters they use."""
    plain = re.sub(r"[^A-Za-z0-9]", "_", name)
    return f"{plain}_{hashlib.sha256(name.encode()).hexdigest()[:6]}"


def place(*location: str) -> str:
    """A place in the description, as the program's `#line` spells it; `location_of` reads it."""
    return "/".join(location)


def location_of(text: str) -> tuple[str, ...] | None:
    """The place that a file's name in a compiler's message is; None: a file."""
    found = tuple(text.split("/"))
    return found if found[0] in ("tasks", "channels", "devices") else None


def task_type(task: PlannedTask) -> str:
    return f"Task_{identifier(task.name)}"


def program_source(plan: Plan) -> str:
    """The application's own translation unit, for this machine's clock or for virtual time."""
    tasks = list(plan.tasks.values())
    described = [_task(plan, task) for task in tasks]
    return TEMPLATES.render(
        "application.cpp.j2",
        file=plan.file.name,
        catalogue=LINUX,
        run="run_in_virtual_time" if plan.target == "virtual" else "run_on_this_machine",
        headers=[(of, header) for header, of in dict(reversed([*_headers(plan)])).items()],
        tasks=described,
        remote=any(task.remote_state is not None for task in tasks),
        namespaces=list(
            dict.fromkeys(task["owner"] for task in described if task["owner"] and not task["in_class"])
        ),
        plants=[
            {
                "type": f"Plant_{identifier(d.name)}",
                "name": d.name,
                "step": step_of(d),
                "place": place("devices", d.name, "plant"),
            }
            for d in plan.devices.values()
            if d.kind == "plant" and (d.readers or d.writers)
        ],
        drivers=[
            {"type": step_of(d), "name": d.name, "place": place("devices", d.name, "driver")}
            for d in plan.devices.values()
            if d.kind == "driver" and (d.readers or d.writers)
        ],
        channels=[
            {
                "type": f"Channel_{identifier(c.name)}",
                "name": c.name,
                "of": channel_type(plan, c),
                "place": _place_of_block(plan, c),
            }
            for c in plan.carried
        ],
        calls=[
            *(line for task in tasks for line in _bindings(plan, task)),
            # A device that is only described writes numbered blocks, in the name of no task.
            *(
                (
                    place("channels", c.name),
                    f'catalogue.stand_in_writes<Channel_{identifier(c.name)}>("", "{c.name}");',
                )
                for c in plan.carried
                if c.writer not in plan.tasks
            ),
        ],
    )


def _task(plan: Plan, task: PlannedTask) -> dict[str, Any]:
    step = None if task.step is None or task.step == STAND_IN else task.step
    owner = "" if step is None else _owner(step.name)
    return {
        "type": task_type(task),
        "name": task.name,
        "step": None if step is None else step.name,
        "owner": owner,
        "in_class": step is not None
        and bool(owner)
        and _is_class(plan.path(step.file).resolve(), owner.rpartition("::")[2]),
        "types": task.types,
        "place": place("tasks", task.name, "step"),
        "types_place": place("tasks", task.name, "types"),
        "offloaded": task.worker is not None,
    }


@cache
def _is_class(header: Path, name: str) -> bool:
    """True if a header, or one that it includes from its folder, defines a class or alias of this name."""
    seen: set[Path] = set()
    waiting = [header]
    while waiting:
        file = waiting.pop()
        if file in seen or not file.is_file():
            continue
        seen.add(file)
        text = file.read_text(encoding="utf-8", errors="replace")
        plain = re.escape(name)
        if re.search(rf"\b(struct|class)\s+{plain}\b[^;]*\{{|\busing\s+{plain}\s*=", text):
            return True
        waiting += [file.parent / found for found in re.findall(r'#\s*include\s+"([^"]+)"', text)]
    return False


def _headers(plan: Plan) -> Iterator[tuple[str, str]]:
    """The headers to include, each with a place that names it."""
    for task in plan.tasks.values():
        if task.step not in (None, STAND_IN):
            yield str(plan.path(task.step.file).resolve()), place("tasks", task.name, "step")
    for device in plan.devices.values():
        if device.kind in ("plant", "driver") and (device.readers or device.writers):
            header = plan.path(str(device.reference).partition("::")[0]).resolve()
            yield str(header), place("devices", device.name, device.kind)


def step_of(device: PlannedDevice) -> str:
    """The part of header.hpp::ns::step that C++ knows."""
    return str(device.reference).partition("::")[2]


def _owner(function: str) -> str:
    """The namespace or class of a step."""
    return function.rpartition("::")[0]


def member_type(task: PlannedTask, part: str, member: str) -> str:
    """The type of a member of a task's In or Out, or of the whole of it."""
    whole = f"{task_type(task)}::{part}"
    if not member:
        return whole
    return f"std::remove_cvref_t<decltype(std::declval<{whole}&>().{member})>"


def member_offset(task: PlannedTask, part: str, member: str) -> str:
    return "0" if not member else f"offsetof({task_type(task)}::{part}, {member})"


def channel_type(plan: Plan, channel: PlannedChannel, access: str = "") -> str:
    """The C++ type of a channel. Its block is what its writer writes; of stand-ins a numbered block.

    `access`: how the sides reach its memory, where that is not as coherent memory.
    """
    block = _block(plan, channel)
    if link_of(plan, channel) is not None:
        return f"consort::app::OverLinkOf<{block}, {channel.capacity}>"
    readers = max(1, len(channel.readers))
    kinds = {
        "mailbox": ("MailboxOf", block),
        "queue": ("QueueOf", block, str(channel.capacity)),
        "snapshot": ("SnapshotOf", block, str(readers)),
        "double-buffer": ("DoubleBufferOf", block),
        "versions": ("VersionsOf", block, str(max(2, channel.capacity or 2))),
    }
    kind, *arguments = kinds[channel.implementation]
    return f"consort::app::{kind}<{', '.join([*arguments, *filter(None, [access])])}>"


def _place_of_block(plan: Plan, channel: PlannedChannel) -> str:
    """The place of what gives the channel's blocks their type."""
    writer = plan.tasks.get(channel.writer)
    if writer is None:
        return place("channels", channel.name)
    return _place_of(writer, "writes", _binding_of(writer.writes, channel.name))


def _place_of(task: PlannedTask, way: str, binding: Binding) -> str:
    return place("tasks", task.name, way, *filter(None, [binding.member]))


def _block(plan: Plan, channel: PlannedChannel) -> str:
    writer = plan.tasks.get(channel.writer)
    if writer is not None and writer.step != STAND_IN:
        return member_type(writer, "Out", _binding_of(writer.writes, channel.name).member)
    real = [
        plan.tasks[reader]
        for reader in channel.readers
        if reader in plan.tasks and plan.tasks[reader].step != STAND_IN
    ]
    if real:
        raise BadInput(
            f"{channel.writer!r} has no step, so nothing fills this channel, which {real[0].name!r} reads"
            " with a step; give the writer a step, or the reader a stand-in",
            file=plan.file,
            field=f"channels.{channel.name}",
        )
    words = -(-(channel.bytes or STAND_IN_BYTES) // 4)
    return f"consort::app::StandInBlock<{max(1, words)}>"


def _binding_of(bindings: tuple[Binding, ...], source: str) -> Binding:
    return next(binding for binding in bindings if binding.source == source)


def plant_part(task: PlannedTask, binding: Binding, device: PlannedDevice, part: str) -> tuple[str, str, str]:
    """The parts of a binding to a plant: the plant's type, the offset in its Out or In, a check of the
    types."""
    plant = f"Plant_{identifier(device.name)}"
    whole = f"{plant}::{'Out' if part == 'In' else 'In'}"
    inner = (
        f"std::remove_cvref_t<decltype(std::declval<{whole}&>().{binding.part})>" if binding.part else whole
    )
    at = f"offsetof({whole}, {binding.part})" if binding.part else "0"
    check = (
        f'static_assert(std::is_same_v<{member_type(task, part, binding.member)}, {inner}>, "{task.name}:'
        f" {binding.member or part} and {binding.part or 'the whole'} of the plant {device.name} have unlike"
        ' types");'
    )
    return plant, at, check


def _bindings(plan: Plan, task: PlannedTask) -> Iterator[tuple[str, str]]:
    for way, bindings in (("reads", task.reads), ("writes", task.writes)):
        for binding in bindings:
            for line in _bound(plan, task, binding, reads=way == "reads"):
                yield _place_of(task, way, binding), line


def _bound(plan: Plan, task: PlannedTask, binding: Binding, *, reads: bool) -> Iterator[str]:
    part = "In" if reads else "Out"
    verb = "reads" if reads else "writes"
    channel = plan.channels.get(binding.source)
    if channel is not None:
        kind = f"Channel_{identifier(channel.name)}"
        reader = f", {channel.readers.index(task.name)}U" if reads else ""
        if task.step == STAND_IN:
            yield (f'catalogue.stand_in_{verb}<{kind}>("{task.name}", "{channel.name}"{reader});')
            return
        member = f", {member_type(task, part, binding.member)}" if reads else ""
        offset = member_offset(task, part, binding.member)
        yield (
            f'catalogue.{verb}<{kind}{member}>("{task.name}", "{binding.member}", "{channel.name}",'
            f" {offset}{reader});"
        )
        return
    device = plan.devices[binding.source]
    if task.step == STAND_IN or device.kind in ("described", "record"):
        return
    kind = member_type(task, part, binding.member)
    offset = member_offset(task, part, binding.member)
    if device.kind in ("recording", "function"):
        if binding.member:
            yield (f'catalogue.rows<{kind}>("{task.name}", "{binding.member}", {offset});')
        return
    if device.kind == "plant":
        plant, at, check = plant_part(task, binding, device, part)
        yield check
        yield (
            f"catalogue.{verb}_device<consort::linux_port::Plant<{plant}>, {kind}>("
            f'"{task.name}", "{binding.member}", "{device.name}", {offset}, {at});'
        )
        return
    yield (
        f"catalogue.{verb}_device<consort::linux_port::Driver<::{step_of(device)}>, {kind}>("
        f'"{task.name}", "{binding.member}", "{device.name}", {offset});'
    )
