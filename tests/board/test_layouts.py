# SPDX-License-Identifier: Apache-2.0
"""Structs of an image as its compiler laid them out, for the host."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from board_support import board
from consort.base.errors import BadInput
from consort.board import control_block
from consort.board.image import build_image, program_source
from consort.board.layouts import Layouts, packed

SOURCE = """
#include <cstdint>
namespace one {
enum class Kind : std::uint8_t { first, third = 2, last = 9 };
struct Pair { std::int16_t a; float b; };
using Number = const std::uint32_t;
struct Row {
    static constexpr std::uint32_t magic_number = 0xfeedbeef;
    Kind kind;
    Number number;
    std::int64_t at;
    Pair pairs[3];
    std::uint8_t grid[2][4];
    double value;
    bool flag;
    std::uint16_t reserved;
};
struct Pointing { Row* where; };
struct Twice { int a; };
}
namespace other { struct Twice { int a; }; }
extern const one::Row sample;
const one::Row sample{one::Kind::last, 70000, -5, {{-1, 1.5F}, {2, -2.5F}, {3, 0.25F}},
                      {{1, 2, 3, 4}, {5, 6, 7, 8}}, 0.1, true, 0};
const one::Pointing pointing{nullptr};
const one::Twice mine{1};
const other::Twice theirs{2};
extern "C" const void* consort_used[] = {&sample, &pointing, &mine, &theirs};
"""
COMPILERS = ("g++", "arm-none-eabi-g++", "aarch64-linux-gnu-g++", "powerpc64-linux-gnu-g++")


def image_of(folder: Path, compiler: str, *flags: str) -> Path:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    source, image = folder / "rows.cpp", folder / "rows.elf"
    source.write_text(SOURCE)
    command = [compiler, "-std=c++20", "-ffreestanding", "-nostdlib", "-static", "-Wl,-e0", *flags]
    subprocess.run([*command, "-o", str(image), str(source)], check=True)
    return image


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_struct_reads_as_the_compiler_wrote_it(compiler: str, tmp_path: Path) -> None:
    image = image_of(tmp_path, compiler, "-g")
    layouts = Layouts(image)
    row = layouts.struct("one::Row")
    assert layouts.struct("Row") == row
    # The one that the compiler wrote has the members' bytes at their places.
    expected = np.zeros((), row)
    expected["kind"], expected["number"], expected["at"] = 9, 70000, -5
    expected["pairs"]["a"], expected["pairs"]["b"] = [-1, 2, 3], [1.5, -2.5, 0.25]
    expected["grid"], expected["value"], expected["flag"] = [[1, 2, 3, 4], [5, 6, 7, 8]], 0.1, 1
    assert expected.tobytes() in image.read_bytes()
    assert layouts.enumerators("Kind") == {"first": 0, "third": 2, "last": 9}
    assert layouts.constant("Row", "magic_number") == 0xFEEDBEEF


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    layouts = Layouts(image_of(tmp_path, "g++", "-g"))
    for name, why in (
        ("Missing", "is not a type that the image uses"),
        ("Kind", "is not a struct"),
        ("Twice", "may be each of one::Twice, other::Twice"),
        ("Pointing", "of a kind that the host does not read"),
    ):
        with pytest.raises(BadInput, match=why):
            layouts.struct(name)
    with pytest.raises(BadInput, match="is not an enumeration"):
        layouts.enumerators("Row")
    with pytest.raises(BadInput, match="has no constant most"):
        layouts.constant("Row", "most")


def test_an_image_without_debug_information_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="compile it with -g"):
        Layouts(image_of(tmp_path, "g++"))


def test_a_struct_is_packed_whole_or_not_at_all() -> None:
    layout = np.dtype([("a", "<u1"), ("b", "<i4"), ("reserved", "<u2")])
    assert packed(layout, a=255, b=7) == b"\xff\7\0\0\0\0\0"
    with pytest.raises(ValueError, match="not the members of the struct: b"):
        packed(layout, a=1)
    with pytest.raises(ValueError, match="not the members of the struct: c"):
        packed(layout, a=1, b=2, c=3)
    for wrong in (256, -1):
        with pytest.raises(BadInput, match=r"a of -?[0-9]+ does not fit into 8 bits"):
            packed(layout, a=wrong, b=2)


@pytest.mark.parametrize("name", ["mps2", "riscv-virt", "versal"])
def test_the_host_reads_control_blocks_as_cores_write_them(name: str) -> None:
    """Its words are where images of any age have them; so they are written in C++ and in Python."""
    spec = board(name)
    image = build_image(spec.cores[0], program_source("identity"))
    layouts = Layouts(image)
    block = layouts.struct("ControlBlock::Layout")
    places = {field: block.fields[field][1] for field in block.names or ()} if block.fields else {}
    for field, place in (
        *(("magic", 0), ("role", 4), ("argument", 8)),
        *(
            ("stop", control_block._STOP),
            ("state", control_block._STATE),
            ("progress", control_block._STATE + 4),
        ),
        *(("result", control_block._RESULTS), ("text", control_block._TEXT), ("more", control_block._MORE)),
    ):
        assert places.pop(field) == place, field
    assert not places
    for constant, value in (
        *(("magic_number", control_block.MAGIC), ("bytes", control_block.BYTES)),
        *(("arguments", control_block.ARGUMENTS), ("more_arguments", control_block.MORE_ARGUMENTS)),
        *(("results", control_block.RESULTS), ("text_bytes", control_block.TEXT_BYTES)),
    ):
        assert layouts.constant("bare::ControlBlock", constant) == value, constant
    states = layouts.enumerators("bare::State")
    assert states == {state.name.lower(): state.value for state in control_block.State}
