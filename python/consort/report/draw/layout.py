# SPDX-License-Identifier: Apache-2.0
"""A system as a diagram shows it: columns of cores and tasks, wires between them, and their positions.

A gap has the number of the column to its right; the last one lies beyond the last column. A channel stands in
the gap beside its writer, on the side of its readers, and its lines cross other columns between their cores.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from consort.model import Platform, System
from consort.report.draw.svg import Box, Point, plain

_TASK_HEIGHT, _STUB_HEIGHT, IDLE_HEIGHT = 58.0, 36.0, 22.0
COLUMN_WIDTH, CORE_HEAD, PROCESSOR_HEAD = 308.0, 40.0, 46.0
PADDING, TASK_GAP, CORE_GAP = 10.0, 8.0, 26.0
WIRE_WIDTH, WIRE_HEIGHT, WIRE_GAP = 204.0, 34.0, 10.0
GAP_WITH_WIRES, EMPTY_GAP = WIRE_WIDTH + 112.0, 44.0
DEVICE_HEIGHT, DEVICE_GAP = 34.0, 18.0


@dataclass
class _Node:
    """A task, or what a master does for one."""

    key: str
    height: float
    box: Box = field(default_factory=lambda: Box(0, 0, 0, 0))
    column: int = 0


@dataclass
class Lane:
    """A core and its tasks."""

    core: str
    nodes: list[_Node]
    box: Box = field(default_factory=lambda: Box(0, 0, 0, 0))


@dataclass
class Column:
    """A kind of processor, its cores, and a line for cores that do nothing."""

    processor: str
    lanes: list[Lane]
    idle: str = ""
    box: Box = field(default_factory=lambda: Box(0, 0, 0, 0))
    corridors: list[float] = field(default_factory=list)


@dataclass
class Wire:
    """A channel: from a task or a device to tasks."""

    name: str
    lines: tuple[str, str]
    writer: str | None
    readers: list[str]
    device: str | None = None
    both_ways: bool = False
    kind: str = ""
    plays: str = ""
    """The device that it stands for, which a task reads and writes without a channel."""
    box: Box = field(default_factory=lambda: Box(0, 0, 0, 0))
    gap: int = 0
    paths: dict[str, list[Point]] = field(default_factory=dict)
    """From the writer ('') or to a reader (its key), always in the direction of the data."""


@dataclass
class Layout:
    columns: list[Column]
    wires: list[Wire]
    top: float
    left: float
    nodes: dict[str, _Node] = field(default_factory=dict)
    gaps: list[tuple[float, float]] = field(default_factory=list)
    devices: dict[tuple[str, int], Box] = field(default_factory=dict)
    """By name and gap: a device stands wherever a channel of it begins."""
    right: float = 0
    bottom: float = 0

    def place(self) -> None:
        for index, column in enumerate(self.columns):
            for lane in column.lanes:
                for node in lane.nodes:
                    node.column = index
                    self.nodes[node.key] = node
        for wire in self.wires:
            wire.gap = self._gap_of(wire)
        self._place_columns()
        self._place_devices()
        for gap in range(len(self.columns) + 1):
            self._place_wires(gap)
        self._route()
        boxes = [c.box for c in self.columns] + [w.box for w in self.wires] + list(self.devices.values())
        self.bottom = max((box.bottom for box in boxes), default=self.top)

    def _gap_of(self, wire: Wire) -> int:
        readers = [self.nodes[key].column for key in wire.readers]
        if wire.writer is None:
            return min(readers)
        writer = self.nodes[wire.writer].column
        if all(column < writer for column in readers):
            return writer
        return writer + 1

    def _place_columns(self) -> None:
        x = self.left
        for index in range(len(self.columns) + 1):
            used = any(wire.gap == index for wire in self.wires)
            edge = index in (0, len(self.columns))
            width = GAP_WITH_WIRES if used else (0.0 if edge else EMPTY_GAP)
            self.gaps.append((x, x + width))
            x += width
            if index < len(self.columns):
                self._place_column(self.columns[index], x)
                x += COLUMN_WIDTH
        self.right = x

    def _place_column(self, column: Column, x: float) -> None:
        y = self.top + PROCESSOR_HEAD
        column.corridors = []
        for position, lane in enumerate(column.lanes):
            if position:
                column.corridors.append(y + CORE_GAP / 2)
                y += CORE_GAP
            begin = y
            y += CORE_HEAD
            for node in lane.nodes:
                node.box = Box(x + 2 * PADDING, y, COLUMN_WIDTH - 4 * PADDING, node.height)
                y += node.height + TASK_GAP
            y += PADDING - TASK_GAP if lane.nodes else 0.0
            lane.box = Box(x + PADDING, begin, COLUMN_WIDTH - 2 * PADDING, y - begin)
        if column.idle:
            y += IDLE_HEIGHT
        column.box = Box(x, self.top, COLUMN_WIDTH, y + PADDING - self.top)
        column.corridors.append(column.box.bottom + CORE_GAP / 2)

    def _place_devices(self) -> None:
        rows: dict[int, int] = {}
        for wire in self.wires:
            if wire.device is not None and (wire.device, wire.gap) not in self.devices:
                row = rows.get(wire.gap, 0)
                rows[wire.gap] = row + 1
                left, right = self.gaps[wire.gap]
                y = self.top + row * (DEVICE_HEIGHT + DEVICE_GAP)
                box = Box((left + right - WIRE_WIDTH) / 2, y, WIRE_WIDTH, DEVICE_HEIGHT)
                self.devices[wire.device, wire.gap] = box

    def _place_wires(self, gap: int) -> None:
        wires = [wire for wire in self.wires if wire.gap == gap]
        left, right = self.gaps[gap]
        begin = self.top
        for (_, where), box in self.devices.items():
            if where == gap:
                begin = max(begin, box.bottom + DEVICE_GAP)
        wanted = {wire.name: self._wanted(wire) for wire in wires}
        wires.sort(key=lambda wire: (wanted[wire.name], wire.name))
        tops = spread([wanted[w.name] - WIRE_HEIGHT / 2 for w in wires], WIRE_HEIGHT + WIRE_GAP, begin)
        for wire, y in zip(wires, tops, strict=True):
            wire.box = Box((left + right - WIRE_WIDTH) / 2, y, WIRE_WIDTH, WIRE_HEIGHT)

    def _wanted(self, wire: Wire) -> float:
        ends = [self.nodes[key].box.middle for key in wire.readers]
        if wire.writer is not None:
            ends.append(self.nodes[wire.writer].box.middle)
        return sum(ends) / len(ends)

    def _route(self) -> None:
        """Lines from writers to channels and on to readers, each with a place of its own on a task's side."""
        ends: dict[tuple[str, bool], list[tuple[Wire, str]]] = {}
        for wire in self.wires:
            for end in ([wire.writer] if wire.writer is not None else []) + wire.readers:
                right_side = self.nodes[end].column < wire.gap
                role = "" if end == wire.writer else end
                ends.setdefault((end, right_side), []).append((wire, role))
        places: dict[tuple[str, str], Point] = {}
        for (key, right_side), wires in ends.items():
            box = self.nodes[key].box
            wires.sort(key=lambda entry: entry[0].box.y)
            for position, (wire, role) in enumerate(wires, 1):
                y = box.y + box.h * position / (len(wires) + 1)
                places[wire.name, role] = (box.right if right_side else box.x, y)
        crossings: dict[tuple[int, int], int] = {}
        for wire in self.wires:
            for role in ([""] if wire.writer is not None else []) + wire.readers:
                node = self.nodes[wire.writer if role == "" and wire.writer is not None else role]
                self._line(wire, role, node, places[wire.name, role], crossings)
            if wire.device is not None:
                self._from_device(wire)

    def _line(
        self, wire: Wire, role: str, node: _Node, place: Point, crossings: dict[tuple[int, int], int]
    ) -> None:
        """A line from a task to a channel; turned round for a reader."""
        to_right = node.column < wire.gap
        ends = [*([wire.writer] if wire.writer is not None else []), *wire.readers]
        same = [key for key in ends if (self.nodes[key].column < wire.gap) == to_right]
        y = wire.box.y + wire.box.h * (same.index(node.key) + 1) / (len(same) + 1)
        points: list[Point] = [place]
        between = range(node.column + 1, wire.gap) if to_right else range(node.column - 1, wire.gap - 1, -1)
        for column_index in between:
            column = self.columns[column_index]
            corridor = min(range(len(column.corridors)), key=lambda n: abs(column.corridors[n] - y))
            count = crossings.get((column_index, corridor), 0)
            crossings[column_index, corridor] = count + 1
            # Lines that share a corridor run side by side: 0, 1 up, 1 down, 2 up, …
            aside = (count + 1) // 2 * (4.0 if count % 2 else -4.0)
            height = column.corridors[corridor] + max(-CORE_GAP / 2 + 3, min(CORE_GAP / 2 - 3, aside))
            across = [(column.box.x, height), (column.box.right, height)]
            points += across if to_right else across[::-1]
        points.append((wire.box.x if to_right else wire.box.right, y))
        wire.paths[role] = points if role == "" else points[::-1]

    def _from_device(self, wire: Wire) -> None:
        assert wire.device is not None
        box = self.devices[wire.device, wire.gap]
        fed = [w for w in self.wires if w.gap == wire.gap and w.device is not None]
        left = self.gaps[wire.gap][0]
        x = left + 14 + 9 * fed.index(wire)
        wire.paths[""] = [
            (box.x, box.middle),
            (x, box.middle),
            (x, wire.box.middle),
            (wire.box.x, wire.box.middle),
        ]


