# SPDX-License-Identifier: Apache-2.0
"""Device tree sources, parsed within limits: files of the model's own folder, numbers of 64 bits.

The parser is `dtlib`; what is overridden here opens whatever file an include names, follows a file that
includes itself under another name for ever, and computes with numbers of any length.
"""

from __future__ import annotations

import io
import os
import re
from pathlib import Path
from typing import IO, Any

from devicetree import dtlib

from consort.base.errors import BadInput
from consort.base.limits import LARGEST_TREE, MIB, read_bytes

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
                f"'{filename}' is no file, or the files together exceed {LARGEST_TREE // MIB} MiB"
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
                self._parse_error(f"a shift by {_short(count)}; numbers have 64 bits, so 0 to 63 can be")
            value = value << count if left else value >> count


def _short(number: int) -> str:
    return str(number) if abs(number) < 1 << 64 else "a number of more than 64 bits"


def directive(text: str) -> tuple[str, int] | None:
    """The first line that is the C preprocessor's: its word, and the number of the line."""
    found = _DIRECTIVE.search(text)
    return None if found is None else (found[1], text.count("\n", 0, found.start()) + 1)
