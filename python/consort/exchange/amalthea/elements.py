# SPDX-License-Identifier: Apache-2.0
"""Elements of AMALTHEA: their numbers with units, how they are made, found and moved, and written as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from urllib.parse import quote_plus
from xml.sax.saxutils import quoteattr

from consort.base.errors import BadInput
from consort.exchange.trees import Element
from consort.model.quantities import LARGEST, Duration

# Exponents beyond this are not times, sizes or frequencies, and would fill the memory when read exactly.
_NUMBER = re.compile(r"[+-]?[0-9]{0,40}(\.[0-9]{0,40})?([eE][+-]?[0-9]{1,2})?")
PICOSECONDS = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
HERTZ = {"Hz": 1, "kHz": 10**3, "KHz": 10**3, "MHz": 10**6, "GHz": 10**9}
_PREFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_PREFIXES |= {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
BYTES = {f"{prefix}B": Fraction(factor) for prefix, factor in _PREFIXES.items()}
BYTES |= {f"{prefix}bit": Fraction(factor, 8) for prefix, factor in _PREFIXES.items()}
# DataRateUnit spells bytes out: kBPerSecond, MBitPerSecond.
RATES = {f"{unit}PerSecond": factor for unit, factor in BYTES.items()}
RATES |= {f"{p}bitPerSecond": Fraction(f, 8) for p, f in _PREFIXES.items()}

Bounds = tuple[Fraction, Fraction | None]


class Reader:
    """Reads values of a model; `BadInput` with file, line and element where one cannot be read."""

    def bad(self, element: Element, message: str) -> BadInput:
        name = element.get("name")
        field = f"{element.name} {name!r}" if name else element.name
        return BadInput(message, file=element.path, line=element.line, field=field)

    def number(self, element: Element, text: str) -> Fraction:
        if not any(c.isdigit() for c in text) or not _NUMBER.fullmatch(text):
            raise self.bad(element, f"{text!r} is not a number")
        return Fraction(text)

    def quantity(
        self, element: Element | None, units: dict[str, int] | dict[str, Fraction]
    ) -> Fraction | None:
        """The value of an element with a value and a unit, in the base unit; None where there is none."""
        if element is None or not element.get("value"):
            return None
        unit = element.get("unit")
        if not unit and self.number(element, element.get("value")) == 0:
            return Fraction(0)
        factor = units.get(unit)
        if factor is None:
            known = ", ".join(units)
            raise self.bad(element, f"the unit {unit!r} is not known; known are {known}")
        value = self.number(element, element.get("value")) * factor
        if value < 0:
            raise self.bad(element, f"{element.get('value')!r} is below 0")
        if value > LARGEST:
            raise self.bad(element, f"{element.get('value')} {unit} is more than any machine has")
        return value

    def time(self, element: Element | None) -> Fraction | None:
        found = self.quantity(element, PICOSECONDS)
        if found and element is not None and not 1 <= found <= Duration.largest:
            given = f"{element.get('value')} {element.get('unit')}"
            raise self.bad(element, f"{given} is not a time that Consort takes: 0, or 1ps to 1000000s")
        return found

    def cycles(self, element: Element) -> Bounds | None:
        """A number of cycles, or of instructions; none is below 0."""
        found = self.bounds(element, self.plain)
        if found is not None and (found[0] < 0 or (found[1] or 0) < 0):
            raise self.bad(element, "a number of cycles is below 0")
        return found

    def bounds(self, element: Element, scalar: Callable[[Element], Fraction | None]) -> Bounds | None:
        """The bounds of a constant or a distribution; the upper end is None if it has none."""
        if element.get("value"):
            value = scalar(element)
            return None if value is None else (value, value)
        ends: list[Fraction | None] = []
        for name in ("lowerBound", "upperBound"):
            if element.get(name):
                ends.append(self.number(element, element.get(name)))
            else:
                child = element.child(name)
                ends.append(None if child is None else scalar(child))
        if ends != [None, None]:
            if ends[0] is not None and ends[1] is not None and ends[0] > ends[1]:
                raise self.bad(element, f"the lower bound {ends[0]} is above the upper bound {ends[1]}")
            return ends[0] or Fraction(0), ends[1]
        entries = [self.bounds(entry, scalar) for entry in element.all("entries")]
        known = [entry for entry in entries if entry is not None]
        if known:
            highs = [high for _, high in known]
            high = None if None in highs else max(h for h in highs if h is not None)
            return min(low for low, _ in known), high
        for inner in element.all("deviation", "value", "distribution"):
            found = self.bounds(inner, scalar)
            if found is not None:
                return found
        # A distribution without bounds, such as a bare Gaussian.
        return (Fraction(0), None) if element.type else None

    def plain(self, element: Element) -> Fraction | None:
        value = element.get("value")
        return self.number(element, value) if value else None


def ceiling(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)


def spell(value: int, units: dict[str, int]) -> str:
    """A whole number of a base unit as Consort writes it."""
    fitting = [(value // factor, -factor, unit) for unit, factor in units.items() if value % factor == 0]
    number, _, unit = min(fitting)
    return f"{number}{unit}"


_KIND = re.compile(r"\?type=(\w+)(?=\s|$)")


def parts(root: Element, part: str, *names: str) -> list[Element]:
    """The children of one of the model's parts, by name."""
    found = root.child(part)
    return list(found.all(*names)) if found is not None else []