def spread(wanted: list[float], distance: float, begin: float) -> list[float]:
    """Places in the same order, `distance` apart, none before `begin`, as near the wanted ones as can be.

    Those that crowd move together: the mean of a crowd's wanted places stays where it was.
    """
    crowds: list[tuple[float, int]] = []
    for number, place in enumerate(wanted):
        crowds.append((place - number * distance, 1))
        while len(crowds) > 1 and crowds[-2][0] >= crowds[-1][0]:
            (a, m), (b, n) = crowds[-2:]
            crowds[-2:] = [((a * m + b * n) / (m + n), m + n)]
    flat = [max(place, begin) for place, count in crowds for _ in range(count)]
    return [place + number * distance for number, place in enumerate(flat)]


def columns_of(platform: Platform, system: System | None) -> list[Column]:
    """A column for each processor, with its cores and what is placed on them."""
    columns = []
    for processor in platform.processors:
        names = [n for n in platform.core_names() if platform.core(n).processor_name == processor]
        used = [n for n in names if system is None or n in system.cores()]
        # A platform may name more cores than anyone wants to see; some are only names to choose from.
        shown = used[:16]
        idle = [n for n in names if n not in shown]
        if system is not None:
            idle = [n for n in idle if platform.core(n).description.cpu is None]
        lanes = [Lane(name, _nodes(system, name) if system is not None else []) for name in shown]
        column = Column(processor, lanes)
        if idle:
            word = "more" if system is None else "unused"
            which = ", ".join(idle) if len(idle) <= 4 else f"{len(idle)} of {len(names)} cores"
            column.idle = f"{word}: {which}"
        columns.append(column)
    if system is not None and any(column.lanes for column in columns):
        columns = [column for column in columns if column.lanes]
    return columns


