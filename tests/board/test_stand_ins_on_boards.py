# SPDX-License-Identifier: Apache-2.0
"""Tasks without a step on bare-metal cores: they execute as long as anywhere else, and pass whole blocks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from board_support import board, consort, recorded_and_judged
from consort.record.ran import OPERATIONS, STATUS

JOBS = 40
# 64 bits.
ALL = 2**64 - 1
# The kinds of choices.
EXECUTION, JITTER, GAP = 0, 1, 2


def described(folder: Path, platform: str, on: dict[str, str], **more: Any) -> Path:
    """A fast task that preempts a slow one, and a third one; `on`: their cores."""
    data: dict[str, Any] = {
        "consort": 1,
        "platform": platform,
        "assumed": "made up",
        "tasks": {
            "fast": {"period": "1ms", "wcet": "200us", "bcet": "100us", "writes": ["stream", "newest"]},
            "slow": {"period": "5ms", "wcet": "1500us", "bcet": "1ms", "reads": ["stream"]},
            "third": {"period": "2ms", "wcet": "300us", "reads": ["newest"]},
        },
        "channels": {
            "stream": {"kind": "queue", "size": "64B", "capacity": 64},
            "newest": {"kind": "sporadic", "size": "256B"},
        },
        "run": {"iterations": JOBS},
        **more,
    }
    for name, core in on.items():
        data["tasks"][name]["on"] = core
    file = folder / "system.yaml"
    file.write_text(json.dumps(data), encoding="utf-8")
    return file


def check_blocks(operations: np.ndarray[Any, Any]) -> None:
    kinds = {OPERATIONS[kind] for kind in np.unique(operations["kind"])}
    assert kinds == {"write", "read"}
    stream = operations[operations["channel"] == 0]
    written = stream["sequence"][stream["kind"] == OPERATIONS.index("write")]
    assert written.tolist() == list(range(1, JOBS + 1))
    read = stream[stream["kind"] == OPERATIONS.index("read")]
    # Its reader takes one a job, a fifth of them.
    assert read["sequence"][read["count"] != 0].tolist() == list(range(1, JOBS // 5 + 1))


def mixed(z: int) -> int:
    z = (z + 0x9E3779B97F4A7C15) & ALL
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & ALL
    z = (z ^ z >> 27) * 0x94D049BB133111EB & ALL
    return z ^ z >> 31


def drawn(task: int, job: int, what: int, best: int, worst: int) -> int:
    """A choice as docs/explanation/simulator.md has it for the edges, with the seed 1."""
    bits = mixed(mixed((mixed(1) + task) & ALL) ^ (job * 8 + what))
    low, high = min(best, worst), max(best, worst)
    between = low + (mixed(bits) * (high - low + 1) >> 64)
    return worst if bits & 1 else best if bits & 2 else between


@pytest.mark.parametrize(
    ("platform", "name", "core"),
    [
        ("stm32mp157", "mps2", "m4-0"),
        ("zynq-ultrascale-plus", "zynqmp", "a53-0"),
        # It polls, and its stand-ins look whether they are to be preempted.
        ("versal", "versal", "r5f-0"),
        pytest.param("vexpress-r5f", "vexpress-r5f", "r5f-0", marks=pytest.mark.slow),
        pytest.param("riscv-virt32", "riscv-virt32", "rv32-0", marks=pytest.mark.slow),
    ],
)
def test_jobs_execute_as_long_as_on_every_target(tmp_path: Path, platform: str, name: str, core: str) -> None:
    file = described(tmp_path, platform, dict.fromkeys(("fast", "slow", "third"), core))
    raw, verdict = recorded_and_judged(file, tmp_path / "raw", name, JOBS, stand_ins=True)
    assert verdict.ok, verdict.reasons
    assert raw.manifest.counters["preemptions"] > 0
    check_blocks(raw.tables["operations"].rows)
    jobs = raw.tables["jobs"].rows
    took = np.sort(jobs[jobs["task"] == 0], order="seq")["compute"].tolist()
    # Never longer, as reading the clock is part of it, and shorter by no more than its resolution.
    wanted = [drawn(0, job, EXECUTION, 100_000, 200_000) for job in range(JOBS)]
    assert all(0.97 * said < ns <= said for ns, said in zip(took, wanted, strict=True))


@pytest.mark.parametrize(
    ("platform", "name", "core", "tick"),
    [("stm32mp157", "mps2", "m4-0", 40), ("zynq-ultrascale-plus", "zynqmp", "a53-0", 16)],
)
def test_sporadic_tasks_are_released_by_the_generator(
    tmp_path: Path, platform: str, name: str, core: str, tick: int
) -> None:
    """The same choices as on Linux, in ticks of the core's clock [ns]: gaps, and a jitter."""
    file = described(tmp_path, platform, dict.fromkeys(("fast", "slow", "third"), core))
    data = json.loads(file.read_text(encoding="utf-8"))
    data["tasks"]["third"]["min_interarrival"] = data["tasks"]["third"].pop("period")
    data["tasks"]["slow"]["jitter"] = "400us"
    file.write_text(json.dumps(data), encoding="utf-8")
    raw, verdict = recorded_and_judged(file, tmp_path / "raw", name, JOBS, stand_ins=True)
    assert verdict.ok, verdict.reasons
    jobs = raw.tables["jobs"].rows
    releases = np.sort(jobs[jobs["task"] == 2]["release"].astype(np.int64))
    apart = 2_000_000
    gaps = [drawn(2, job, GAP, apart // tick, 0) * tick for job in range(1, releases.size)]
    assert releases.size > 10 and len(set(gaps)) > 3
    assert np.diff(releases).tolist() == [apart + gap for gap in gaps]
    slow = np.sort(jobs[jobs["task"] == 1], order="seq")
    delays = [drawn(1, job, JITTER, 0, 400_000 // tick) * tick for job in range(slow.size)]
    assert (slow["ready"].astype(np.int64) - slow["release"].astype(np.int64)).tolist() == delays
    assert len(set(delays)) > 3


def test_a_job_beside_which_another_core_executed_says_nothing_of_its_bound(tmp_path: Path) -> None:
    """An emulator that counts executes one core at a time, and its clock goes on for all of them."""
    more = {"scheduling": {"r5f-0": {"policy": "fixed-priority-non-preemptive"}}}
    on = {"fast": "a53-0", "slow": "a53-0", "third": "r5f-0"}
    file = described(tmp_path, "zynq-ultrascale-plus", on, **more)
    _, verdict = recorded_and_judged(file, tmp_path / "raw", "zynqmp", JOBS, stand_ins=True)
    over = [row for row in verdict.rows if row.bound is not None and (row.seen or 0) > row.bound]
    assert over, "nothing was delayed: the test shows nothing"
    assert all(row.above == 0 for row in over)
    assert "the emulator executes one at a time" in verdict.machine


def offloaded(folder: Path, **changes: Any) -> Path:
    """A task of the R5F that the A72 computes."""
    data = {
        "consort": 1,
        "platform": "versal",
        "assumed": "made up",
        "tasks": {
            "a": {
                "period": "2ms",
                "on": "a72-0",
                "master": "r5f-0",
                "execution": "offloaded",
                "wcet": {"a72": {"offloaded": "400us"}, "r5f": {"local": "900us"}},
                **changes,
            }
        },
        "channels": {
            "a.in": {"kind": "periodic", "memory": "ocm", "size": "16B"},
            "a.out": {"kind": "periodic", "memory": "ocm", "size": "8B"},
        },
        "run": {"iterations": JOBS},
    }
    file = folder / "system.yaml"
    file.write_text(json.dumps(data), encoding="utf-8")
    return file


def test_a_master_that_falls_back_executes_for_its_own_time(tmp_path: Path) -> None:
    # The deadline is over before the request is written.
    file = offloaded(tmp_path, deadline="300ns", on_miss="local-fallback")
    raw, _ = recorded_and_judged(file, tmp_path / "raw", "versal", JOBS, stand_ins=True)
    jobs = raw.tables["jobs"].rows
    assert ((jobs["status"] & STATUS["local_fallbacks"]) != 0).all()
    assert all(0.97 * 900_000 < ns <= 900_000 for ns in jobs["compute"].tolist())


def test_offloaded_stand_ins_execute_on_the_worker(tmp_path: Path) -> None:
    board("versal")
    file = offloaded(tmp_path)
    done = consort("run", str(file), "--on", "versal", "--stand-ins", "--json", "--root", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = json.loads(done.stdout)["configurations"]
    assert made["key"] == "offloaded-off" and made["counters"]["jobs"] == JOBS
