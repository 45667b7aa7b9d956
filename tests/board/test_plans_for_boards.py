# SPDX-License-Identifier: Apache-2.0
"""Features that a board cannot honour, or does otherwise, are said before a run, by `--for board`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from board_support import ROOT, recorded_and_judged
from consort.base.errors import BadInput
from consort.board.placement import plan_for
from consort.cli import main
from consort.model import load_system

DRIVE = ROOT / "examples/drive/loop.yaml"
LIES = "every channel lies in the memory that all of the board's cores and processes share"


def ended(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    return int(end.value.code or 0)


def test_what_a_core_has_not_is_refused_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("servo.hpp", "arm.hpp", "data.hpp", "hmi.hpp", "portable.hpp", "inputs.py"):
        (tmp_path / name).symlink_to(DRIVE.parent / name)
    file = tmp_path / "system.yaml"
    load_system(DRIVE, "versal").to_yaml(file)
    text = file.read_text(encoding="utf-8").replace(": a72-0", ": r5f-0")
    file.write_text(text, encoding="utf-8")
    assert ended("check", str(file), "--for", "board") == 2
    said = capsys.readouterr().err
    assert "the emulated Cortex-R5F has no timer interrupt" in said
    assert "write policy: fixed-priority-non-preemptive" in said
    file.write_text(
        text.replace("\ntasks:", "\nscheduling: {r5f-0: {policy: fixed-priority-non-preemptive}}\n\ntasks:"),
        encoding="utf-8",
    )
    assert ended("check", str(file), "--for", "board") == 0


def test_a_platform_without_a_board_is_refused_with_its_place() -> None:
    with pytest.raises(BadInput, match=r"platform: no emulated board stands for linux-host"):
        plan_for(load_system(ROOT / "examples/drive/system.yaml"), "board")


def test_a_mode_that_there_is_not_is_refused() -> None:
    with pytest.raises(BadInput, match="there is no mode 'one'"):
        plan_for(load_system(DRIVE), "board", mode="one")


def test_a_run_on_another_platform_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended("run", str(DRIVE), "--on", "mpc5777m") == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "there is no target 'mpc5777m'; targets: zynq-ultrascale-plus, zynqmp, embedded-plus," in said


def test_plan_says_where_channels_lie(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended("plan", str(DRIVE), "--for", "board", "--json") == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["target"] == "zynqmp" and any(LIES in note for note in plan["notes"])
    assert ended("plan", str(DRIVE), "--for", "board") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "for zynqmp (the emulated board that stands for the platform)" in said


def test_so_does_the_record(tmp_path: Path) -> None:
    """The record of the paper's loop, whose channels are described in memory that the emulator has not."""
    file = ROOT / "examples/drive-30us/system.yaml"
    raw, _ = recorded_and_judged(file, tmp_path / "raw", "zynqmp")
    assert any(LIES in note for note in raw.manifest.realtime["notes"])
