# SPDX-License-Identifier: Apache-2.0
"""The stages of docs/explanation/design.md and their types, compared with those that exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.representative

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "explanation" / "design.md").read_text(encoding="utf-8")
STAGES = PAGE.partition("## Stages")[2].partition("\n## ")[0]
PYTHON = re.compile(r"`(consort(?:\.\w+)+)\.(\w+)`")
CPP = re.compile(r"`(?:consort::)?(?:\w+::)*(\w+)` \(`([\w/]+\.[ch]pp)`\)")


def test_each_type_of_a_stage_exists() -> None:
    named = PYTHON.findall(STAGES)
    assert len(named) > 10
    for module, name in named:
        assert callable(getattr(importlib.import_module(module), name)), f"{module}.{name}"


def test_each_type_of_a_target_exists() -> None:
    named = CPP.findall(STAGES)
    assert len(named) >= 4
    for name, file in named:
        text = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"\b(struct|class) {name}\b", text), f"{name} in {file}"


def test_each_class_called_after_a_task_is_named() -> None:
    """A new form of a task is a decision: the page says what it is for."""
    existing = {
        (".".join(file.relative_to(ROOT / "python").with_suffix("").parts), name)
        for file in (ROOT / "python" / "consort").rglob("*.py")
        for name in re.findall(r"^\s*class (\w*Task\w*)\b", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert existing == {(module, name) for module, name in PYTHON.findall(STAGES) if "Task" in name}


def test_each_struct_called_after_a_task_is_named() -> None:
    existing = {
        (name, str(file.relative_to(ROOT)))
        for folder in ("include", "ports", "engine")
        for file in (ROOT / folder).rglob("*.[ch]pp")
        for name in re.findall(
            r"\b(?:struct|class) (\w*Task\w*)\s*(?:final\s*)?(?::[^;{]*)?\{", file.read_text(encoding="utf-8")
        )
    }
    assert existing == {(name, file) for name, file in CPP.findall(STAGES) if "Task" in name}
