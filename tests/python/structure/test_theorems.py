# SPDX-License-Identifier: Apache-2.0
"""Bounds name the theorem that they rest on, so each number stands for one of them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[3]
STATED = re.compile(r"^\*\*Theorem (\d+)\b", re.MULTILINE)
NAMED = re.compile(r"analyses\.md, theorem (\d+)")


def test_each_theorem_has_a_number_of_its_own_and_each_that_is_named_is_stated() -> None:
    numbers = Counter(STATED.findall((ROOT / "docs/explanation/analyses.md").read_text(encoding="utf-8")))
    assert [number for number, times in numbers.items() if times > 1] == []
    sources = [*(ROOT / "python/consort").rglob("*.py"), *(ROOT / "engine").rglob("*.?pp")]
    named = {number for file in sources for number in NAMED.findall(file.read_text(encoding="utf-8"))}
    assert named and named <= set(numbers)
