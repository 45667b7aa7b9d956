# SPDX-License-Identifier: Apache-2.0
"""Runs in virtual time that go from mode to mode: the simulator's jobs and changes, and outputs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from consort import _engine
from consort.model import BadDescription, load_system
from consort.plan import plan_in_modes
from consort.report.terminal import verdict_lines
from modes_support import RanModes, described, left_over, misplaced, playing, ran_modes, resting, value_of
from run_support import as_executed, consort

REQUESTS = [(105_000, "second"), (207_000, "first"), (208_000, "second"), (333_333, "first")]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> RanModes:
    return ran_modes(described(tmp_path_factory.mktemp("modes") / "m", REQUESTS), target="virtual", seed=5)


def test_it_is_judged_by_mode_and_holds(found: RanModes) -> None:
    assert found.reasons == []
    assert [c["key"] for c in found.run.configurations] == ["offloaded-off-first", "offloaded-off-second"]
    tasks = {
        c["key"].rpartition("-")[2]: [t["task"] for t in c["verdict"]["tasks"]]
        for c in found.run.configurations
    }
    assert tasks == {
        "first": ["mover", "away", "reader", "pilot"],
        "second": ["mover", "away", "reader", "pilot", "extra"],
    }
    planned = [t["planned"] for c in found.run.configurations for t in c["verdict"]["tasks"]]
    released = [t["released"] for c in found.run.configurations for t in c["verdict"]["tasks"]]
    assert planned == released


def test_jobs_and_changes_are_those_of_the_simulator(found: RanModes) -> None:
    # The engine's own run of the same modes: its simulator, not the executive.
    from consort.run.plan_image import ARRIVAL, EXECUTION
    from consort.simulate.modes import engine_system

    plans = plan_in_modes(found.prepared.system, "virtual")
    tasks, cores = list(plans.whole.tasks), list(plans.whole.cores)
    systems = [
        engine_system(made, as_executed(made, found.prepared.described), tasks, cores)
        for made in plans.modes.values()
    ]
    names, changes = list(plans.modes), plans.whole.changes
    assert len(names) == 2 and changes is not None
    requests = [(at, names.index(to)) for at, to in changes.requests]
    modes = _engine.SimModes(systems, names.index(changes.start), changes.agreement_ps, requests)
    duration = found.raw.manifest.config["duration_ns"] * 1000
    raw = _engine.sim_run_modes(modes, duration, 5, EXECUTION, ARRIVAL, True, None)
    from consort.simulate.engine import JOBS

    expected = raw["jobs"].view(JOBS)
    seen = found.raw.tables["jobs"].rows
    for name in ("release", "start", "finish"):
        assert sorted(zip(expected["task"], expected["seq"], expected[name] + 1, strict=True)) == sorted(
            zip(seen["task"], seen["seq"], seen[name], strict=True)
        )
    assert [(c["requested"] + 1, c["drained"] + 1, c["released"] + 1) for c in raw["changes"]] == [
        (stay.requested, stay.idle, stay.end) for stay in found.stays[:-1]
    ]
    assert len(raw["changes"]) == 4


def test_outputs_are_those_of_the_run_that_never_moved(found: RanModes) -> None:
    for task in ("mover", "away", "extra"):
        outputs = found.outputs(task)
        assert len(outputs) > 20
        assert outputs == value_of(len(outputs)), task
    moved = found.outputs("mover")
    read = [value for value in found.outputs("reader") if value]
    assert read and set(read) <= set(moved)


def test_each_change_stands_in_the_report_with_its_bound(found: RanModes) -> None:
    assert [row[:2] for row in found.changes] == [["first", "second"], ["second", "first"]] * 2
    assert all(row[5] <= row[6] for row in found.changes)
    lines = verdict_lines(found.run)
    at = lines.index("first -> second")
    assert lines[at + 1].split()[0] == "2" and lines[at + 1].endswith("✓")


def test_a_state_that_stays_behind_is_found(found: RanModes) -> None:
    """The judge compares with the steps in logical order: what a mode change lost would be seen."""
    outputs = value_of(30)
    assert outputs[10:20] != value_of(10)


def test_the_same_bytes_again(found: RanModes, tmp_path: Path) -> None:
    again = ran_modes(described(tmp_path / "m", REQUESTS), target="virtual", seed=5)
    for file in sorted(found.raw.path.glob("*.bin")):
        assert (again.raw.path / file.name).read_bytes() == file.read_bytes()


def test_a_change_above_its_bound_fails_the_run(found: RanModes) -> None:
    from dataclasses import replace

    from consort.judge.changes import Change

    change = Change("first", "second", 0, 5, 10, 1, bound=9)
    assert not change.kept and "above its bound" in change.excess
    assert replace(change, disturbed=True).kept


def test_a_channel_that_is_written_in_two_ways_is_refused(tmp_path: Path) -> None:
    file = described(
        tmp_path / "m",
        REQUESTS,
        chains={"c": {"path": ["mover", "reader", "extra"], "communication": "let"}},
    )
    data = json.loads(file.read_text())
    data["channels"]["read"] = {"kind": "sporadic"}
    data["tasks"]["reader"]["writes"] = {"value": "read"}
    data["tasks"]["extra"]["reads"] = {"seen": "read"}
    file.write_text(json.dumps(data))
    with pytest.raises(BadDescription, match=r"moved: its communication is implicit in the mode 'first'"):
        plan_in_modes(load_system(file), "virtual")
    done = consort("check", file, "--for", "virtual")
    assert done.returncode == 2 and "channels.moved" in done.stderr


def test_no_time_passes_between_modes_of_jobs(found: RanModes) -> None:
    """No job of one mode is under way while jobs of another are."""
    jobs = np.array(found.raw.tables["jobs"].rows)
    for stay in found.stays[:-1]:
        inside = (jobs["release"] >= stay.begin) & (jobs["release"] < stay.end)
        assert (jobs["finish"][inside] <= stay.idle).all()
        assert (jobs["release"][inside] < stay.requested).all()


def test_no_block_outlives_a_mode_in_which_an_end_rests(tmp_path: Path) -> None:
    found = ran_modes(resting(tmp_path / "m"), key="local-off", target="virtual")
    assert found.reasons == [] and len(found.stays) == 5
    assert left_over(found) == []


def test_a_recording_is_played_at_its_speed_in_each_mode(tmp_path: Path) -> None:
    found = ran_modes(playing(tmp_path / "m"), key="local-off", target="virtual")
    assert found.reasons == [] and len(found.stays) == 3
    assert misplaced(found) == []


def test_a_task_asks_for_modes_by_its_output(tmp_path: Path) -> None:
    found = ran_modes(described(tmp_path / "m", []), target="virtual")
    assert found.reasons == []
    # 60 jobs of `mover`, which are more of `pilot`'s: it asks after each ten of its own.
    assert [row[:2] for row in found.changes[:3]] == [
        ["first", "second"],
        ["second", "first"],
        ["first", "second"],
    ]
    jobs = np.array(found.raw.tables["jobs"].rows)
    pilot = jobs[jobs["task"] == found.system.task_names.index("pilot")]
    asked = sorted(pilot["finish"][(pilot["seq"] % 10 == 9)].tolist())
    assert [stay.requested for stay in found.stays[:-1]] == asked[: len(found.stays) - 1]
    for task in ("mover", "away", "extra"):
        outputs = found.outputs(task)
        assert outputs == value_of(len(outputs)), task


def test_who_cannot_ask_is_refused(tmp_path: Path) -> None:
    file = described(tmp_path / "m", [])
    data = json.loads(file.read_text())

    def refused(change: dict[str, object], *command: str) -> str:
        data["mode_changes"]["asked_by"] = [
            {"task": "pilot", "member": "wanted", "modes": ["first", "second"]} | change
        ]
        file.write_text(json.dumps(data))
        done = consort(*command)
        assert done.returncode == 2
        return done.stderr

    run = ("run", str(file), "--for", "virtual")
    assert "have no whole number 'wish'; they have wanted" in refused({"member": "wish"}, *run)
    assert "'nobody' is not a task" in refused({"task": "nobody"}, "check", str(file))
    assert "'third' is not a mode" in refused({"modes": ["third"]}, "check", str(file))
    assert "a simulation computes no outputs" in refused({}, "simulate", str(file))
