# SPDX-License-Identifier: Apache-2.0
"""Reads a YAML file as plain data, with the line and column of every key and value."""

from __future__ import annotations

import re
from collections.abc import Sequence as Lines
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, StreamMark
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.reader import ReaderError

from consort.base.errors import BadDescription, BadInput, obeyed, visible
from consort.base.files import LARGEST_DESCRIPTION, read_bytes
from consort.model.compose import Mapping, Node, Scalar, Sequence, TooLarge, compose
from consort.model.document import Document, Location, spell

# Quantities have 63 bits; what is far longer is not even worth a message with all its digits.
MOST_BITS = 128

_PLAIN_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in ("int", "float", "bool", "null")}
# Values that YAML would read as something a description has no use for stay the text that was written.
_TEXT_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in ("str", "timestamp", "value")}


class _Converter:
    def __init__(self, document: Document, constructor: SafeConstructor, text: str) -> None:
        self.document = document
        self.constructor = constructor
        # A scalar has a control character only where the file has one, or an escape.
        self.may_have_control = "\\" in text or obeyed(text)
        self.open: list[int] = []

    def unreadable(self, node: Node, location: Location, message: str) -> None:
        self.document.unreadable.add(location)
        self.problem(node, location, message)

    def problem(self, node: Node, location: Location, message: str) -> None:
        self.document.problems.append(
            BadInput(
                message, file=self.document.file, line=node.line, column=node.column, field=spell(location)
            )
        )

    def convert(self, node: Node, location: Location) -> Any:
        self.document.values[location] = (node.line, node.column)
        if isinstance(node, Scalar):
            return self.scalar(node, location)
        if id(node) in self.open:
            self.unreadable(node, location, "the alias contains itself; write the value out")
            return None
        self.open.append(id(node))
        try:
            if isinstance(node, Mapping):
                return self.mapping(node, location)
            return [self.convert(item, (*location, index)) for index, item in enumerate(node.items)]
        finally:
            self.open.pop()

    def scalar(self, node: Scalar, location: Location) -> Any:
        tag = node.tag
        if tag in _TEXT_TAGS and self.may_have_control and obeyed(node.value):
            self.unreadable(node, location, _has_control(node.value))
            return None
        if tag in _TEXT_TAGS:
            return node.value
        if tag in _PLAIN_TAGS:
            try:
                value = self.constructor.construct_object(ScalarNode(tag, node.value))
                if isinstance(value, int) and value.bit_length() > MOST_BITS:
                    raise OverflowError
                return value
            except (ValueError, OverflowError, LookupError):
                self.unreadable(
                    node,
                    location,
                    f"{_shortened(node.value)!r} cannot be read as a {tag.rpartition(':')[2]}",
                )
                return None
        self.unreadable(node, location, f"the YAML tag {tag!r} is not used in descriptions; remove it")
        return None

    def mapping(self, node: Mapping, location: Location) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.items:
            if not isinstance(key_node, Scalar):
                self.problem(key_node, location, "a key is a list or a mapping; keys are plain names")
                continue
            key = key_node.value
            if key_node.tag == "tag:yaml.org,2002:merge":
                self.problem(key_node, location, "merge keys (<<) are not YAML 1.2; write the keys out")
                continue
            here = (*location, key)
            if self.may_have_control and obeyed(key):
                self.problem(key_node, here, _has_control(key))
                continue
            if key in result:
                line = self.document.keys[here][0]
                self.problem(
                    key_node, here, f"the key {key!r} stands twice, first on line {line}; remove one of them"
                )
                # The first of them is looked at further.
                continue
            self.document.keys[here] = (key_node.line, key_node.column)
            result[key] = self.convert(value_node, here)
            if result[key] is None and here not in self.document.unreadable:
                self.document.empty.add(here)
        return result


def _has_control(text: str) -> str:
    return f"{visible(_shortened(text))!r} has a control character, which terminals obey; write text alone"


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def read_document(path: Path, what: str = "system description") -> Document:
    """Reads a YAML file. One that yields no mapping at all raises; lesser problems stand in the document."""
    document = Document(path)
    text = _read_text(path, what)
    if "\t" in text:
        _refuse_tabs(path, text)
    yaml = YAML(typ="safe", pure=True)
    try:
        node = compose(text, yaml)
    except TooLarge as error:
        raise BadDescription(
            [BadInput(str(error), file=path, line=error.line, column=error.column)]
        ) from None
    except ReaderError as error:
        before = text[: error.position]
        raise BadDescription(
            [
                BadInput(
                    f"the character {text[error.position]!r} is not allowed in YAML; remove it",
                    file=path,
                    line=before.count("\n") + 1,
                    column=len(before) - before.rfind("\n"),
                )
            ]
        ) from None
    except MarkedYAMLError as error:
        raise BadDescription([_syntax_error(path, text, error)]) from None
    except RecursionError:
        raise BadDescription(
            [BadInput("the YAML is nested too deeply to be read; flatten it", file=path)]
        ) from None
    except ValueError as error:
        # Escapes and directives that the parser turns into numbers without looking.
        raise BadDescription([BadInput(f"the YAML cannot be read: {error}", file=path)]) from None
    if node is None:
        raise BadDescription(
            [BadInput(f"the file is empty; a {what} begins with 'consort: 1'", file=path, line=1, column=1)]
        )
    if not isinstance(node, Mapping):
        raise BadDescription(
            [
                BadInput(
                    f"a {what} is a mapping of keys to values, this is a"
                    f" {'list' if isinstance(node, Sequence) else 'single value'};"
                    " begin with 'consort: 1'",
                    file=path,
                    line=node.line,
                    column=node.column,
                )
            ]
        )
    try:
        document.data = _Converter(document, yaml.constructor, text).convert(node, ())
    except BadInput as error:
        raise BadDescription([error]) from None
    return document


