# SPDX-License-Identifier: Apache-2.0
"""The part below the processors: memories, DMA engines, links; chains, modes, the colours' meanings."""

from __future__ import annotations

from consort.model import Memory, Platform, System
from consort.model.base import group_of
from consort.model.memories import Dma, Link
from consort.report.draw.layout import Layout
from consort.report.draw.svg import (
    DIM,
    EDGE,
    INK,
    KINDS,
    MEMORY,
    PAPER,
    TASKS,
    Box,
    Canvas,
    about,
    plain,
    shortened,
    width_of,
)

WIDTH, HEIGHT, BETWEEN = 216.0, 62.0, 30.0
LINKED = 150.0


def draw_memories(
    canvas: Canvas, platform: Platform, system: System | None, layout: Layout, left: float, width: float
) -> tuple[float, float]:
    """Memories and DMA engines in rows, linked ones side by side. How far down and right they reach."""
    ends = [column.processor for column in layout.columns]
    ends += [group_of(lane.core) for column in layout.columns for lane in column.lanes]
    order = _ordered(platform, ends)
    parts: list[tuple[str, Memory | Dma]] = [(name, platform.memories[name]) for name in order]
    parts += list(platform.dmas.items())
    if not parts:
        return layout.bottom, left
    boxes: dict[str, Box] = {}
    first_row = y = layout.bottom + 40 + 9 * len(platform.links)
    x = right = left
    previous = ""
    for name, part in parts:
        linked = isinstance(part, Memory) and bool(_links_between(platform, previous, name))
        gap = 0.0 if not previous else LINKED if linked else BETWEEN
        if previous and x + gap + WIDTH > max(width - left, left + 4 * (WIDTH + BETWEEN)):
            x, y, gap = left, y + HEIGHT + 54, 0.0
        box = Box(x + gap, y, WIDTH, HEIGHT)
        x = box.right
        right = max(right, x)
        _part(canvas, name, part, box, system)
        if isinstance(part, Memory):
            boxes[name] = box
        previous = name if isinstance(part, Memory) else "-"
    right = max(right, _links(canvas, platform, layout, boxes, first_row))
    return y + HEIGHT + 34, right


def _ordered(platform: Platform, ends: list[str]) -> list[str]:
    """The memories, those linked with processors first, each followed by those it is linked with."""
    near = [m for m in platform.memories if any(_links_between(platform, m, end) for end in ends)]
    order: list[str] = []
    for name in [*near, *platform.memories]:
        if name not in order:
            order.append(name)
        for other in platform.memories:
            if other not in order and _links_between(platform, name, other):
                order.append(other)
    return order


def _links_between(platform: Platform, first: str, second: str) -> list[tuple[str, Link]]:
    return [(name, link) for name, link in platform.links.items() if {first, second} == set(link.between)]


def _part(canvas: Canvas, name: str, part: Memory | Dma, box: Box, system: System | None) -> None:
    memory = isinstance(part, Memory)
    canvas.rect(
        box,
        fill=MEMORY if memory else PAPER,
        stroke=EDGE,
        dash="" if memory else "4 3",
        kind="memory" if memory else "dma",
        name=name,
    )
    canvas.text(box.x + 10, box.y + 17, shortened(name, 12, box.w - 20, bold=True), size=12, bold=True)
    if isinstance(part, Memory):
        first = [part.kind, plain(part.size.value) if part.size else ""]
        second = [_access(part)]
        if system is not None:
            here = [n for n in system.channels if system.channel(n).memory == name]
            second.insert(0, f"{len(here)} channel{'' if len(here) == 1 else 's'}" if here else "")
    else:
        first = ["DMA engine", f"{part.channels} channels" if part.channels > 1 else ""]
        second = [
            f"setup {plain(part.setup.value)}" if part.setup else "",
            plain(part.rate.value) if part.rate else "",
        ]
    for offset, facts in ((34, first), (50, second)):
        line = " · ".join(fact for fact in facts if fact)
        canvas.text(box.x + 10, box.y + offset, shortened(line, 10.5, box.w - 20), size=10.5, fill=DIM)


def _access(memory: Memory) -> str:
    if memory.access is None:
        return ""
    costs = {"": memory.access, **memory.access.from_}
    texts = []
    for processor, cost in costs.items():
        facts = [about(f.value) for f in (cost.base, cost.rate) if f is not None]
        facts += [f"{about(cost.per_byte.value)}/B"] if cost.per_byte is not None else []
        if facts:
            texts.append((f"{processor} " if processor else "") + " + ".join(facts))
    return ", ".join(texts)


def _facts(link: Link) -> str:
    facts = [plain(link.latency.value) if link.latency else "", plain(link.rate.value) if link.rate else ""]
    facts.append(f"(peak {plain(link.peak.value)})" if link.peak else "")
    return " ".join(fact for fact in facts if fact)


