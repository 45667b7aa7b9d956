# SPDX-License-Identifier: Apache-2.0
"""The kernel module's effect on registers: on the simulated blocks, and on its own model of them."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from consort_remote import window

SOURCES = Path(__file__).parents[2] / "kernel-module"
# The simulated blocks' ports, links, windows, memories, segments.
SHAPE = ("1", "1", "8", "1", "16")
MIB = 1 << 20


class Lines:
    """A program that answers each line with one."""

    def __init__(self, stack: ExitStack, *command: str | Path) -> None:
        self.process = stack.enter_context(
            subprocess.Popen(
                list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
            )
        )
        stack.callback(self.process.kill)

    def ask(self, line: str) -> str:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, f"{line}: no answer"
        return answer.rstrip("\n")


def hardware(stack: ExitStack) -> Lines:
    """The simulated cBlock and mBlock; without stdbuf its answers would stay in its buffer."""
    return Lines(stack, "stdbuf", "-oL", window.program(), "lines")


class Table:
    """The module's table; its accesses to registers go to `blocks`."""

    def __init__(self, stack: ExitStack, user: Path, blocks: Lines) -> None:
        self.program = Lines(stack, user, "table")
        self.blocks = blocks
        self.accesses: list[str] = []

    def order(self, line: str) -> tuple[int, str]:
        """The error number and the reason."""
        answer = self.program.ask(line)
        while answer.startswith("reg-"):
            self.accesses.append(answer)
            answer = self.program.ask(self.blocks.ask(answer))
        done, number, *why = answer.split(" ", 2)
        assert done == "done"
        return int(number), "".join(why)

    def open(self, name: str, address: int, size: int, offset: int, *rest: int) -> tuple[int, str]:
        port, link, memory = [*rest, 0, 0, 0][:3]
        return self.order(f"open {name} {address:#x} {size} {offset} {port} {link} {memory}")


