# SPDX-License-Identifier: Apache-2.0
"""XML and device tree sources of somebody else, read within limits into small trees that know their lines.

The parser is `dtlib`; what is overridden here opens whatever file an include names, follows a file that
includes itself under another name for ever, and computes with numbers of any length.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any
from xml.parsers import expat

from devicetree import dtlib

from consort.base.errors import BadInput
from consort.base.files import LARGEST_MODEL, LARGEST_TREE, MIB, read_bytes

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
                f"elements are nested more than {DEEPEST} deep; this is not a model",
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
            f"is not well-formed XML: {expat.ErrorString(error.code)}",
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


# Far more than any tree has, far fewer than what files that include each other twice would reach.
MOST_INCLUDES = 1000
LONGEST_SHIFT = 63
# Lines that only the C preprocessor reads. Property names may begin with '#', too, as '#define-cells' would.
_DIRECTIVE = re.compile(
    r"^[ \t]*#[ \t]*(include|define|undef|ifdef|ifndef|if|elif|else|endif)\b(?![-,])", re.M
)


class ConfinedTree(dtlib.DT):  # type: ignore[misc]
    """A device tree whose includes lie in its own folder or below it."""

    def __init__(self, path: Path) -> None:
        self._folder = path.resolve().parent
        self._open_files: list[Path] = [path.resolve()]
        self._includes = 0
        self._room = LARGEST_TREE - path.stat().st_size
        super().__init__(str(path))

    def _register_aliases(self) -> None:
        """Nothing: dtc, too, takes an alias to a node that is not there."""

    def _open(self, filename: str, mode: str = "r", **_: Any) -> IO[Any]:
        """The content of a file that the tree includes, as text or bytes, in memory."""
        found = self._confined(filename)
        self._includes += 1
        if self._includes > MOST_INCLUDES:
            self._parse_error(f"more than {MOST_INCLUDES} files are included")
        try:
            content = read_bytes(found, max(self._room, 0), "device tree")
            text = "" if "b" in mode else content.decode("utf-8")
        except OSError as error:
            self._parse_error(f"'{filename}' cannot be read: {error.strerror}")
        except UnicodeDecodeError as error:
            self._parse_error(f"'{filename}' is not UTF-8 at byte {error.start}")
        except BadInput:
            self._parse_error(
                f"'{filename}' is not a file, or the files together exceed {LARGEST_TREE // MIB} MiB"
            )
        self._room -= len(content)
        if "b" in mode:
            return io.BytesIO(content)
        stream = io.StringIO(text)
        # The parser takes the file's name from here.
        stream.name = os.path.join(os.path.dirname(self.filename), filename)  # noqa: PTH118, PTH120
        return stream

    def _confined(self, filename: str) -> Path:
        found = Path(os.path.dirname(self.filename), filename)  # noqa: PTH120
        try:
            resolved = found.resolve()
        except (OSError, RuntimeError, ValueError) as error:
            self._parse_error(f"'{filename}' cannot be read: {error}")
        if not resolved.is_relative_to(self._folder):
            self._parse_error(
                f"'{filename}' lies outside of {self._folder}; includes are read from the model's folder only"
            )
        return resolved

    def _enter_file(self, filename: str) -> None:
        resolved = self._confined(self._unescape(filename.encode("utf-8")).decode("utf-8", "replace"))
        if resolved in self._open_files:
            self._parse_error(f"recursive /include/ of {resolved}")
        super()._enter_file(filename)
        self._open_files.append(resolved)

    def _leave_file(self) -> None:
        super()._leave_file()
        self._open_files.pop()

    def _eval_shift(self) -> int:
        value = int(self._eval_add())
        while True:
            left = self._check_token("<<")
            if not left and not self._check_token(">>"):
                return value
            count = self._eval_add()
            if not 0 <= count <= LONGEST_SHIFT:
                self._parse_error(
                    f"a shift by {_short_number(count)}; numbers have 64 bits, so 0 to 63 can be"
                )
            value = value << count if left else value >> count


def _short_number(number: int) -> str:
    return str(number) if abs(number) < 1 << 64 else "a number of more than 64 bits"


def directive(text: str) -> tuple[str, int] | None:
    """The first line that is the C preprocessor's: its word, and the number of the line."""
    found = _DIRECTIVE.search(text)
    return None if found is None else (found[1], text.count("\n", 0, found.start()) + 1)
