# SPDX-License-Identifier: Apache-2.0
"""Channels and devices on bare-metal cores: what each job reads, in the record and to the bit."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from board_support import ROOT
from board_support import recorded_and_judged as ran
from consort.base.errors import BadInput
from consort.board.application import refuse_constants
from consort.board.placement import placement
from consort.judge import Verdict
from consort.model import load_system
from consort.record import RawRun
from consort.record.ran import OPERATIONS

# The reference in logical order, which virtual time and this machine are held against too.
sys.path.append(str(ROOT / "tests/python/run"))
sys.path.append(str(ROOT / "tests/drive"))
from let_support import GRAPH, How, description, in_logical_order
from test_drive_let import DRIVE
from test_drive_let import expected as torques_by_hand

STEPS = ROOT / "tests/board/tasks/flow.hpp"
KINDS = ("newest", "kept", "mail", "stream")


def system(folder: Path, platform: str, cores: tuple[str, str, str], **policy: Any) -> Path:
    """A source, and readers of each kind of channel; `cores` of the source and both readers."""
    task = {"period": "500us"}
    data: dict[str, Any] = {
        "consort": 1,
        "platform": platform,
        "scheduling": {core: policy for core in set(cores) if policy},
        "tasks": {
            "source": {
                **task,
                "on": cores[0],
                "priority": 3,
                "writes": {"sample": "newest", "kept": "kept", "mail": "mail", "stream": "stream"},
            },
            "reader": {
                **task,
                "offset": "250us",
                "priority": 2,
                "on": cores[1],
                "reads": {name: name for name in KINDS[:3]},
            },
            "collector": {
                "period": "2ms",
                "offset": "250us",
                "priority": 1,
                "on": cores[2],
                "reads": {"taken": "stream"},
            },
        },
        "channels": {
            "newest": {"kind": "sporadic", "implementation": "snapshot"},
            "kept": {"kind": "sporadic", "implementation": "double-buffer"},
            "mail": {"kind": "periodic"},
            "stream": {"kind": "queue", "capacity": 16},
        },
        "run": {"iterations": 40},
    }
    for name, given in data["tasks"].items():
        given["step"] = f"{STEPS}::flow::{name}::step"
    folder.mkdir(exist_ok=True)
    file = folder / "system.yaml"
    file.write_text(json.dumps(data), encoding="utf-8")
    return file


def column(record: RawRun, task: int, name: str) -> list[Any]:
    rows = record.tables[f"outputs-{task}"].rows
    return rows[np.argsort(rows["seq"])][name].tolist()  # type: ignore[no-any-return]


def check(record: RawRun, verdict: Verdict) -> None:
    """Each job of the reader comes half a period behind the source's, each of the collector after four."""
    assert verdict.ok, verdict.reasons
    for name in KINDS[:3]:
        assert column(record, 1, name) == list(range(1, 41)), name
    counts = column(record, 2, "count")
    assert counts == [1, *[4] * 9]
    assert column(record, 2, "sum")[-1] == sum(range(1, 38))
    moved = record.tables["operations"].rows
    for channel in range(4):
        here = moved[moved["channel"] == channel]
        writes = here[here["kind"] == OPERATIONS.index("write")]
        assert writes["sequence"].tolist() == list(range(1, 41))
        reads = here[here["kind"] == OPERATIONS.index("read")]
        assert np.all(reads["sequence"] > 0) and reads["count"].sum() in (37, 40)


@pytest.mark.representative
def test_each_kind_between_tasks_of_one_core(tmp_path: Path) -> None:
    file = system(tmp_path / "one", "riscv-virt", ("rv64-0",) * 3)
    check(*ran(file, tmp_path / "raw", "riscv-virt", 40))


@pytest.mark.slow
def test_each_kind_between_cores_of_unlike_instruction_sets(tmp_path: Path) -> None:
    cores = ("r5f-0", "a72-0", "a72-0")
    file = system(tmp_path / "two", "versal", cores, policy="fixed-priority-non-preemptive")
    first, verdict = ran(file, tmp_path / "raw", "versal", 40)
    check(first, verdict)
    again, _ = ran(file, tmp_path / "again", "versal", 40)
    for name in ("jobs", "operations"):
        assert again.tables[name].rows.tobytes() == first.tables[name].rows.tobytes()


def let_system(folder: Path, platform: str, cores: tuple[str, ...], policy: str, communication: str) -> Path:
    how = How(cores=cores, policy=policy, communication=communication)
    file = description(folder, GRAPH, how, 96_000)
    data = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**data, "platform": platform}), encoding="utf-8")
    return file


