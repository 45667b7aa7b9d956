# SPDX-License-Identifier: Apache-2.0
"""YAML text as a tree of nodes, within limits of size, depth and expansion of aliases.

LibYAML parses (a hundred times faster than the parser in Python), the rules of YAML 1.2 say what a plain
scalar is. Where LibYAML objects, or the text has directives, the parser in Python has the last word: its
messages say more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import yaml as pyyaml
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode
from ruamel.yaml.nodes import Node as RuamelNode
from yaml.composer import ComposerError
from yaml.cyaml import CParser

# The largest size of a description with all its aliases written out: 10,000 tasks of 40 values each.
LARGEST_DOCUMENT = 400_000
# Deeper than any description; Python's own recursion bears more.
DEEPEST = 64
# Up to this size [characters] the parser in Python is asked what is wrong: above, it would take seconds.
SHORT = 64 << 10


class TooLarge(Exception):
    """The text is not a description: too many values, or too deep; the line and column where that shows."""

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


@dataclass(slots=True)
class Scalar:
    tag: str
    value: str
    line: int
    column: int


@dataclass(slots=True)
class Sequence:
    line: int
    column: int
    items: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class Mapping:
    line: int
    column: int
    items: list[tuple[Node, Node]] = field(default_factory=list)


# An alias is the node that its anchor stands at: the same object again.
Node = Scalar | Sequence | Mapping


def compose(text: str, yaml: YAML) -> Node | None:
    """The document's root node; None for an empty one.

    `MarkedYAMLError`, `ReaderError`, `ValueError` and `RecursionError` as ruamel.yaml's `compose` has them;
    `TooLarge` beyond the limits above.
    """
    directives = text.startswith("%") or "\n%" in text
    if not directives:
        try:
            return _Composer(text, yaml).document()
        except pyyaml.YAMLError as error:
            if len(text) > SHORT:
                raise _as_marked(error) from None
    elif len(text) > SHORT:
        raise TooLarge(f"a description with directives (%) has at most {SHORT} characters")
    root = yaml.compose(text)
    return None if root is None else _Converted().node(root, 0)


def _as_marked(error: pyyaml.YAMLError) -> MarkedYAMLError:
    return MarkedYAMLError(
        getattr(error, "context", None),
        getattr(error, "context_mark", None),
        getattr(error, "problem", None) or str(error).splitlines()[0],
        getattr(error, "problem_mark", None),
    )


@dataclass(slots=True)
class _Open:
    """A collection whose end has not come."""

    node: Sequence | Mapping
    anchor: str | None
    values: int = 1
    key: Node | None = None


class _Composer:
    """Nodes from LibYAML's events, without recursion."""

    def __init__(self, text: str, yaml: YAML) -> None:
        self.parser = CParser(text)
        self.resolver = yaml.resolver
        # By anchor: the node, and how many values it has with its aliases written out; 0 while it is open.
        self.anchors: dict[str, tuple[Node, int]] = {}
        self.open: list[_Open] = []
        self.root: Node | None = None
        # Most scalars of a large description are the same few texts.
        self.tags: dict[tuple[str, tuple[bool, bool]], str] = {}

    def document(self) -> Node | None:
        documents = 0
        parser = self.parser
        try:
            while True:
                event = parser.get_event()
                # By far the most are scalars.
                if type(event) is pyyaml.ScalarEvent:
                    self._scalar(event)
                elif event is None or isinstance(event, pyyaml.StreamEndEvent):
                    return self.root
                elif isinstance(event, pyyaml.DocumentStartEvent):
                    documents += 1
                    if documents > 1:
                        raise ComposerError(
                            "expected a single document in the stream", None, "but found another document",
                            event.start_mark,
                        )  # fmt: skip
                else:
                    self._take(event)
        finally:
            parser.dispose()

    def _scalar(self, event: Any) -> None:
        mark = event.start_mark
        line, column = mark.line + 1, mark.column + 1
        tag = event.tag
        if tag is None or tag == "!":
            key = (event.value, event.implicit)
            tag = self.tags.get(key)
            if tag is None:
                tag = str(self.resolver.resolve(ScalarNode, event.value, event.implicit))
                self.tags[key] = tag
        node = Scalar(tag, event.value, line, column)
        if event.anchor is not None:
            self.anchors[event.anchor] = (node, 1)
        self._add(node, 1, line, column)

    def _take(self, event: Any) -> None:
        mark = event.start_mark
        line, column = mark.line + 1, mark.column + 1
        if isinstance(event, pyyaml.SequenceStartEvent | pyyaml.MappingStartEvent):
            if len(self.open) >= DEEPEST:
                raise TooLarge(too_deep(), line, column)
            sequence = isinstance(event, pyyaml.SequenceStartEvent)
            begun = Sequence(line, column) if sequence else Mapping(line, column)
            if event.anchor is not None:
                self.anchors[event.anchor] = (begun, 0)
            self.open.append(_Open(begun, event.anchor))
        elif isinstance(event, pyyaml.SequenceEndEvent | pyyaml.MappingEndEvent):
            done = self.open.pop()
            if done.anchor is not None:
                self.anchors[done.anchor] = (done.node, done.values)
            self._add(done.node, done.values, line, column)
        elif isinstance(event, pyyaml.AliasEvent):
            known = self.anchors.get(event.anchor)
            if known is None:
                raise ComposerError(None, None, f"found undefined alias {event.anchor!r}", mark)
            self._add(known[0], known[1] or 1, line, column)

    def _add(self, node: Node, values: int, line: int, column: int) -> None:
        if not self.open:
            self.root = node
            return
        parent = self.open[-1]
        parent.values += values
        # Checked at every step: what aliases multiply is refused long before it is a large number.
        if parent.values > LARGEST_DOCUMENT:
            raise TooLarge(too_many(), line, column)
        if isinstance(parent.node, Sequence):
            parent.node.items.append(node)
        elif parent.key is None:
            parent.key = node
        else:
            parent.node.items.append((parent.key, node))
            parent.key = None


