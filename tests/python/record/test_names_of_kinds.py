# SPDX-License-Identifier: Apache-2.0
"""The executive numbers kinds of events, operations and status bits; their names lie in the same order."""

from __future__ import annotations

import re
from pathlib import Path

from consort.record.ran import EVENTS, OPERATIONS

HEADER = Path(__file__).parents[3] / "include" / "consort" / "task" / "job.hpp"


def kinds(struct: str) -> dict[int, str]:
    text = HEADER.read_text(encoding="utf-8")
    (body,) = re.findall(rf"struct {struct} \{{\s*enum Kind : std::uint16_t \{{(.*?)\}};", text, re.DOTALL)
    return {int(number): name.replace("_", "-") for name, number in re.findall(r"(\w+) = (\d+)", body)}


def test_every_kind_of_event_has_its_name() -> None:
    assert kinds("Event") == dict(enumerate(EVENTS))


def test_every_kind_of_operation_has_its_name() -> None:
    assert kinds("Operation") == dict(enumerate(OPERATIONS))
