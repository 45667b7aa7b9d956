# SPDX-License-Identifier: Apache-2.0
"""Cores whose clocks have unlike ticks count from one instant, and the record says how exactly."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from board_support import ROOT, board
from consort.board import executive
from consort.board.application import prepare_board
from consort.board.records import CLOCKS_TITLE, ClockError, read_clocks
from consort.model import load_system

NON_PREEMPTIVE = {"policy": "fixed-priority-non-preemptive"}


def described(folder: Path, platform: str, cores: Mapping[str, Any]) -> Path:
    tasks = {
        f"on-{core}": {"on": core, "period": "1ms", "step": f"{ROOT}/tests/board/tasks/step.hpp::fast::step"}
        for core in cores
    }
    data = {"consort": 1, "platform": platform, "scheduling": dict(cores), "tasks": tasks}
    file = folder / "system.yaml"
    file.write_text(json.dumps(data), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("platform", "name", "cores"),
    [
        (
            "versal",
            "versal",
            {"a72-0": {}, "a72-1": {}} | dict.fromkeys(("r5f-0", "r5f-1"), NON_PREEMPTIVE),
        ),
        pytest.param(
            "zynq-ultrascale-plus",
            "zynqmp",
            dict.fromkeys(("a53-0", "a53-1", "r5f-0", "r5f-1"), NON_PREEMPTIVE),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_cores_set_their_clocks_by_the_first(
    tmp_path: Path, platform: str, name: str, cores: Mapping[str, Any]
) -> None:
    board(name)
    run = prepare_board(load_system(described(tmp_path, platform, cores)), lambda *_: None)
    found = executive.run(run.request(50 * 10**9, counted=True))
    section = next(s for s in found.sections if s["title"] == CLOCKS_TITLE)
    reference, *others = cores
    assert [row[:2] for row in section["rows"]] == [[core, reference] for core in others]
    for _, _, within, gained, known, apart in section["rows"]:
        # One emulator advances all of these clocks, so none gains more than is not known of it.
        assert 0 < within < 100_000 and abs(gained) <= known
        assert apart == within + abs(gained) + known
    assert len(found.jobs) == 50 * len(cores) and not found.jobs["status"].any()


def test_one_core_has_no_clock_to_set(tmp_path: Path) -> None:
    board("mps2")
    run = prepare_board(load_system(described(tmp_path, "stm32mp157", {"m4-0": {}})), lambda *_: None)
    found = executive.run(run.request(10**9, counted=True))
    assert CLOCKS_TITLE not in [section["title"] for section in found.sections]


def test_a_clock_that_ran_behind_is_read_as_one() -> None:
    results = {"r5f-0": [0] * 16, "a72-0": [0] * 5 + [70, (1 << 32) - 900, 150] + [0] * 8}
    hertz = {"r5f-0": 10**9, "a72-0": 62_500_000}
    # A tick of the reference's clock is a nanosecond.
    assert read_clocks(hertz, results) == [ClockError("a72-0", "r5f-0", 71, -900, 152)]
    assert read_clocks(hertz, results)[0].apart == 71 + 900 + 152
