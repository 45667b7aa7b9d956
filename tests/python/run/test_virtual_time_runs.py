# SPDX-License-Identifier: Apache-2.0
"""Runs in virtual time: the record of a run, the jobs of the simulator, the same bytes again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from consort import _engine
from consort.base.errors import BadInput
from consort.model import load_system
from consort.plan import plan, problems_of
from consort.report.judged import plants
from consort.run.plan_image import ARRIVAL, EXECUTION
from consort.simulate.engine import JOBS
from ruamel.yaml import YAML
from run_support import Ran, as_executed, consort, ran, write

pytestmark = pytest.mark.representative

MIXED = Path(__file__).parent / "mixed"
# Those of the simulator's rows that the record has too.
TIMES = (
    "release",
    "ready",
    "start",
    "finish",
    "sent",
    "worker_receive",
    "worker_send",
    "received",
    "compute",
)


def timed_mix(folder: Path) -> Path:
    """The mixed system with execution times, and without its driver."""
    shutil.copytree(MIXED, folder)
    file = folder / "system.yaml"
    data = YAML(typ="safe").load(file.read_text(encoding="utf-8"))
    for task in data["tasks"].values():
        task.setdefault("wcet", "400us")
        task["bcet"] = "20us"
    data["tasks"]["away"]["wcet"] = {"big": "200us", "small": {"local": "600us"}}
    data["devices"]["remote"] = {"function": "inputs.py::made", "arguments": {"rows": 9}}
    data["tasks"]["drive"]["writes"] = {"command": "kept"}
    # JSON is YAML, and keeps the order.
    file.write_text(json.dumps(data), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    yield ran(
        timed_mix(tmp_path_factory.mktemp("mixed") / "mixed"), "offloaded-off", target="virtual", seed=7
    )


def raw_bytes(found: Ran) -> dict[str, bytes]:
    """The files of a recording, and its plan without the place of the description."""
    files = {file.name: file.read_bytes() for file in sorted(found.raw.path.iterdir())}
    plan = json.loads(files["plan.json"])
    del plan["file"]
    return files | {"plan.json": json.dumps(plan).encode()}


def test_a_system_of_every_kind_holds_its_bounds_and_its_outputs_are_right(mixed: Ran) -> None:
    assert mixed.verdict.ok, mixed.verdict.reasons
    assert mixed.raw.manifest.clock.provenance == "simulated"
    assert {row.provenance for row in mixed.verdict.rows} == {"simulated"}
    assert mixed.wrong == 0
    assert sum(int(expected.size) for expected in mixed.verdict.expected.values()) > 100


def test_the_record_holds_the_plants_state_as_the_commands_moved_it(mixed: Ran) -> None:
    """mixed::arm once more, in Python; a job's command acts from its deadline on."""
    key = mixed.run.configurations[0]["key"]
    torques = mixed.run.table(key, "outputs-control")["torque"].to_pylist()
    kept = mixed.run.table(key, "plant-arm").to_pylist()
    period, deadline = 1_000_000, 5_000_000
    speed = angle = 0
    expected = []
    for step in range(len(kept)):
        at = step * period
        torque = torques[at // deadline - 1] if at >= deadline else 0
        speed += torque - (speed >> 3)
        angle += speed
        expected.append({"t_ns": at, "speed": speed, "angle": angle})
    assert len(kept) > 50 and kept == expected and speed != 0
    (drawn,) = plants(mixed.run, mixed.run.configurations[0], 0)
    assert drawn["name"] == "arm" and "logical time since the start" in drawn["svg"]


def test_its_jobs_are_those_of_the_simulator(mixed: Ran) -> None:
    """The same seed, tick by tick: the executive runs the user's steps when the simulator says."""
    described = mixed.prepared.described
    made = mixed.prepared.plan
    prepared = as_executed(made, described)
    duration = round(mixed.config["duration_ns"] * 1000)
    raw = _engine.sim_run(prepared.engine, duration, 7, EXECUTION, ARRIVAL, True)
    simulated = raw["jobs"].view(JOBS)
    timed = [task.execution == "three-phase" for task in made.tasks.values()]

    def row(job: np.void, origin: int) -> tuple[int, ...]:
        # A time that did not happen is -1 there and 0 here; a three-phase job's transfers have columns of
        # their own.
        times = [int(job[name]) for name in TIMES if name != "compute"]
        times = [at if origin else at + 1 for at in times]
        if timed[int(job["task"])]:
            times[5] = times[6] = 0
        status = int(job["status"]) & 0b10010111
        return (int(job["task"]), int(job["seq"]), *times, int(job["compute"]), status)

    expected = sorted(row(job, 0) for job in simulated)
    found = sorted(row(job, 1) for job in np.array(mixed.raw.tables["jobs"].rows))
    assert len(expected) > 100
    assert found == expected


def test_the_same_seed_gives_the_same_bytes_and_another_one_does_not(mixed: Ran, tmp_path: Path) -> None:
    again = []
    for seed in (7, 8):
        file = timed_mix(tmp_path / str(seed))
        again.append(raw_bytes(ran(file, "offloaded-off", target="virtual", seed=seed)))
    assert again[0] == raw_bytes(mixed)
    assert again[1]["jobs.bin"] != again[0]["jobs.bin"]


def test_stand_ins_run_and_burn_no_time_of_the_host(tmp_path: Path) -> None:
    tasks = {
        "writer": {"step": "stand-in", "period": "1s", "wcet": "900ms", "on": "master-0"},
        "reader": {
            "step": "stand-in",
            "period": "1s",
            "wcet": "900ms",
            "on": "master-1",
            "reads": ["blocks"],
        },
    }
    tasks["writer"]["writes"] = ["blocks"]
    file = write(
        tmp_path / "stand-ins",
        {
            "tasks": tasks,
            "channels": {"blocks": {"kind": "sporadic"}},
            # In the host's time this would be an hour.
            "run": {"iterations": 4000, "interference": []},
        },
    )
    found = ran(file, target="virtual")
    assert found.verdict.ok, found.verdict.reasons
    assert len(found.jobs("reader")) == 4000
    assert found.operations("blocks", "read")["sequence"].max() >= 3999


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({}, ""),
        ({"wcet": None}, "tasks.t.wcet"),
        ({"execution": "offloaded", "on": "worker-0", "master": "master-0", "on_miss": "stop"}, ""),
    ],
)
def test_what_it_cannot_honour_is_refused_with_its_place(
    tmp_path: Path, changes: dict[str, Any], place: str
) -> None:
    task = {"step": "stand-in", "period": "1ms", "wcet": "1us", "on": "master-0", **changes}
    if task["wcet"] is None:
        task["step"] = "step.hpp::digest::step"
    task = {key: value for key, value in task.items() if value is not None}
    system = load_system(write(tmp_path, {"tasks": {"t": task}}, step_hpp=""))
    problems = problems_of(system, "virtual")
    assert [place in str(problem) for problem in problems] == ([True] if place else [])
    assert problems_of(system, "linux") == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--only", "offloaded-on"), "in virtual time nothing interferes"),
        (("--kill-worker-at", "1ms"), "--kill-worker-at"),
        (("--time-base", "spin"), "--time-base"),
        (("--ordinary",), "--ordinary"),
        (("--prepare",), "--prepare"),
    ],
)
def test_choices_of_this_machine_are_refused(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    task = {"step": "stand-in", "period": "1ms", "wcet": "1us", "on": "worker-0", "execution": "offloaded"}
    file = write(tmp_path, {"tasks": {"t": {**task, "master": "master-0"}}})
    ended = consort("run", file, "--for", "virtual", *arguments)
    assert ended.returncode == 2
    assert words in ended.stderr


def test_a_driver_is_refused(tmp_path: Path) -> None:
    (tmp_path / "it").mkdir()
    file = write(
        tmp_path / "it",
        {
            "tasks": {
                "t": {
                    "step": "s.hpp::s::step",
                    "period": "1ms",
                    "wcet": "1us",
                    "on": "master-0",
                    "reads": {"a": "line"},
                }
            },
            "devices": {"line": {"driver": "s.hpp::s::Line"}},
        },
        s_hpp="",
    )
    with pytest.raises(BadInput, match=r"devices\.line\.driver.*a time of its own"):
        plan(load_system(file), "virtual")
