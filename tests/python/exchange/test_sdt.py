# SPDX-License-Identifier: Apache-2.0
"""System Device Trees: clusters become groups of cores, memories are cut at the regions reserved in them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from consort.base.errors import BadInput
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
        ("/dts-v1/;", "", "is not a device tree source"),
        ('device_type = "memory";', 'device_type = "memory"', "is not a device tree source"),
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
    assert "is not a device tree source" in refused(path)
    path = edited(tmp_path, 'model = "Small Zynq"', f"many = <{'(' * 5000}1{')' * 5000}>")
    assert "nested too deeply" in refused(path)
    path = tmp_path / "deep.dts"
    path.write_text("/dts-v1/; / {" + "a {" * 5000 + "};" * 5000 + "};", encoding="utf-8")
    assert "nested too deeply" in refused(path)


def test_what_is_no_file(tmp_path: Path) -> None:
    assert "is not a file" in refused(tmp_path)
    os.mkfifo(tmp_path / "pipe.dts")
    assert "is not a file" in refused(tmp_path / "pipe.dts")


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        import_sdt(tmp_path / "none.dts")


ALIASED = """\
/dts-v1/;
/ {
    compatible = "example,soc";
    #address-cells = <2>;
    #size-cells = <2>;
    aliases { serial9 = "/bus/serial@1"; };
    app: cpus-app@0 {
        compatible = "cpus,cluster";
        #address-cells = <1>;
        #size-cells = <0>;
        #ranges-size-cells = <2>;
        #ranges-address-cells = <2>;
        address-map = <0 0x00000000 &dram 0 0x00000000 0 0x80000000>,
                  <0 0xffe00000 &tcm_global 0 0xffe00000 0 0x10000>,
                  <0 0xfffc0000 &onchip 0 0xfffc0000 0 0x40000>;
        cpu@0 { compatible = "arm,cortex-a53"; device_type = "cpu"; reg = <0>; enable-method = "psci"; };
    };
    rt: cpus-rt@0 {
        compatible = "cpus,cluster";
        #address-cells = <1>;
        #size-cells = <0>;
        #ranges-size-cells = <2>;
        #ranges-address-cells = <2>;
        address-map = <0 0x00000000 &tcm_local 0 0x00000000 0 0x10000>,
                  <0 0x00100000 &dram 0 0x00100000 0 0x7ff00000>,
                  <0 0xfffc0000 &onchip 0 0xfffc0000 0 0x40000>;
        cpu@0 { compatible = "arm,cortex-r5"; device_type = "cpu"; reg = <0>; };
    };
    bus {
        compatible = "simple-bus";
        #address-cells = <2>;
        #size-cells = <2>;
        ranges;
        tcm_local: tcm@0 { compatible = "example,tcm", "mmio-sram"; reg = <0 0x0 0 0x10000>; };
    };
    tcm_global: tcm@ffe00000 {
        compatible = "example,tcm-global", "mmio-sram"; reg = <0 0xffe00000 0 0x10000>;
    };
    onchip: memory@fffc0000 {
        compatible = "example,ocm", "mmio-sram"; device_type = "memory"; reg = <0 0xfffc0000 0 0x40000>;
    };
    dram: memory@0 { device_type = "memory"; reg = <0 0x0 0 0x80000000>; };
};
"""


def test_what_one_cluster_sees_elsewhere_is_an_alias(tmp_path: Path) -> None:
    """Two clusters see different things at 0; an alias to a missing node is not an error, as for dtc."""
    path = tmp_path / "soc.dts"
    path.write_text(ALIASED, encoding="utf-8")
    imported = import_sdt(path)
    assert imported.platform is not None
    platform = platform_from_data(imported.platform)
    assert {n: (m.kind, m.address, str(m.size)) for n, m in platform.memories.items()} == {
        "dram": ("ddr", 0, "2GiB"),
        "onchip": ("ocm", 0xFFFC0000, "256KiB"),
        "tcm-global": ("tcm", 0xFFE00000, "64KiB"),
    }
    assert imported.report.changed["memory", "an alias of tcm-global: cpus-rt sees it at 0x0"] == [
        "tcm-local"
    ]
    left = imported.report.left_out["property of a cpu", "not modelled"]
    assert left == ["/cpus-app@0/cpu@0/enable-method"]


def test_a_memory_that_only_one_cluster_sees_has_no_address_of_the_whole(tmp_path: Path) -> None:
    path = tmp_path / "soc.dts"
    path.write_text(ALIASED.replace("reg = <0 0xffe00000 0 0x10000>", "reg = <0 0xffe00000 0 0x8000>"))
    imported = import_sdt(path)
    assert imported.platform is not None
    local = platform_from_data(imported.platform).memories["tcm-local"]
    assert (local.kind, local.address, str(local.size)) == ("tcm", None, "64KiB")


def test_an_address_map_of_another_form(tmp_path: Path) -> None:
    path = tmp_path / "soc.dts"
    path.write_text(
        ALIASED.replace(
            '0xfffc0000 0 0x40000>;\n        cpu@0 { compatible = "arm,cortex-a53"',
            '0xfffc0000 0>;\n        cpu@0 { compatible = "arm,cortex-a53"',
        )
    )
    assert "/cpus-app@0/address-map: has 20 cells, no multiple of 2 (address)" in refused(path)


@pytest.mark.parametrize("line", ['#include "soc.dtsi"', "#define UART 1", "  #  ifdef UART"])
def test_what_the_preprocessor_reads_is_named(tmp_path: Path, line: str) -> None:
    text = refused(edited(tmp_path, "/ {", f"{line}\n/ {{"))
    assert (
        "zynq.dts:3: #" in text and "cpp -nostdinc -undef -x assembler-with-cpp -I INCLUDES zynq.dts" in text
    )
