# SPDX-License-Identifier: Apache-2.0
"""XML as text, element by element, and the ids by which AMALTHEA's elements refer to each other."""

from __future__ import annotations

from urllib.parse import quote_plus
from xml.sax.saxutils import quoteattr

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
