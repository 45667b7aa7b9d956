# SPDX-License-Identifier: Apache-2.0
"""The worst case behind a bound, as a timeline in SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from consort.analysis.result import Bound, in_words
from consort.report.draw.svg import DIM, EDGE, INK, PAPER, Box, Canvas

_WIDTH, _LEFT, _ROW, _TOP = 960, 250, 26, 64
_COLOURS = {
    "blocking": "#b07aa1",
    "interference": "#f28e2b",
    "own": "#4e79a7",
    "suspension": "#bab0ac",
    "jitter": "#9c755f",
    "slot": "#edc948",
    "load": "#76b7b2",
    "unload": "#76b7b2",
    "communication": "#59a14f",
    "supply": "#d3d3d3",
}


def draw_bound(bound: Bound) -> str:
    """One row for each step of the explanation, the deadline as a line. ValueError without an explanation."""
    if not bound.explanation:
        raise ValueError(f"the bound of {bound.task} has no explanation to draw")
    begin = min(0, *(step.start for step in bound.explanation))
    end = max(bound.deadline or 0, bound.response or 0, *(s.start + s.length for s in bound.explanation))
    scale = (_WIDTH - _LEFT - 30) / max(1, end - begin)

    def x(time: int) -> float:
        return _LEFT + (time - begin) * scale

    height = _TOP + _ROW * len(bound.explanation) + 44
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}"'
        f' viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
        f'<text x="12" y="22" font-size="15" font-weight="bold">{escape(bound.task)}</text>',
        f'<text x="12" y="42">{escape(bound.verdict())}</text>',
    ]
    for row, step in enumerate(bound.explanation):
        y = _TOP + row * _ROW
        width = max(1.0, step.length * scale)
        label = step.label if len(step.label) <= 38 else step.label[:37] + "…"
        note = bound.note_of(step)
        words = f"{step.label}: {in_words(step.length)}" + (f" ({note})" if note else "")
        lines += [
            f"<g><title>{escape(words)}</title>",
            f'<text x="{_LEFT - 8}" y="{y + 15}" text-anchor="end">{escape(label)}</text>',
            f'<rect x="{x(step.start):.1f}" y="{y + 3}" width="{width:.1f}" height="{_ROW - 8}"'
            f' fill="{_COLOURS[step.kind]}"/>',
            _length(x(step.start), width, y + 16, in_words(step.length)),
            "</g>",
        ]
    bottom = _TOP + _ROW * len(bound.explanation)
    marks = [(0, "#555", "release" if bound.kind == "response time" else "begin")]
    if bound.deadline is not None:
        marks.append((bound.deadline, "#c00", "allowed"))
    for time, colour, name in marks:
        lines += [
            f'<line x1="{x(time):.1f}" y1="{_TOP - 6}" x2="{x(time):.1f}" y2="{bottom + 6}"'
            f' stroke="{colour}" stroke-dasharray="4 3"/>',
            f'<text x="{x(time):.1f}" y="{bottom + 22}" text-anchor="middle" fill="{colour}">{name}</text>',
        ]
    lines.append("</svg>")
    return "\n".join(lines) + "\n"


def _length(x: float, width: float, y: int, words: str) -> str:
    """The length inside its bar where it fits, else beside it."""
    if width > 8 * len(words):
        return f'<text x="{x + width / 2:.1f}" y="{y}" text-anchor="middle" fill="white">{words}</text>'
    if x + width + 8 * len(words) < _WIDTH:
        return f'<text x="{x + width + 4:.1f}" y="{y}">{words}</text>'
    return f'<text x="{x - 4:.1f}" y="{y}" text-anchor="end">{words}</text>'


_LOAD_WIDTH, _LOAD_LEFT, _RIGHT, _LOAD_TOP, _LOAD_ROW, _BAR = 720, 150, 70, 74, 40, 14
_BEFORE, _AFTER = "#b8c4d0", "#0072b2"


def draw_loads(
    title: str, cores: Sequence[str], before: Mapping[str, float], after: Mapping[str, float]
) -> str:
    """Two bars for each core, shares of its time; a core that is not used has none."""
    canvas = Canvas()
    height = _LOAD_TOP + _LOAD_ROW * len(cores) + 40
    most = max(1.0, *before.values(), *after.values())
    scale = (_LOAD_WIDTH - _LOAD_LEFT - _RIGHT) / most
    canvas.rect(Box(0, 0, _LOAD_WIDTH, height), fill=PAPER)
    canvas.text(12, 24, title, size=15, bold=True, fill=INK)
    for at, (colour, words) in enumerate(((_BEFORE, "before"), (_AFTER, "after"))):
        canvas.rect(Box(_LOAD_LEFT + 90 * at, 40, 12, 12), fill=colour)
        canvas.text(_LOAD_LEFT + 90 * at + 18, 50, words, fill=DIM)
    bottom = _LOAD_TOP + _LOAD_ROW * len(cores)
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = _LOAD_LEFT + share * scale
        canvas.path(f"M{x:.1f} {_LOAD_TOP - 6}L{x:.1f} {bottom}", stroke=EDGE, width=0.6)
        canvas.text(x, bottom + 16, f"{share:.0%}", anchor="middle", fill=DIM)
    for row, core in enumerate(cores):
        y = _LOAD_TOP + row * _LOAD_ROW
        canvas.text(_LOAD_LEFT - 10, y + _BAR + 4, core, anchor="end", fill=INK)
        for at, (loads, colour) in enumerate(((before, _BEFORE), (after, _AFTER))):
            top = y + at * (_BAR + 2)
            if core in loads:
                wide = max(loads[core] * scale, 1)
                canvas.rect(Box(_LOAD_LEFT, top, wide, _BAR), fill=colour, name=core)
                canvas.text(_LOAD_LEFT + wide + 6, top + 11, f"{loads[core]:.1%}", size=10, fill=DIM)
            else:
                canvas.text(_LOAD_LEFT + 6, top + 11, "not used", size=10, fill=DIM, italic=True)
    words = "; ".join(
        f"{core}: {_share(before.get(core))} before, {_share(after.get(core))} after" for core in cores
    )
    return canvas.document(_LOAD_WIDTH, height, title, words)


def _share(load: float | None) -> str:
    return "not used" if load is None else f"{load:.1%}"
