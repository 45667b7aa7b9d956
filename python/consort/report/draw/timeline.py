# SPDX-License-Identifier: Apache-2.0
"""The worst case behind a bound, as a timeline in SVG."""

from __future__ import annotations

from html import escape

from consort.analysis.result import Bound, in_words

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
        words = f"{step.label}: {in_words(step.length)}" + (f" ({step.note})" if step.note else "")
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
