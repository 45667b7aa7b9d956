# SPDX-License-Identifier: Apache-2.0
"""The numbers of a recording have the names that the executive's own header gives them."""

from __future__ import annotations

import re
from pathlib import Path

from consort.record.ran import EVENTS, OPERATIONS, STATUS

HEADER = (Path(__file__).parents[3] / "include" / "consort" / "task" / "job.hpp").read_text(encoding="utf-8")
# Bits have names of counters in Python, and shorter ones in the header.
BITS = {
    "missed": "deadline_misses",
    "held": "outputs_held",
    "fallback": "local_fallbacks",
    "lost": "worker_lost",
    "late_answer": "late_answers_discarded",
    "wrong_output": "output_errors",
    "late_release": "late_releases",
    "unserved": "unserved",
    "aborted": "aborted",
}


def kinds(struct: str) -> list[tuple[str, int]]:
    inside = HEADER.partition(f"struct {struct} {{")[2].partition("enum Kind")[2].partition("};")[0]
    return [(name.replace("_", "-"), int(value)) for name, value in re.findall(r"(\w+) = (\d+),", inside)]


def test_kinds_of_events_and_operations() -> None:
    for struct, names in (("Event", EVENTS), ("Operation", OPERATIONS)):
        found = kinds(struct)
        assert len(found) > 5
        assert found == [(name, number) for number, name in enumerate(names)]


def test_bits_of_a_jobs_status() -> None:
    found = re.findall(r"inline constexpr std::uint32_t (\w+) = 1U << (\d+)U;", HEADER)
    assert {BITS[name]: 1 << int(bit) for name, bit in found} == STATUS