PREEMPTIVE, NOT_PREEMPTIVE = "fixed-priority", "fixed-priority-non-preemptive"


@pytest.mark.parametrize(
    ("platform", "name", "cores", "policy"),
    [
        ("riscv-virt", "riscv-virt", ("rv64-0",), PREEMPTIVE),
        pytest.param("stm32mp157", "mps2", ("m4-0",), PREEMPTIVE, marks=pytest.mark.slow),
        pytest.param("versal", "versal", ("r5f-0", "a72-0"), NOT_PREEMPTIVE, marks=pytest.mark.slow),
    ],
)
def test_logical_execution_time_gives_what_virtual_time_gives(
    tmp_path: Path, platform: str, name: str, cores: tuple[str, ...], policy: str
) -> None:
    file = let_system(tmp_path / "let", platform, cores, policy, "let")
    record, verdict = ran(file, tmp_path / "raw", name, 24)
    assert verdict.ok, verdict.reasons
    found = {task: column(record, number, "value") for number, task in enumerate(GRAPH)}
    assert found == in_logical_order(GRAPH, 96_000)


def test_what_a_board_cannot_carry_is_refused(tmp_path: Path) -> None:
    file = system(tmp_path / "beside", "stm32mp157", ("m4-0",) * 3)
    data = json.loads(file.read_text(encoding="utf-8"))
    data["tasks"]["source"] |= {"on": "a7-0", "execution": "offloaded", "master": "m4-0"}
    file.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(BadInput, match=r"tasks\.source\.wcet: 'a7-0' is a process in the board's"):
        placement(load_system(file))
    data = json.loads((system(tmp_path / "plant", "riscv-virt", ("rv64-0",) * 3)).read_text("utf-8"))
    data["channels"].pop("mail")
    data["tasks"]["source"]["writes"].pop("mail")
    data["tasks"]["reader"]["reads"]["mail"] = "arm"
    data["channels"].pop("stream")
    data["tasks"]["source"]["writes"].pop("stream")
    data["tasks"]["collector"].pop("reads")
    data["devices"] = {"arm": {"driver": f"{STEPS}::flow::source"}}
    file.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(BadInput, match="a board has no drivers of this machine"):
        placement(load_system(file))


def test_steps_with_constants_are_refused(tmp_path: Path) -> None:
    made = placement(load_system(system(tmp_path / "one", "riscv-virt", ("rv64-0",) * 3))).plan
    refuse_constants(made, {"source": {"constants": {"bytes": 0}}})
    with pytest.raises(BadInput, match=r"tasks\.reader\.step: the step takes constants"):
        refuse_constants(made, {"source": {"constants": {"bytes": 0}}, "reader": {"constants": {"bytes": 4}}})


OFFLOADED = {"on": "a72-0", "execution": "offloaded", "master": "r5f-0"}


@pytest.mark.parametrize(
    ("platform", "name", "servo"),
    [
        ("riscv-virt", "riscv-virt", {}),
        pytest.param("versal", "versal", {}, marks=pytest.mark.slow),
        pytest.param("versal", "versal", OFFLOADED, marks=pytest.mark.slow, id="versal-offloaded"),
        pytest.param("stm32mp157", "mps2", {}, marks=pytest.mark.slow),
        # The panel is a process beside the board, in its time.
        pytest.param("embedded-plus", "versal", {}, marks=pytest.mark.slow),
    ],
)
def test_the_drive_moves_on_bare_cores_as_by_hand(
    tmp_path: Path, platform: str, name: str, servo: dict[str, str]
) -> None:
    """The arm in the loop, the panel's choices, set-points under LET: each torque to the bit."""
    alone = DRIVE / f"{platform}.yaml"
    data = load_system(alone if alone.is_file() else DRIVE / "loop.yaml", platform).to_given()
    data["devices"]["operator"]["arguments"] = {"each": 1}
    data["tasks"]["servo"] |= servo
    if servo:
        data["tasks"]["hmi"]["on"] = servo["master"]
        data["scheduling"] = {servo["master"]: {"policy": NOT_PREEMPTIVE}}
    for folder in ("drive", "servo"):
        shutil.copytree(ROOT / "examples" / folder, tmp_path / folder)
    file = tmp_path / "drive" / f"{platform}.yaml"
    file.write_text(json.dumps(data), encoding="utf-8")
    record, verdict = ran(file, tmp_path / "raw", name, 1300)
    assert verdict.ok, verdict.reasons
    torque = torques_by_hand(tmp_path, 1300, each=1)
    assert len(set(torque)) > 300
    assert column(record, 0, "torque") == torque