@pytest.fixture(scope="session")
def user(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The parts of the module that know no kernel, as an ordinary program, under sanitizers."""
    program = tmp_path_factory.mktemp("remap") / "remap_user"
    files = [
        SOURCES / name for name in ("user/remap_user.c", "remap_table.c", "remap_model.c", "remap_parse.c")
    ]
    flags = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined"]
    flags += ["-fno-sanitize-recover=all", "-static-libasan"]
    subprocess.run(["gcc", *flags, "-o", str(program), *map(str, files)], check=True)
    return program


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture(params=["hardware", "model"])
def blocks(request: pytest.FixtureRequest, stack: ExitStack, user: Path) -> Lines:
    """The simulated cBlock and mBlock, and the module's model of their registers; links are up."""
    if request.param == "hardware":
        made = hardware(stack)
        assert made.ask("start") == "ok"
        return made
    made = Lines(stack, user, "model", *SHAPE)
    for block in "mc":
        assert made.ask(f"reg-write {block} 8 1") == "ok"
    return made


def test_memory_is_reached_through_what_the_module_opens_and_no_longer(stack: ExitStack, user: Path) -> None:
    blocks = hardware(stack)
    table = Table(stack, user, blocks)
    assert table.open("a", 0x400000000, 256 * MIB, 0x1000) == (67, "the link is down")
    blocks.ask("start")
    # More than one window shows: from the second on, with its own segment.
    assert table.open("a", 0x400000000, 768 * MIB, 0x1000)[0] == 0
    for place in (0x400000000, 0x410000008, 0x42FFFFFF8):
        assert blocks.ask(f"store {place:#x} 0102030405060708") == "ok"
        assert blocks.ask(f"load {place:#x} 8") == "ok 0102030405060708"
    assert blocks.ask("load 0x430000000 8") == "decerr"
    assert table.order("counts a") == (0, "3 3")
    assert table.order("close a")[0] == 0
    assert table.order("drained a") == (0, "")
    assert blocks.ask("load 0x400000000 8") == "decerr"
    # The same remote memory, seen elsewhere.
    assert table.open("b", 0x500000000, 256 * MIB, 0x1000 + 256 * MIB)[0] == 0
    assert blocks.ask("load 0x500000008 8") == "ok 0102030405060708"


def test_the_module_leaves_the_registers_as_the_other_driver_does(stack: ExitStack, user: Path) -> None:
    states = []
    for driver in ("module", "window.hpp"):
        blocks = hardware(stack)
        blocks.ask("start")
        state = []
        table = Table(stack, user, blocks)
        for order in ("attach", "attach", "detach"):
            count = len(state)
            address, size, offset = 0x400000000 + count * MIB, 256 * 1024, 4096 * (count + 1)
            if driver == "module":
                done = (
                    table.open(f"w{count}", address, size, offset)
                    if order == "attach"
                    else table.order("close w0")
                )
                assert done[0] == 0
            else:
                line = f"attach w{count} {address} {size} {offset} 0 0 0 rw"
                assert blocks.ask(line if order == "attach" else "detach w0").startswith("ok")
            windows = range(0x400, 0x500, 4)
            state.append([blocks.ask(f"reg-read {block} {at}") for block in "cm" for at in windows])
        states.append(state)
    assert states[0] == states[1]


@pytest.mark.parametrize(
    ("order", "number"),
    [
        ((0x400000000, 0, 0), 22),
        ((0x400000000, 4097, 0), 22),
        ((0x400000001, 4096, 0), 22),
        ((0x400000000, 4096, 1), 22),
        ((0x400000000, 8 * 256 * MIB + 4096, 0), 7),
        (((1 << 40) - 4096, 8192, 0), 34),
        ((0x400000000, 8192, (1 << 40) - 4096), 34),
        ((0x400000000, 4096, 0, 1), 6),
        ((0x400000000, 4096, 0, 0, 1), 6),
        ((0x400000000, 4096, 0, 0, 0, 1), 6),
        ((0x3FFFFF000, 8192, 1 << 30), 17),
        ((0x401000000 + 7 * 4096, 2 * 256 * MIB, 1 << 30), 28),
    ],
)
def test_what_the_table_refuses_it_does_not_write(
    blocks: Lines, stack: ExitStack, user: Path, order: tuple[int, ...], number: int
) -> None:
    table = Table(stack, user, blocks)
    for index in range(7):
        assert table.open(f"w{index}", 0x400000000 + 4096 * index, 4096, 4096 * index)[0] == 0
    table.accesses.clear()
    answer = table.open("x", *order)
    assert answer[0] == number and answer[1], answer
    assert not [access for access in table.accesses if access.startswith("reg-write")]


def test_all_windows_are_taken_and_free_again(blocks: Lines, stack: ExitStack, user: Path) -> None:
    table = Table(stack, user, blocks)
    for round_ in range(20):
        for index in range(8):
            assert table.open(f"w{round_}-{index}", 0x400000000 + 4096 * index, 4096, 0)[0] == 0
        assert table.open("more", 0x500000000, 4096, 0)[0] == 28
        for index in range(8):
            assert table.order(f"close w{round_}-{index}")[0] == 0
        if round_ == 2:
            break
    # The generation of a segment has moved on with each use.
    assert int(blocks.ask(f"reg-read m {0x408}").split()[1]) >> 5 == 3


def test_a_window_is_closed_once_only(blocks: Lines, stack: ExitStack, user: Path) -> None:
    """One that is closed may be another's by then."""
    table = Table(stack, user, blocks)
    assert table.open("a", 0x400000000, 4096, 0)[0] == 0
    assert table.order("close a")[0] == 0
    assert table.open("b", 0x400000000, 4096, 0)[0] == 0
    assert table.order("close a")[0] == 0
    assert blocks.ask(f"reg-read c {0x408}") == "ok 519"  # valid, readable, writable, generation 1


FAULTS: list[tuple[str, Callable[[Table], int], int]] = [
    ("bus-error", lambda table: table.open("x", 0x500000000, 4096, 1 << 30)[0], 5),
    ("link-down", lambda table: table.open("x", 0x500000000, 4096, 1 << 30)[0], 67),
    ("stuck-window", lambda table: table.open("x", 0x500000000, 4096, 1 << 30)[0], 5),
    ("stuck-window", lambda table: table.order("close a")[0], 5),
    ("bus-error", lambda table: table.order("drained a")[0], 5),
    ("all-ones", lambda table: table.open("x", 0x500000000, 4096, 1 << 30)[0], 5),
    ("all-ones", lambda table: table.order("close a")[0], 5),
    ("all-ones", lambda table: table.order("drained a")[0], 5),
    ("all-ones", lambda table: table.order("counts a")[0], 5),
    ("all-ones", lambda table: table.order("event c")[0], 5),
    ("all-ones", lambda table: table.order("listen m")[0], 5),
]


@pytest.mark.parametrize(("fault", "order", "number"), FAULTS)
def test_faults_of_the_blocks(
    stack: ExitStack, user: Path, fault: str, order: Callable[[Table], int], number: int
) -> None:
    model = Lines(stack, user, "model", *SHAPE)
    for block in "mc":
        model.ask(f"reg-write {block} 8 1")
    table = Table(stack, user, model)
    assert table.open("a", 0x400000000, 600 * MIB, 0)[0] == 0
    model.ask(f"fault {fault}")
    assert order(table) == number
    # Later the rest is closed, and nothing of what failed is left.
    model.ask("fault none")
    assert table.order("close a")[0] == 0
    assert [model.ask(f"reg-read c {0x408 + 0x20 * i}") for i in range(8)] == ["ok 0"] * 8
    assert all(int(model.ask(f"reg-read m {0x408 + 0x10 * i}").split()[1]) & 1 == 0 for i in range(16))


def test_the_fence_is_looked_at_until_it_is_passed(stack: ExitStack, user: Path) -> None:
    model = Lines(stack, user, "model", *SHAPE)
    for block in "mc":
        model.ask(f"reg-write {block} 8 1")
    model.ask("drain 2")
    table = Table(stack, user, model)
    table.open("a", 0x400000000, 4096, 0)
    assert table.order("close a")[0] == 0
    assert [table.order("drained a")[0] for _ in range(4)] == [16, 16, 0, 0]
    model.ask("fault never-drained")
    assert table.order("close a")[0] == 0
    assert {table.order("drained a")[0] for _ in range(50)} == {16}


def test_a_fault_is_told_once_and_logged_with_its_address(
    blocks: Lines, stack: ExitStack, user: Path
) -> None:
    """An access in no window, and one in a window whose segment's end refuses it."""
    table = Table(stack, user, blocks)
    on_hardware = blocks.ask("hops") != "error"
    assert table.order("event c") == (0, "0 no-log alone load 0 0 0 0 kept")
    assert table.order("listen c")[0] == 0
    assert table.open("a", 0x400000000, 4096, 0)[0] == 0

    def fail(cause: int, address: int) -> None:
        if on_hardware:
            if cause == 6:
                assert blocks.ask(f"reg-write m {0x408} 0") == "ok"
            assert blocks.ask(f"load {address:#x} 8") in ("decerr", "slverr")
        else:
            assert blocks.ask(f"log {cause} {address:#x}") == "ok"

    fail(1, 0x500000008)
    fail(1, 0x500001000)
    words = table.order("event c")[1].split()
    assert words[:5] == ["2", "logged", "overflow", "load", "1"]
    assert (int(words[7], 0) & ~7, words[8]) == (0x500000008, "kept")
    assert table.order("event c") == (0, "0 no-log alone load 0 0 0 0 kept")
    fail(6, 0x400000010)
    words = table.order("event c")[1].split()
    assert words[:5] == ["64", "logged", "alone", "load", "6"]
    assert (int(words[7], 0) & ~15, words[8]) == (0x400000010, "lost")


def test_the_models_interrupt_is_high_until_it_is_served(stack: ExitStack, user: Path) -> None:
    model = Lines(stack, user, "model", *SHAPE)
    for block in "mc":
        model.ask(f"reg-write {block} 8 1")
    table = Table(stack, user, model)
    model.ask("log 5 0x400000000")
    assert model.ask("irq c") == "ok 0"
    # What was before the interrupt was enabled is not told.
    assert table.order("listen c")[0] == 0 and table.order("listen m")[0] == 0
    assert model.ask("irq c") == "ok 0"
    model.ask("log 5 0x400001000")
    assert [model.ask(f"irq {block}") for block in "cm"] == ["ok 1", "ok 0"]
    assert table.order("event c") == (0, "32 logged alone load 5 0 0 0x400001000 lost")
    model.ask("fault link-down")
    assert [model.ask(f"irq {block}") for block in "cm"] == ["ok 1", "ok 1"]
    assert table.order("event m") == (0, "1 no-log alone load 0 0 0 0 kept")
    assert table.order("deaf c")[0] == 0
    assert [model.ask(f"irq {block}") for block in "cm"] == ["ok 0", "ok 0"]
    assert table.order("event c")[1].startswith("1 no-log")


# Registers of the link's state: the model's comes up at once and counts nothing.
OF_LINKS = {0x00C, 0x018, 0x01C, 0x020, *range(0x100, 0x180, 4)}


def test_the_model_answers_as_the_hardware_does(stack: ExitStack, user: Path) -> None:
    """Random accesses, also where there is no register."""
    choose = random.Random(18)
    blocks, model = hardware(stack), Lines(stack, user, "model", *SHAPE)
    answered = set()
    for _ in range(3000):
        at = choose.randrange(0, 0x1000, 4)
        if choose.random() < 0.7:
            at = choose.choice([*range(0, 0x24, 4), *range(0x30, 0x48, 4), *range(0x400, 0x500, 4)])
        if at in OF_LINKS:
            continue
        block = choose.choice("cm")
        line = f"reg-read {block} {at}"
        if choose.random() < 0.5:
            line = f"reg-write {block} {at} {choose.getrandbits(32)}"
        answer = blocks.ask(line)
        assert model.ask(line) == answer, line
        answered.add(answer.split()[0])
    assert answered == {"ok", "slverr"}


def test_random_requests_are_read_or_refused(stack: ExitStack, user: Path) -> None:
    choose = random.Random(3)
    parser = Lines(stack, user, "parse")
    pieces = [
        "a",
        "address=",
        "size=",
        "node=",
        "0x40",
        "128M",
        "1GiB",
        " ",
        "\t",
        "=",
        "-1",
        "99999999999999999999",
    ]
    kinds = set()
    for _ in range(3000):
        text = "".join(choose.choice(pieces) for _ in range(choose.randrange(1, 14)))
        if choose.random() < 0.3:
            text += chr(choose.randrange(33, 127))
        kinds.add(parser.ask(text).split()[0])
    assert kinds >= {"done", "name"}


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("a address=0x40 size=128M node=3", "done 0 a 64 134217728 0 0 0 0 3"),
        (
            "b.c  size=1GiB\toffset=4K address=0 port=1 link=2 memory=3",
            "done 0 b.c 0 1073741824 4096 1 2 3 -1",
        ),
        ("a address=18446744073709551615 size=0x10", "done 0 a 18446744073709551615 16 0 0 0 0 -1"),
        ("a address=18446744073709551616 size=1", "done 22 address= wants a number"),
        ("a address=16777216T size=1", "done 22 address= wants a number"),
        ("a address=1Mi size=1", "done 22 address= wants a number"),
        ("a address=0x size=1", "done 22 address= wants a number"),
        ("a address=-1 size=1", "done 22 address= wants a number"),
        ("a address=1 size=1 link=256", "done 22 link= wants a number below 256"),
        ("a address=1 size=1 size=1", "done 22 something is said twice"),
        ("a address=1", "done 22 address= and size= have to be said"),
        ("a address=1 size=1 more", "done 22 after the name come"),
        ("_a address=1 size=1", "done 22 a name has up to 31"),
        ("a" * 32 + " address=1 size=1", "done 22 a name has up to 31"),
        ("0x20000000+512M", "range 536870912 536870912"),
    ],
)
def test_a_request_is_read(stack: ExitStack, user: Path, text: str, answer: str) -> None:
    assert Lines(stack, user, "parse").ask(text).startswith(answer)
