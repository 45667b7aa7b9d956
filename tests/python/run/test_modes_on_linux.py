# SPDX-License-Identifier: Apache-2.0
"""Runs on this machine that go from mode to mode: which jobs, in which order, with which outputs. What takes
how long is the machine's affair."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from consort.model import BadDescription, load_system
from consort.plan import plan_in_modes
from consort.record.ran import EVENTS, STATUS
from consort.run import Options, prepare
from effort import PATIENCE, wait_for
from modes_support import RanModes, described, left_over, misplaced, playing, ran_modes, resting, value_of
from run_support import CONSORT, beside_time, consort, no_process_left, processes, silent

pytestmark = pytest.mark.realtime(when="run")

REQUESTS = [(105_000, "second"), (207_000, "first"), (207_500, "second"), (333_333, "first")]
# The machine may have fewer CPUs than the system has cores.
SCALE = 2


def checked(found: RanModes, requests: Sequence[tuple[int, str]] = ()) -> None:
    """Checks that hold whatever the machine does. A change that another real-time run of the machine held up
    for long is still under way at the next request, which then takes its place."""
    assert beside_time(found.reasons) == []
    assert len(found.changes) == len(found.stays) - 1
    if requests:
        expected = found.settled(requests, SCALE)
        assert [row[:2] for row in found.changes] == [[one.old, one.new] for one in expected]
        for one, stay in zip(expected, found.stays, strict=False):
            assert stay.requested is not None and abs(stay.requested - one.requested) <= 4
    jobs = np.array(found.raw.tables["jobs"].rows)
    offloaded, answered = jobs["received"] != 0, (jobs["status"] & STATUS["deadline_misses"]) == 0
    assert (jobs["worker_receive"][~offloaded] == 0).all(), "no worker knows of a job that its core computes"
    served = jobs[offloaded & answered & (jobs["worker_receive"] != 0)]
    for earlier, later in pairwise(("sent", "worker_receive", "received")):
        assert (served[earlier] <= served[later]).all(), f"{later} before {earlier}"
    for stay in found.stays[:-1]:
        inside = (jobs["release"] >= stay.begin) & (jobs["release"] < stay.end)
        assert (jobs["finish"][inside] <= stay.idle).all(), "no job of a mode is left when it is idle"
        assert stay.requested <= stay.idle < stay.end
        after = jobs["release"] >= stay.end
        assert (jobs["start"][after & (jobs["start"] > 0)] >= stay.end).all()


@pytest.mark.representative
def test_outputs_are_those_of_the_run_that_never_moved(tmp_path: Path) -> None:
    found = ran_modes(described(tmp_path / "m", REQUESTS), time_scale=SCALE)
    checked(found, REQUESTS)
    for task in ("mover", "away", "extra"):
        outputs = found.outputs(task)
        assert outputs == value_of(len(outputs)), task
    moved = found.outputs("mover")
    read = [value for value in found.outputs("reader") if value]
    assert read == sorted(read, key=moved.index), "a channel's blocks stay in order across changes"
    cores = {name: number for number, name in enumerate(found.system.core_names)}
    jobs = np.array(found.raw.tables["jobs"].rows)
    mover = jobs[jobs["task"] == found.system.task_names.index("mover")]
    modes = [found.modes[stay.mode] for stay in found.stays]
    side = {"first": cores["master-0"], "second": cores["master-1"]}
    begins = [stay.begin for stay in found.stays]
    for job in mover:
        assert job["core"] == side[modes[max(bisect_right(begins, int(job["release"])) - 1, 0)]]
    events = np.array(found.raw.tables["events"].rows)
    given, taken = (events[events["kind"] == EVENTS.index(f"state-{what}")] for what in ("given", "taken"))
    phases = next(s for s in found.run.data["sections"] if s["title"].startswith("Phases of the hand-overs"))
    names = ["prepare", "copy", "commit", "released", "first job"]
    parts = {(row[1], row[3]): row[4:] for row in phases["rows"] if row[0] == "mover"}
    assert {(row[1], row[2]) for row in phases["rows"] if row[0] == "mover"} <= {
        ("second", "master-0 -> master-1"),
        ("first", "master-1 -> master-0"),
    }
    into = {new for old, new in pairwise(modes) if old != new}
    assert parts.keys() == {(mode, phase) for mode in into for phase in names}
    taken_last = max(taken["value"].tolist()) / found.raw.manifest.clock.ticks_per_second * 1e6
    for (mode, phase), (longest, bound) in parts.items():
        if phase == "first job":
            assert longest is None or longest > 0, "a mode may be left before its first job"
        else:
            assert 0 <= longest <= taken_last
        assert (bound is None) == (phase == "prepare"), mode
    moves = [side[old] for old, new in pairwise(modes) if old != new]
    assert given["core"].tolist() == moves and len(taken) == len(moves)
    assert (given["time"] <= taken["time"]).all()


@pytest.mark.parametrize("policy", ["fixed-priority-non-preemptive", "edf"])
def test_every_policy_changes_modes(tmp_path: Path, policy: str) -> None:
    scheduling = {core: {"policy": policy} for core in ("master-0", "master-1")}
    found = ran_modes(described(tmp_path / "m", REQUESTS, scheduling=scheduling), time_scale=SCALE)
    checked(found, REQUESTS)
    for task in ("mover", "away", "extra"):
        outputs = found.outputs(task)
        assert outputs == value_of(len(outputs)), task


def test_no_block_outlives_a_mode_in_which_an_end_rests(tmp_path: Path) -> None:
    found = ran_modes(resting(tmp_path / "m"), key="local-off", time_scale=SCALE)
    checked(found)
    assert left_over(found) == []


def test_a_recording_is_played_at_its_speed_in_each_mode(tmp_path: Path) -> None:
    found = ran_modes(playing(tmp_path / "m"), key="local-off", time_scale=SCALE)
    checked(found)
    assert misplaced(found) == []


def test_a_task_asks_for_modes_by_its_output(tmp_path: Path) -> None:
    found = ran_modes(described(tmp_path / "m", []), time_scale=SCALE)
    checked(found)
    assert [row[:2] for row in found.changes[:2]] == [["first", "second"], ["second", "first"]]
    for task in ("mover", "away", "extra"):
        outputs = found.outputs(task)
        assert outputs == value_of(len(outputs)), task


def every(k: int, changes: int, period_us: int = 10_000) -> list[tuple[int, str]]:
    """Requests such that a task moves after each `k` jobs: a mode lasts from its release, 1 ms after the idle
    instant, until before the release of one job more."""
    stay = k * period_us + 1_000
    return [(n * stay - period_us // 2, ("second", "first")[n % 2 == 0]) for n in range(1, changes + 1)]


def moved_every(folder: Path, k: int, changes: int, period_us: int = 10_000, **options: Any) -> RanModes:
    file = described(folder, every(k, changes, period_us), jobs=(changes + 1) * (k + 1))
    data = json.loads(file.read_text())
    for name, task in data["tasks"].items():
        task["period"] = f"{period_us}us"
        task["offset"] = f"{period_us // 4 if name == 'pilot' else 0}us"
    data["modes"]["second"]["overrides"]["mover"] = {"on": "master-1"}
    file.write_text(json.dumps(data))
    found = ran_modes(file, **options)
    outputs = found.outputs("mover")
    assert outputs == value_of(len(outputs)), k
    return found


@pytest.mark.parametrize("k", [1, 3])
def test_a_task_that_moves_after_every_kth_job_loses_nothing(tmp_path: Path, k: int) -> None:
    checked(moved_every(tmp_path / "m", k, 6, time_scale=SCALE), every(k, 6))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1, 201, 20))
def test_a_task_that_moves_after_every_kth_job_loses_nothing_for_any_k(tmp_path: Path, first: int) -> None:
    for k in range(first, first + 20):
        found = moved_every(tmp_path / f"{k}-virtual", k, 4, 2000, target="virtual")
        assert found.reasons == [] and len(found.changes) == 4
        checked(moved_every(tmp_path / f"{k}", k, 4, 2000, time_scale=SCALE), every(k, 4, 2000))


def begun_as(name: str, file: Path, runs: Path) -> subprocess.Popen[str]:
    """`consort run` of the description, under a name that other commands know it by."""
    chosen = ("--time-scale", str(SCALE), "--only", "offloaded-off", "--name", name, "--verbose")
    return subprocess.Popen(
        [str(CONSORT), "run", str(file), *chosen],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "CONSORT_RUNS": str(runs)},
    )


@pytest.mark.usefixtures("alone")
def test_a_core_that_dies_during_a_change_ends_the_run_and_is_named(tmp_path: Path) -> None:
    # The change begins with the run, and its agreement lasts longer than this test.
    file = described(tmp_path / "m", [(1, "second")], jobs=60_000)
    data = json.loads(file.read_text())
    data["mode_changes"]["agreement"] = "300s"
    file.write_text(json.dumps(data))
    program = prepare(load_system(file), silent, Options()).program
    started = begun_as("dies", file, tmp_path / "runs")

    def begun() -> bool:
        seen = consort("watch", "dies", "--json", "--count", "1").stdout
        return bool(seen) and (json.loads(seen.splitlines()[0]).get("elapsed_ns") or 0) > 10**8

    wait_for("the run has begun", begun)
    # The executive's children, in the order of the cores.
    children = sorted((p for p in processes(program) if p.parent != started.pid), key=lambda p: p.pid)
    os.kill(children[1].pid, signal.SIGKILL)
    out, err = started.communicate(timeout=PATIENCE)
    assert started.returncode == 1
    said = " ".join((out + err).split())
    assert "the process was ended by signal 9" in said, said
    assert "during the change of mode first -> second" in said
    no_process_left(program)


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_a_command_asks_for_modes(tmp_path: Path) -> None:
    # The instant of the description's own request is never reached.
    file = described(tmp_path / "m", [(900_000_000, "second")], jobs=1500)
    run = begun_as("asked", file, tmp_path / "runs")
    wait_for("the run is asked", lambda: consort("mode", "asked", "second").returncode == 0)
    assert "has no mode 'third'" in consort("mode", "asked", "third").stderr
    done = consort("mode", "asked", "first", "--json")
    assert json.loads(done.stdout)["mode"] == "first"
    out, err = run.communicate(timeout=PATIENCE)
    found = json.loads(next((tmp_path / "runs").glob("*/run.json")).read_text())
    rows = next(s["rows"] for s in found["sections"] if s["title"].startswith("Changes of mode"))
    assert [row[:2] for row in rows] == [["first", "second"], ["second", "first"]], out + err


def test_a_command_asks_no_run_that_there_is_not(tmp_path: Path) -> None:
    done = consort("mode", "nothing-of-that-name", "second")
    assert done.returncode == 3 and "in progress" in done.stderr


def test_what_processes_cannot_hand_over_is_refused(tmp_path: Path) -> None:
    file = described(tmp_path / "m", REQUESTS)
    data = json.loads(file.read_text())
    data["modes"]["third"] = {"overrides": {"mover": {"on": "master-2"}}}
    data["mode_changes"]["requests"].append({"at": "400ms", "to": "third"})
    file.write_text(json.dumps(data))
    with pytest.raises(
        BadDescription, match=r"tasks\.mover: on this machine a task is handed over between two"
    ):
        plan_in_modes(load_system(file), "linux")
    assert plan_in_modes(load_system(file), "virtual").modes.keys() == {"first", "second", "third"}
