# SPDX-License-Identifier: Apache-2.0
"""Descriptions written as YAML, as a person would write them: what is small stands on one line."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

WIDTH = 110


def yaml_text(data: dict[str, Any], comment: str = "") -> str:
    """Plain data as YAML text, after a comment of any number of lines."""
    yaml = YAML()
    yaml.width = WIDTH
    yaml.indent(mapping=2, sequence=4, offset=2)
    stream = StringIO()
    yaml.dump(_styled(data, 0, 0), stream)
    head = "".join(f"# {line}".rstrip() + "\n" for line in comment.splitlines())
    return head + stream.getvalue()


def write_yaml(path: Path, data: dict[str, Any], comment: str = "") -> None:
    path.write_text(yaml_text(data, comment), encoding="utf-8")


def _styled(value: Any, depth: int, indent: int) -> Any:
    if isinstance(value, dict):
        mapping = CommentedMap((k, _styled(v, depth + 1, indent + 2)) for k, v in value.items())
        if depth > 1 and indent + len(_flat(value)) < WIDTH - 30:
            mapping.fa.set_flow_style()
        return mapping
    if isinstance(value, list | tuple):
        sequence = CommentedSeq(_styled(v, depth + 1, indent + 2) for v in value)
        if indent + len(_flat(value)) < WIDTH - 30 or all(not isinstance(v, dict | list) for v in value):
            sequence.fa.set_flow_style()
        return sequence
    return value


def _flat(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {_flat(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_flat, value)) + "]"
    return str(value)
