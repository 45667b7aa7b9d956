# SPDX-License-Identifier: Apache-2.0
"""Descriptions written as YAML, as a person would write them: small values stand on one line.

Plain data only, and much faster than a YAML library: imported systems have tens of thousands of entries.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from consort.base.files import write_text
from consort.base.units import counted, html_table
from consort.model.quantities import Duration

if TYPE_CHECKING:
    from consort.model.description import System

WIDTH = 110
# Texts that YAML reads back as themselves without quotes, inside braces too.
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./+()=-]*(?:(?: |::|:/|/)[A-Za-z0-9_./+()=-]+)*")
_QUANTITY = re.compile(r"[0-9]+(?:\.[0-9]+)?[A-Za-z][A-Za-z/]*")
_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
# In a figure the value comes first, and its source last.
_LAST = ("published", "derived", "measured", "counted", "bound", "simulated", "assumed")


def yaml_text(data: dict[str, Any], comment: str = "") -> str:
    """Plain data as YAML text, after a comment of any number of lines."""
    head = "".join(f"# {line}".rstrip() + "\n" for line in comment.splitlines())
    return head + "\n".join(_lines(data, 0, 0)) + "\n"


def write_yaml(path: Path, data: dict[str, Any], comment: str = "") -> None:
    write_text(path, yaml_text(data, comment))


def _lines(mapping: dict[str, Any], depth: int, indent: int) -> Iterator[str]:
    margin = " " * indent
    for key, value in _ordered(mapping):
        name = _scalar(key)
        if isinstance(value, dict | list | tuple):
            flat = _flat(value, key)
            fits = indent + len(name) + len(flat) + 2 <= WIDTH
            # Parts of a system stand one below the other; what they hold may stand on their line.
            if not value or (fits and (depth > 0 or isinstance(value, list | tuple))):
                yield f"{margin}{name}: {flat}"
            elif isinstance(value, dict):
                yield f"{margin}{name}:"
                yield from _lines(value, depth + 1, indent + 2)
            else:
                yield f"{margin}{name}:"
                for item in value:
                    yield f"{margin}  - {_flat(item, key)}"
        else:
            yield f"{margin}{name}: {_flat(value, key)}"


def _ordered(mapping: dict[str, Any]) -> list[tuple[str, Any]]:
    if not any(key in mapping for key in (*_LAST, "value")):
        return list(mapping.items())
    return sorted(mapping.items(), key=lambda item: (item[0] != "value", item[0] in _LAST))


def _flat(value: Any, key: str = "") -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_scalar(k)}: {_flat(v, k)}" for k, v in _ordered(value)) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_flat(item, key) for item in value) + "]"
    if key == "address" and isinstance(value, int):
        return f"{value:#x}"
    return _scalar(value)


def _scalar(value: Any) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    if _QUANTITY.fullmatch(value) and not re.fullmatch(r"0[xob].*|[0-9.]+[eE]", value):
        return value
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f").replace("\u2028", "\\u2028")


def in_a_line(system: System) -> str:
    parts = [f"{counted(len(system.tasks), 'task')} on {counted(len(system.cores()), 'core')}"]
    for word, members in (("channel", system.channels), ("chain", system.chains), ("mode", system.modes)):
        parts += [counted(len(members), word)] if members else []
    name = system.name or (system._file.as_posix() if system._file is not None else "system")
    return f"{name}: {', '.join(parts)}, platform {system.platform}"


def as_html(system: System) -> str:
    rows = [
        (
            name,
            task.on,
            task.execution if task.master is None else f"{task.execution}, master {task.master}",
            f"at least {task.interval} apart" if task.sporadic else f"every {task.interval}",
            task.deadline,
            None if (wcet := system.wcet(name)) is None else Duration(wcet.value),
        )
        for name, task in system.tasks.items()
    ]
    columns = ("task", "on", "execution", "released", "deadline", "wcet")
    return html_table(in_a_line(system), columns, rows)
