# SPDX-License-Identifier: Apache-2.0
"""Partition configurations: they compile, say what was planned, and impossible options are refused."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from consort.base.errors import BadInput
from consort.board.generate import FORMATS, PartitionOptions, Plan, files, make_plan
from consort.board.generate.plan import ranges
from consort.cli import main
from consort.model import load_system, system_from_data
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[3]
HEADERS = Path(__file__).with_name("headers")
VERSAL = ROOT / "examples" / "servo" / "versal.yaml"
MIB = 1 << 20
OPTIONS = PartitionOptions(window=0x4000000, colors=4, llc_bytes=MIB, llc_ways=16, gicd=0xF9000000)


def plan(**changes: int | str) -> Plan:
    return make_plan(load_system(VERSAL), replace(OPTIONS, **changes))  # type: ignore[arg-type]


def text(form: str, name: str, **changes: int | str) -> str:
    return files(plan(**changes), form)[name]


def test_plan_gives_nothing_twice() -> None:
    made = plan()
    assert (made.group, made.isa, made.rest_cpus) == ("a72", "aarch64", [1])
    (cell,) = made.partitions
    assert (cell.cpu, cell.memory.base, cell.memory.bytes) == (0, 0x4200000, 16 * MIB)
    # 1 MiB in 16 ways: 16 pages a way.
    assert (made.colors, cell.colors, made.rest_colors) == (16, (0, 3), (4, 15))
    assert (cell.irq_to, cell.irq_from) == (136, 137)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"window": 0x90000000}, "--window: 0x90000000 lies in no memory of versal"),
        ({"window": 0x7FF00000}, "window ends at 0x80100000, behind the memory ddr"),
        ({"window": 0x7FC00000}, "a72-0 ends at 0x80e00000, behind the memory ddr"),
        ({"window": 0x4000100}, "multiples of 64 KiB are needed"),
        ({"partition_bytes": 1000}, "--partition-size: a72-0"),
        ({"colors": 16}, "there are 16, and the rest needs one"),
        ({"llc_ways": 0}, "colouring needs --llc-size and --llc-ways"),
        ({"llc_bytes": MIB + 1}, "not a whole number of pages"),
        ({"group": "gpu"}, "'gpu' is not a core group of versal: a72, r5f"),
        ({"group": "r5f"}, "no task runs on a core of 'r5f'"),
        ({"first_irq": 16}, "shared peripheral interrupts are 32 to 1019"),
    ],
)
def test_impossible_options_are_refused(changes: dict[str, int | str], said: str) -> None:
    with pytest.raises(BadInput, match=re.escape(said)):
        plan(**changes)


def test_an_operating_system_keeps_a_core() -> None:
    data = {"consort": 1, "platform": "versal", "tasks": {}}
    for core in ("a72-0", "a72-1"):
        data["tasks"][core] = {"period": "1ms", "on": core, "execution": "local"}  # type: ignore[index]
    with pytest.raises(BadInput, match="tasks take all 2 cores of 'a72'"):
        make_plan(system_from_data(data), OPTIONS)


@given(st.sets(st.integers(0, 300)))
def test_ranges_are_what_the_kernel_reads(numbers: set[int]) -> None:
    read: list[int] = []
    for part in filter(None, ranges(list(numbers)).split(",")):
        first, _, last = part.partition("-")
        read += range(int(first), int(last or first) + 1)
    assert read == sorted(numbers)


@pytest.mark.parametrize("name", ["consort-linux.dtso", "consort-xen.dtso", "consort.overlay"])
@pytest.mark.parametrize("colors", [0, 4])
def test_device_trees_compile_without_a_warning(tmp_path: Path, name: str, colors: int) -> None:
    if shutil.which("dtc") is None:
        pytest.skip("apt-get install device-tree-compiler")
    form = next(f for f in FORMATS if name in files(plan(), f))
    source = text(form, name, colors=colors)
    if form == "zephyr":
        # The board's own tree has the mailbox controller.
        board = (
            "/dts-v1/;\n/ { #address-cells = <1>; #size-cells = <1>; mbox: mbox { #mbox-cells = <1>; }; };\n"
        )
        source = board + source
    (tmp_path / "x.dts").write_text(source)
    done = subprocess.run(
        # The cells given are those that values of other properties and overlays' targets are read with.
        [
            "dtc",
            "-W",
            "no-avoid_unnecessary_addr_size",
            "-@",
            "-I",
            "dts",
            "-O",
            "dtb",
            "-o",
            str(tmp_path / "x.dtb"),
            str(tmp_path / "x.dts"),
        ],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


def compiled(tmp_path: Path, source: str) -> bytes:
    (tmp_path / "x.c").write_text(source)
    subprocess.run(
        ["gcc", "-Wall", "-Wextra", "-Werror", f"-I{HEADERS}", "-c", "x.c", "-o", "x.o"],
        cwd=tmp_path,
        check=True,
    )
    subprocess.run(["objcopy", "-O", "binary", "-j", ".data", "x.o", "x.bin"], cwd=tmp_path, check=True)
    return (tmp_path / "x.bin").read_bytes()


def test_jailhouse_cell_has_the_documented_layout(tmp_path: Path) -> None:
    image = compiled(tmp_path, text("jailhouse", "consort-a72-0.c"))
    assert image[:6] == b"JHCELL" and struct.unpack_from("<H", image, 6) == (14,)
    assert image[8:40].rstrip(b"\0") == b"consort-a72-0"
    at = 6 + 2 + 32 + 11 * 4 + 2 * 8
    (cpus,) = struct.unpack_from("<Q", image, at)
    ram = struct.unpack_from("<4Q", image, at + 8)
    window = struct.unpack_from("<4Q", image, at + 40)
    address, _, base, *bitmap = struct.unpack_from("<QII4I", image, at + 72)
    assert (
        cpus == 1
        and ram == (0x4200000, 0, 16 * MIB, 0x47)
        and window == (0x4000000, 0x4000000, 2 * MIB, 0x83)
    )
    assert (address, base, bitmap) == (0xF9000000, 32, [0, 0, 0, 3 << 8])


def test_jailhouse_interrupts_may_lie_in_two_bitmaps(tmp_path: Path) -> None:
    source = text("jailhouse", "consort-a72-0.c", first_irq=159)
    assert source.count(".pin_base = 32,") == 1 and source.count(".pin_base = 160,") == 1
    compiled(tmp_path, source)
    with pytest.raises(BadInput, match="--gicd"):
        text("jailhouse", "consort-a72-0.c", gicd=0)


def test_bao_configuration_compiles(tmp_path: Path) -> None:
    source = text("bao", "config.c")
    assert ".colors = 0xf," in source and ".cpu_affinity = 0x1," in source
    compiled(tmp_path, source)
    assert ".colors" not in text("bao", "config.c", colors=0)


def test_command_lines_name_cores_and_colors() -> None:
    line = text("linux", "consort-cmdline.txt").strip()
    assert line == "isolcpus=managed_irq,domain,0 nohz_full=0 rcu_nocbs=0 irqaffinity=1"
    assert "dom0-llc-colors=4-15" in text("xen", "consort-xen-cmdline.txt")
    assert 'llc-colors = "0-3"' in text("xen", "consort-xen.dtso")
    assert "coloring" not in text("xen", "consort-xen-cmdline.txt", colors=0)
    script = text("linux", "consort-affinity.sh")
    assert subprocess.run(["sh", "-n"], input=script, text=True).returncode == 0


def test_command_writes_files_and_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["generate", str(VERSAL), "--for", "zephyr", "--window", "0x4000000", "--out", str(tmp_path)]
    with pytest.raises(SystemExit) as end:
        main(line)
    assert end.value.code == 0 and (tmp_path / "consort.overlay").is_file()
    for more, said in ((["--colors", "3"], "--llc-size"), (["--window", "here"], "is not a number")):
        with pytest.raises(SystemExit) as end:
            main([*line, *more])
        assert end.value.code == 2 and said in capsys.readouterr().err
