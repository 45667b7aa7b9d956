# SPDX-License-Identifier: Apache-2.0
"""QEMU's RISC-V machine: its core runs programs, reports faults, exchanges messages, computes the servo."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from board_support import PATIENCE, ROOT, board, consort, images
from consort.base.errors import BadInput, SystemFails
from consort.board import Board
from consort.board.exchange import exchange, pair

SYSTEM = """
consort: 1
platform: riscv-virt
tasks:
  servo:
    step: step.hpp::servo::step_f32
    period: 50us
    on: {on}
    input: {{function: "inputs.py::rows_f32"}}
    golden: {{function: "golden.py::golden", arguments: {{arithmetic: f32}}, tolerance: {{command: 0ulp}}}}
"""


def test_its_core_runs_and_its_clock_goes() -> None:
    spec = board("riscv-virt")
    with Board(spec, images(spec, "identity", "-Werror"), orders={0: (0, ())}) as up:
        up.wait([0], PATIENCE)
        core, hertz, ticks, _ = up.control_blocks[0].results[:4]
        assert (core, hertz) == (0, 10_000_000) and ticks > 0
        assert "RV64 is done" in up.log("rv64").read_text()


@pytest.mark.representative
def test_a_stray_access_says_where(tmp_path: Path) -> None:
    spec = board("riscv-virt")
    source = tmp_path / "stray.cpp"
    source.write_text(
        '#include "consort/bare/program.hpp"\n#include "consort/bare/registers.hpp"\n'
        "int consort_program(consort::bare::ControlBlock&) noexcept {\n"
        "    return static_cast<int>(consort::bare::reg(0xc0000000));\n}\n"
    )
    # Cause 5: a load access fault (the privileged architecture, table of mcause).
    fault = pytest.raises(SystemFails, match=r"RV64: trap at .*syndrome 0x00000005, address 0xc0000000")
    with Board(spec, images(spec, str(source)), orders={0: (0, ())}) as up, fault:
        up.wait([0], PATIENCE)


def test_an_image_for_another_core_is_refused() -> None:
    spec, other = board("riscv-virt"), board("mps2")
    with pytest.raises(BadInput, match="the image is for Arm, but the core rv64 is a RV64"):
        Board(spec, {"rv64": images(other, "identity")["m4f"]}).__enter__()


@pytest.mark.parametrize("process", ["x86-64", pytest.param("riscv64", marks=pytest.mark.slow)])
def test_messages_arrive_whole(process: str) -> None:
    spec = board("riscv-virt")
    (found,) = exchange(spec, [pair("rv64", process)], 100)
    assert found.messages == 100


@pytest.mark.parametrize("offloaded", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_servo_gives_its_golden_outputs(tmp_path: Path, offloaded: bool) -> None:
    board("riscv-virt")
    folder = tmp_path / "servo"
    folder.mkdir()
    for file in (ROOT / "examples/servo").iterdir():
        (folder / file.name).symlink_to(file)
    system = folder / "riscv.yaml"
    text = SYSTEM.format(on="x86-0" if offloaded else "rv64-0")
    text += "    execution: offloaded\n    master: rv64-0\n" if offloaded else ""
    system.write_text(text, encoding="utf-8")
    line = ["run", str(system), "--iterations", "200", "--root", str(tmp_path / "runs"), "--json"]
    done = consort(*line, *([] if offloaded else ["--counted"]))
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(done.stdout)["configurations"]
    assert (run["counters"]["jobs"], run["jobs"]["output_errors"]) == (200, 0)
