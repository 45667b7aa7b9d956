# SPDX-License-Identifier: Apache-2.0
"""Devices that are only described write channels of tasks without steps, in the board's time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from board_support import ROOT, recorded_and_judged
from consort.base.errors import BadInput
from consort.board.placement import placement, plan_for
from consort.model import BadDescription, load_system
from consort.record.ran import OPERATIONS
from test_synchronized import same

UAV = ROOT / "examples/uav/system.yaml"
VEHICLE = ROOT / "examples/vehicle/system.yaml"
JOBS = 10
WRITE, READ = OPERATIONS.index("write"), OPERATIONS.index("read")


def described(folder: Path, **more: Any) -> Path:
    """A camera's frames are read by a process, a bus's messages by the second Cortex-R5F, which also has a
    task that preempts: it polls, and so do its stand-ins."""
    data = {
        "consort": 1,
        "platform": "embedded-plus",
        "assumed": "made up",
        "devices": {"camera": {"kind": "camera"}, "can": {"kind": "can"}},
        "tasks": {
            "see": {"period": "20ms", "wcet": {"x86": "5ms"}, "on": "x86-0", "reads": ["frames"]},
            "hear": {"period": "10ms", "wcet": {"r5f": "2500us"}, "on": "r5f-1", "reads": ["messages"]},
            "fast": {"period": "1ms", "wcet": {"r5f": "100us"}, "on": "r5f-1"},
            "act": {"period": "10ms", "wcet": {"a72": "400us"}, "on": "a72-1"},
        },
        "channels": {
            "frames": {
                "kind": "subscription",
                "from": "camera",
                "flow": "front",
                "size": "3MiB",
                "capacity": 2,
            },
            "messages": {
                "kind": "subscription",
                "from": "can",
                "flow": "body",
                "size": "16B",
                "capacity": 8,
                "min_interarrival": "12ms",
            },
        },
        "run": {"iterations": JOBS},
        **more,
    }
    file = folder / "system.yaml"
    file.write_text(json.dumps(data), encoding="utf-8")
    return file


def test_their_blocks_arrive_and_two_runs_are_the_same_byte_for_byte(tmp_path: Path) -> None:
    file = described(tmp_path)
    first, second = (
        recorded_and_judged(file, tmp_path / name, "versal", JOBS, stand_ins=True)[0] for name in ("a", "b")
    )
    same(first, second)
    operations = first.tables["operations"].rows
    channels = list(load_system(file).channels)
    for name, period in (("frames", 20_000_000), ("messages", 12_000_000)):
        of = operations[operations["channel"] == channels.index(name)]
        written = of[of["kind"] == WRITE]
        assert written["sequence"].tolist() == list(range(1, written.size + 1))
        late = written["time"].astype(np.int64) - int(written["time"][0]) - period * np.arange(written.size)
        assert written.size == -(-JOBS * 20_000_000 // period) and abs(late).max() < 20_000
        assert set(of["kind"].tolist()) == {WRITE, READ}
        assert int(of["count"][of["kind"] == READ].sum()) >= written.size - 7
    jobs = first.tables["jobs"].rows
    assert first.manifest.counters["preemptions"] >= JOBS and not (jobs["status"] != 0).any()
    # The stand-in that was preempted was so by the other one alone.
    notes = " ".join(first.manifest.realtime["notes"])
    assert (
        "camera is only described: a process in the board's time writes a numbered block to frames" in notes
    )


def test_a_device_that_reads_a_channel_is_refused(tmp_path: Path) -> None:
    file = described(tmp_path)
    data = json.loads(file.read_text(encoding="utf-8"))
    data["channels"]["orders"] = {"kind": "sporadic", "from": "see", "to": ["can"]}
    file.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(BadInput, match=r"channels\.orders: 'can' is only described, and nothing takes"):
        placement(load_system(file), stand_ins=True)


def test_a_system_runs_in_each_of_its_modes() -> None:
    system = load_system(UAV)
    with pytest.raises(BadDescription, match="changes none while it runs; name the mode"):
        plan_for(system, "board", stand_ins=True)
    cruise = placement(system, mode="cruise", stand_ins=True)
    assert cruise.sides == {"r5f-0": "r5f", "a72-0": "a72", "a72-1": "a72-1"}
    assert plan_for(system, "board", mode="near-ground", stand_ins=True).cores.keys() >= {"x86-0", "a72-1"}


def test_a_board_can_honour_all_of_the_vehicle() -> None:
    found = placement(load_system(VEHICLE), stand_ins=True)
    assert found.counted and set(found.bare) == {"a72-0", "a72-1", "r5f-0", "r5f-1"}


@pytest.mark.slow
def test_the_vehicle_runs_on_six_cores_and_repeats_to_the_byte(tmp_path: Path) -> None:
    (first, verdict), (second, _) = (
        recorded_and_judged(VEHICLE, tmp_path / name, "versal", 3, stand_ins=True) for name in ("a", "b")
    )
    same(first, second)
    # Where each job of a task had one of another core beside it, nothing is known of it; nothing failed.
    assert all("the machine disturbed every one of its" in why for why in verdict.reasons), verdict.reasons
    # Nothing says how many jobs a sporadic task has.
    assert all(task.released == (task.planned or task.released) > 0 for task in verdict.tasks)
    late = [row for row in verdict.rows if row.required is not None and (row.seen or 0) > row.required]
    assert not late and {row.subject for row in verdict.rows if row.kind == "chain"} == {
        "obstacle-to-brake", "slip-to-brake", "speed-to-steering"
    }  # fmt: skip
