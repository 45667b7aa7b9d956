# SPDX-License-Identifier: Apache-2.0
"""A three-phase core of a plan whose other cores schedule otherwise: it moves its own jobs, slot by slot."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from board_support import ROOT, recorded_and_judged
from consort.base.errors import BadInput
from consort.board.placement import placement
from consort.model import load_system

SLOT = 60_000
JOBS = 20


def three_phase(wcet: str, code: str, **more: Any) -> dict[str, Any]:
    return {
        "on": "r5f-1",
        "execution": "three-phase",
        "wcet": {"r5f": {"three-phase": wcet}},
        "footprint": {"code": code, "data": "8KiB", "inputs": "256B", "outputs": "128B"},
        **more,
    }


def described() -> dict[str, Any]:
    return {
        "consort": 1,
        "platform": "embedded-plus",
        "assumed": "made up",
        "scheduling": {"r5f-1": {"policy": "three-phase", "slot": "60us", "context_switch": "1us"}},
        "tasks": {
            "fast": three_phase("300us", "24KiB", period="2ms", priority=30, reads=["in"], writes=["out"]),
            "slow": three_phase("900us", "32KiB", period="5ms", priority=20, bcet="500us"),
            "feeder": {"period": "1ms", "wcet": "50us", "on": "x86-0", "writes": ["in"]},
            "eater": {"period": "2ms", "wcet": "50us", "on": "x86-0", "reads": ["out"]},
        },
        "channels": {
            "in": {"kind": "sporadic", "memory": "ddr", "size": "64B"},
            "out": {"kind": "sporadic", "memory": "ddr", "size": "64B"},
        },
        "run": {"iterations": JOBS},
    }


def written(folder: Path, data: dict[str, Any]) -> Path:
    file = folder / "system.yaml"
    file.write_text(json.dumps(data), encoding="utf-8")
    return file


def test_it_loads_executes_and_unloads_in_its_slots(tmp_path: Path) -> None:
    file = written(tmp_path, described())
    raw, verdict = recorded_and_judged(file, tmp_path / "raw", "versal", JOBS, stand_ins=True)
    assert verdict.ok, verdict.reasons
    assert all(row.bound is not None for row in verdict.rows if row.quantity == "response")
    rows = raw.tables["jobs"].rows
    jobs = np.sort(rows[rows["task"] < 2], order="finish")
    assert np.bincount(jobs["task"]).tolist() == [JOBS, JOBS * 2 // 5] and not jobs["status"].any()
    start = raw.manifest.config["start_tick"]
    steps = ("release", "worker_receive", "loaded", "start", "executed", "worker_send", "finish")
    times = {name: jobs[name].astype(np.int64) - start for name in steps}
    for one, next_one in pairwise(steps):
        assert (times[one] <= times[next_one]).all(), (one, next_one)
    # An operation takes a whole slot, and no two are in one slot.
    begins = np.concatenate([times["worker_receive"], times["worker_send"]]) // SLOT
    assert len(set(begins.tolist())) == begins.size
    for begin, end in (("worker_receive", "loaded"), ("worker_send", "finish")):
        assert (times[end] // SLOT == times[begin] // SLOT + 1).all()
        # Punctually: what the core executes it looks up from every few microseconds.
        assert (times[begin] % SLOT < 10_000).all() and (times[end] % SLOT < 10_000).all()
    # A second job's load ends while one executes.
    assert any(((times["start"] < end) & (end < times["executed"])).any() for end in times["loaded"])
    took = jobs["compute"][jobs["task"] == 0].astype(np.int64)
    assert (took <= 300_000).all()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"arbitration": "round-robin"}, "knows when its own slots are and no other's; write tdma"),
        ({"big": True}, "do not fit into a partition of the second Cortex-R5F's scratchpad, 65536"),
        ({"on": "r5f-0"}, "'r5f-0' has no scratchpad with a DMA channel there .r5f-1 of versal has one."),
        ({"step": True}, "while a step executes nothing moves the next one, as 'r5f-1' is its own I/O core"),
    ],
)
def test_what_it_cannot_do_is_refused(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    data = described()
    own = data["scheduling"]["r5f-1"]
    if "arbitration" in change:
        own |= change
    if "big" in change:
        (tmp_path / "mine.yaml").write_text(
            (ROOT / "platforms/embedded-plus.yaml")
            .read_text(encoding="utf-8")
            .replace("name: embedded-plus\n", "name: mine\n")
            .replace("size: {value: 128KiB,", "size: {value: 256KiB,"),
            encoding="utf-8",
        )
        data["platform"] = "mine.yaml"
        data["tasks"]["slow"]["footprint"]["code"] = "80KiB"
    if "on" in change:
        data["scheduling"] = {"r5f-0": own}
        for task in ("fast", "slow"):
            data["tasks"][task]["on"] = "r5f-0"
    if "step" in change:
        step = f"{ROOT}/tests/board/tasks/step.hpp::fast::step"
        data["tasks"] = {"fast": {**data["tasks"]["fast"], "step": step, "reads": [], "writes": []}}
        data["channels"] = {}
    with pytest.raises(BadInput, match=said):
        placement(load_system(written(tmp_path, data)), stand_ins=True)
