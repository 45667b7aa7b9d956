# SPDX-License-Identifier: Apache-2.0
"""The register map: files made from it are not stale, and the simulated blocks behave as it says."""

from __future__ import annotations

import itertools
import json
import subprocess
from pathlib import Path

import pytest
from consort_remote import build, window
from effort import PATIENCE

pytestmark = pytest.mark.representative

ROOT = Path(__file__).parents[2]


def generator(root: Path, word: str) -> subprocess.CompletedProcess[str]:
    command = [build.tools() / "bin" / "python", root / "rtl" / "regs" / "registers.py", word]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True)


@pytest.fixture(scope="module")
def registers():
    return json.loads(generator(ROOT, "json").stdout)


def orders(lines: list[str]) -> list[str]:
    result = subprocess.run(
        [str(window.program()), "lines"],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def places(registers, shape):
    """Every register there is in blocks of this shape, with its place."""
    for register in registers:
        counts = [shape[register["block"]][array["name"]] for array in register["arrays"]]
        for index in itertools.product(*map(range, counts)):
            strides = [array["stride"] for array in register["arrays"]]
            yield register, register["offset"] + sum(i * s for i, s in zip(index, strides, strict=True))


# The blocks as they are built for this test: one of each, 8 windows, 16 segments.
SHAPE = {
    "cblock": {"link": 1, "port": 1, "window": 8},
    "mblock": {"link": 1, "link_table": 1, "segment": 16},
}
SHAPE_VALUES = {"cblock": 0x080101, "mblock": 0x100101}


def test_files_made_from_the_map_are_not_stale():
    result = generator(ROOT, "check")
    assert result.returncode == 0, result.stdout


def test_a_stale_file_is_named(tmp_path):
    for folder in ("rtl/regs", "include/consort/remote", "docs"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("remote.rdl", "registers.py", "c_header.py"):
        (tmp_path / "rtl/regs" / name).write_text((ROOT / "rtl/regs" / name).read_text())
    assert generator(tmp_path, "write").returncode == 0
    header = tmp_path / "include" / "consort" / "remote" / "registers.hpp"
    header.write_text(header.read_text().replace("0x400", "0x404", 1))
    result = generator(tmp_path, "check")
    assert result.returncode == 1
    assert "registers.hpp is not what" in result.stdout and "pkg.sv" not in result.stdout
    assert generator(tmp_path, "write").returncode == 0
    header = tmp_path / "kernel-module" / "remap_registers.h"
    header.write_text(header.read_text().replace("0x400U", "0x404U", 1))
    result = generator(tmp_path, "check")
    assert result.returncode == 1 and "remap_registers.h is not what" in result.stdout


def test_every_register_has_its_reset_value_and_rights(registers):
    lines, expected = [], []

    def ask(order: str, answer: str, why: str) -> None:
        lines.append(order)
        expected.append((answer, why))

    found = list(places(registers, SHAPE))
    assert len(found) > 90
    for register, at in found:
        block = register["block"]
        reset = {"shape": SHAPE_VALUES[block], "up": 0}.get(register["name"], register["reset"])
        ask(f"reg-read {block[0]} {at}", f"ok {reset}", f"{register['name']} after reset")
    for register, at in found:
        block, name = register["block"], register["name"]
        if register["writable"]:
            mask = register["mask"]
            if name == "enable":
                mask &= 1  # one link
            if name == "link_table_segment_last":
                mask &= 0xFFFF  # offsets are of 28 bits
            for value in (0xFFFFFFFF, 0x5A5A5A5A, 0):
                ask(f"reg-write {block[0]} {at} {value}", "ok", f"write {name}")
                # Nothing is under way, so a fence is passed at once; nothing went wrong to be cleared.
                then = 0 if name == "fence" else value & mask & ~register["clears"]
                ask(f"reg-read {block[0]} {at}", f"ok {then}", f"{name} after {value:#x}")
        else:
            reset = {"shape": SHAPE_VALUES[block], "up": 0}.get(name, register["reset"])
            ask(f"reg-write {block[0]} {at} 0xFFFFFFFF", "slverr", f"write of read-only {name}")
            ask(f"reg-read {block[0]} {at}", f"ok {reset}", f"{name} after a refused write")
    answers = orders(lines)
    wrong = [
        f"{order}: {answer}, expected {right} ({why})"
        for order, answer, (right, why) in zip(lines, answers, expected, strict=True)
        if answer != right
    ]
    assert not wrong, wrong[:10]


def test_where_there_is_no_register_every_access_is_refused(registers):
    for block in ("cblock", "mblock"):
        there = {at for register, at in places(registers, SHAPE) if register["block"] == block}
        absent = [at for at in range(0, 0x1000, 4) if at not in there]
        lines = [f"reg-read {block[0]} {at}" for at in absent]
        lines += [f"reg-write {block[0]} {at} 1" for at in absent]
        wrong = [
            line for line, answer in zip(lines, orders(lines), strict=True) if not answer.startswith("slverr")
        ]
        assert not wrong, wrong[:10]


ATTACH = "attach {name} {address} {size} {offset} 0 {link} {memory} {rights}"


def attach(name="a", address=0x400000000, size=0x1000, offset=0, link=0, memory=0, rights="rw") -> str:
    return ATTACH.format(
        name=name, address=address, size=size, offset=offset, link=link, memory=memory, rights=rights
    )


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (attach(size=0), "multiple of 4 KiB"),
        (attach(size=4097), "multiple of 4 KiB"),
        (attach(size=(1 << 28) + 4096), "multiple of 4 KiB"),
        (attach(address=0x400000010), "begin on 4 KiB"),
        (attach(address=(1 << 40) - 4096, size=8192), "below 2^40"),
        (attach(offset=8), "begin on 4 KiB"),
        (attach(rights="-"), "readable or writable"),
        (attach(link=1), "no such link"),
        (attach(memory=1), "no such memory"),
    ],
)
def test_what_cannot_be_attached_is_refused_with_its_reason(order, words):
    (_, answer) = orders(["start", order])
    assert answer.startswith("error ") and words in answer


