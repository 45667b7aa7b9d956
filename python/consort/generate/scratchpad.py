# SPDX-License-Identifier: Apache-2.0
"""The plan behind the tables of the scratchpad-centric kernel: tasks, slots, subscriptions, partitions.

Sizes come from the object files where there are some, else from the description. What the kernel could not
keep, or the bounds do not allow, is refused here and not found out at run time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from ipaddress import AddressValueError, IPv4Address
from itertools import pairwise
from pathlib import Path
from typing import Literal

from consort.analysis.result import Bound, in_words
from consort.analysis.scratchpad import NotAnalysable, core_of, moved, slot_of, three_phase_cores
from consort.analysis.three_phase import bound_core
from consort.errors import BadInput, SystemFails
from consort.generate.objects import Measured, measure
from consort.model import BadDescription, System
from consort.model.description import Channel, Footprint, Scheduling
from consort.model.figures import Figure
from consort.model.quantities import DataRate, Duration, Size

# include/consort/spm/task.hpp, handover.hpp and message_box.hpp say the same; tests hold them together.
PART_ALIGNMENT = 64
PARTITIONS = 2
BOX_HEADER = 16
CELL_HEADER = 8
# A slot that is computed is a whole number of these: clocks then have a whole number of ticks for it.
SLOT_STEP = 10**6
PARTS = ("code", "data", "inputs", "outputs")
OnOverrun = Literal["report", "stop-job", "stop-task"]


@dataclass(frozen=True)
class TableWishes:
    """What the description does not say."""

    # Where each core's scratchpad begins; what is not here the linker places.
    scratchpads: Mapping[str, int] = field(default_factory=dict)
    # Where the first task's image is in main memory; None: where the linker puts its section.
    images: int | None = None
    objects: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    rate: DataRate | None = None
    setup: Duration | None = None
    on_overrun: OnOverrun = "report"
    force: bool = False
    # The memory region of the program's linker script that takes what has no address; empty: it has none.
    region: str = ""


@dataclass(frozen=True)
class Box:
    """A message box: what a task's mirror buffer holds."""

    capacity: int
    payload: int
    keep_all: bool = False

    @property
    def bytes(self) -> int:
        return BOX_HEADER + self.capacity * (CELL_HEADER + -(-self.payload // 8) * 8)


@dataclass(frozen=True)
class PlannedTask:
    """A row of a core's task table; times in ps."""

    name: str
    period: int
    deadline: int
    offset: int
    budget: int
    sporadic: bool
    on_miss: Literal["report", "stop_task"]
    size: dict[str, int]
    input: Box | None = None
    output: Box | None = None

    @property
    def offsets(self) -> dict[str, int]:
        """Where each part begins in a partition, and where the last one ends."""
        at, found = 0, {}
        for part in PARTS:
            found[part] = at
            at += aligned(self.size[part])
        return {**found, "end": at}


@dataclass(frozen=True)
class PlannedCore:
    """An application core, as the kernel numbers them: in the order of the list."""

    name: str
    tasks: tuple[PlannedTask, ...]
    slot: int
    partition_bytes: int
    address: int | None


@dataclass(frozen=True)
class Subscribed:
    """A row of the subscription table."""

    task: str
    channel: str
    flow: int
    mask: int


@dataclass(frozen=True)
class Tables:
    """All that is written down."""

    name: str
    platform: str
    arbitration: str
    cores: tuple[PlannedCore, ...]
    subscriptions: tuple[Subscribed, ...]
    tolerance: int
    on_overrun: OnOverrun
    images: dict[str, tuple[int, int]]  # addresses of code and data
    bounds: tuple[Bound, ...]
    notes: tuple[str, ...]
    late: tuple[str, ...]  # tasks without a bound within their deadline: forced
    region: str = ""


def aligned(size: int) -> int:
    return -(-size // PART_ALIGNMENT) * PART_ALIGNMENT


def make_tables(system: System, wishes: TableWishes) -> Tables:
    """`BadInput` names what cannot be; `SystemFails` the tasks that may be late, unless forced."""
    names = three_phase_cores(system)
    if not names:
        raise BadInput(
            "no task is three-phase; the kernel's tables are of tasks with 'execution: three-phase'",
            file=system.file,
            field="tasks",
        )
    _known(system, names, wishes)
    notes: list[str] = []
    boxes = {name: message_boxes(system, name) for core in names for name in system.tasks_on(core)}
    system = _sized(system, names, wishes, boxes, notes)
    system = _rated(system, wishes, notes)
    for core in names:
        _fits(system, core, wishes)
    system, tolerance = _slots(system, names, notes)
    bounds, executions = _bounds(system, names, wishes)
    late = tuple(bound.task for bound in bounds if not bound.schedulable)
    if late and not wishes.force:
        said = "; ".join(_lateness(bound) for bound in bounds if not bound.schedulable)
        raise SystemFails(f"{system.file}: not schedulable: {said}; --force writes the tables all the same")
    cores = tuple(
        PlannedCore(
            core,
            tuple(_task(system, name, executions[name], boxes[name]) for name in system.tasks_on(core)),
            slot_of(system, core),
            _partition_bytes(system, core),
            wishes.scratchpads.get(core),
        )
        for core in names
    )
    _apart(system, cores)
    subscriptions = tuple(s for name in boxes for s in subscriptions_of(system, name))
    return Tables(
        system.name or system.file.stem,
        system.platform_description.name,
        system.scheduling_of(names[0]).arbitration or "tdma",
        cores,
        subscriptions,
        tolerance,
        wishes.on_overrun,
        image_places(system, cores, wishes),
        tuple(bounds),
        tuple(notes),
        late,
        wishes.region,
    )


def _known(system: System, names: list[str], wishes: TableWishes) -> None:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*|", wishes.region):
        raise BadInput(f"{wishes.region!r} is no name of a linker script's memory", field="--region")
    for core in wishes.scratchpads:
        if core not in names:
            raise BadInput(
                f"{core!r} executes no three-phase task; cores that do: {', '.join(names)}",
                field="--scratchpad",
            )
    tasks = [name for core in names for name in system.tasks_on(core)]
    for task in wishes.objects:
        if task not in tasks:
            raise BadInput(f"{task!r} is no three-phase task; there are {', '.join(tasks)}", field="--object")
    kinds = {core: system.scheduling_of(core).arbitration or "tdma" for core in names}
    if len(set(kinds.values())) > 1:
        raise BadInput(
            "one DMA has one arbitration; here are "
            + ", ".join(f"{kind} ({core})" for core, kind in kinds.items()),
            file=system.file,
            field="scheduling",
        )
    for core in names:
        scratchpad = system.platform_description.core(core).scratchpad
        if scratchpad is None or scratchpad.partitions != PARTITIONS:
            found = 0 if scratchpad is None else scratchpad.partitions
            raise BadInput(
                f"the kernel has {PARTITIONS} partitions a core; {core} of platform"
                f" {system.platform_description.name} has {found}",
                file=system.file,
                field="platform",
            )


def _carried(system: System, task: str) -> tuple[list[str], list[str]]:
    """The channels from and to devices of a task; `BadInput` for one that the kernel does not carry."""
    reads = [name for name in system.channels if task in system.readers(name)]
    writes = [name for name in system.channels if system.writer(name) == task]
    for name in reads:
        if system.writer(name) in system.tasks:
            raise _not_carried(system, name, task)
    for name in writes:
        if any(reader in system.tasks for reader in system.readers(name)):
            raise _not_carried(system, name, task)
    return reads, writes


def _not_carried(system: System, channel: str, task: str) -> BadInput:
    return BadInput(
        f"the kernel moves messages between devices and tasks, and this channel joins {task!r} to another"
        " task; let it go through a device, or place both ends on cores of another policy",
        file=system.file,
        field=f"channels.{channel}",
    )


def message_boxes(system: System, task: str) -> tuple[Box | None, Box | None]:
    """What holds the messages to and from a task; None: there are none."""
    reads, writes = _carried(system, task)
    return _box(system, reads), _box(system, writes)


def _box(system: System, names: list[str]) -> Box | None:
    """The one box that holds the messages of all of a task's channels of one direction."""
    channels: list[tuple[str, Channel]] = [(name, system.channel(name)) for name in names]
    if not channels:
        return None
    payloads = []
    for name, channel in channels:
        if channel.size is None:
            raise BadInput(
                "how long its longest message is decides the buffers; add its size",
                file=system.file,
                field=f"channels.{name}",
            )
        payloads.append(channel.size.bytes)
    return Box(
        sum(channel.capacity or 1 for _, channel in channels),
        max(payloads),
        all(channel.implemented_by == "queue" for _, channel in channels),
    )


def _sized(
    system: System,
    names: list[str],
    wishes: TableWishes,
    boxes: dict[str, tuple[Box | None, Box | None]],
    notes: list[str],
) -> System:
    """The system with the footprints that count: of the objects and the boxes, else the described ones."""
    tasks = dict(system.tasks)
    for name in (name for core in names for name in system.tasks_on(core)):
        task = tasks[name]
        described = described_size(task.footprint)
        size = dict(described)
        if name in wishes.objects:
            found = _measured(system, name, wishes)
            assert found is not None
            size |= {"code": found.code, "data": found.data}
            if task.footprint is not None:
                differ = [
                    f"{p} {size[p]} instead of {described[p]}" for p in PARTS[:2] if size[p] != described[p]
                ]
                notes += [f"{name}: measured {' and '.join(differ)} bytes; measured counts"] if differ else []
        elif task.footprint is None:
            raise BadInput(
                "what it needs in memory is not known; add it, or give --object"
                f" {name}=FILE for each of its object files",
                file=system.file,
                field=f"tasks.{name}.footprint",
            )
        for part, box in zip(PARTS[2:], boxes[name], strict=True):
            if box is None:
                continue
            if task.footprint is not None and 0 < size[part] < box.bytes:
                raise BadInput(
                    f"{box.bytes - size[part]} bytes too few: {box.capacity} messages of {box.payload} bytes"
                    f" take {box.bytes}",
                    file=system.file,
                    field=f"tasks.{name}.footprint.{part}",
                )
            if size[part] > box.bytes:
                notes.append(f"{name}: {part} take {box.bytes} bytes, not the {size[part]} described")
            size[part] = box.bytes
        tasks[name] = task.model_copy(update={"footprint": _footprint(size)})
    return system.model_copy(update={"tasks": tasks})


def described_size(footprint: Footprint | None) -> dict[str, int]:
    def size(part: str) -> int:
        figure = getattr(footprint, part) if footprint is not None else None
        return 0 if figure is None else int(figure.value.bytes)

    return {part: size(part) for part in PARTS}


def _footprint(size: dict[str, int]) -> Footprint:
    return Footprint.model_validate({part: str(Size(n)) for part, n in size.items()})


def _rated(system: System, wishes: TableWishes, notes: list[str]) -> System:
    """The system with the DMA figures that were given, where some were."""
    platform = system.platform_description
    if wishes.rate is None:
        if wishes.setup is not None:
            raise BadInput("says how long programming takes; give --dma-rate too", field="--dma-setup")
        engines = list(platform.dmas.items())
        if len(engines) == 1 and engines[0][1].rate is not None:
            name, engine = engines[0]
            source = next(
                (s for place, _, s in platform.figures() if place == f"dmas.{name}.rate"), engine.provenance
            )
            notes.append(f"DMA: {engine.rate}, {source or 'the platform does not say from where'}")
        else:
            notes.append("DMA: no rate is known, so no slot was checked against its operations")
        return system
    if wishes.rate.bytes_per_second == 0:
        raise BadInput("a rate of 0 moves nothing", field="--dma-rate")
    engines = list(platform.dmas.items())
    if len(engines) > 1:
        raise BadInput(
            f"platform {platform.name} has {len(engines)} DMA engines; its description has to name the one"
            " for three-phase tasks",
            field="--dma-rate",
        )
    from consort.model.platform import Dma

    name, engine = engines[0] if engines else ("dma", Dma())
    setup = Figure[Duration](value=wishes.setup) if wishes.setup is not None else engine.setup
    given = engine.model_copy(update={"rate": Figure[DataRate](value=wishes.rate), "setup": setup})
    notes.append(
        f"DMA: {wishes.rate}, given{'' if setup is None else f'; programming it takes {setup.value}'}"
    )
    copy = system.model_copy()
    copy._platform = platform.model_copy(update={"dmas": {name: given}})
    return copy


def _partition_bytes(system: System, core: str) -> int:
    scratchpad = system.platform_description.core(core).scratchpad
    assert scratchpad is not None
    # Each partition begins on a line.
    return scratchpad.partition_bytes // PART_ALIGNMENT * PART_ALIGNMENT


def _fits(system: System, core: str, wishes: TableWishes) -> None:
    scratchpad = system.platform_description.core(core).scratchpad
    assert scratchpad is not None
    whole = _partition_bytes(system, core)
    limits: list[tuple[str, tuple[str, ...], int]] = [("", PARTS, whole)]
    if scratchpad.instructions is not None and scratchpad.data is not None:
        limits.append((" for code", PARTS[:1], scratchpad.instructions.value.bytes // PARTITIONS))
        limits.append((" for data", PARTS[1:], scratchpad.data.value.bytes // PARTITIONS))
    for name in system.tasks_on(core):
        size = described_size(system.tasks[name].footprint)
        for what, parts, limit in limits:
            needed = sum(aligned(size[part]) for part in parts)
            if needed > limit:
                said = ", ".join(f"{part} {size[part]}" for part in parts if size[part])
                raise BadInput(
                    f"{needed - limit} bytes too many for half of {core}'s scratchpad{what} ({limit} bytes;"
                    f" {said}, each from a multiple of {PART_ALIGNMENT})"
                    + symbols_of(system, name, wishes, parts),
                    file=system.file,
                    field=f"tasks.{name}.footprint",
                )


def symbols_of(system: System, task: str, wishes: TableWishes, parts: tuple[str, ...] = PARTS) -> str:
    """What a message says of the symbols that take the memory."""
    found = _measured(system, task, wishes)
    if found is None:
        return f"; --object {task}=FILE names the symbols that take them"
    part = parts[0] if parts == PARTS[:1] else "data" if "code" not in parts else ""
    return f"; most take {found.largest(part)}"


def with_symbols(error: BadDescription, wishes: TableWishes) -> BadDescription:
    """A description's problems; a footprint that is too large with the symbols of the task's objects."""
    problems = []
    for problem in error.problems:
        match = re.fullmatch(r"tasks\.([^.]+)\.footprint", problem.field or "")
        files = wishes.objects.get(match[1], ()) if match else ()
        if files:
            message = f"{problem.message}; most take {measure(files, '').largest()}"
            problem = BadInput(
                message, file=problem.file, line=problem.line, column=problem.column, field=problem.field
            )
        problems.append(problem)
    return BadDescription(problems)


def _measured(system: System, task: str, wishes: TableWishes) -> Measured | None:
    if task not in wishes.objects:
        return None
    return measure(wishes.objects[task], system.core_of(task).processor.isa)


def _slots(system: System, names: list[str], notes: list[str]) -> tuple[System, int]:
    """The system with every slot written down, and how late an operation may begin in any of them."""
    scheduling = dict(system.scheduling)
    slack: list[int] = []
    for core in names:
        described = system.scheduling_of(core)
        computed = described.slot is None or described.slot == "auto"
        try:
            slot = slot_of(system, core)
        except NotAnalysable as error:
            raise BadInput(f"{error}; --dma-rate gives the engine's rate", file=system.file) from None
        if computed:
            slot = -(-slot // SLOT_STEP) * SLOT_STEP
        longest = _longest(system, core)
        if longest is None:
            notes.append(f"{core}: slot {in_words(slot)}, as given")
            slack.append(0)
        else:
            time, what = longest
            if time > slot:
                raise BadInput(
                    f"the {what} takes {in_words(time)}, {in_words(time - slot)} longer than the slot"
                    f" {in_words(slot)}; lengthen it, or write auto",
                    file=system.file,
                    field=f"scheduling.{core if core in system.scheduling else core.rpartition('-')[0]}.slot",
                )
            source = "computed" if computed else "as given"
            notes.append(f"{core}: slot {in_words(slot)}, {source}; the {what} takes {in_words(time)}")
            slack.append(slot - time)
        scheduling[core] = Scheduling.model_validate(
            {
                **described.model_dump(by_alias=True, exclude_none=True, exclude={"slot"}, mode="json"),
                "slot": str(Duration(slot)),
            }
        )
    return system.model_copy(update={"scheduling": scheduling}), min(slack)


def _longest(system: System, core: str) -> tuple[int, str] | None:
    """The longest operation of a core and whose it is; None where one is not known."""
    found: list[tuple[int, str]] = []
    for name in system.tasks_on(core):
        times = moved(system, name)
        if times is None:
            return None
        found += [(time, f"{what} of {name!r}") for time, what in zip(times, ("load", "unload"), strict=True)]
    return max(found, key=lambda one: one[0])


def _bounds(system: System, names: list[str], wishes: TableWishes) -> tuple[list[Bound], dict[str, int]]:
    """Bounds of all tasks, and what each may execute before the watchdog says so."""
    bounds: list[Bound] = []
    executions: dict[str, int] = {}
    for core in names:
        try:
            found = core_of(system, core)
        except NotAnalysable as error:
            raise BadInput(str(error), file=system.file) from None
        executions |= {task.name: task.execution for task in found.tasks}
        # The watchdog looks once a slot: so much longer a job executes that it stops.
        more = 0 if wishes.on_overrun == "report" else found.share.slot
        tasks = [replace(task, execution=task.execution + more) for task in found.tasks]
        bounds += bound_core(tasks, found.share, method=found.method, core=core)
    return bounds, executions


def _lateness(bound: Bound) -> str:
    if bound.response is None:
        return f"{bound.task} on {bound.core} has no bound"
    assert bound.deadline is not None
    return (
        f"{bound.task} on {bound.core} may take {in_words(bound.response)}, its deadline is"
        f" {in_words(bound.deadline)}"
    )


def _task(system: System, name: str, execution: int, boxes: tuple[Box | None, Box | None]) -> PlannedTask:
    task = system.tasks[name]
    return PlannedTask(
        name,
        task.interval.picoseconds,
        task.deadline.picoseconds,
        task.offset.picoseconds,
        execution,
        task.sporadic,
        "stop_task" if task.on_miss == "stop" else "report",
        described_size(task.footprint),
        *boxes,
    )


def subscriptions_of(system: System, task: str) -> list[Subscribed]:
    """A task's rows of the subscription table."""
    found = []
    for name in _carried(system, task)[0]:
        channel = system.channel(name)
        if channel.kind != "subscription":
            raise BadInput(
                "what comes from a device reaches a three-phase task by a subscription; write 'kind:"
                " subscription', and its flow",
                file=system.file,
                field=f"channels.{name}.kind",
            )
        flow, mask = flow_of(channel.flow, system, name)
        found.append(Subscribed(task, name, flow, mask))
    return found


def flow_of(flow: int | str | None, system: System, channel: str) -> tuple[int, int]:
    """Flow and mask: a number, or leading bits of one: 0x1200/8, 10.0.0.0/8."""
    text = str(flow)
    number, slash, bits = text.partition("/")
    value: int | None = None
    try:
        value = int(IPv4Address(number)) if re.fullmatch(r"[0-9]+(\.[0-9]+){3}", number) else int(number, 0)
    except (AddressValueError, ValueError):
        value = None
    length = int(bits) if bits.isdecimal() else -1 if slash else 32
    if value is None or not 0 <= value < 2**32 or not 0 <= length <= 32:
        raise BadInput(
            f"{text!r} is no flow that the kernel can compare: a number below 2^32, or the leading bits of"
            " one, such as 0x12000000/8 or 10.0.0.0/8",
            file=system.file,
            field=f"channels.{channel}.flow",
        )
    mask = (2**32 - 1) << (32 - length) & (2**32 - 1)
    return value & mask, mask


def _apart(system: System, cores: tuple[PlannedCore, ...]) -> None:
    """No two scratchpads share memory, and no two names become one identifier."""
    placed = sorted(
        ((core.address, core) for core in cores if core.address is not None), key=lambda one: one[0]
    )
    for (first, core), (second, other) in pairwise(placed):
        if first + PARTITIONS * core.partition_bytes > second:
            raise BadInput(
                f"{core.name} from {first:#x} ({PARTITIONS} x {core.partition_bytes} bytes) reaches into"
                f" {other.name} at {second:#x}",
                field="--scratchpad",
            )
    for address, core in placed:
        if address % PART_ALIGNMENT:
            raise BadInput(
                f"{core.name} at {address:#x}: a multiple of {PART_ALIGNMENT} is needed", field="--scratchpad"
            )
    seen: dict[str, str] = {}
    for name in (task.name for core in cores for task in core.tasks):
        other_name = seen.setdefault(identifier(name), name)
        if other_name != name:
            raise BadInput(
                f"{other_name!r} and {name!r} are one identifier in C++; rename one of them",
                file=system.file,
                field=f"tasks.{name}",
            )


def image_places(
    system: System, cores: tuple[PlannedCore, ...], wishes: TableWishes
) -> dict[str, tuple[int, int]]:
    """Where each task's code and data are, one after the other, when a place was given."""
    if wishes.images is None:
        return {}
    if wishes.images % PART_ALIGNMENT:
        raise BadInput(f"{wishes.images:#x}: a multiple of {PART_ALIGNMENT} is needed", field="--images")
    at, found = wishes.images, {}
    for task in (task for core in cores for task in core.tasks):
        code, data = aligned(task.size["code"]), aligned(task.size["data"])
        found[task.name] = (at, at + code)
        at += code + data
    for name, memory in system.platform_description.memories.items():
        if memory.address is not None and memory.size is not None:
            end = memory.address + memory.size.value.bytes
            if memory.address <= wishes.images < end < at:
                raise BadInput(
                    f"images end at {at:#x}, {at - end} bytes behind the memory {name}", field="--images"
                )
    for core in cores:
        if core.address is None:
            continue
        if wishes.images < core.address + PARTITIONS * core.partition_bytes and core.address < at:
            raise BadInput(f"images reach into the scratchpad of {core.name}", field="--images")
    return found


def identifier(name: str) -> str:
    """A name as C++ and the linker write it, with something before or behind it: else it may be a keyword."""
    return name.replace("-", "_")