def inside(root: Element, part: str) -> Iterator[Element]:
    """All elements of one of the model's parts."""
    found = root.child(part)
    return found.walk() if found is not None else iter(())


def made(like: Element, tag: str, /, **attributes: str) -> Element:
    """A new element, at the place in the file of one that was there; `kind` is its xsi:type."""
    kind = attributes.pop("kind", "")
    own = {"xsi:type": f"am:{kind}"} if kind else {}
    return Element(like.namespace, tag, own | attributes, like.line, like.path)


def rename(element: Element, old: str, new: str) -> None:
    """An attribute, or children, of another name."""
    if old in element.attributes:
        element.attributes[new] = element.attributes.pop(old)
    for child in element.all(old):
        child.name = new


def retype(element: Element, kind: str) -> None:
    element.attributes["xsi:type"] = f"am:{kind}"


def retype_references(root: Element, kinds: Mapping[str, str]) -> None:
    """Every `name?type=Old`, whoever refers by it, names the new kind."""

    def new(found: re.Match[str]) -> str:
        return f"?type={kinds.get(found[1], found[1])}"

    for element in root.walk():
        for name, text in element.attributes.items():
            if "?type=" in text:
                element.attributes[name] = _KIND.sub(new, text)


def keys(element: Element, name: str) -> list[str]:
    """The ids that an attribute refers to, or children with an href."""
    text = element.get(name)
    if text:
        return text.split()
    hrefs = (child.get("href") for child in element.all(name))
    return [href.rpartition("#")[2] for href in hrefs if href]


def key_of(element: Element, kind: str) -> str:
    """The id of an element: as it states it, else from its name, which references then spell out."""
    return element.get("xmi:id") or f"{quote_plus(element.get('name'))}?type={kind}"


NAMESPACES = {
    "xmi:version": "2.0",
    "xmlns:am": "http://app4mc.eclipse.org/amalthea/1.0.0",
    "xmlns:xmi": "http://www.omg.org/XMI",
    "xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance",
}


class Node:
    """An element to be written."""

    def __init__(self, tag: str, kind: str = "", /, **attributes: str) -> None:
        self.name = tag
        self.attributes = ({"xsi:type": f"am:{kind}"} if kind else {}) | {
            key: value for key, value in attributes.items() if value
        }
        self.children: list[Node] = []

    def add(self, tag: str, kind: str = "", /, **attributes: str) -> Node:
        node = Node(tag, kind, **attributes)
        self.children.append(node)
        return node

    def named(self, tag: str, title: str, kind: str, /, *, typed: bool = False, **attributes: str) -> Node:
        """A child that others refer to, of a class that is spelt out where the element allows several."""
        node = self.add(tag, kind if typed else "", **attributes)
        node.attributes |= {"xmi:id": reference(title, kind), "name": title}
        return node

    def lines(self, depth: int = 0) -> list[str]:
        attributes = "".join(f" {key}={quoteattr(value)}" for key, value in self.attributes.items())
        start = f"{'  ' * depth}<{self.name}{attributes}"
        if not self.children:
            return [f"{start}/>"]
        inner = [line for child in self.children for line in child.lines(depth + 1)]
        return [f"{start}>", *inner, f"{'  ' * depth}</{self.name}>"]


def document() -> Node:
    root = Node("am:Amalthea")
    root.attributes |= NAMESPACES
    return root


def text(root: Node) -> str:
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', *root.lines(), ""])


def reference(title: str, kind: str) -> str:
    return f"{quote_plus(title)}?type={kind}"
