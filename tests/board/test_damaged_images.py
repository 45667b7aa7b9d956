# SPDX-License-Identifier: Apache-2.0
"""An image that is cut off or damaged is refused in words, whatever of it is wrong."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest
from consort.base.errors import BadInput
from consort.board.image import loaded_parts, read_elf

SOURCE = 'int filled[10] = {1}; int empty[100]; extern "C" int _start() { return filled[0] + empty[1]; }'
# e_ident of a file of 64 bits is followed by the header; its program headers are e_phoff behind the begin.
SIZE_IN_FILE = 32


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("image")
    (folder / "program.cpp").write_text(SOURCE, encoding="utf-8")
    flags = ["-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none"]
    subprocess.run(["g++", *flags, "program.cpp", "-o", "program.elf"], cwd=folder, check=True)
    return folder / "program.elf"


def test_a_whole_image_is_read(image: Path) -> None:
    elf, parts = read_elf(image), loaded_parts(image)
    assert any(address <= elf.entry < address + len(content) for address, content in parts)
    # Bytes that no file holds are there as zeros.
    assert any(content.endswith(bytes(400)) for _, content in parts)


def test_parts_larger_in_the_file_than_in_memory(image: Path, tmp_path: Path) -> None:
    content = bytearray(image.read_bytes())
    headers = int.from_bytes(content[32:40], "little")
    content[headers + SIZE_IN_FILE : headers + SIZE_IN_FILE + 8] = (1 << 40).to_bytes(8, "little")
    damaged = tmp_path / "damaged.elf"
    damaged.write_bytes(content)
    with pytest.raises(BadInput, match="damaged or cut off"):
        loaded_parts(damaged)


@pytest.mark.slow
def test_any_damage_is_bad_input_or_harmless(image: Path, tmp_path: Path) -> None:
    choose = random.Random(20)
    whole, damaged = image.read_bytes(), tmp_path / "damaged.elf"
    refused = 0
    for _ in range(300):
        content = bytearray(whole)
        for _ in range(choose.choice((1, 2, 8))):
            place = choose.choice((choose.randrange(4, 400), len(content) - 1 - choose.randrange(600)))
            content[place] = choose.randrange(256)
        damaged.write_bytes(content)
        for read in (read_elf, loaded_parts):
            try:
                read(damaged)
            except BadInput:
                refused += 1
    assert refused > 50
