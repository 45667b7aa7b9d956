# SPDX-License-Identifier: Apache-2.0
"""One system with every kind of core and channel: what was read is what was written, and the judge sees it.

All times are stretched, so that its five cores and the I/O core share two CPUs.
"""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from consort.judge import Verdict, judge
from consort.record import RawRun
from consort.record.ran import OPERATIONS, STATUS
from consort.run.collect import reference_outputs
from effort import PATIENCE
from run_support import MISSED, WRONG, Ran, beside_time, ran

MIXED = Path(__file__).parent / "mixed"
pytestmark = [pytest.mark.realtime(when="run"), pytest.mark.usefixtures("two_cpus")]
SCALE = 10
STEPS = ("source", "near", "far", "fresh", "begin", "see-near", "see-far", "away", "load", "control", "drive")
ABORTED = STATUS["aborted"]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    folder = tmp_path_factory.mktemp("mixed") / "mixed"
    shutil.copytree(MIXED, folder)
    yield ran(folder / "system.yaml", "offloaded-off", time_scale=SCALE)


def with_reads(found: Ran, name: str, channel: str) -> list[tuple[np.void, np.void, int]]:
    """Each begun job of a task: its output, what it read of a channel, and what it had read before."""
    reads = {int(op["seq"]): op for op in found.operations(channel, "read", name)}
    rows = []
    before = 0
    for out in found.outputs(name):
        op = reads[int(out["seq"])]
        rows.append((out, op, before))
        before = int(op["sequence"])
    return rows


