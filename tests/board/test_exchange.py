# SPDX-License-Identifier: Apache-2.0
"""Messages of 0 to 1024 bytes between unlike processors, content checked by both; other layouts refused.

Emulators keep the host's memory order, which is stronger than the parts': this shows that layouts, protocol,
start-up code and memory maps agree, and says nothing about barriers (tests/relacy explores those).
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from board_support import board, consort
from consort.base.errors import BadInput, SystemFails
from consort.board.exchange import SIZES, Pair, Side, exchange, pair, probe, size_of
from consort_bench import board_icc
from consort_bench.registry import PROCESSES_ONLY
from effort import PATIENCE

MESSAGES = 3000
MILLION = 1_000_000

PAIRS = [
    ("versal", pair("r5f", "a72")),
    ("versal", pair("a72", "r5f")),
    ("versal", pair("r5f", "a72", on_chip=True)),
    ("versal", pair("a72", "r5f", on_chip=True, policy="device", answerer_makes=True)),
    ("versal", pair("r5f", "x86-64")),
    ("versal", pair("x86-64", "r5f")),
    ("versal", pair("a72", "x86-64")),
    ("versal", pair("x86-64", "a72", policy="non-coherent")),
    ("versal", pair("r5f", "x86-64", policy="non-coherent", answerer_makes=True)),
    ("versal", pair("a72", "riscv64")),
    ("mps2", pair("m4f", "x86-64")),
    ("mps2", pair("x86-64", "m4f", policy="device", answerer_makes=True)),
    ("mps2", pair("m4f", "armv7")),
    ("mps2", pair("armv7", "m4f")),
]
# Linux processes of unlike instruction sets among themselves, in the memory of a board whose core is idle.
PROCESS_PAIRS = board_icc.matrix(PROCESSES_ONLY)


def title(value: object) -> str | None:
    if not isinstance(value, Pair):
        return None
    maker = "answerer-makes" if value.answerer_makes else "asker-makes"
    policy = max(
        value.asker.policy, value.answerer.policy, key=lambda p: p not in ("system-barrier", "whole-lines")
    )
    memory = "on-chip" if value.on_chip else "ddr"
    return f"{value.asker.name}-{value.answerer.name}-{memory}-{policy}-{maker}"


# Each processor once. Another place or policy of access is another build.
REPRESENTATIVES = [
    ("versal", pair("r5f", "x86-64")),
    ("versal", pair("a72", "riscv64")),
    ("mps2", pair("m4f", "armv7")),
]


@pytest.mark.parametrize(
    ("name", "who"),
    [
        pytest.param(
            *given, marks=pytest.mark.representative if given in REPRESENTATIVES else pytest.mark.slow
        )
        for given in PAIRS
    ],
    ids=title,
)
def test_messages_arrive_whole(name: str, who: Pair) -> None:
    (found,) = exchange(board(name), [who], MESSAGES)
    assert len(found.ticks) == MESSAGES
    # Every size took part.
    assert set(size_of(np.arange(1, MESSAGES + 1))) == set(SIZES)


def test_cores_in_threads_of_their_own() -> None:
    # Where processors are few they take turns (consort.board.session); few messages, for each may take long.
    (found,) = exchange(board("versal"), [pair("r5f", "a72")], 200, threads=True)
    assert len(found.ticks) == 200


def test_processes_of_unlike_instruction_sets() -> None:
    # One after the other round the ring: each instruction set asks and answers.
    spec = board("mps2")
    ring = board_icc.USER_MODE
    for asker, answerer in zip(ring, (*ring[1:], ring[0]), strict=True):
        (found,) = exchange(spec, [pair(asker, answerer)], MESSAGES)
        assert len(found.ticks) == MESSAGES


@pytest.mark.slow
@pytest.mark.parametrize(("name", "who"), [*PAIRS, *PROCESS_PAIRS], ids=title)
def test_a_million_messages_arrive_whole(name: str, who: Pair) -> None:
    (found,) = exchange(board(name), [who], MILLION, seconds=PATIENCE)
    assert found.messages == MILLION


def test_three_instruction_sets_at_once() -> None:
    # x86 with the A72 and x86 with the R5F, all on one DDR.
    spec = board("versal")
    found = exchange(spec, [pair("a72", "x86-64"), pair("r5f", "x86-64", answerer_makes=True)], MESSAGES)
    assert [each.messages for each in found] == [MESSAGES, MESSAGES]


@pytest.mark.parametrize(
    ("name", "who"), [("versal", ("r5f", "a72")), ("mps2", ("m4f", "armv7")), ("versal", ("x86-64", "r5f"))]
)
def test_a_spoiled_message_is_found(name: str, who: tuple[str, str]) -> None:
    at = next(n for n in range(50, 90) if size_of(n) == 1)
    spec = board(name)
    with pytest.raises(SystemFails, match=f"wrong content at message {at}$"):
        exchange(spec, [pair(*who, spoil=at)], MESSAGES)


def test_a_core_is_one_side() -> None:
    spec = board("mps2")
    with pytest.raises(BadInput, match="a core runs one program"):
        exchange(spec, [pair("m4f", "m4f")], 1)
    with pytest.raises(
        BadInput, match="no processor 'r5f' on or beside the board mps2; there are m4f, x86-64"
    ):
        exchange(spec, [pair("m4f", "r5f")], 1)


def test_on_chip_memory_is_the_cores_alone() -> None:
    for name, who in (
        ("versal", ("a72", "x86-64")),
        ("mps2", ("m4f", "x86-64")),
        ("versal", ("r5f", "a72-linux")),
    ):
        with pytest.raises(BadInput, match="does not reach the on-chip memory"):
            exchange(board(name), [pair(*who, on_chip=True)], 1)


def test_a_refusal_names_the_side() -> None:
    with pytest.raises(SystemFails, match=r"i386 failed: refused: .*offset of angle: expected 4, found 8"):
        exchange(board("mps2"), [pair("m4f", "i386")], 1)


PLAIN_ENUM = ("-DEXCHANGE_PLAIN_ENUM",)


@pytest.mark.parametrize("name", ["versal", "mps2"])
def test_equal_layouts_are_accepted(name: str) -> None:
    spec = board(name)
    for core in spec.cores:
        assert probe(spec, Side(core.name), Side("x86-64")) == ""
        assert probe(spec, Side("armv7"), Side(core.name)) == ""
        assert probe(spec, Side("ppc64"), Side(core.name)) == ""


@pytest.mark.parametrize(
    ("maker", "other", "said"),
    [
        # The bare-metal compiler makes an enumeration without a type one byte, Linux compilers four.
        (Side("m4f", flags=PLAIN_ENUM), Side("x86-64", flags=PLAIN_ENUM), "mode: expected 4, found 1"),
        (Side("x86-64", flags=PLAIN_ENUM), Side("m4f", flags=PLAIN_ENUM), "mode: expected 1, found 4"),
        (Side("m4f"), Side("i386"), "offset of angle: expected 4, found 8"),
        (Side("i386"), Side("m4f"), "offset of angle: expected 8, found 4"),
    ],
    ids=lambda value: value.name if isinstance(value, Side) else None,
)
def test_unlike_layouts_are_refused_with_the_member(maker: Side, other: Side, said: str) -> None:
    text = probe(board("mps2"), maker, other)
    assert text.startswith("refused: ") and said in text


def test_the_r5f_refuses_too() -> None:
    spec = board("versal")
    flags = {"flags": PLAIN_ENUM}
    assert "mode: expected 1, found 4" in probe(spec, Side("a72", **flags), Side("r5f", **flags))
    assert "offset of angle: expected 8, found 4" in probe(spec, Side("i386"), Side("r5f"))


def test_command_counts_round_trips_and_repeats() -> None:
    board("versal")
    line = ["board", "exchange", "versal", "r5f", "a72", "--messages", "1000", "--counted", "--json"]
    first, second = consort(*line), consort(*line)
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    found = json.loads(first.stdout)
    assert found["provenance"] == "counted" and sum(row["n"] for row in found["round_trips"]) == 999
    done = consort("board", "exchange", "mps2", "m4f", "x86-64", "--counted")
    assert done.returncode == 2 and "x86-64 does not run in the board's counted time" in done.stderr
