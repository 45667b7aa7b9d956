# SPDX-License-Identifier: Apache-2.0
"""The diagram of a system: cores and tasks by processor, channels between them, memories, links, chains."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from consort.model import Duration, Platform, System, Task
from consort.model.figures import cost_on
from consort.report.draw.footer import draw_chains, draw_memories, draw_modes
from consort.report.draw.layout import (
    CORE_HEAD,
    IDLE_HEIGHT,
    PADDING,
    Column,
    Lane,
    Layout,
    Wire,
    columns_of,
    wires_of,
)
from consort.report.draw.svg import (
    CHAINS,
    DIM,
    EDGE,
    INK,
    KINDS,
    PAPER,
    PROCESSOR,
    STUB,
    TASKS,
    Box,
    Canvas,
    curve,
    plain,
    shortened,
    width_of,
)

MARGIN, TOP = 28.0, 78.0
# A picture of more tasks is read by nobody.
TASKS_ON_A_PAGE = 60


def draw_system(system: System, *, mode: str | None = None) -> str:
    """The diagram of a system, or of the system in one of its modes, as the text of an SVG file."""
    shown = system.in_mode(mode) if mode is not None else system
    platform = shown.platform_description
    layout = Layout(columns_of(platform, shown), wires_of(shown), TOP, MARGIN)
    layout.place()
    file = shown.file.resolve()
    title = shown.name or (file.parent.name if file.stem == "system" else file.stem)
    if mode is not None:
        title += f", mode {mode}"
    return _Drawing(layout, platform, shown, system if mode is None else None).text(title, shown.description)


def draw_for_page(system: System, *, mode: str | None = None) -> str | None:
    """The diagram for the page of a run; None where there are more tasks than a page can show."""
    return draw_system(system, mode=mode) if len(system.tasks) <= TASKS_ON_A_PAGE else None


def draw_platform(platform: Platform) -> str:
    """The diagram of a platform without tasks."""
    layout = Layout(columns_of(platform, None), [], TOP, MARGIN)
    layout.place()
    return _Drawing(layout, platform, None, None).text(platform.name, platform.description)


class _Drawing:
    def __init__(
        self, layout: Layout, platform: Platform, system: System | None, whole: System | None
    ) -> None:
        self.layout = layout
        self.platform = platform
        self.system = system
        self.whole = whole
        self.canvas = Canvas()
        self.colours = {
            name: CHAINS[n % len(CHAINS)] for n, name in enumerate(system.chains if system else ())
        }

    def text(self, title: str, description: str) -> str:
        layout, canvas = self.layout, self.canvas
        width = max(layout.right + MARGIN, 720.0)
        body = Canvas()
        self.canvas = body
        for column in layout.columns:
            self.processor(column)
        self.chains()
        self.lines()
        for column in layout.columns:
            self.tasks(column)
        for wire in layout.wires:
            self.wire(wire)
        for (name, _), box in layout.devices.items():
            self.device(name, box)
        bottom, right = draw_memories(body, self.platform, self.system, layout, MARGIN, width)
        width = max(width, right + MARGIN)
        if self.system is not None:
            bottom = draw_chains(body, self.system, self.colours, MARGIN, bottom, width)
        if self.whole is not None:
            bottom = draw_modes(body, self.whole, MARGIN, bottom, width)
        height = bottom + MARGIN
        canvas.rect(Box(0, 0, width, height), fill=PAPER)
        canvas.text(MARGIN, 38, title, size=20, bold=True)
        where = f"on {self.platform.name}" if self.system is not None else ""
        line = " — ".join(part for part in (description, where) if part)
        canvas.text(MARGIN, 58, shortened(line, 12, width - 2 * MARGIN), size=12, fill=DIM)
        canvas.parts += body.parts
        count = (
            f"{len(self.system.tasks)} tasks and {len(self.system.channels)} channels" if self.system else ""
        )
        return canvas.document(width, height, title, f"{count} on platform {self.platform.name}".strip())

    def processor(self, column: Column) -> None:
        box, processor = column.box, self.platform.processors[column.processor]
        self.canvas.rect(box, fill=PROCESSOR, stroke=EDGE, radius=8, kind="processor", name=column.processor)
        self.canvas.text(box.x + PADDING, box.y + 20, column.processor, size=14, bold=True)
        facts = [
            processor.isa,
            plain(processor.clock.value) if processor.clock else "",
            processor.description,
        ]
        line = " · ".join(fact for fact in facts if fact)
        self.canvas.text(
            box.x + PADDING, box.y + 36, shortened(line, 10.5, box.w - 2 * PADDING), size=10.5, fill=DIM
        )
        for lane in column.lanes:
            self.core(lane)
        if column.idle:
            line = shortened(column.idle, 10.5, box.w - 2 * PADDING)
            self.canvas.text(
                box.x + PADDING, box.bottom - IDLE_HEIGHT / 2, line, size=10.5, fill=DIM, italic=True
            )

    def core(self, lane: Lane) -> None:
        box, core = lane.box, self.platform.core(lane.core)
        self.canvas.rect(box, fill=PAPER, stroke=EDGE, radius=6, kind="core", name=lane.core)
        self.canvas.text(box.x + PADDING, box.y + 17, lane.core, size=12, bold=True)
        facts: list[str] = []
        if self.system is not None:
            used = self.utilisation(lane.core)
            if used is not None:
                text = f"U {float(used):.2f}"
                self.canvas.text(box.right - PADDING, box.y + 17, text, size=11, fill=DIM, anchor="end")
            scheduling = self.system.scheduling_of(lane.core)
            facts.append(scheduling.policy)
            if scheduling.slot is not None:
                facts.append(f"slot {_said(scheduling.slot)}")
            if scheduling.arbitration is not None:
                facts.append(scheduling.arbitration)
        pad = core.scratchpad
        if pad is not None and (self.system is None or "three-phase" in facts):
            facts.append(f"{pad.partitions} × {_bytes(pad.partition_bytes)}")
        line = shortened(" · ".join(facts), 10.5, box.w - 2 * PADDING)
        self.canvas.text(box.x + PADDING, box.y + CORE_HEAD - 8, line, size=10.5, fill=DIM)

    def utilisation(self, core: str) -> Fraction | None:
        """The share of a core that its own tasks need, where all of them say what they cost."""
        assert self.system is not None
        total = Fraction(0)
        for name, task in self.system.tasks.items():
            if task.on == core:
                wcet = self.system.wcet(name)
                if wcet is None:
                    return None
                total += wcet.value / task.long_run_interval
        return total or None

    def tasks(self, column: Column) -> None:
        for lane in column.lanes:
            for node in lane.nodes:
                if self.system is not None and node.key in self.system.tasks:
                    self.task(node.key, node.box)
                else:
                    self.stub(node.key.removesuffix(" (master)"), node.box)

    def task(self, name: str, box: Box) -> None:
        assert self.system is not None
        task, canvas = self.system.tasks[name], self.canvas
        fill, stroke = TASKS[task.execution]
        canvas.rect(box, fill=fill, stroke=stroke, radius=4, kind="task", name=name)
        badge = 0.0
        if task.priority is not None:
            text = f"priority {task.priority}"
            if task.preemption_threshold is not None:
                text += f", threshold {task.preemption_threshold}"
            badge = width_of(text, 10) + 8
            canvas.text(box.right - 8, box.y + 17, text, size=10, fill=DIM, anchor="end")
        chains = [chain for chain, c in self.system.chains.items() if name in c.path]
        for position, chain in enumerate(chains):
            dot = Box(box.right - 14 - 11 * position, box.bottom - 14, 8, 8)
            canvas.rect(dot, fill=self.colours[chain], radius=4, kind="dot", name=f"{chain}:{name}")
        room = box.w - 16
        canvas.text(
            box.x + 8, box.y + 17, shortened(name, 12.5, room - badge, bold=True), size=12.5, bold=True
        )
        canvas.text(box.x + 8, box.y + 34, shortened(times(task), 10.5, room), size=10.5)
        line = shortened(self.costs(name, task), 10.5, room - 12 * len(chains))
        canvas.text(box.x + 8, box.y + 49, line, size=10.5)

    def costs(self, name: str, task: Task) -> str:
        assert self.system is not None
        processor = self.system.core_of(name).processor_name
        parts = []
        wcet = task.wcet_on(processor)
        if wcet is not None:
            best = cost_on(task.bcet, processor, task.execution)
            parts.append(f"wcet {plain(wcet)}" + (f" (best {plain(best.value)})" if best is not None else ""))
        if task.footprint is not None and task.execution == "three-phase":
            parts.append(_bytes(task.footprint.bytes))
        energy = task.energy_on(processor)
        if energy is not None:
            parts.append(plain(energy))
        return " · ".join(parts)

    def stub(self, name: str, box: Box) -> None:
        assert self.system is not None
        task, canvas = self.system.tasks[name], self.canvas
        canvas.rect(
            box, fill=STUB, stroke=TASKS["offloaded"][1], radius=4, dash="4 3", kind="stub", name=name
        )
        line = shortened(f"{name}, master", 11, box.w - 16)
        canvas.text(box.x + 8, box.y + 15, line, size=11)
        facts = [f"computed on {task.on}"]
        if task.dispatch is not None:
            parts = (("send", task.dispatch.send), ("receive", task.dispatch.receive))
            facts = [f"{word} {plain(figure.value)}" for word, figure in parts if figure is not None]
        canvas.text(box.x + 8, box.y + 29, shortened(" · ".join(facts), 10, box.w - 16), size=10, fill=DIM)

    def lines(self) -> None:
        for wire in self.layout.wires:
            for role, points in wire.paths.items():
                d = curve(points) if role or wire.device is None else _straight(points)
                self.canvas.path(
                    d,
                    stroke=INK,
                    head=bool(role or wire.plays),
                    tail=wire.both_ways and (not role or bool(wire.plays)),
                    dash="5 3" if wire.both_ways and not wire.plays else "",
                    kind="played" if wire.plays else "line",
                    name=f"{wire.name}:{role}",
                )

    def chains(self) -> None:
        """Broad strokes under the lines that chains follow; those on one line lie inside one another."""
        if self.system is None:
            return
        strokes: dict[str, list[str]] = {}
        arrows: list[str] = []
        for name, chain in self.system.chains.items():
            for first, second in pairwise(chain.path):
                follows = (w for w in self.layout.wires if w.writer == first and second in w.readers)
                wire = next(follows, None)
                if wire is None:
                    arrows.append(self.straight(first, second))
                    parts = arrows[-1:]
                else:
                    parts = [curve(wire.paths[role]) for role in ("", second)]
                for d in parts:
                    strokes.setdefault(d, []).append(name)
        for d, names in strokes.items():
            for position, name in enumerate(names):
                width = 5.0 * (len(names) - position)
                self.canvas.path(
                    d, stroke=self.colours[name], width=width, opacity=0.75, kind="chain", name=name
                )
        for d in dict.fromkeys(arrows):
            self.canvas.path(d, stroke=INK, head=True, kind="step")

    def straight(self, first: str, second: str) -> str:
        """A line from task to task without a described channel."""
        a, b = self.layout.nodes[first], self.layout.nodes[second]
        begin, end = a.box.middle - 6, b.box.middle + 6
        if a.column == b.column:
            x, out = a.box.right, a.box.right + 52
            return f"M{x} {begin}C{out} {begin} {out} {end} {x} {end}"
        x0, x1 = (a.box.right, b.box.x) if a.column < b.column else (a.box.x, b.box.right)
        return curve([(x0, begin), (x1, end)])

    def wire(self, wire: Wire) -> None:
        if wire.plays:
            self.labelled_device(wire.plays, wire.lines[1], wire.box)
            return
        box, colour = wire.box, KINDS.get(wire.kind, INK)
        self.canvas.rect(box, fill=PAPER, stroke=EDGE, radius=box.h / 2, kind="channel", name=wire.name)
        self.canvas.rect(Box(box.x + 12, box.y + 7, 4, box.h - 14), fill=colour, radius=2)
        room = box.w - 36
        name = shortened(wire.lines[0], 11, room, bold=True)
        self.canvas.text(box.x + 22, box.y + 14.5, name, size=11, bold=True)
        self.canvas.text(box.x + 22, box.y + 27, shortened(wire.lines[1], 9.5, room), size=9.5, fill=DIM)

    def device(self, name: str, box: Box) -> None:
        assert self.system is not None
        device = self.system.devices.get(name) or self.platform.devices[name]
        facts = [fact for fact in (device.kind, plain(device.rate.value) if device.rate else "") if fact]
        if not facts and device.description:
            facts = [device.description]
        self.labelled_device(name, " · ".join(facts), box)

    def labelled_device(self, name: str, line: str, box: Box) -> None:
        self.canvas.rect(box, fill=STUB, stroke=EDGE, kind="device", name=name)
        self.canvas.text(
            box.x + 10, box.y + 14.5, shortened(name, 11, box.w - 20, bold=True), size=11, bold=True
        )
        self.canvas.text(box.x + 10, box.y + 27, shortened(line, 9.5, box.w - 20), size=9.5, fill=DIM)


def _said(value: Duration | str) -> str:
    return value if isinstance(value, str) else plain(value)


def times(task: Task) -> str:
    """A task's release times and deadline, in a line."""
    parts = [f"≥ {plain(task.interval)} apart" if task.sporadic else f"every {plain(task.interval)}"]
    parts.append(f"deadline {plain(task.deadline)}")
    if task.offset.value:
        parts.append(f"offset {plain(task.offset)}")
    if task.has_jitter:
        parts.append(f"jitter {_said(task.jitter)}")
    return " · ".join(parts)


def _bytes(count: int) -> str:
    """A size that need not be exact to be read."""
    for factor, unit in ((2**20, "MiB"), (2**10, "KiB")):
        if count >= factor:
            return f"{count / factor:.1f}".removesuffix(".0") + unit
    return f"{count}B"


def _straight(points: list[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
