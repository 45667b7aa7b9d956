# SPDX-License-Identifier: Apache-2.0
"""Systems of stand-ins: releases come when the description says, and a core with too much to do says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from consort.model.channel import STAND_IN
from consort.record.store import open_run
from run_support import FALLBACK, MISSED, SKIPPED, Ran, beside_time, consort, ran, write

pytestmark = [pytest.mark.realtime(when="run"), pytest.mark.usefixtures("two_cpus")]
SCALE = 10
TASKS: dict[str, Any] = {
    "early": {"period": "10ms", "wcet": "100us", "bcet": "20us", "on": "master-0", "writes": ["blocks"]},
    "offset": {"period": "10ms", "offset": "3ms", "wcet": "50us", "on": "master-0", "reads": ["blocks"]},
    "jittery": {"period": "10ms", "jitter": "2ms", "wcet": "50us", "on": "master-1", "reads": ["blocks"]},
    "sporadic": {"min_interarrival": "10ms", "wcet": "50us", "on": "master-1", "writes": ["kept"]},
    "last": {"period": "5ms", "wcet": "20us", "on": "master-2", "reads": ["kept"]},
    "away": {
        "period": "20ms",
        "wcet": {"host": {"offloaded": "80us", "local": "100us"}},
        "on": "worker-0",
        "execution": "offloaded",
        "master": "master-0",
        "on_miss": "local-fallback",
    },
}
SYSTEM: dict[str, Any] = {
    "scheduling": {
        "master-1": {"policy": "fixed-priority-non-preemptive"},
        "master-2": {"policy": "edf"},
        "master-0": {"wait": "sleep"},
    },
    "channels": {
        "blocks": {"kind": "sporadic", "size": "256B"},
        "kept": {"kind": "queue", "capacity": 16, "size": "64B"},
    },
}


def described(folder: Path, seed: int = 1, **changes: Any) -> Path:
    run = {"iterations": 40, "interference": [], "seed": seed}
    return write(folder, {"tasks": {**TASKS, **changes}, "run": run, **SYSTEM})


def nominal(found: Ran, name: str) -> np.ndarray:
    """The due instant of each job, after the first job of all, in ns of the description."""
    rows = np.array(found.raw.tables["jobs"].rows)
    per_ns = found.raw.manifest.clock.ticks_per_second / 1e9
    origin = found.jobs("early", skipped=True)["release"][0]
    assert origin == rows["release"].min()
    return (found.jobs(name, skipped=True)["release"].astype(np.int64) - int(origin)) / per_ns / SCALE


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("stand-ins") / "system"
    return ran(described(folder), "offloaded-off", stand_ins=True, time_scale=SCALE)


def test_releases_lie_where_the_description_has_them(found: Ran) -> None:
    for name, offset, period, jobs in (
        ("early", 0, 10e6, 40),
        ("offset", 3e6, 10e6, 40),
        ("jittery", 0, 10e6, 40),
        ("last", 0, 5e6, 80),
        ("away", 0, 20e6, 20),
    ):
        due = offset + period * np.arange(jobs)
        # A tick, not more, however long the run: releases do not drift.
        assert np.abs(nominal(found, name) - due).max() < 1, name


def test_a_release_with_jitter_is_ready_later_and_never_too_late(found: Ran) -> None:
    per_ns = found.raw.manifest.clock.ticks_per_second / 1e9
    jobs = found.jobs("jittery", skipped=True)
    later = (jobs["ready"].astype(np.int64) - jobs["release"].astype(np.int64)) / per_ns / SCALE
    assert later.min() >= 0
    assert later.max() <= 2e6 + 1
    assert len(np.unique(later.round())) > 3, "drawn anew for each job"
    served = found.jobs("jittery")
    assert (served["start"] >= served["ready"]).all(), "none begins before it is released"
    for name in ("early", "offset", "last", "away"):
        assert (found.jobs(name)["ready"] == found.jobs(name)["release"]).all()
        assert (found.jobs(name)["start"] >= found.jobs(name)["release"]).all()


def test_sporadic_releases_keep_their_distance_and_vary(found: Ran) -> None:
    gaps = np.diff(nominal(found, "sporadic"))
    assert gaps.min() >= 10e6 - 1
    assert gaps.max() <= 20e6 + 1
    assert len(np.unique(gaps.round())) > 3


def test_the_seed_chooses_and_repeats(found: Ran, tmp_path: Path) -> None:
    same = ran(described(tmp_path / "a"), "offloaded-off", stand_ins=True, time_scale=SCALE)
    other = ran(described(tmp_path / "b", seed=2), "offloaded-off", stand_ins=True, time_scale=SCALE)
    first = nominal(found, "sporadic")
    again = nominal(same, "sporadic")
    assert len(first) == len(again)
    assert np.abs(first - again).max() < 2
    unlike = nominal(other, "sporadic")
    both = min(len(first), len(unlike))
    assert np.abs(first[:both] - unlike[:both]).max() > 1000


def test_numbered_blocks_arrive_whole(found: Ran) -> None:
    assert beside_time(found.verdict.reasons) == []
    for name in ("offset", "jittery"):
        assert found.operations("blocks", "read", name).size
    for channel in ("blocks", "kept"):
        assert found.operations(channel, "read-corrupt").size == 0
        assert any(check.holds and check.text.startswith(channel) for check in found.verdict.checks)
    assert [task.name for task in found.system.tasks if task.step == STAND_IN] == list(TASKS)


@pytest.mark.representative
@pytest.mark.parametrize("target", ["linux", "virtual"])
def test_a_master_that_falls_back_executes_for_its_own_time(tmp_path: Path, target: str) -> None:
    """Given up after 8 ms: the worker takes 30, the master 45."""
    away = {
        **TASKS["away"],
        "period": "100ms",
        "deadline": "10ms",
        "wcet": {"host": {"offloaded": "30ms", "local": "45ms"}},
    }
    channels = {f"away.{end}": {"size": "64B"} for end in ("in", "out")}
    run = {"iterations": 4, "interference": []}
    file = write(tmp_path / "system", {"tasks": {"away": away}, "channels": channels, "run": run})
    made = ran(file, "offloaded-off", stand_ins=True, target=target)
    jobs = made.jobs("away")
    by_master = jobs[(jobs["status"] & FALLBACK) != 0]
    assert by_master.size
    # A stand-in ends where no more work fits.
    took = by_master["compute"] / made.raw.manifest.clock.ticks_per_second
    assert took.min() > 0.044


def test_stand_ins_are_asked_for(tmp_path: Path, runs: Path) -> None:
    ended = consort("run", described(tmp_path / "system"), "--time-scale", SCALE)
    assert ended.returncode == 2
    assert "tasks.early: the task has no step to execute" in ended.stderr and "--stand-ins" in ended.stderr
    without = described(tmp_path / "other", early={"period": "10ms", "on": "master-0", "writes": ["blocks"]})
    ended = consort("run", without, "--time-scale", SCALE, "--stand-ins")
    assert ended.returncode == 2
    assert "tasks.early.wcet: a stand-in executes for the task's wcet" in ended.stderr
    assert not runs.exists() or list(runs.iterdir()) == []


def test_a_core_with_too_much_to_do_skips_releases_and_says_so(tmp_path: Path, runs: Path) -> None:
    """Twice as much as a core can do, on any machine: every release has its row, and the run can be read."""
    tasks = {"much": {"period": "10ms", "wcet": "20ms", "bcet": "20ms", "on": "master-0"}}
    description = write(
        tmp_path / "much",
        {"tasks": tasks, "run": {"iterations": 20, "interference": [], "time_base": "sleep"}},
    )
    found = ran(description, "local-off", stand_ins=True)
    every, served = found.jobs("much", skipped=True), found.jobs("much")
    assert every["seq"].tolist() == list(range(20))
    skipped = every[(every["status"] & SKIPPED) != 0]
    assert skipped.size >= 8
    assert (skipped["status"] & MISSED).all()
    assert not skipped["start"].any() and not skipped["finish"].any()
    assert (served["status"] & MISSED).all(), "each takes twice its deadline"
    assert int(found.events("overrun")["value"].sum()) == skipped.size
    (count,) = found.verdict.tasks
    assert (count.planned, count.released, count.on_time) == (20, 20, 0)
    assert count.unserved == skipped.size
    assert not found.verdict.ok
    # That it missed, or that a machine that disturbs one job of such a backlog disturbed them all.
    assert any(reason.startswith("much: ") for reason in found.verdict.reasons)
    ended = consort("run", description, "--stand-ins", "--only", "local-off", "--ordinary", "-v")
    assert ended.returncode in (1, 4) and "∞" in ended.stdout
    # A record without a finite maximum can be read back, shown and compared.
    (recorded,) = runs.iterdir()
    assert not open_run(recorded).held
    for words in (("runs",), ("report", recorded), ("compare", recorded, recorded)):
        shown = consort(*words)
        assert shown.returncode == 0, shown.stderr
