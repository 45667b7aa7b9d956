# SPDX-License-Identifier: Apache-2.0
"""Consort's own platform files: every figure says where it comes from, and is what stands there."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from consort.model import Duration, Platform, Size, load_platform, platform_schema
from consort.model.load import schema_text
from consort.model.platform import known_platforms
from consort.model.quantities import Quantity
from loops import for_each
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[3]
FILES = sorted((ROOT / "platforms").glob("*.yaml"))
IDS = [file.stem for file in FILES]
PAPERS = {
    "low-latency-icc",
    "taming-edge-computing",
    "spm-centric-os",
    "remap-remote-memory",
    "cross-isa-embedded-plus",
}

# The words of the papers: platform, figure, and what is said there.
SAID = [
    ("mpc5777m", "processors.e200z710.clock", "two E200Z710 application cores operating at 300 MHz"),
    ("mpc5777m", "processors.e200z710.caches.l1i", "L1 Cache Size Instructions (16 KB) + Data (4 KB)"),
    ("mpc5777m", "cores.app.scratchpad.size", "each core includes 80 KB of scratchpad"),
    ("mpc5777m", "cores.app.scratchpad.instructions", "Instructions (16 KB) + Data (64 KB)"),
    ("mpc5777m", "cores.app.context_switch", "Context switch 0.46 us"),
    ("mpc5777m", "memories.sram.size", "SRAM Size 404 KB"),
    ("mpc5777m", "memories.flash.size", "Flash Size 8 MB"),
    ("mpc5777m", "dmas.edma.setup", "DMA setup 3.16 us"),
    ("mpc5777m", "dmas.edma.transfers.partition-load.time", "Partition load time 432 us"),
    ("mpc5777m", "dmas.edma.transfers.partition-unload.time", "Partition unload time 432 us"),
    ("zynq-ultrascale-plus", "processors.a53.clock", "quad-core ARM Cortex-A53 CPU clocked at 1.2 GHz"),
    ("zynq-ultrascale-plus", "processors.r5f.clock", "dual-core ARM Cortex-R5F CPU clocked at 500 MHz"),
    ("zynq-ultrascale-plus", "memories.ocm.size", "On-Chip Memory (OCM), with a total capacity of 256KiB"),
    ("zynq-ultrascale-plus", "memories.ddr.size", "and 2 GiB of LPDDR4 memory"),
    ("zynq-ultrascale-plus", "memories.tcm.size", "a total capacity of 128KiB for each real-time core"),
    ("zynq-ultrascale-plus", "exchanges.ddr-a53-r5f.median", "1010 ns, 670 ns, 880ns, and 480 ns"),
    ("zynq-ultrascale-plus", "exchanges.ddr-a53-r5f.loaded.median", "1140 ns, 670 ns, 1210 ns, and 480 ns"),
    ("zynq-ultrascale-plus", "exchanges.ddr-r5f-a53.median", "1000 ns, 490 ns, 840 ns, and 600 ns"),
    ("zynq-ultrascale-plus", "exchanges.ddr-r5f-a53.loaded.median", "1100 ns, 560 ns, 1130 ns, and 580 ns"),
    ("zynq-ultrascale-plus", "exchanges.interrupt-a53-r5f.median", "a median latency of 1970 ns"),
    ("zynq-ultrascale-plus", "memories.remote.access.from.a53.base", "end-to-end latency is 748 ns"),
    ("zynq-ultrascale-plus", "memories.loopback.access.from.a53.base", "can be as low as 323 ns"),
    ("zynq-ultrascale-plus", "links.aurora.clock", "uses a 3.2ns clock (313 MHz)"),
    ("zynq-ultrascale-plus", "links.cblock-mblock.rate", "compared to the baseline (1663 MB/s)"),
    ("stm32mp157", "processors.a7.clock", "Dual-Core Cortex-A7: Operating at a clock speed of 650MHz"),
    ("stm32mp157", "processors.m4.clock", "Single-Core Cortex-M4: This core, operating at a speed of 200MHz"),
    ("embedded-plus", "links.pcie.rate", "saturating near 3.3 GB/s in both directions"),
    ("embedded-plus", "links.pcie.peak", "a four-lane PCIe Gen3 link (up to 4 GB/s)"),
    ("embedded-plus", "memories.host-ddr.access.from.x86.rate", "about 10 GB/s on its local DDR memory"),
    ("embedded-plus", "memories.ddr.access.from.a72.rate", "roughly 3 GB/s on LPDDR"),
    ("embedded-plus", "dmas.qdma.clock", "FPGA clocked at 250 MHz"),
]
# Table I of "Taming edge computing": bytes; min, max and mean; the same with interference.
LOOPBACK = """
0 0.91 1.07 1.01 0.92 1.18 1.01
1 1.20 2.41 1.25 1.21 1.76 1.25
8 2.83 4.28 2.90 2.84 4.23 2.90
64 8.51 10.47 8.76 8.52 10.73 8.75
512 60.95 63.73 62.28 60.95 73.40 62.02
1024 120.87 125.10 123.42 120.87 134.48 122.29
"""
# The papers count memories of processors in powers of two.
BINARY = {"KB": "KiB", "MB": "MiB"}


def own(name: str) -> Platform:
    return load_platform(ROOT / "platforms" / f"{name}.yaml")


def value_at(platform: Platform, place: str) -> Any:
    found = {where: value for where, value, _ in platform.figures()}
    assert place in found, f"{place} is not a figure; there are {sorted(found)}"
    return found[place]


def said(text: str, quantity: Quantity) -> list[Quantity]:
    """The quantities of a kind that a text speaks of."""
    kind = type(quantity)
    found = []
    for number, unit in re.findall(r"([0-9.]+) ?([A-Za-z]+(?:/s)?)", text):
        unit = BINARY.get(unit, unit) if kind is Size else unit
        if unit in kind.units:
            found.append(kind.parse(f"{number}{unit}"))
    return found


def test_each_is_known_by_its_files_name_and_stands_in_the_reference() -> None:
    assert known_platforms() == IDS and "linux-host" in IDS
    reference = (ROOT / "docs/reference/system-yaml.md").read_text(encoding="utf-8")
    assert [name for name in IDS if f"\n| `{name}` | " not in reference] == []


@for_each("file", FILES, ids=IDS)
def test_every_figure_says_where_it_comes_from(file: Path) -> None:
    figures = load_platform(file).figures()
    assert figures
    assert [place for place, _, source in figures if source is None] == []


@for_each("file", FILES, ids=IDS)
def test_papers_are_named_with_a_place(file: Path) -> None:
    for place, _, source in load_platform(file).figures():
        assert source is not None
        if source.kind == "published":
            paper, comma, where = source.source.partition(", ")
            assert comma and where, place
            if "." not in paper and not paper.startswith(("AMD ", "QEMU ")):
                assert paper in PAPERS, place
                assert re.match(r"section [IVX0-9.A-Z]+|Table [IVX]+", where), place


@for_each(("name", "place", "words"), SAID, ids=[f"{name}:{place}" for name, place, _ in SAID])
def test_figures_are_what_the_papers_say(name: str, place: str, words: str) -> None:
    value = value_at(own(name), place)
    assert isinstance(value, Quantity)
    assert said(words, value)[0] == value


def test_loopback_is_the_papers_table() -> None:
    platform = own("stm32mp157")
    for row in LOOPBACK.split("\n")[1:-1]:
        size, *times = row.split()
        here = f"exchanges.loopback-{size}"
        assert value_at(platform, f"{here}.size") == Size(int(size))
        found = [value_at(platform, f"{here}.{key}") for key in ("min", "max", "mean")]
        found += [value_at(platform, f"{here}.loaded.{key}") for key in ("min", "max", "mean")]
        assert found == [Duration.parse(f"{time}us") for time in times]


def test_derived_rate_is_what_it_says() -> None:
    platform = own("mpc5777m")
    dma = platform.dmas["edma"]
    load = dma.transfers["partition-load"]
    assert load.size is not None
    assert dma.rate is not None
    assert dma.rate.value.bytes_per_second == load.size.value.bytes // load.time.value.seconds
    scratchpad = platform.cores["app"].scratchpad
    assert scratchpad is not None
    assert load.size.value.bytes == scratchpad.partition_bytes
    # Rounded down, a copy is never faster than was measured.
    setup = Duration.parse("3.16us")
    copy = dma.picoseconds(load.size.value.bytes)
    assert copy is not None
    assert 0 <= copy - (load.time.value.picoseconds + setup.picoseconds) < 10**4


@for_each("file", FILES, ids=IDS)
def test_schema_accepts_them(file: Path) -> None:
    jsonschema.validate(YAML(typ="safe").load(file.read_text(encoding="utf-8")), platform_schema())
    named = [line for line in file.read_text(encoding="utf-8").splitlines() if "$schema=" in line]
    assert [(file.parent / line.split("=")[1]).resolve() for line in named] == [
        ROOT / "schema" / "platform.schema.json"
    ]


def test_checked_in_schema_is_the_models() -> None:
    schema = ROOT / "schema" / "platform.schema.json"
    assert schema.read_text(encoding="utf-8") == schema_text(platform_schema()), (
        "run: consort schema platform > schema/platform.schema.json"
    )
    jsonschema.Draft202012Validator.check_schema(platform_schema())


@for_each("file", FILES, ids=IDS)
def test_written_and_read_again(file: Path, tmp_path: Path) -> None:
    platform = load_platform(file)
    platform.to_yaml(tmp_path / file.name)
    assert load_platform(tmp_path / file.name) == platform


def test_cores() -> None:
    platform = own("embedded-plus")
    core = platform.core("r5f-1")
    assert (core.group, core.index, core.processor_name, core.processor.isa) == ("r5f", 1, "r5f", "armv7-r")
    assert core.scratchpad is not None
    assert core.scratchpad.partition_bytes == 64 * 1024
    assert [c.name for c in platform.cores_of("a72")] == ["a72-0", "a72-1"]
    for wrong in ("r5f-2", "r5f-01", "r5f", "r5f-x", "x", "a73-0"):
        with pytest.raises(LookupError, match="is not a core of platform embedded-plus"):
            platform.core(wrong)


def test_access_costs() -> None:
    remote = own("zynq-ultrascale-plus").memories["remote"]
    assert remote.access_picoseconds(64, "a53") == 748_000
    assert remote.access_picoseconds(4096, "a53") == 64 * 748_000
    assert remote.access_picoseconds(65, "a53") == 2 * 748_000
    assert remote.access_picoseconds(0, "a53") == 0
    assert remote.access_picoseconds(64, "r5f") is None
    ddr = own("versal").memories["ddr"]
    assert ddr.access_picoseconds(3, "a72") == 150_000 + 1000
    # Rounded up to whole picoseconds.
    assert ddr.access_picoseconds(64, "a72") == 150_000 - (-64 * Fraction(10**12, 3 * 10**9) // 1)
    assert ddr.address == 0


def test_a_copy_has_the_cores_and_figures_of_its_own_content() -> None:
    platform = load_platform(ROOT / "platforms" / "linux-host.yaml")
    place = "cores.master.context_switch"
    assert platform.known_core("master-0") is not None and place in {one[0] for one in platform.figures()}
    less = platform.model_copy(update={"cores": {"worker": platform.cores["worker"]}})
    assert less.known_core("master-0") is None and place not in {one[0] for one in less.figures()}
    assert platform.known_core("master-0") is not None and place in {one[0] for one in platform.figures()}
