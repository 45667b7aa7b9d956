# SPDX-License-Identifier: Apache-2.0
"""The Zynq UltraScale+: four Cortex-A53 and two Cortex-R5F at once, and what the papers compute on them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from board_support import PATIENCE, ROOT, board, consort, images, recorded_and_judged
from consort.base.errors import SystemFails
from consort.base.waiting import silent
from consort.board import Board
from consort.board.application import prepare_board
from consort.board.exchange import exchange, pair
from consort.board.executive import run
from consort.model import load_system

MESSAGES = [
    ("r5f-0", "a53-0", False),
    pytest.param("a53-1", "r5f-1", True, marks=pytest.mark.slow),
    pytest.param("a53-0", "a53-1", False, marks=pytest.mark.slow),
]


def test_its_cores_are_as_described() -> None:
    board("zynqmp")
    done = consort("board", "check", "zynqmp", "--json")
    assert done.returncode == 0, done.stderr
    found = {core["core"]: core for core in json.loads(done.stdout)["cores"]}
    assert list(found) == ["a53-0", "r5f-0", "a53-1", "r5f-1", "a53-2", "a53-3"]
    assert all(core["problems"] == [] and core["on_chip_bytes"] == 4096 for core in found.values())
    assert len({core["core_id"] for core in found.values()}) == 6


@pytest.mark.parametrize(
    ("core", "address", "said"),
    [
        # 0x25: a data abort at the same level (DDI 0487, ESR_ELx.EC).
        ("a53-1", "0xc0000000", "second Cortex-A53: synchronous exception at .*syndrome 0x96000006"),
        # 0: the background, no region (DDI 0460D, table of the fault status).
        ("r5f-1", "0xc0000000", "second Cortex-R5F: data abort at .*syndrome 0x00000000"),
    ],
)
def test_a_stray_access_says_where(tmp_path: Path, core: str, address: str, said: str) -> None:
    spec = board("zynqmp")
    source = tmp_path / "stray.cpp"
    source.write_text(
        '#include "consort/bare/program.hpp"\n#include "consort/bare/registers.hpp"\n'
        "int consort_program(consort::bare::ControlBlock&) noexcept {\n"
        f"    return static_cast<int>(consort::bare::reg({address}));\n}}\n"
    )
    first = images(spec, "identity", cores=("a53-0",))
    programs = {**first, **images(spec, str(source), cores=(core,))}
    place = spec.core(core).place
    fault = pytest.raises(SystemFails, match=f"{said}, address {address}")
    with Board(spec, programs, orders={0: (0, ()), place: (0, ())}) as up, fault:
        up.wait([place], PATIENCE)


@pytest.mark.parametrize(("asker", "answerer", "on_chip"), MESSAGES)
def test_messages_arrive_whole(asker: str, answerer: str, on_chip: bool) -> None:
    (found,) = exchange(board("zynqmp"), [pair(asker, answerer, on_chip=on_chip)], 100, counted=True)
    assert found.messages == 100


def test_two_counted_runs_of_two_cores_are_the_same() -> None:
    """The drive: its control loop on one A53, its panel on the other."""
    board("zynqmp")
    made = prepare_board(load_system(ROOT / "examples/drive/loop.yaml"), silent)
    assert made.where.masters == ["a53-0", "a53-1"]
    first, second = (run(made.request(40 * 10**9, counted=True)) for _ in range(2))
    assert len(first.jobs) == 802 and first.jobs.tobytes() == second.jobs.tobytes()
    assert first.operations.tobytes() == second.operations.tobytes()
    assert all(first.outputs[name].tobytes() == second.outputs[name].tobytes() for name in first.outputs)


@pytest.mark.slow
def test_all_four_a53_are_cores_of_a_plan(tmp_path: Path) -> None:
    board("zynqmp")
    steps = (ROOT / "tests/board/tasks/step.hpp").read_text(encoding="utf-8")
    (tmp_path / "step.hpp").write_text(steps, encoding="utf-8")
    lines = [f"  t{n}: {{step: 'step.hpp::middle::step', on: a53-{n}, period: 1ms}}\n" for n in range(4)]
    file = tmp_path / "system.yaml"
    text = f"consort: 1\nplatform: zynq-ultrascale-plus\ntasks:\n{''.join(lines)}run: {{iterations: 10}}\n"
    file.write_text(text, encoding="utf-8")
    made = prepare_board(load_system(file), silent)
    assert made.where.masters == [f"a53-{n}" for n in range(4)]
    first, second = (run(made.request(10 * 10**9, counted=True)) for _ in range(2))
    assert len(first.jobs) == 40 and set(first.jobs["core"]) == set(range(4))
    assert first.jobs.tobytes() == second.jobs.tobytes() and first.findings == ()
    assert len({rows.tobytes() for rows in first.outputs.values()}) == 1


@pytest.mark.parametrize(
    ("example", "on"),
    [
        ("drive-30us/system", None),
        pytest.param("servo/versal", "zynq-ultrascale-plus", marks=pytest.mark.slow),
    ],
)
def test_a_control_loop_on_the_r5f_is_computed_on_the_a53(
    tmp_path: Path, example: str, on: str | None
) -> None:
    file = ROOT / f"examples/{example}.yaml"
    _, verdict = recorded_and_judged(file, tmp_path / "raw", "zynqmp", jobs=200, on=on)
    assert verdict.ok, verdict.reasons
