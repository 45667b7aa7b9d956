# SPDX-License-Identifier: Apache-2.0
"""Blocks that jobs which came late left in a queue, in virtual time: for ever, as each job reads one.

The reader's core is kept from it once, for 45 ms. Where the record says that the machine did it, the chain's
excess is the machine's, and no more than that; else it is the system's.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from consort.judge import Bounds, Limit, Row, Verdict, judge
from consort.record import RawRun
from consort.record.ran import CAUSES_OF_DISTURBANCE, EVENTS, NONE
from run_support import Ran, ran, write

MS = 10**6
STEP = "step.hpp::left::"
# A job of the reader takes one block.
STEPS = """
#pragma once
#include <cstdint>
namespace left {
struct Nothing {};
struct State {};
struct Block { std::uint32_t value; };
inline void write(const Nothing&, State&, Block& out) noexcept { ++out.value; }
inline void read(const Block&, State&, Nothing&) noexcept {}
}
"""
PERIOD = 10 * MS


def described(folder: Path) -> Path:
    tasks: dict[str, Any] = {
        "writer": {
            "period": "10ms",
            "wcet": "1ms",
            "bcet": "1ms",
            "on": "master-0",
            "writes": {"value": "way"},
            "step": STEP + "write",
        },
        "reader": {
            "period": "10ms",
            "offset": "5ms",
            "wcet": "1ms",
            "bcet": "1ms",
            "on": "master-1",
            "priority": 1,
            "reads": {"value": "way"},
            "step": STEP + "read",
        },
        "hog": {
            "period": "10s",
            "offset": "200ms",
            "wcet": "45ms",
            "on": "master-1",
            "priority": 2,
            "step": "stand-in",
        },
    }
    return write(
        folder,
        {
            "tasks": tasks,
            "channels": {"way": {"kind": "queue", "capacity": 16}},
            "chains": {"c": {"path": ["writer", "reader"], "reaction": "1s"}},
            "run": {"iterations": 100, "interference": []},
        },
        step_hpp=STEPS,
    )


def stopped_by_the_machine(found: Ran) -> RawRun:
    """The record in which the machine took the reader's core for as long as the hog had it."""
    (job,) = found.jobs("hog")
    table = found.raw.tables["events"]
    core = found.system.core_names.index("master-1")
    made = np.zeros(1, table.rows.dtype)
    made["time"], made["value"] = job["finish"], job["finish"] - job["start"]
    made["kind"], made["cause"] = EVENTS.index("disturbed"), CAUSES_OF_DISTURBANCE.index("stopped")
    made["core"], made["task"] = core, NONE
    rows = np.concatenate([np.array(table.rows), made])
    return replace(found.raw, tables={**found.raw.tables, "events": table.of(rows)})


def judged(raw: RawRun, limit: int) -> tuple[Verdict, Row]:
    verdict = judge(raw, Bounds((Limit("c", "reaction", limit, "theorem 11"),)), undecided_above=0.5)
    (row,) = (r for r in verdict.rows if (r.subject, r.quantity) == ("c", "reaction"))
    return verdict, row


# Without the hog: from a job of the writer to the end of the reader's after the next one, with a switch.
ALONE = 16 * MS + 5_000


@pytest.fixture(scope="module")
def queued(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return ran(described(tmp_path_factory.mktemp("left") / "system"), target="virtual")


def test_late_jobs_leave_blocks_for_ever(queued: Ran) -> None:
    verdict, row = judged(queued.raw, ALONE)
    # Nothing says that the machine did it.
    assert verdict.ok == "not held" and row.outcome == "above bound" and row.left_behind == 0
    assert row.seen is not None and row.seen >= ALONE + 3 * PERIOD


def test_what_the_machine_left_is_subtracted_and_no_more(queued: Ran) -> None:
    raw = stopped_by_the_machine(queued)
    verdict, row = judged(raw, ALONE)
    assert row.outcome == "disturbed" and row.left_behind > 60, verdict.reasons
    assert row.undisturbed is not None and row.undisturbed <= ALONE
    assert verdict.ok == "undecided"
    # A limit that was not kept before is not kept by the subtraction.
    verdict, row = judged(raw, ALONE - MS // 100)
    assert verdict.ok == "not held" and row.outcome == "above bound"