def test_windows_are_attached_used_and_detached():
    answers = orders(
        [
            attach(),  # before the links are on
            "start",
            attach(offset=0x5000),
            attach(name="b", address=0x400000000 - 0x1000, size=0x2000),
            attach(name="c", address=0x400002000, offset=0x5000, rights="r"),
            "store 0x400000004 01020304",
            "load 0x400002004 4",
            "store 0x400002004 00",
            "load 0x400001000 4",
            "store 0x40000000d 0102030405060708",
            "load 0x40000000d 8",
            "detach a",
            "load 0x400000004 4",
            "detach a",
            attach(name="d", offset=0x5000),
            "load 0x400000004 4",
        ]
    )
    assert [answer.split(" ", 1)[0] for answer in answers] == [
        *("error", "ok", "ok", "error", "ok", "ok", "ok", "slverr", "decerr", "ok", "ok", "ok", "decerr"),
        *("error", "ok", "ok"),
    ]
    assert "link is down" in answers[0] and "some of these addresses" in answers[3]
    assert answers[6] == answers[15] == "ok 01020304"
    assert answers[10] == "ok 0102030405060708"


def test_all_windows_can_be_used_and_no_more():
    lines = ["start", *(attach(name=f"w{i}", address=0x400000000 + 0x1000 * i) for i in range(9))]
    answers = orders(lines)
    assert answers[1:9] == [f"ok {i}" for i in range(8)]
    assert "all windows" in answers[9]


def test_the_hops_of_an_access_sum_to_its_cycles():
    answers = orders(
        ["start", "hops", attach(), "load 0 1", "hops", "store 0x400000000 11", "load 0x400000000 1", "hops"]
    )
    assert answers[1] == answers[4] == "[]"
    load, store = json.loads(answers[7])
    assert (load["access"], store["access"]) == ("load", "store")
    for access in (load, store):
        assert all(hop["cycles"] >= 0 for hop in access["hops"])
        assert sum(hop["cycles"] for hop in access["hops"]) == access["cycles"] > 20
