# SPDX-License-Identifier: Apache-2.0
"""The JSON files of a record: written without spaces, read within limits."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any, NoReturn

from consort.base.errors import BadInput, obeyed, visible
from consort.base.files import LARGEST_RECORD, read_bytes

# Escapes in a file of JSON that may stand for a character that a terminal obeys.
_ESCAPES = re.compile(r'\\[^"\\/nt]')


def write_json(file: Path, data: Any) -> str:
    """Writes data as one line of JSON, which it returns; `ValueError` for numbers that JSON does not have.

    The standard library's encoder is fast only without indentation.
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    file.write_text(text + "\n", encoding="utf-8")
    return text


def as_read(text: str) -> Any:
    """The data of a file that `write_json` wrote, as `read_json` has them."""
    return _visible(text, json.loads(text))


def read_json(file: Path, what: str) -> Any:
    """A file's JSON; `BadInput` where it is none, is too large, or holds numbers that no JSON has.

    In its texts, characters that a terminal would obey are in Python's notation. `FileNotFoundError` and
    `NotADirectoryError` pass.
    """
    try:
        text = read_bytes(file, LARGEST_RECORD, what, pipes=False).decode("utf-8")
        data = json.loads(text, parse_constant=_no_number, parse_float=_finite)
        return _visible(text, data)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except json.JSONDecodeError as error:
        raise BadInput(f"not JSON: {error.msg}", file=file, line=error.lineno, column=error.colno) from None
    except UnicodeDecodeError as error:
        raise BadInput(f"not UTF-8 at byte {error.start}", file=file) from None
    except (ValueError, RecursionError) as error:
        # Integers of thousands of digits; lists in lists without end.
        raise BadInput(f"no {what}: {error}", file=file) from None
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", file=file) from None


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")


def _finite(text: str) -> float:
    """1e999 would be infinity; pages and traces have no place for it."""
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {text[:40]} is out of range")
    return value


def _visible(text: str, data: Any) -> Any:
    """The data of a text, shown where a terminal would obey any of it."""
    # To look at each text alone takes longer than to read them.
    return _shown(data) if obeyed(text) or _ESCAPES.search(text) else data


def _shown(value: Any) -> Any:
    """The data without what a terminal would obey: words of programs, or of who made it up."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible(key): _shown(inner) for key, inner in value.items()}
    return [_shown(inner) for inner in value] if isinstance(value, list) else value