def too_many() -> str:
    return (
        f"the description has more than {LARGEST_DOCUMENT} values with its aliases (*name) written out;"
        " a description of that size is refused"
    )


def too_deep() -> str:
    return f"the YAML is nested more than {DEEPEST} deep; flatten it"


class _Converted:
    """Nodes from those of the parser in Python."""

    def __init__(self) -> None:
        self.made: dict[int, tuple[Node, int]] = {}

    def node(self, root: RuamelNode, depth: int) -> Node:
        return self._sized(root, depth)[0]

    def _sized(self, node: RuamelNode, depth: int) -> tuple[Node, int]:
        """A node, and how many values it has with its aliases written out."""
        known = self.made.get(id(node))
        if known is not None:
            return known
        line, column = node.start_mark.line + 1, node.start_mark.column + 1
        if depth > DEEPEST:
            raise TooLarge(too_deep(), line, column)
        if isinstance(node, ScalarNode):
            self.made[id(node)] = (Scalar(str(node.tag), node.value, line, column), 1)
            return self.made[id(node)]
        total = 1
        made: Sequence | Mapping
        if isinstance(node, SequenceNode):
            made = Sequence(line, column)
            self.made[id(node)] = (made, 1)
            for item in node.value:
                inner, size = self._sized(item, depth + 1)
                made.items.append(inner)
                total += size
        else:
            assert isinstance(node, MappingNode)
            made = Mapping(line, column)
            self.made[id(node)] = (made, 1)
            for key_node, value_node in node.value:
                key, key_size = self._sized(key_node, depth + 1)
                value, value_size = self._sized(value_node, depth + 1)
                made.items.append((key, value))
                total += key_size + value_size
        if total > LARGEST_DOCUMENT:
            raise TooLarge(too_many(), line, column)
        self.made[id(node)] = (made, total)
        return made, total