def _nodes(system: System, core: str) -> list[_Node]:
    nodes = [_Node(name, _TASK_HEIGHT) for name in system.tasks_on(core)]
    mastered = [name for name, task in system.tasks.items() if task.master == core]
    return [_Node(stub(name), _STUB_HEIGHT) for name in mastered] + nodes


def stub(task: str) -> str:
    """The key of a master's work for a task."""
    return f"{task} (master)"


def wires_of(system: System) -> list[Wire]:
    """A wire for each channel between tasks, or from a device to a task."""
    wires = []
    for name, task in system.tasks.items():
        if task.master is None:
            continue
        ends = [system.channel(f"{name}.{end}") for end in ("in", "out")]
        sizes = [plain(channel.size) for channel in ends if channel.size is not None]
        memories = list(dict.fromkeys(channel.memory for channel in ends if channel.memory is not None))
        line = " · ".join(["mailboxes", *(["/".join(sizes)] if sizes else []), *memories])
        lines = (f"{name}.in/.out", line)
        wires.append(Wire(f"{name}.in/.out", lines, stub(name), [name], both_ways=True, kind="periodic"))
    for name in system.channels:
        if "." in name:
            continue
        channel, writer = system.channel(name), system.writer(name)
        what: list[str] = [channel.implemented_by if channel.flow is None else f"flow {channel.flow}"]
        if channel.size is not None:
            many = f"{channel.capacity} × " if channel.capacity else ""
            what.append(many + plain(channel.size))
        what += [channel.memory] if channel.memory is not None else []
        is_task = writer in system.tasks
        readers = [reader for reader in system.readers(name) if reader in system.tasks]
        if readers and writer is not None:
            lines = (name, " · ".join(what))
            device = None if is_task else writer
            wires.append(Wire(name, lines, writer if is_task else None, readers, device, kind=channel.kind))
    return wires + _played(system)


def _played(system: System) -> list[Wire]:
    """A wire for each device that a task reads or writes itself: a plant, a driver, a recording, a sink."""
    wires = []
    for task, described in system.tasks.items():
        read, written = (
            [part.partition(".")[0] for _, part in described.bound_to(key)] for key in ("reads", "writes")
        )
        for name in dict.fromkeys([*read, *written]):
            device = system.devices.get(name)
            if device is None:
                continue
            how = ("plant", "driver", "recording", "function", "sink")
            facts = [word for word in how if getattr(device, word) is not None] or ["device"]
            facts += [f"every {plain(device.period)}"] if device.period is not None else []
            facts += [device.description] if device.description else []
            both = name in read and name in written
            wires.append(
                Wire(
                    f"{name} of {task}",
                    (name, " · ".join(facts)),
                    None if name in read else task,
                    [task] if name in read else [],
                    both_ways=both,
                    plays=name,
                )
            )
    return wires