def test_every_core_has_its_policy_and_every_job_its_row(found: Ran) -> None:
    policies = {core.name: core.policy for core in found.system.cores}
    assert policies == {
        "m-0": "fixed-priority",
        "m-1": "fixed-priority-non-preemptive",
        "m-2": "edf",
        "w-0": "worker",
        "s-0": "three-phase",
    }
    executions = {task.name: task.execution for task in found.system.tasks}
    assert set(executions.values()) == {"local", "offloaded", "three-phase"}
    for task in found.system.tasks:
        every = found.jobs(task.name, skipped=True)
        offset, period = found.system.ns(task.offset_ps), found.system.ns(task.period_ps)
        planned = -(-(found.config["duration_ns"] - offset) // period)
        assert every["seq"].tolist() == list(range(int(planned))), task.name
        assert len(found.jobs(task.name)), task.name
    assert beside_time(found.verdict.reasons) == []
    assert found.wrong == 0


def test_jobs_of_a_core_that_does_not_preempt_do_not_overlap(found: Ran) -> None:
    jobs = np.concatenate([found.jobs(name) for name in ("far", "fresh", "drive")])
    jobs = jobs[np.argsort(jobs["start"])]
    assert (jobs["finish"][:-1] <= jobs["start"][1:]).all()


def test_blocks_arrive_whole_and_are_those_of_the_record(found: Ran) -> None:
    for name in ("near", "far"):
        assert not found.outputs(name)["torn"].any()
        for channel, member in (("shot", "shot"), (f"mail-{name}", "mail"), (f"twin-{name}", "twin")):
            rows = with_reads(found, name, channel)
            numbers = [int(out[member]) for out, _, _ in rows]
            assert numbers == [int(op["sequence"]) for _, op, _ in rows], (name, channel)
            assert numbers == sorted(numbers)
            assert numbers[-1] > 1, "something flowed"


def test_a_queue_passes_every_block_once_and_in_order(found: Ran) -> None:
    for name in ("near", "far"):
        seen: list[int] = []
        for out, op, before in with_reads(found, name, f"line-{name}"):
            assert out["count"] == op["count"]
            if out["count"]:
                assert (out["first"], out["last"]) == (before + 1, op["sequence"])
                seen += range(int(out["first"]), int(out["last"]) + 1)
        assert seen == list(range(1, len(seen) + 1))
        assert len(seen) > 1


def test_latest_tells_number_and_age(found: Ran) -> None:
    writes = {int(op["sequence"]): int(op["time"]) for op in found.operations("shot", "write")}
    ticks_per_ns = found.raw.manifest.clock.ticks_per_second / 1e9
    for out, op, _ in with_reads(found, "fresh", "shot"):
        assert not out["torn"]
        assert out["sequence"] == out["number"] == op["sequence"]
        if out["sequence"]:
            # The write is recorded after it was made: at the read the block is at least as old as the record
            # lets it be, and at most as old as what lies between them and its job's start.
            begun = {int(j["seq"]) + 1: int(j["start"]) for j in found.jobs("source", skipped=True)}
            oldest = (int(op["time"]) - min(begun.values())) / ticks_per_ns
            assert 0 < out["age_ns"] <= oldest
            assert out["age_ns"] >= (int(op["time"]) - writes[int(out["sequence"])]) / ticks_per_ns - 1e6 * 50
        else:
            assert out["age_ns"] == 0


@pytest.mark.parametrize("reader", ["see-near", "see-far"])
def test_logical_time_is_exact(found: Ran, reader: str) -> None:
    """A job reads what was published at its release or before, whenever either of the two was computed."""
    begin = found.system.plan.tasks["begin"]
    deadline = found.system.ns(begin.deadline_ps) * found.raw.manifest.clock.ticks_per_second / 1e9
    late = {int(op["seq"]) for op in found.operations("ring", "write-late")}
    published = [int(job["release"]) + deadline for job in found.jobs("begin")]
    jobs = {int(job["seq"]): job for job in found.jobs(reader)}
    compared = 0
    for out, op, _ in with_reads(found, reader, "ring"):
        assert not out["torn"]
        assert out["number"] == op["sequence"]
        due = sum(instant <= jobs[int(out["seq"])]["release"] for instant in published)
        if not late:
            assert out["number"] == due
        assert out["number"] <= due
        compared += due > 0
    assert compared > 1


def test_rows_of_a_function_and_of_a_recording_fill_members(found: Ran) -> None:
    outputs = found.outputs("source")
    salts = np.random.default_rng(1).integers(1, 1000, 7)
    at = np.arange(len(outputs))
    assert outputs["salt"].tolist() == salts[at % 7].tolist()
    # The recording is read at the task's own period, from 0 to 40 ms each 10 ms.
    assert outputs["level"].tolist() == np.float32([0, 1, 4, 9, 16])[at % 5].tolist()


def test_offloaded_and_three_phase_tasks_take_part(found: Ran) -> None:
    away = found.outputs("away")
    assert not away["torn"].any()
    assert away["jobs"].tolist() == list(range(1, len(away) + 1)), "state goes to the worker and back"
    assert away["number"].tolist() == [int(op["sequence"]) for _, op, _ in with_reads(found, "away", "shot")]
    load = found.outputs("load")
    assert not load["torn"].any()
    # Its constants, too, are in its partition.
    assert load["jobs"].tolist() == [7 * n for n in range(1, len(load) + 1)]
    assert load["number"].tolist() == [int(op["sequence"]) for _, op, _ in with_reads(found, "load", "back")]
    assert load["number"][-1] > 1
    jobs = found.jobs("load")
    order = ("release", "ready", "loaded", "start", "executed", "finish")
    for earlier, later in itertools.pairwise(order):
        assert (jobs[earlier] <= jobs[later]).all()


def loop(found: Ran) -> list[int]:
    """The angles that the controller of the plant must have read: the loop, computed here."""
    task = found.system.plan.tasks["control"]
    period, deadline = int(found.system.ns(task.period_ps)), int(found.system.ns(task.deadline_ps))
    wishes = np.random.default_rng(2).integers(1, 1000, 5)
    angle = speed = torque = 0
    shown = (0, 0)
    pending: list[tuple[int, int]] = []
    now, step = 0, 1_000_000 * SCALE
    angles = []
    for done, seq in enumerate(found.jobs("control")["seq"].tolist()):
        release = seq * period
        while now <= release:
            while pending and pending[0][0] <= now:
                torque = pending.pop(0)[1]
            speed += torque - (speed >> 3)
            angle += speed
            shown = (angle, speed)
            now += step
        angles.append(shown[0])
        pending.append((release + deadline, (int(wishes[done % 5]) - shown[0]) >> 4))
    return angles


def test_a_plant_is_in_the_loop_in_logical_time(found: Ran) -> None:
    angles = found.outputs("control")["angle"].tolist()
    assert angles == loop(found)
    assert len(set(angles)) > 1, "it moves"


def test_a_driver_is_called_once_a_job(found: Ran) -> None:
    """Each second read has something new; what the job before wrote is in it."""
    value = 0
    for job, out in enumerate(found.outputs("drive"), start=1):
        if job % 2 == 0:
            value = 1000 + job + 10000 * (job - 1)
        assert (out["value"], out["command"]) == (value, 10000 * job)


def test_the_run_twice_gives_the_same_outputs_to_the_bit(found: Ran) -> None:
    """Outputs that do not depend on the machine's time: closed loops, logical time, rows."""
    again = ran(found.scratch.parent / "system.yaml", "offloaded-off", time_scale=SCALE)
    for name in ("control", "source", "begin", "see-near", "see-far"):
        first, second = found.jobs(name)["seq"], again.jobs(name)["seq"]
        # A busy machine may skip a release in one of the two; up to there they are the same.
        upto = len(first)
        for at, (a, b) in enumerate(zip(first, second, strict=False)):
            if a != b:
                upto = at
                break
        upto = min(upto, len(second))
        if found.operations("ring", "write-late").size + again.operations("ring", "write-late").size:
            upto = 0 if name.startswith("see") else upto
        # Row by row: between members there may be bytes that nobody wrote.
        assert found.outputs(name)[:upto].tolist() == again.outputs(name)[:upto].tolist(), name


# The judge of outputs can fail.


def judged(found: Ran, folder: Path) -> Verdict:
    expected = reference_outputs(folder, found.prepared.plan, found.prepared.described)
    return judge(RawRun.load(folder), expected=expected)


def replayed(found: Ran, folder: Path) -> None:
    config = found.scratch / "config.json"
    subprocess.run(
        [found.prepared.program, "--config", config, "--raw", folder, "--replay"],
        check=True,
        timeout=PATIENCE,
    )


def copied(found: Ran, tmp_path: Path) -> Path:
    folder = tmp_path / "raw"
    shutil.copytree(found.scratch / "raw", folder)
    return folder


def test_every_task_that_can_be_predicted_is_held_against_its_own_steps(found: Ran) -> None:
    expected = reference_outputs(found.scratch / "raw", found.prepared.plan, found.prepared.described)
    # Ages and drivers cannot be predicted.
    assert set(expected) == set(STEPS) - {"fresh", "drive"}
    for name, rows in expected.items():
        jobs = found.jobs(name)
        assert rows.known is not None
        assert np.flatnonzero(rows.known).tolist() == jobs["seq"].tolist(), name


@pytest.mark.parametrize("name", ["near", "away", "load", "see-far"])
def test_one_wrong_byte_is_found(found: Ran, tmp_path: Path, name: str) -> None:
    folder = copied(found, tmp_path)
    number = found.number(name)
    file = folder / f"outputs-{number}.bin"
    table = found.raw.tables[f"outputs-{number}"]
    data = bytearray(file.read_bytes())
    at = len(table.rows) // 2
    member = "number" if "number" in table.rows.dtype.names else "shot"
    data[at * table.spec.record_bytes + table.rows.dtype.fields[member][1]] ^= 4
    file.write_bytes(bytes(data))
    verdict = judged(found, folder)
    wrong = np.flatnonzero(verdict.status & WRONG)
    assert wrong.size == 1
    jobs = RawRun.load(folder).tables["jobs"].rows
    seq = int(table.rows["seq"][at])
    assert (jobs["task"][wrong[0]], jobs["seq"][wrong[0]]) == (number, seq)
    (reason,) = [r for r in verdict.reasons if "outputs are wrong" in r]
    assert reason.startswith(f"{name}: 1 of ") and f"first job {seq}, member {member}" in reason


def test_a_block_that_was_not_the_one_of_the_record_is_found(found: Ran, tmp_path: Path) -> None:
    """An output can be right in itself and made of another block: the replay reads what the record says."""
    folder = copied(found, tmp_path)
    manifest = json.loads((folder / "manifest.json").read_text())
    spec = next(t for t in manifest["tables"] if t["name"] == "operations")
    offset = {f["name"]: f["offset"] for f in spec["fields"]}
    rows = np.array(found.raw.tables["operations"].rows)
    near, shot = found.number("near"), found.system.channel_names.index("shot")
    reads = (rows["task"] == near) & (rows["channel"] == shot) & (rows["kind"] == OPERATIONS.index("read"))
    at = int(np.flatnonzero(reads & (rows["sequence"] > 1))[0])
    data = bytearray((folder / "operations.bin").read_bytes())
    data[at * spec["record_bytes"] + offset["sequence"]] -= 1
    (folder / "operations.bin").write_bytes(bytes(data))
    replayed(found, folder)
    verdict = judged(found, folder)
    (reason,) = [r for r in verdict.reasons if "outputs are wrong" in r]
    assert reason.startswith("near: 1 of ") and f"first job {int(rows['seq'][at])}, member shot" in reason


def test_jobs_that_missed_are_counted_and_named(found: Ran) -> None:
    """Planned against done: what the counts of the verdict say is what the rows say."""
    for count in found.verdict.tasks:
        rows = found.jobs(count.task, skipped=True)
        assert (count.planned, count.released) == (len(rows), len(rows))
        assert count.on_time == int(((rows["status"] & MISSED) == 0).sum())
        assert count.on_time + count.late + count.unserved == count.released