def _links(
    canvas: Canvas, platform: Platform, layout: Layout, boxes: dict[str, Box], first_row: float
) -> float:
    """Links between memories that stand side by side, and between processors and the first row of memories.

    Any other link stands in words below the memory that it ends at. How far to the right they reach.
    """
    columns = {group_of(lane.core): column for column in layout.columns for lane in column.lanes}
    columns |= {column.processor: column for column in layout.columns}
    right = 0.0
    words: dict[str, int] = {}
    for level, (name, link) in enumerate(platform.links.items(), 1):
        a, b = (boxes.get(end) for end in link.between)
        facts = _facts(link)
        if a is not None and b is not None and a.y == b.y and abs(a.x - b.x) == WIDTH + LINKED:
            a, b = (a, b) if a.x < b.x else (b, a)
            d = f"M{a.right} {a.middle}L{b.x} {b.middle}"
            canvas.path(d, stroke=INK, width=3, kind="link", name=name)
            middle = (a.right + b.x) / 2
            canvas.text(middle, a.middle - 8, name, size=10.5, bold=True, anchor="middle", fill=INK)
            canvas.text(middle, a.middle + 17, facts, size=10.5, anchor="middle", fill=INK)
            continue
        memory, other = link.between if a is not None else link.between[::-1]
        box, column = boxes.get(memory), columns.get(other)
        if box is None:
            continue
        if column is not None and box.y == first_row:
            x0, x1 = box.x + 12, column.box.x + column.box.w / 2 + 10 * level
            height = layout.bottom + 10 + 9 * level
            d = f"M{x0} {box.y}L{x0} {height}L{x1} {height}L{x1} {column.box.bottom}"
            canvas.path(d, stroke=INK, width=3, kind="link", name=name)
            text, x, y = f"{name} {facts}", x0 + 8, box.y - 8
        else:
            words[memory] = words.get(memory, 0) + 1
            text, x, y = f"{name} to {other} {facts}", box.x, box.bottom + 1 + 13 * words[memory]
        canvas.text(x, y, text, size=10.5, fill=INK)
        right = max(right, x + width_of(text, 10.5))
    return right


def draw_chains(
    canvas: Canvas, system: System, colours: dict[str, str], left: float, top: float, width: float
) -> float:
    """The chains with their limits, and what colours mean. How far down it reaches."""
    y = top
    if system.chains:
        y += 16
        canvas.text(left, y, "Cause-effect chains", size=12, bold=True, fill=DIM)
        for name, chain in system.chains.items():
            y += 20
            canvas.path(f"M{left} {y - 4}L{left + 26} {y - 4}", stroke=colours[name], width=6, kind="legend")
            start = left + 46 + width_of(name, 11.5, bold=True)
            limits = [
                f"{key} ≤ {limit}"
                for key, limit in (("reaction", chain.reaction), ("age", chain.age))
                if limit
            ]
            words = {"let": "logical execution time", "implicit": "implicit communication"}
            line = " → ".join(chain.path) + " — " + " · ".join([*limits, words[chain.communication]])
            line = shortened(line, 11.5, width - left - start)
            canvas.text(left + 36, y, line, size=11.5, head=name)
        y += 8
    y += 24
    x = left
    executions = [e for e in TASKS if any(task.execution == e for task in system.tasks.values())]
    for execution in executions:
        fill, stroke = TASKS[execution]
        canvas.rect(Box(x, y - 10, 16, 12), fill=fill, stroke=stroke, radius=2)
        canvas.text(x + 22, y, f"{execution} task", size=10.5, fill=DIM)
        x += 44 + width_of(f"{execution} task", 10.5)
    for kind, colour in KINDS.items():
        if any(channel.kind == kind for channel in system.channels.values()):
            canvas.rect(Box(x + 6, y - 11, 4, 14), fill=colour, radius=2)
            canvas.text(x + 16, y, f"{kind} channel", size=10.5, fill=DIM)
            x += 38 + width_of(f"{kind} channel", 10.5)
    return y + 4


def draw_modes(canvas: Canvas, system: System, left: float, top: float, width: float) -> float:
    """The modes and what they change. How far down it reaches."""
    y = top
    if not system.modes:
        return y
    y += 30
    canvas.text(left, y, "Modes", size=12, bold=True, fill=DIM)
    for name, mode in system.modes.items():
        y += 19
        start = left + 12 + width_of(name, 11.5, bold=True)
        parts = [", ".join(mode.tasks)] if mode.tasks is not None else ["all tasks"]
        for task, override in mode.overrides.items():
            changed = override.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)
            parts.append(f"{task}: " + ", ".join(f"{key} {value}" for key, value in changed.items()))
        line = shortened("; ".join(parts), 11.5, width - left - start)
        canvas.text(left, y, line, size=11.5, head=name)
    return y + 4
