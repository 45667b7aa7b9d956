# SPDX-License-Identifier: Apache-2.0
"""Regions that unlike builds make: opened by an equal layout, refused by any other, with the member named.

What equal layouts then exchange is ../test_cross.py. The foreign processes run under user-mode emulation.
"""

from __future__ import annotations

import functools
import shutil
import struct
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from effort import PATIENCE

ROOT = Path(__file__).resolve().parents[3]
SOURCE = Path(__file__).with_name("refusal.cpp")
REGION_BYTES = 65536


@dataclass(frozen=True)
class Peer:
    compiler: str
    package: str
    emulator: str = ""
    flags: tuple[str, ...] = ()


PEERS = {
    "x86-64": Peer("g++", "g++"),
    "aarch64": Peer("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu", "qemu-aarch64"),
    "armhf": Peer("arm-linux-gnueabihf-g++", "g++-arm-linux-gnueabihf", "qemu-arm"),
    "riscv64": Peer("riscv64-linux-gnu-g++", "g++-riscv64-linux-gnu", "qemu-riscv64"),
    "i386": Peer("i686-linux-gnu-g++", "g++-i686-linux-gnu", "qemu-i386"),
    "ppc64": Peer("powerpc64-linux-gnu-g++", "g++-powerpc64-linux-gnu", "qemu-ppc64"),
    # libc was built without -fshort-enums, but no enumeration crosses into it here.
    "armhf-short-enums": Peer(
        "arm-linux-gnueabihf-g++",
        "g++-arm-linux-gnueabihf",
        "qemu-arm",
        ("-fshort-enums", "-Wl,--no-enum-size-warning"),
    ),
    "x86-64-pack-4": Peer("g++", "g++", flags=("-DREFUSAL_PACK_4",)),
    "x86-64-float": Peer("g++", "g++", flags=("-DREFUSAL_REAL=float",)),
}
FOREIGN = ["x86-64", "aarch64", "armhf", "riscv64", "ppc64"]

Command = Callable[[str], list[str]]


def lacks(peer: Peer) -> str:
    """Debian packages that are missing to build and run this peer; empty if none is."""
    missing = [] if shutil.which(peer.compiler) else [peer.package]
    if peer.emulator and not shutil.which(peer.emulator):
        missing.append("qemu-user")
    return ", ".join(missing)


@pytest.fixture(scope="session")
def command(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """The command line that runs a peer; skips where its compiler or emulator is not installed."""
    folder = tmp_path_factory.mktemp("refusal")

    @functools.cache
    def built(name: str) -> subprocess.CompletedProcess[str]:
        peer = PEERS[name]
        line = [peer.compiler, "-std=c++20", "-O1", "-static", "-Wall", "-Wextra", "-Werror", *peer.flags]
        line += [f"-I{ROOT / 'include'}", str(SOURCE), "-o", str(folder / name)]
        return subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE)

    def line(name: str) -> list[str]:
        peer = PEERS[name]
        if missing := lacks(peer):
            pytest.skip(f"{name}: install {missing}")
        assert built(name).returncode == 0, built(name).stderr
        return [*([peer.emulator] if peer.emulator else []), str(folder / name)]

    return line


@pytest.fixture
def region(tmp_path: Path) -> Path:
    """A file for one region, zeroed as fresh shared memory is."""
    path = tmp_path / "region"
    path.write_bytes(bytes(REGION_BYTES))
    return path


def run(line: list[str], role: str, region: Path) -> tuple[int, str]:
    ended = subprocess.run([*line, role, str(region)], capture_output=True, text=True, timeout=PATIENCE)
    return ended.returncode, ended.stdout + ended.stderr


def make(line: list[str], region: Path) -> None:
    assert run(line, "make", region) == (0, "")


def refusal(line: list[str], region: Path) -> str:
    status, output = run(line, "probe", region)
    assert status == 3, output
    return output


@pytest.mark.parametrize("name", FOREIGN)
def test_probe_opens_an_equal_layout(command: Command, region: Path, name: str) -> None:
    make(command("x86-64"), region)
    assert run(command(name), "probe", region) == (0, "")


@pytest.mark.parametrize(
    ("name", "said_here", "said_there"),
    [
        # (what x86-64 says of a region made by the peer, what the peer says of one made by x86-64)
        ("i386", "'angle' offset, expected 8, found 4", "'angle' offset, expected 4, found 8"),
        pytest.param(
            "x86-64-pack-4",
            "'angle' offset, expected 8, found 4",
            "'angle' offset, expected 4, found 8",
            marks=pytest.mark.slow,
        ),
        # A float fits at offset 4, so the place differs before the size does.
        pytest.param(
            "x86-64-float",
            "'angle' offset, expected 8, found 4",
            "'angle' offset, expected 4, found 8",
            marks=pytest.mark.slow,
        ),
        (
            "armhf-short-enums",
            "'phase' element size, expected 4, found 1",
            "'phase' element size, expected 1, found 4",
        ),
    ],
)
def test_other_layout_is_refused_with_the_member(
    command: Command, region: Path, name: str, said_here: str, said_there: str
) -> None:
    text = "open there: the type's layout differs between the two sides: member "
    make(command(name), region)
    assert refusal(command("x86-64"), region) == f"{text}{said_here}\n"
    region.write_bytes(bytes(REGION_BYTES))
    make(command("x86-64"), region)
    assert refusal(command(name), region) == f"{text}{said_there}\n"


BYTE_ORDER = "attach: the words of the region's header are in the other order of bytes: "


def test_regions_of_all_makers_are_equal(command: Command, tmp_path: Path) -> None:
    """The order of bytes and the width of a pointer are the maker's own affair."""
    made = []
    for name in ("x86-64", "ppc64"):
        region = tmp_path / name
        region.write_bytes(bytes(REGION_BYTES))
        make(command(name), region)
        assert run(command("x86-64"), "probe", region) == (0, "")
        content = bytearray(region.read_bytes())
        # The maker, and the checksum over that.
        content[20:24] = content[44:48] = bytes(4)
        made.append(bytes(content))
    assert made[0] == made[1]


@pytest.mark.parametrize("name", FOREIGN)
def test_big_endian_header_is_refused(command: Command, region: Path, name: str) -> None:
    make(command("x86-64"), region)
    content = bytearray(region.read_bytes())
    words = struct.unpack_from("<12I", content)
    struct.pack_into(">12I", content, 0, *words)
    region.write_bytes(content)
    assert refusal(command(name), region).startswith(BYTE_ORDER)


def test_flipped_bit_of_the_table_is_refused(command: Command, region: Path) -> None:
    make(command("aarch64"), region)
    content = bytearray(region.read_bytes())
    # In the first object's name, behind header and state.
    content[128] ^= 1
    region.write_bytes(content)
    assert refusal(command("x86-64"), region).startswith("attach: the region's header or table is corrupted")