def _read_text(path: Path, what: str) -> str:
    try:
        return read_bytes(path, LARGEST_DESCRIPTION, what).decode("utf-8-sig")
    except BadInput as error:
        raise BadDescription([error]) from None
    except FileNotFoundError:
        how = f"there is no such file; give the path of a {what}"
        folder = path.parent
        if folder.is_dir():
            others = sorted(p.name for p in folder.glob("*.y*ml"))
            if others:
                how = f"there is no such file; the folder holds {', '.join(others[:6])}"
        raise BadDescription([BadInput(how, file=path)]) from None
    except IsADirectoryError:
        raise BadDescription([BadInput(f"this is a folder; give the path of a {what}", file=path)]) from None
    except UnicodeDecodeError as error:
        raise BadDescription(
            [BadInput(f"byte {error.start} is not UTF-8; save the file as UTF-8", file=path)]
        ) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise BadDescription(
            [BadInput(f"the file cannot be read: {reason}; give the path of a {what}", file=path)]
        ) from None


def _refuse_tabs(path: Path, text: str) -> None:
    """YAML's own message about a tab speaks of tokens; the tab is hard to see, so name it."""
    for number, line in enumerate(text.splitlines(), 1):
        blank = line[: len(line) - len(line.lstrip())]
        if "\t" in blank and line.strip() and not line.strip().startswith("#"):
            raise BadDescription(
                [
                    BadInput(
                        "a tab is used for indentation; YAML is indented with spaces",
                        file=path,
                        line=number,
                        column=blank.index("\t") + 1,
                    )
                ]
            )


# A key, and a value that follows its colon without a space; a quote that opens; and texts in quotes.
_NO_SPACE = re.compile(r"\s*(?:- )?(?P<key>[\w-]+):(?P<value>[^\s:/][^:]*)$")
_QUOTE = re.compile(r"""(?:^|(?<=[\s\[{,:]))["']""")
_QUOTED = re.compile(r"""(?:^|(?<=[\s\[{,:]))(?:"(?:[^"\\]|\\.)*"|'[^']*')""")


def _slip(lines: Lines[str], last: int, begun: StreamMark | None) -> tuple[int, int, str] | None:
    """A slip that a parser notices only later, at the line `last`: its line, its column and its message."""
    for number, line in enumerate(lines[:last], 1):
        # As long as the line, so that columns are right.
        rest = _QUOTED.sub(lambda text: " " * len(text[0]), line)
        open_quote = _QUOTE.search(rest.partition(" #")[0])
        if open_quote is not None and not rest.lstrip().startswith("#"):
            return (
                number,
                open_quote.start() + 1,
                "the quote that opens here is not closed on its line; close it",
            )
    for number in range(max(last - 1, 0) if begun is None else begun.line, min(last + 1, len(lines))):
        found = _NO_SPACE.match(lines[number])
        if found is not None:
            text = f"a space is missing after the colon; write '{found['key']}: {found['value'].strip()}'"
            return number + 1, found.end("key") + 1, text
    return None


def _syntax_error(path: Path, text: str, error: MarkedYAMLError) -> BadInput:
    mark = error.problem_mark or error.context_mark
    parts = [str(part).strip() for part in (error.context, error.problem) if part]
    begun = None
    if error.context and error.context_mark is not None:
        begun = f"{error.context_mark.line + 1}:{error.context_mark.column + 1}"
        parts[0] += f" begun at {begun}"
    message = f"this is not valid YAML: {', '.join(parts)}"
    if mark is not None and (slip := _slip(text.splitlines(), mark.line, error.context_mark)) is not None:
        line, column, message = slip
        return BadInput(message, file=path, line=line, column=column)
    if "mapping values are not allowed" in message:
        message += "; put quotes around a text that contains ': ', or correct the indentation"
    elif "expected a single document" in message:
        message += "; a file holds one description, remove what follows '---'"
    elif begun is not None and "expected <block end>" in message:
        message = f"this does not continue the block that begins at {begun};"
        message += " indent it alike, or begin all entries with '- '"
    elif begun is not None and "while parsing a flow" in message:
        message = f"the bracket that opens at {begun} is not closed before this;"
        message += " close it, or write ',' between entries"
    else:
        message += "; correct the syntax at this place"
    if mark is None:
        return BadInput(message, file=path)
    return BadInput(message, file=path, line=mark.line + 1, column=mark.column + 1)
