# SPDX-License-Identifier: Apache-2.0
"""The reference says all that a description may say, and its examples are right."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from consort.model import load_system, platform_schema, system_from_data, system_schema
from consort.model.platform import known_platforms
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs" / "reference" / "system-yaml.md").read_text(encoding="utf-8")


def keys(schema: dict[str, Any]) -> set[str]:
    parts = [schema, *schema["$defs"].values()]
    return {key for part in parts for key in part.get("properties", {})}


def choices(value: Any) -> set[str]:
    if isinstance(value, dict):
        found = {v for v in value.get("enum", ()) if isinstance(v, str)}
        return found.union(*(choices(part) for part in value.values()))
    if isinstance(value, list):
        return set().union(*(choices(part) for part in value))
    return set()


@pytest.mark.parametrize("schema", [system_schema(), platform_schema()], ids=["system", "platform"])
def test_every_key_and_every_choice_is_explained(schema: dict[str, Any]) -> None:
    code = set(re.findall(r"[A-Za-z_][A-Za-z0-9_-]*", " ".join(re.findall(r"`[^`]+`", TEXT))))
    assert sorted((keys(schema) | choices(schema)) - code) == []


def test_what_does_not_go_together_is_what_the_tables_say() -> None:
    made = subprocess.run(
        [sys.executable, ROOT / "tools" / "reference.py"], capture_output=True, text=True, check=True
    )
    page = ROOT / "docs" / "reference" / "together.md"
    assert page.read_text(encoding="utf-8") == made.stdout, "tools/reference.py --write"


def test_every_platform_is_listed() -> None:
    assert all(f"| `{name}` |" in TEXT for name in known_platforms())


def test_examples_of_costs_are_right() -> None:
    lines = re.findall(r"^    (wcet: .*)$", TEXT, re.MULTILINE)
    assert len(lines) == 5
    for line in lines:
        task = {"period": "1s", "on": "a72-0", **YAML(typ="safe").load(line)}
        system_from_data({"consort": 1, "platform": "versal", "tasks": {"a": task}})


def test_the_python_example_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(code) == 1
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(code[0], names)
    assert names["made"].tasks["a"].on == "r5f-0"
    assert load_system(tmp_path / "copy.yaml").tasks == names["system"].tasks
    values = dict(re.findall(r"^(system\.\S.*?)\s{2,}# (.*)$", code[0], re.MULTILINE))
    assert eval("system.tasks['brake'].interval.picoseconds", names) == 10**9
    assert values['system.tasks["brake"].interval.picoseconds'] == "1000000000"
    assert eval('system.tasks["camera"].wcet_on("a72")', names).nanoseconds == 39_000_000
    assert eval('system.writer("grip"), system.readers("grip")', names) == ("grip-estimate", ["abs"])
