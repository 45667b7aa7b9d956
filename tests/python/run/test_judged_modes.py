# SPDX-License-Identifier: Apache-2.0
"""Judgements of runs that change modes and whose records lack something."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from consort.judge.samples import Samples
from consort.plan import plan_in_modes
from consort.record import RawRun, Run, RunWriter
from consort.record.ran import EVENTS, NONE
from consort.record.raw import MANIFEST
from consort.record.stays import stays_of
from consort.run.flow import Recording, add_judged
from consort.run.modes import JudgedModes
from modes_support import RanModes, described, ran_modes
from numpy.typing import NDArray
from run_support import silent

REQUESTS = [(105_000, "second"), (207_000, "first")]
SCALE = 2


def replaced(raw: RawRun, folder: Path, table: str, rows: NDArray[np.void]) -> RawRun:
    """A copy of a recording in which a table has other rows."""
    shutil.copytree(raw.path, folder, ignore=shutil.ignore_patterns("mode-*"))
    manifest = json.loads((folder / MANIFEST).read_text())
    spec = next(entry for entry in manifest["tables"] if entry["name"] == table)
    rows.tofile(folder / spec["file"])
    spec["rows"] = int(rows.size)
    (folder / MANIFEST).write_text(json.dumps(manifest))
    return RawRun.load(folder)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> RanModes:
    return ran_modes(described(tmp_path_factory.mktemp("modes") / "m", REQUESTS), target="virtual")


def judged_modes(found: RanModes, target: str, scale: int = 1) -> JudgedModes:
    return JudgedModes(plan_in_modes(found.prepared.system, target), scale)


def judged_again(
    found: RanModes, raw: RawRun, folder: Path, watch: Callable[[float], None] | None = None
) -> Run:
    modes = judged_modes(found, "virtual")
    config = raw.path.parent / "config.json"
    shutil.copy(found.raw.path.parent / "config.json", config)
    replay = [str(found.prepared.program), "--config", str(config), "--raw", str(raw.path), "--replay"]
    whole = modes.plans.whole
    recording = Recording("offloaded-off", "offloaded", whole, raw.path, replay, modes=modes, watch=watch)
    with RunWriter("again", "application", folder / "runs") as writer:
        add_judged(writer, found.prepared, recording, silent)
        return writer.finish()


def test_the_machine_is_watched_once_for_all_modes(
    found: RanModes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = np.array(found.raw.tables["jobs"].rows)
    jobs["finish"] += np.uint64(found.raw.manifest.clock.ticks_per_second)
    raw = replaced(found.raw, tmp_path / "late", "jobs", jobs)
    watched: list[float] = []
    sampled: list[RawRun] = []
    of = Samples.of
    monkeypatch.setattr(Samples, "of", lambda record: sampled.append(record) or of(record))
    run = judged_again(found, raw, tmp_path, watched.append)
    assert len(run.configurations) == 2 and not run.held
    assert len(watched) == 1 and len(sampled) == 2


def test_a_mode_whose_jobs_all_lack_fails_the_run(found: RanModes, tmp_path: Path) -> None:
    jobs = np.array(found.raw.tables["jobs"].rows)
    stay = found.stays[1]
    kept = jobs[(jobs["release"] < stay.begin) | (jobs["release"] >= stay.end)]
    assert 0 < kept.size < jobs.size
    run = judged_again(found, replaced(found.raw, tmp_path / "raw", "jobs", kept), tmp_path)
    assert [c["key"] for c in run.configurations] == ["offloaded-off-first", "offloaded-off-second"]
    second = run.configurations[1]["verdict"]
    assert second["reasons"]
    assert all(task["released"] == 0 < task["planned"] for task in second["tasks"])


def test_a_run_that_ended_before_its_first_job_is_judged(found: RanModes, tmp_path: Path) -> None:
    nothing = np.array(found.raw.tables["jobs"].rows)[:0]
    raw = replaced(found.raw, tmp_path / "jobs", "jobs", nothing)
    events = np.array(raw.tables["events"].rows)
    kinds = [EVENTS.index(f"mode-{what}") for what in ("requested", "idle", "entered")]
    raw = replaced(raw, tmp_path / "raw", "events", events[~np.isin(events["kind"], kinds)])
    run = judged_again(found, raw, tmp_path)
    assert [c["key"] for c in run.configurations] == ["offloaded-off-first"]
    assert run.configurations[0]["verdict"]["reasons"]


@pytest.mark.realtime
def test_hand_overs_are_paired_task_by_task(tmp_path: Path) -> None:
    found = ran_modes(described(tmp_path / "m", REQUESTS), time_scale=SCALE)
    modes = judged_modes(found, "linux", SCALE)
    whole = modes.hand_overs(found.raw, found.stays)
    assert whole is not None and len(whole["rows"]) >= 1
    events = np.array(found.raw.tables["events"].rows)
    first = int(np.flatnonzero(events["kind"] == EVENTS.index("state-given"))[0])
    raw = replaced(found.raw, tmp_path / "given", "events", np.delete(events, first))
    lacks = modes.hand_overs(raw, stays_of(raw))
    assert lacks is not None
    assert lacks["rows"][0][:4] == [*whole["rows"][0][:2], "? -> master-1", None]
    assert lacks["rows"][0][4:] == whole["rows"][0][4:] and lacks["rows"][1:] == whole["rows"][1:]
    first = int(np.flatnonzero(events["kind"] == EVENTS.index("state-taken"))[0])
    raw = replaced(found.raw, tmp_path / "taken", "events", np.delete(events, first))
    lacks = modes.hand_overs(raw, stays_of(raw))
    assert (lacks["rows"] if lacks else []) == whole["rows"][1:]
    # The times of a run are stretched, and so is the bound of its accesses.
    unscaled = judged_modes(found, "linux").hand_overs(found.raw, found.stays)
    assert unscaled is not None
    accesses = [name["name"] for name in whole["columns"]].index("accesses")
    for row, plain in zip(whole["rows"], unscaled["rows"], strict=True):
        if plain[accesses] is not None:
            assert row[accesses] == SCALE * plain[accesses]


AGREEMENT_US = 1000


@pytest.mark.parametrize(
    ("prepared", "taken", "gap", "late"),
    [
        (10, AGREEMENT_US, None, False),
        (10, 3 * AGREEMENT_US, None, True),
        # The old core was woken late, or stopped meanwhile: that is the machine's.
        (2 * AGREEMENT_US + 10, 3 * AGREEMENT_US, None, False),
        (10, 3 * AGREEMENT_US, "master-0", False),
        (10, 3 * AGREEMENT_US, "worker-0", True),
    ],
)
def test_a_hand_over_above_its_agreement_fails_the_run(
    found: RanModes, tmp_path: Path, prepared: int, taken: int, gap: str | None, late: bool
) -> None:
    events = np.array(found.raw.tables["events"].rows)
    idle = found.stays[0].idle
    assert idle is not None
    per_us = found.raw.manifest.clock.ticks_per_second / 1e6
    cores = found.system.core_names
    task = found.system.task_names.index("mover")
    marks = [
        ("prepared", "master-0", prepared),
        ("given", "master-0", prepared + 1),
        ("taken", "master-1", taken),
    ]
    more = np.zeros(len(marks) + (gap is not None), dtype=events.dtype)
    for row, (what, core, us) in zip(more, marks, strict=False):
        row["kind"], row["core"], row["task"] = EVENTS.index(f"state-{what}"), cores.index(core), task
        row["value"] = round(us * per_us)
        row["time"] = idle + row["value"]
    if gap is not None:
        row = more[-1]
        row["kind"], row["core"], row["task"] = EVENTS.index("disturbed"), cores.index(gap), NONE
        row["time"], row["value"] = idle + round(500 * per_us), round(400 * per_us)
    raw = replaced(found.raw, tmp_path / "raw", "events", np.concatenate([events, more]))
    said = judged_modes(found, "virtual").late_hand_overs(raw, found.stays, [])
    assert len(said) == late
    words = "the hand-over of mover (master-0 -> master-1, into second) took 3,000.0 us, above its agreement"
    reasons = [
        reason for reason in judged_again(found, raw, tmp_path).data["verdict"]["reasons"] if words in reason
    ]
    assert len(reasons) == late and (not late or words in said[0])
