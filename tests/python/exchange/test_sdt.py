# SPDX-License-Identifier: Apache-2.0
"""System Device Trees: clusters become groups of cores, memories are cut at the regions reserved in them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from consort.errors import BadInput
from consort.exchange.sdt import import_sdt
from consort.model import platform_from_data

SMALL = Path(__file__).parent / "data" / "zynq.dts"


def edited(tmp_path: Path, old: str, new: str) -> Path:
    text = SMALL.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "zynq.dts"
    path.write_text(text.replace(old, new), encoding="utf-8")
    return path


def test_small_tree() -> None:
    imported = import_sdt(SMALL)
    assert imported.system is None and imported.platform is not None
    platform = platform_from_data(imported.platform)
    assert {n: (p.isa, str(p.clock)) for n, p in platform.processors.items()} == {
        "cortex-a53": ("aarch64", "1200MHz"),
        "cortex-r5": ("armv7-r", "None"),
    }
    assert {n: (c.processor, c.count, c.description) for n, c in platform.cores.items()} == {
        "cpus-a53": ("cortex-a53", 2, ""),
        "cpus-r5": ("cortex-r5", 2, "domain openamp-r5"),
    }
    placed = {n: (m.kind, m.address, str(m.size)) for n, m in platform.memories.items()}
    assert placed == {
        # 0x3ed00000 bytes before the two regions, which stand one after another, and the rest after them.
        "ddr": ("ddr", 0, "1005MiB"),
        "rproc-r5": ("ddr", 0x3ED00000, "256KiB"),
        "vring0": ("ddr", 0x3ED40000, "16KiB"),
        "ddr-2": ("ddr", 0x3ED44000, str(platform.memories["ddr-2"].size)),
        "ocm": ("ocm", 0xFFFC0000, "256KiB"),
        "ddr-3": ("ddr", 0x8_0000_0000, "2GiB"),
    }
    ddr = [platform.memories[name].size for name in ("ddr", "rproc-r5", "vring0", "ddr-2")]
    assert sum(size.value.bytes for size in ddr if size is not None) == 2**31
    left = {(what, name) for (what, _), names in imported.report.left_out.items() for name in names}
    assert left == {("node", "serial@ff000000"), ("property of a domain", "/domains/openamp-r5/os,type")}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("/dts-v1/;", "", "is no device tree source"),
        ('device_type = "memory";', 'device_type = "memory"', "is no device tree source"),
        ('model = "Small Zynq"', "model = <1>", "has a property that cannot be read"),
        ('device_type = "memory"', "device_type = <1>", "has a property that cannot be read"),
        ('compatible = "cpus,cluster"', 'compatible = "x"', "the tree has no cluster of CPUs"),
        (
            "reg = <0x0 0xfffc0000 0x0 0x40000>",
            "reg = <0x0 0xfffc0000 0x0>",
            "/sram@fffc0000/reg: has 3 cells",
        ),
    ],
)
def test_errors(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = edited(tmp_path, old, new)
    with pytest.raises(BadInput) as caught:
        import_sdt(path)
    assert "zynq.dts" in str(caught.value) and message in str(caught.value)


def test_regions_that_overlap_are_said(tmp_path: Path) -> None:
    imported = import_sdt(edited(tmp_path, "0x3ed40000 0x0 0x4000>", "0x3ed3f000 0x0 0x4000>"))
    assert imported.platform is not None
    platform_from_data(imported.platform)
    assert ("region", "it overlaps rproc-r5") in imported.report.left_out


def refused(path: Path) -> str:
    with pytest.raises(BadInput) as caught:
        import_sdt(path)
    assert len(str(caught.value)) < 2000
    return str(caught.value)


def test_an_include_of_itself_under_another_name(tmp_path: Path) -> None:
    text = SMALL.read_text(encoding="utf-8")
    path = tmp_path / "zynq.dts"
    (tmp_path / "other.dtsi").symlink_to(path)
    for name in ("./zynq.dts", "././zynq.dts", "other.dtsi"):
        path.write_text(text + f'\n/include/ "{name}"\n', encoding="utf-8")
        assert "recursive /include/" in refused(path)


def test_includes_that_multiply(tmp_path: Path) -> None:
    for n in range(30):
        twice = f'/include/ "i{n + 1}.dtsi"\n' * 2
        (tmp_path / f"i{n}.dtsi").write_text(twice, encoding="utf-8")
    (tmp_path / "i30.dtsi").write_text("", encoding="utf-8")
    path = edited(tmp_path, "/dts-v1/;", '/dts-v1/;\n/include/ "i0.dtsi"')
    assert "more than 1000 files are included" in refused(path)


def test_an_include_is_confined_to_the_models_folder(tmp_path: Path) -> None:
    outside = tmp_path / "outside.dtsi"
    outside.write_text("/ { secret; };", encoding="utf-8")
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "link.dtsi").symlink_to(outside)
    for name in (str(outside), "../outside.dtsi", "link.dtsi", "/etc/hostname"):
        path = edited(folder, "/dts-v1/;", f'/dts-v1/;\n/include/ "{name}"')
        assert "lies outside of" in refused(path)
        path = edited(folder, 'model = "Small Zynq"', f'secret = /incbin/ ("{name}")')
        assert "lies outside of" in refused(path)
    (folder / "sub").mkdir()
    (folder / "sub" / "inner.dtsi").write_text("/ { };", encoding="utf-8")
    (folder / "beside.dtsi").write_text('/include/ "sub/inner.dtsi"', encoding="utf-8")
    import_sdt(edited(folder, "/dts-v1/;", '/dts-v1/;\n/include/ "beside.dtsi"'))
    for name in ("-", "sub", "none.dtsi"):
        assert "zynq.dts" in refused(edited(folder, "/dts-v1/;", f'/dts-v1/;\n/include/ "{name}"'))


@pytest.mark.parametrize(
    "shift", ["1 << 4000000000", "1 >> 4000000000", "1 << (1 << 62)", "1 << -1", "1 << 64"]
)
def test_a_shift_beyond_64_bits(tmp_path: Path, shift: str) -> None:
    path = edited(tmp_path, 'model = "Small Zynq"', f'model = "Small Zynq"; many = <({shift})>')
    assert "numbers have 64 bits" in refused(path)


def test_a_clock_of_64_bits(tmp_path: Path) -> None:
    path = edited(tmp_path, "clock-frequency = <1200000000>", "clock-frequency = <0xffffffff 0xffffffff>")
    assert "/cpu@0/clock-frequency: 0xffffffffffffffff is too large" in refused(path)
    path = edited(tmp_path, "clock-frequency = <1200000000>", "clock-frequency = <0x1 0x0>")
    imported = import_sdt(path)
    assert imported.platform is not None
    assert "4294967296Hz" in {p.get("clock") for p in imported.platform["processors"].values()}


def test_a_memory_beyond_64_bits(tmp_path: Path) -> None:
    path = edited(tmp_path, "reg = <0x0 0xfffc0000 0x0 0x40000>", "reg = <0xffffffff 0xfffc0000 0x0 0x40000>")
    assert "/sram@fffc0000/reg: " in refused(path)


def test_numbers_and_nesting_without_end(tmp_path: Path) -> None:
    path = edited(tmp_path, 'model = "Small Zynq"', f"many = <{'9' * 10_000}>")
    assert "is no device tree source" in refused(path)
    path = edited(tmp_path, 'model = "Small Zynq"', f"many = <{'(' * 5000}1{')' * 5000}>")
    assert "nested too deeply" in refused(path)
    path = tmp_path / "deep.dts"
    path.write_text("/dts-v1/; / {" + "a {" * 5000 + "};" * 5000 + "};", encoding="utf-8")
    assert "nested too deeply" in refused(path)


def test_what_is_no_file(tmp_path: Path) -> None:
    assert "is no file" in refused(tmp_path)
    os.mkfifo(tmp_path / "pipe.dts")
    assert "is no file" in refused(tmp_path / "pipe.dts")


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        import_sdt(tmp_path / "none.dts")
