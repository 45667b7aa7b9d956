# SPDX-License-Identifier: Apache-2.0
"""The few shapes that a diagram needs, as SVG text, and their colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from html import escape
from itertools import pairwise

from consort.model.quantities import Quantity

INK, DIM, EDGE, PAPER = "#4a5561", "#57606a", "#9aa5b1", "#ffffff"
PROCESSOR, STUB, MEMORY = "#f1f4f7", "#fafbfc", "#f7f4ec"
# Fill and border of a task, by its execution.
TASKS = {
    "local": ("#e6f0fa", "#7fa8d1"),
    "offloaded": ("#e9f5ea", "#7fb58a"),
    "three-phase": ("#fdf0e1", "#d9a566"),
}
TEXT = "#1b1f24"
CHAINS = ("#e69f00", "#56b4e9", "#009e73", "#cc79a7", "#d55e00", "#0072b2", "#f0e442")
KINDS = {"periodic": "#0072b2", "sporadic": "#009e73", "queue": "#d55e00", "subscription": "#cc79a7"}
# Their counterparts on a dark page. The colours of chains and channels are unlike on both.
_DARK = {
    TEXT: "#e4e8ec",
    INK: "#aab4bf",
    DIM: "#9aa5b1",
    EDGE: "#56616d",
    PAPER: "#14171b",
    PROCESSOR: "#1d2228",
    STUB: "#191d22",
    MEMORY: "#25221a",
    "#e6f0fa": "#16283a",
    "#7fa8d1": "#4f7eae",
    "#e9f5ea": "#172c1c",
    "#7fb58a": "#4f8a5c",
    "#fdf0e1": "#35260f",
    "#d9a566": "#a97a3e",
}


FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"
Point = tuple[float, float]


@dataclass(frozen=True)
class Box:
    x: float
    y: float
    w: float
    h: float

    @property
    def right(self) -> float:
        return self.x + self.w

    @property
    def bottom(self) -> float:
        return self.y + self.h

    @property
    def middle(self) -> float:
        return self.y + self.h / 2

    def overlaps(self, other: Box) -> bool:
        return (
            self.x < other.right and other.x < self.right and self.y < other.bottom and other.y < self.bottom
        )


def width_of(text: str, size: float, *, bold: bool = False) -> float:
    """About how wide a text is in a common sans-serif; rather too wide than too narrow."""
    narrow, wide = sum(c in "iljtfI.,:;'|! -" for c in text), sum(c in "mwMW" for c in text)
    ems = 0.6 * (len(text) - narrow - wide) + 0.34 * narrow + 0.9 * wide
    return ems * size * (1.12 if bold else 1.0)


def shortened(text: str, size: float, room: float, *, bold: bool = False) -> str:
    """The text, or as much of it as there is room for."""
    if width_of(text, size, bold=bold) <= room:
        return text
    while text and width_of(text + "…", size, bold=bold) > room:
        text = text[:-1]
    return text.rstrip() + "…"


def plain(quantity: Quantity) -> str:
    """A quantity as a person would say it: 1.2GHz, not 1200MHz. It is exact all the same."""
    for unit, factor in sorted(quantity.units.items(), key=lambda item: -item[1]):
        exact = Fraction(quantity.value, factor)
        if exact >= 1 and (exact * 100).denominator == 1:
            return f"{float(exact):.2f}".rstrip("0").rstrip(".") + unit
    return str(quantity)


# Digits of a figure that can still be read at a glance: 123.45MB/s.
DIGITS = 5


def about(quantity: Quantity) -> str:
    """The same where nobody needs all digits of it: a measured 1281905ps is ≈1.28us."""
    exact = plain(quantity)
    if sum(letter.isdigit() for letter in exact) <= DIGITS:
        return exact
    # Rounded up it may be one of the next unit.
    value = round(quantity.value, 3 - len(str(quantity.value)))
    unit, factor = max(((u, f) for u, f in quantity.units.items() if f <= value), key=lambda item: item[1])
    shown = value / factor
    return f"≈{shown:.0f}{unit}" if shown >= 1000 else f"≈{shown:.3g}{unit}"


def number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def curve(points: Sequence[Point]) -> str:
    """A path that leaves and enters each point level; neighbours at one height are joined straight."""
    text = f"M{number(points[0][0])} {number(points[0][1])}"
    for (x0, y0), (x1, y1) in pairwise(points):
        if y0 == y1:
            text += f"L{number(x1)} {number(y1)}"
            continue
        bend = (x1 - x0) / 2
        text += f"C{number(x0 + bend)} {number(y0)} {number(x1 - bend)} {number(y1)}"
        text += f" {number(x1)} {number(y1)}"
    return text


@dataclass
class Canvas:
    """Shapes in the order in which they cover one another."""

    parts: list[str] = field(default_factory=list)

    def rect(
        self,
        box: Box,
        *,
        fill: str = "none",
        stroke: str = "none",
        radius: float = 0,
        dash: str = "",
        width: float = 1,
        kind: str = "",
        name: str = "",
    ) -> None:
        shape = f'<rect x="{number(box.x)}" y="{number(box.y)}" width="{number(box.w)}"'
        shape += f' height="{number(box.h)}" fill="{fill}" stroke="{stroke}"'
        shape += f' rx="{number(radius)}"' if radius else ""
        shape += f' stroke-width="{number(width)}"' if stroke != "none" else ""
        shape += f' stroke-dasharray="{dash}"' if dash else ""
        shape += f' class="{kind}"' if kind else ""
        shape += f' data-name="{escape(name)}"' if name else ""
        self.parts.append(shape + "/>")

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = 11,
        fill: str = TEXT,
        bold: bool = False,
        anchor: str = "start",
        italic: bool = False,
        head: str = "",
    ) -> None:
        """A line of text; `head` stands before it in bold, wherever that ends in the reader's own font."""
        style = ' font-weight="bold"' if bold else ""
        style += ' font-style="italic"' if italic else ""
        style += f' text-anchor="{anchor}"' if anchor != "start" else ""
        before = f'<tspan font-weight="bold">{escape(head, quote=False)}</tspan>&#160;&#160; ' if head else ""
        self.parts.append(
            f'<text x="{number(x)}" y="{number(y)}" font-size="{number(size)}" fill="{fill}"{style}>'
            f"{before}{escape(text, quote=False)}</text>"
        )

    def path(
        self,
        d: str,
        *,
        stroke: str,
        width: float = 1.2,
        head: bool = False,
        tail: bool = False,
        dash: str = "",
        opacity: float = 1,
        kind: str = "",
        name: str = "",
    ) -> None:
        shape = f'<path d="{d}" fill="none" stroke="{stroke}" stroke-width="{number(width)}"'
        shape += ' marker-end="url(#head)"' if head else ""
        shape += ' marker-start="url(#tail)"' if tail else ""
        shape += f' stroke-dasharray="{dash}"' if dash else ""
        shape += f' stroke-opacity="{opacity}"' if opacity != 1 else ""
        shape += ' stroke-linecap="round"' if width > 3 else ""
        shape += f' class="{kind}"' if kind else ""
        shape += f' data-name="{escape(name)}"' if name else ""
        self.parts.append(shape + "/>")

    def document(self, width: float, height: float, title: str, description: str) -> str:
        """The whole file; screen readers get a description of what it shows."""
        marker = (
            '<marker id="{id}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"'
            f' markerUnits="userSpaceOnUse" orient="{{orient}}"><path d="M0 0.5L8 4L0 7.5z" fill="{INK}"/>'
            "</marker>"
        )
        dark = "".join(
            f'[{part}="{light}"]{{{part}:{there}}}'
            for light, there in _DARK.items()
            for part in ("fill", "stroke")
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {number(width)} {number(height)}"'
            f' width="{number(width)}" height="{number(height)}" font-family="{FONT}" role="img">\n'
            f"<title>{escape(title, quote=False)}</title>\n<desc>{escape(description, quote=False)}</desc>\n"
            f"<style>@media screen and (prefers-color-scheme:dark){{{dark}}}</style>\n"
            f"<defs>{marker.format(id='head', orient='auto')}"
            f"{marker.format(id='tail', orient='auto-start-reverse')}</defs>\n"
            + "\n".join(self.parts)
            + "\n</svg>\n"
        )
