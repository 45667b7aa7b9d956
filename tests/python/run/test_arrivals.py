# SPDX-License-Identifier: Apache-2.0
"""Tasks that the blocks of a channel release: one job a block, never closer than the description says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from consort import _engine
from consort.record.ran import EVENTS, OPERATIONS
from consort.run.plan_image import ARRIVAL, EXECUTION
from consort.simulate.engine import JOBS
from run_support import LATE, SKIPPED, Ran, as_executed, ran, write

pytestmark = [pytest.mark.realtime(when="run"), pytest.mark.usefixtures("two_cpus")]
SCALE = 10
# Of the writer.
ITERATIONS = 20


def described(folder: Path, tasks: dict[str, Any], channels: dict[str, Any], **parts: Any) -> Path:
    run = {"iterations": ITERATIONS, "interference": [], "seed": 1}
    return write(folder, {"tasks": tasks, "channels": channels, "run": run, **parts})


def writer(channel: str, on: str = "master-0", **changes: Any) -> dict[str, Any]:
    return {"period": "10ms", "wcet": "100us", "on": on, "writes": [channel], **changes}


def reader(channel: str, on: str = "master-1", **changes: Any) -> dict[str, Any]:
    return {
        "min_interarrival": "5ms",
        "arrival": channel,
        "wcet": "50us",
        "on": on,
        "reads": [channel],
        **changes,
    }


# Room for every block of a run, for the sink may get no processor for long; and the same everywhere, so that
# the tests with the same tasks share a program.
QUEUE = {"kind": "queue", "capacity": 64, "size": "64B"}
# A task of time on the sink's core.
BESIDE = {"period": "20ms", "wcet": "50us", "on": "master-1"}


def run(path: Path) -> Ran:
    return ran(path, "offloaded-off", stand_ins=True, time_scale=SCALE)


def operations(found: Ran, channel: int, kind: str) -> np.ndarray:
    rows = np.array(found.raw.tables["operations"].rows)
    return rows[(rows["channel"] == channel) & (rows["kind"] == OPERATIONS.index(kind))]


def events(found: Ran, kind: str) -> np.ndarray:
    rows = np.array(found.raw.tables["events"].rows)
    return rows[rows["kind"] == EVENTS.index(kind)]


def ticks(found: Ran, ns: float) -> float:
    return ns * SCALE * found.raw.manifest.clock.ticks_per_second / 1e9


def beside_lateness(found: Ran) -> list[str]:
    """The verdict's findings without those of the machine's lateness. A late block is too close to the next
    one, one that is not written releases no job, and the block of a release that is not served is read by
    nobody: none of this is the executive's doing.
    """
    reasons = [reason for reason in found.verdict.reasons if not LATE.search(reason)]
    jobs = np.concatenate([found.jobs(name, skipped=True) for name in ("source", "sink")])
    behind = jobs["finish"].astype(np.int64) - jobs["release"].astype(np.int64)
    if np.all((jobs["status"] & SKIPPED) == 0) and behind.max() < ticks(found, 5e6):
        return reasons
    by_lateness = (
        "before min_interarrival and min_distances allow",
        "planned jobs were released",
        "not seen by",
    )
    return [reason for reason in reasons if not any(words in reason for words in by_lateness)]


@pytest.mark.parametrize("policy", ["fixed-priority", "fixed-priority-non-preemptive", "edf"])
def test_each_block_releases_one_job(tmp_path: Path, policy: str) -> None:
    # Beside a task of time on the same core, which must not keep its thread from seeing what arrives.
    path = described(
        tmp_path / "system",
        {"source": writer("blocks"), "sink": reader("blocks"), "beside": BESIDE},
        {"blocks": QUEUE},
        scheduling={"master-1": {"policy": policy}},
    )
    found = run(path)
    jobs = found.jobs("sink", skipped=True)
    writes, reads = operations(found, 0, "write"), operations(found, 0, "read")
    # A late machine does not serve every release of the writer.
    assert len(writes) == len(found.jobs("source"))
    # The last block may come after the run's end.
    assert len(writes) - 1 <= len(jobs) <= len(writes)
    assert jobs["seq"].tolist() == list(range(len(jobs)))
    served = jobs[(jobs["status"] & SKIPPED) == 0]
    assert np.all(served["start"] >= served["release"])
    # Each release lies behind its block's write: the reader takes the blocks in turn, one a job.
    taken = reads[reads["count"] > 0]
    sequence = taken["sequence"].astype(np.int64)
    assert np.all(np.diff(sequence) > 0)
    assert np.all(sequence <= taken["seq"].astype(np.int64) + 1)
    # A job that a late machine skips leaves its block to the next one.
    if len(served) == len(jobs):
        assert set(sequence.tolist()) <= set((served["seq"].astype(np.int64) + 1).tolist())
    assert len(taken) >= len(served) - 1
    distance = np.diff(jobs["release"].astype(np.int64))
    assert distance.min() >= ticks(found, 5e6) - 1
    assert len(found.jobs("beside", skipped=True)) == ITERATIONS // 2
    assert not beside_lateness(found)


def test_under_logical_execution_time_a_block_arrives_when_it_is_published(tmp_path: Path) -> None:
    path = described(
        tmp_path / "system",
        {"source": writer("blocks", deadline="4ms"), "sink": reader("blocks")},
        {"blocks": {"kind": "sporadic", "size": "64B", "communication": "let"}},
    )
    found = run(path)
    # A release of the writer that is not served publishes no block.
    source, sink = found.jobs("source"), found.jobs("sink", skipped=True)
    assert len(source) - 1 <= len(sink) <= len(source)
    published = source["release"].astype(np.int64) + ticks(found, 4e6)
    late = set(operations(found, 0, "write-late")["seq"].tolist())
    kept = [i for i in range(len(sink)) if source["seq"][i] not in late]
    assert kept, "no block was written in time"
    lateness = sink["release"].astype(np.int64)[kept] - published[kept]
    assert np.all(np.abs(lateness) <= 2)


def test_blocks_that_come_too_early_are_named_and_their_jobs_wait(tmp_path: Path) -> None:
    path = described(
        tmp_path / "system",
        {"source": writer("blocks"), "sink": reader("blocks", min_interarrival="15ms"), "beside": BESIDE},
        {"blocks": QUEUE},
    )
    found = run(path)
    jobs = found.jobs("sink", skipped=True)
    assert np.diff(jobs["release"].astype(np.int64)).min() >= ticks(found, 15e6) - 1
    early = events(found, "early-arrival")
    # From the second block on, where the writer came in time; the wait grows by 5 ms a block.
    assert len(early) >= 1
    assert len(early) <= len(jobs)
    assert not found.verdict.ok
    assert any(
        "before min_interarrival and min_distances allow" in check.text for check in found.verdict.checks
    )
    assert any("planned jobs were released" in reason for reason in found.verdict.reasons)


def test_jitter_allows_blocks_that_come_closer(tmp_path: Path) -> None:
    # Any distance that the writer's own response makes is within a jitter of a period.
    path = described(
        tmp_path / "system",
        {
            "source": writer("blocks"),
            "sink": reader("blocks", min_interarrival="10ms", jitter="10ms"),
            "beside": BESIDE,
        },
        {"blocks": QUEUE},
    )
    found = run(path)
    jobs = found.jobs("sink", skipped=True)
    assert np.diff(jobs["release"].astype(np.int64)).min() >= ticks(found, 10e6) - 1
    behind = jobs["ready"].astype(np.int64) - jobs["release"].astype(np.int64)
    assert behind.min() >= 0 and behind.max() <= ticks(found, 10e6) + 1
    assert len(jobs) >= len(found.jobs("source")) - 1
    assert not beside_lateness(found)


def test_a_device_that_is_only_described_releases_tasks(tmp_path: Path) -> None:
    path = described(
        tmp_path / "system",
        {"clock": {"period": "10ms", "wcet": "20us", "on": "master-0"}, "sink": reader("messages")},
        {"messages": {**QUEUE, "from": "bus"}},
        devices={"bus": {"kind": "can"}},
    )
    found = run(path)
    written = len(operations(found, 0, "write"))
    jobs = found.jobs("sink", skipped=True)
    assert written >= 2 and written - 1 <= len(jobs) <= written
    distance = np.diff(operations(found, 0, "write")["time"].astype(np.int64))
    assert distance.min() < ticks(found, 5e6) or not len(events(found, "early-arrival"))


@pytest.mark.parametrize("channel", [QUEUE, {"kind": "sporadic", "size": "64B", "communication": "let"}])
def test_in_virtual_time_the_simulators_jobs(tmp_path: Path, channel: dict[str, Any]) -> None:
    late = {"deadline": "4ms", "bcet": "10us", "wcet": "3ms"}
    path = described(
        tmp_path / "system",
        {
            "source": writer("blocks", **late),
            "sink": reader("blocks", jitter="4ms", deadline="9ms"),
            "beside": BESIDE,
        },
        {"blocks": channel},
    )
    found = ran(path, "local-off", stand_ins=True, target="virtual", time_scale=SCALE)
    assert found.verdict.ok, found.verdict.reasons
    prepared = as_executed(found.prepared.plan, found.prepared.described, SCALE)
    length = round(found.config["duration_ns"] * 1000)
    simulated = _engine.sim_run(prepared.engine, length, 1, EXECUTION, ARRIVAL, True)["jobs"].view(JOBS)
    rows = np.sort(np.array(found.raw.tables["jobs"].rows), order=["task", "seq"])
    assert len(rows) > 2 * ITERATIONS
    for name in ("release", "ready", "start", "finish"):
        assert (rows[name].astype(np.int64) - 1).tolist() == np.sort(simulated, order=["task", "seq"])[
            name
        ].tolist()


def test_in_virtual_time_blocks_that_come_too_early_are_named(tmp_path: Path) -> None:
    path = described(
        tmp_path / "system",
        {"source": writer("blocks"), "sink": reader("blocks", min_interarrival="15ms"), "beside": BESIDE},
        {"blocks": QUEUE},
    )
    found = ran(path, "local-off", stand_ins=True, target="virtual")
    early = events(found, "early-arrival")
    # The first block is in time; each further one comes 5 ms earlier than the one before.
    assert np.diff(early["value"].astype(np.int64)).tolist() == [5 * 10**9] * (ITERATIONS - 2)
    assert len(found.jobs("sink", skipped=True)) == ITERATIONS
    assert any(
        "before min_interarrival and min_distances allow" in reason for reason in found.verdict.reasons
    )
