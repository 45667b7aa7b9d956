# SPDX-License-Identifier: Apache-2.0
"""PREEMPT_RT Linux on the A72 beside the bare-metal R5F and a process of this machine, on one memory."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from board_support import ROOT, board, board_with_linux, images
from consort.board import rtlinux
from consort.board.application import prepare_board, record_raw
from consort.board.exchange import Exchange, exchange, pair
from consort.board.image import loaded_parts
from consort.model import load_system
from consort.record import RawRun
from consort.run.options import Options, duration_of
from effort import PATIENCE

MESSAGES = 300


@pytest.fixture(scope="module", autouse=True)
def kernel() -> None:
    board_with_linux("versal")


def test_linux_and_the_r5f_exchange_messages() -> None:
    (found,) = exchange(board("versal"), [pair("r5f", "a72-linux")], MESSAGES)
    assert isinstance(found, Exchange) and len(found.ticks) == MESSAGES


@pytest.mark.slow
@pytest.mark.parametrize("who", [("r5f", "a72-linux"), ("a72-linux", "x86-64")], ids="-".join)
def test_a_million_messages_with_linux(who: tuple[str, str]) -> None:
    (found,) = exchange(board("versal"), [pair(*who)], 1_000_000, seconds=PATIENCE)
    assert found.messages == 1_000_000


@pytest.mark.slow
def test_linux_the_r5f_and_x86_at_once() -> None:
    found = exchange(board("versal"), [pair("a72-linux", "x86-64"), pair("r5f", "x86-64")], 10_000)
    assert [each.messages for each in found] == [10_000, 10_000]


def test_servo_with_its_worker_on_linux(tmp_path: Path) -> None:
    options = Options(target="board", iterations=200, rt_linux=True)
    run = prepare_board(load_system(ROOT / "examples/servo/versal.yaml"), lambda *_: None, options)
    record_raw(run, tmp_path, duration_of(run.plan, options), counted=False, seconds=PATIENCE)
    jobs = RawRun.load(tmp_path).tables["jobs"].rows
    # Computed by the worker, equal to the golden outputs to the bit.
    assert len(jobs) == 200 and not jobs["status"].any() and (jobs["received"] > 0).all()


def test_device_tree_holds_memory_back(tmp_path: Path) -> None:
    blob = rtlinux._device_tree(board_with_linux("versal"), tmp_path).read_bytes()
    assert struct.unpack_from(">I", blob)[0] == 0xD00DFEED
    text = (tmp_path / "board.dts").read_text()
    assert "consort-r5f-memory@0 { reg = <0x0 0x0 0x0 0x200000>; no-map; };" in text
    assert "consort-window@4000000 { reg = <0x0 0x4000000 0x0 0x2000000>; no-map; };" in text


def test_images_parts_are_what_the_linker_placed() -> None:
    spec = board("versal")
    vectors, rest = loaded_parts(images(spec, "identity", cores=("r5f",))["r5f"])
    # Eight branches at address 0, and everything else behind QEMU's device tree.
    assert vectors[0] == 0 and vectors[1][3] == 0xEA
    assert rest[0] == 0x110000 and rest[0] + len(rest[1]) < spec.memory["r5f_memory"].size.bytes
