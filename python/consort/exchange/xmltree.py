# SPDX-License-Identifier: Apache-2.0
"""XML read into a small tree that knows its lines. Document types are refused: no entity is ever expanded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.parsers import expat

from consort.base.errors import BadInput
from consort.base.limits import LARGEST_MODEL, read_bytes

_PREFIXES = {
    "http://www.w3.org/2001/XMLSchema-instance": "xsi",
    "http://www.omg.org/XMI": "xmi",
    "http://schema.omg.org/spec/XMI/2.1": "xmi",
}
# Far deeper than any model, far shallower than what Python's own recursion bears.
DEEPEST = 200


class Element:
    """An element: its name without namespace, its attributes ('xsi:type', 'xmi:id', …) and children."""

    __slots__ = ("attributes", "children", "line", "name", "namespace", "path")

    def __init__(self, namespace: str, name: str, attributes: dict[str, str], line: int, path: Path) -> None:
        self.namespace = namespace
        self.name = name
        self.attributes = attributes
        self.children: list[Element] = []
        self.line = line
        self.path = path

    def get(self, attribute: str, default: str = "") -> str:
        return self.attributes.get(attribute, default)

    @property
    def type(self) -> str:
        """The xsi:type without its prefix."""
        return self.get("xsi:type").rpartition(":")[2]

    def child(self, name: str) -> Element | None:
        return next((child for child in self.children if child.name == name), None)

    def all(self, *names: str) -> Iterator[Element]:
        return (child for child in self.children if child.name in names)

    def walk(self) -> Iterator[Element]:
        """The element and all below it, in the order of the file."""
        stack = [self]
        while stack:
            element = stack.pop()
            yield element
            stack.extend(reversed(element.children))


def read_xml(path: Path) -> Element:
    """The root element of a file; `BadInput` with the line where it is not well-formed."""
    try:
        data = read_bytes(path, LARGEST_MODEL, "model")
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", file=path) from None
    if data.startswith(b"PK\x03\x04"):
        raise BadInput("the file is a zip archive; unpack it and import the .amxmi in it", file=path)
    return parse_xml(data, path)


def parse_xml(data: bytes, path: Path) -> Element:
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.ordered_attributes = False
    open_elements: list[Element] = []
    roots: list[Element] = []

    def refuse(*_: object) -> None:
        raise BadInput(
            "the file declares a document type, and entities are not read; remove the <!DOCTYPE …>",
            file=path,
            line=parser.CurrentLineNumber,
        )

    def start(name: str, attributes: dict[str, str]) -> None:
        namespace, _, local = name.rpartition(" ")
        plain = {_short(key): value for key, value in attributes.items()}
        element = Element(namespace, local, plain, parser.CurrentLineNumber, path)
        if len(open_elements) >= DEEPEST:
            raise BadInput(
                f"elements are nested more than {DEEPEST} deep; this is no model",
                file=path,
                line=element.line,
            )
        (open_elements[-1].children if open_elements else roots).append(element)
        open_elements.append(element)

    def end(_: str) -> None:
        open_elements.pop()

    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise BadInput(
            f"is no well-formed XML: {expat.ErrorString(error.code)}",
            file=path,
            line=error.lineno,
            column=error.offset + 1,
        ) from None
    except (UnicodeError, ValueError, LookupError) as error:
        raise BadInput(f"cannot be decoded: {error}", file=path) from None
    return roots[0]


def _short(key: str) -> str:
    namespace, _, local = key.rpartition(" ")
    if not namespace:
        return local
    return f"{_PREFIXES.get(namespace, namespace)}:{local}"
