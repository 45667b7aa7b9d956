# SPDX-License-Identifier: Apache-2.0
"""The direction of imports: the record knows the plan that ran, and nothing of those who write, judge or
show it."""

from __future__ import annotations

import ast
from pathlib import Path

import consort
import pytest

PACKAGE = Path(consort.__file__).parent
# Each package may use these of the others; everything may use the base.
ALLOWED = {
    "record": {"plan", "record"},
    "report": {"plan", "record", "report"},
    # Diagrams are of descriptions and bounds too.
    "report/draw": {"analysis", "model", "report"},
    "judge": {"analysis", "judge", "plan", "record"},
}


def used_by(package: str) -> dict[str, set[str]]:
    """For each package of Consort that a package imports, also within functions, the files that do."""
    found: dict[str, set[str]] = {}
    apart = [PACKAGE / name for name in ALLOWED if name.startswith(f"{package}/")]
    for file in (PACKAGE / package).rglob("*.py"):
        if any(file.is_relative_to(folder) for folder in apart):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                parts = name.split(".")
                if parts[0] == "consort" and len(parts) > 1 and (PACKAGE / parts[1]).is_dir():
                    found.setdefault(parts[1], set()).add(file.name)
    return found


@pytest.mark.parametrize("package", ALLOWED)
def test_imports_point_one_way(package: str) -> None:
    used = used_by(package)
    assert package.partition("/")[0] in used, "the search finds what is there"
    assert {name: files for name, files in used.items() if name not in ALLOWED[package] | {"base"}} == {}
