# SPDX-License-Identifier: Apache-2.0
"""The load of each core before and after a change, as bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from consort.report.draw.svg import DIM, EDGE, INK, PAPER, Box, Canvas

_WIDTH, _LEFT, _RIGHT, _TOP, _ROW, _BAR = 720, 150, 70, 74, 40, 14
_BEFORE, _AFTER = "#b8c4d0", "#0072b2"


def draw_loads(
    title: str, cores: Sequence[str], before: Mapping[str, float], after: Mapping[str, float]
) -> str:
    """Two bars for each core, shares of its time; a core that is not used has none."""
    canvas = Canvas()
    height = _TOP + _ROW * len(cores) + 40
    most = max(1.0, *before.values(), *after.values())
    scale = (_WIDTH - _LEFT - _RIGHT) / most
    canvas.rect(Box(0, 0, _WIDTH, height), fill=PAPER)
    canvas.text(12, 24, title, size=15, bold=True, fill=INK)
    for at, (colour, words) in enumerate(((_BEFORE, "before"), (_AFTER, "after"))):
        canvas.rect(Box(_LEFT + 90 * at, 40, 12, 12), fill=colour)
        canvas.text(_LEFT + 90 * at + 18, 50, words, fill=DIM)
    bottom = _TOP + _ROW * len(cores)
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = _LEFT + share * scale
        canvas.path(f"M{x:.1f} {_TOP - 6}L{x:.1f} {bottom}", stroke=EDGE, width=0.6)
        canvas.text(x, bottom + 16, f"{share:.0%}", anchor="middle", fill=DIM)
    for row, core in enumerate(cores):
        y = _TOP + row * _ROW
        canvas.text(_LEFT - 10, y + _BAR + 4, core, anchor="end", fill=INK)
        for at, (loads, colour) in enumerate(((before, _BEFORE), (after, _AFTER))):
            top = y + at * (_BAR + 2)
            if core in loads:
                wide = max(loads[core] * scale, 1)
                canvas.rect(Box(_LEFT, top, wide, _BAR), fill=colour, name=core)
                canvas.text(_LEFT + wide + 6, top + 11, f"{loads[core]:.1%}", size=10, fill=DIM)
            else:
                canvas.text(_LEFT + 6, top + 11, "not used", size=10, fill=DIM, italic=True)
    words = "; ".join(
        f"{core}: {_share(before.get(core))} before, {_share(after.get(core))} after" for core in cores
    )
    return canvas.document(_WIDTH, height, title, words)


def _share(load: float | None) -> str:
    return "not used" if load is None else f"{load:.1%}"
