# SPDX-License-Identifier: Apache-2.0
"""The servo with its master on a microcontroller: outputs equal the golden ones to the bit everywhere."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from board_support import ROOT, board, consort
from consort.base.errors import BadInput
from consort.board import image
from consort.board.application import BoardRun, prepare_board, record_raw
from consort.judge import judge
from consort.model import load_system
from consort.model.platform import load_platform
from consort.record import RawRun
from consort.run.options import Options, duration_of
from effort import PATIENCE
from ruamel.yaml import YAML

SERVO = ROOT / "examples" / "servo"
JOBS = 1500
# A core by itself counts every instruction of its waiting, which takes the emulator longest.
LOCAL_JOBS = 300


def silent(_text: str, _share: float | None = None) -> None:
    pass


def description(
    folder: Path, platform: str, *, on: str = "", arithmetic: str = "f32", **changes: str
) -> Path:
    """A servo of examples/servo, changed, somewhere else; `on`: the core where the task is local."""
    file = "stm32mp157" if platform == "stm32mp157" else "versal"
    data = YAML(typ="safe").load((SERVO / f"{file}.yaml").read_text(encoding="utf-8"))
    task = data["tasks"]["servo"]
    for cores in (target["cores"] for name, target in data.pop("targets", {}).items() if name == platform):
        data["platform"] = platform
        task["on"] = cores[task["on"]]
    there = load_platform(ROOT / "platforms" / f"{data['platform']}.yaml").processors
    task["wcet"] = {kind: figures for kind, figures in task["wcet"].items() if kind in there}
    if on:
        for key in ("master", "wcet", "dispatch", "on_miss"):
            task.pop(key, None)
        task |= {"on": on, "execution": "local"}
        del data["channels"]
    if arithmetic != "f32":
        # The example's own reader, in the form that descriptions call.
        (folder / "rows.py").write_text(
            f"import sys\nsys.path.insert(0, '{SERVO}')\nfrom inputs import load_inputs\n"
            f"def rows(dtype): return load_inputs('{SERVO}/data/lfj3_tracking_sine_a.csv',"
            f" arithmetic='{arithmetic}')\n"
        )
        task["input"] = {"function": "rows.py::rows"}
        task["step"] += f"_{arithmetic}"
        task["golden"]["arguments"]["arithmetic"] = arithmetic
        task["golden"]["tolerance"] = {"command": "0LSB"}
    else:
        task["input"]["file"] = f"{SERVO}/{task['input']['file']}"
    task["step"] = f"{SERVO}/{task['step']}"
    task["golden"]["function"] = f"{SERVO}/{task['golden']['function']}"
    task |= changes
    path = folder / "servo.yaml"
    # JSON is YAML, and keeps the order.
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def raw(run: BoardRun, folder: Path, jobs: int = JOBS, *, counted: bool) -> RawRun:
    folder.mkdir()
    record_raw(
        run, folder, duration_of(run.plan, Options(iterations=jobs)), counted=counted, seconds=PATIENCE
    )
    return RawRun.load(folder)


def prepared(path: Path) -> BoardRun:
    system = load_system(path)
    board("versal")
    board("mps2")
    return prepare_board(system, silent)


def wrong(run: BoardRun, record: RawRun) -> int:
    """The number of outputs that are not the golden ones."""
    verdict = judge(record, expected=run.golden)
    assert run.golden and verdict.status is not None
    return int(np.count_nonzero(verdict.status))


@pytest.mark.parametrize(
    ("platform", "arithmetic"),
    [
        ("versal", "f32"),
        pytest.param("versal", "q31", marks=pytest.mark.slow),
        ("stm32mp157", "f32"),
        pytest.param("stm32mp157", "q31", marks=pytest.mark.slow),
        pytest.param("embedded-plus", "f32", marks=pytest.mark.slow),
        # Its master is the versal's, its worker this machine's own instruction set.
        pytest.param("embedded-plus", "q31", marks=pytest.mark.slow),
    ],
)
def test_offloaded_outputs_equal_the_golden_ones(tmp_path: Path, platform: str, arithmetic: str) -> None:
    run = prepared(description(tmp_path, platform, arithmetic=arithmetic))
    record = raw(run, tmp_path / "raw", counted=run.where.on_board)
    jobs = record.tables["jobs"].rows
    assert len(jobs) == JOBS and wrong(run, record) == 0
    # The worker computed them: no fallback hides a worker that does not answer.
    assert not np.any(jobs["status"]) and np.all(jobs["received"] > 0)


@pytest.mark.parametrize(
    ("platform", "on"), [("versal", "a72-0"), ("versal", "r5f-0"), ("stm32mp157", "m4-0")]
)
@pytest.mark.parametrize("arithmetic", ["f32", pytest.param("q31", marks=pytest.mark.slow)])
def test_local_outputs_equal_the_golden_ones(tmp_path: Path, platform: str, on: str, arithmetic: str) -> None:
    run = prepared(description(tmp_path, platform, on=on, arithmetic=arithmetic))
    record = raw(run, tmp_path / "raw", LOCAL_JOBS, counted=True)
    jobs = record.tables["jobs"].rows
    assert wrong(run, record) == 0
    assert not np.any(jobs["status"]) and np.all(jobs["compute"] > 0)


@pytest.mark.slow
def test_a_fused_multiply_add_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # GCC's default: other bits on the M4F and the A72.
    fused = (*(f for f in image.COMMON if not f.startswith("-ffp-contract")), "-ffp-contract=fast")
    monkeypatch.setattr(image, "COMMON", fused)
    for platform, on in (("stm32mp157", "m4-0"), ("versal", "a72-0")):
        run = prepared(description(tmp_path, platform, on=on))
        assert wrong(run, raw(run, tmp_path / on, 300, counted=True)) > 0
        assert fused_operations(next(iter(run.images.values())))


def fused_operations(program: Path) -> list[str]:
    text = subprocess.run(
        ["objdump" if "x86" in program.name else tool(program), "-d", str(program)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return re.findall(
        r"\b(?:vf?n?m[al][as]?\.f\d+|vfn?m[as]\.f\d+|fn?m(?:add|sub)|fml[as]|vfn?m(?:add|sub)\w+)\b", text
    )


def tool(program: Path) -> str:
    return "aarch64-linux-gnu-objdump" if "a72" in program.name else "arm-none-eabi-objdump"


@pytest.mark.parametrize("platform", ["versal", "stm32mp157", "embedded-plus"])
def test_no_image_fuses_multiply_and_add(tmp_path: Path, platform: str) -> None:
    run = prepared(description(tmp_path, platform))
    for program in run.images.values():
        # vmla and vmls of these cores round twice; only the fused ones are forbidden.
        assert not [op for op in fused_operations(program) if not re.match(r"vn?ml[as]\.", op)]


@pytest.mark.representative
@pytest.mark.parametrize(
    ("platform", "on"),
    [("versal", ""), pytest.param("versal", "r5f-0", marks=pytest.mark.slow), ("stm32mp157", "m4-0")],
)
def test_counted_runs_repeat_to_the_tick(tmp_path: Path, platform: str, on: str) -> None:
    run = prepared(description(tmp_path, platform, on=on))
    first, second = (raw(run, tmp_path / name, LOCAL_JOBS, counted=True) for name in ("a", "b"))
    for name in ("jobs.bin", "outputs-0.bin", "manifest.json"):
        assert (first.path / name).read_bytes() == (second.path / name).read_bytes()
    assert first.manifest.clock.provenance == "counted"
    assert not np.any(first.tables["jobs"].rows["status"])
    # Releases are exactly a period apart.
    period = run.where.plan.tasks["servo"].period_ps // 1000
    assert set(np.diff(first.tables["jobs"].rows["release"])) == {period}


def test_a_deadline_that_no_worker_can_meet(tmp_path: Path) -> None:
    # 300 ns are less than a round trip.
    run = prepared(description(tmp_path, "versal", deadline="300ns"))
    jobs = raw(run, tmp_path / "raw", 50, counted=True).tables["jobs"].rows
    assert np.all(jobs["status"] & 1)


@pytest.mark.slow
def test_the_command_records_a_run(tmp_path: Path) -> None:
    board("versal")
    arguments = [
        "run",
        str(SERVO / "versal.yaml"),
        "--iterations",
        "200",
        "--counted",
        "--root",
        str(tmp_path),
        "--json",
    ]
    done = consort(*arguments)
    assert done.returncode == 0, done.stderr
    (configuration,) = json.loads(done.stdout)["configurations"]
    assert configuration["counters"]["jobs"] == 200
    assert configuration["summary"]["servo.response"]["provenance"] == "counted"


def test_what_cannot_be_run_is_said(tmp_path: Path) -> None:
    board("versal")
    with pytest.raises(BadInput, match=r"--counted: .* does not run in the board's counted time"):
        options = Options(target="board", must_count=True, rt_linux=True)
        prepare_board(load_system(SERVO / "versal.yaml"), silent, options)
    done = consort("run", str(SERVO / "system.yaml"), "--counted")
    assert done.returncode == 2 and "only boards count instructions" in done.stderr
    done = consort("run", str(SERVO / "versal.yaml"), "--iterations", "1000000", "--root", str(tmp_path))
    assert (
        done.returncode == 2 and "do not fit into the board's window; give up to --iterations" in done.stderr
    )
    path = description(tmp_path, "versal", master="r5f-1")
    done = consort("run", str(path), "--rt-linux")
    assert (
        done.returncode == 2 and "'r5f-1' does not start with --rt-linux: Linux releases r5f" in done.stderr
    )
