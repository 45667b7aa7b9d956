# SPDX-License-Identifier: Apache-2.0
"""The flat tops: cocotbext-axi finds their ports by name, and their IP-XACT is what the sources say."""

from __future__ import annotations

import json
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import cocotb_runs
import pytest
from consort_remote import build

ROOT = Path(__file__).parents[2]
SUITE = Path(__file__).parent / "flat_suite"
SPACE = {"x": "http://www.accellera.org/XMLSchema/IPXACT/1685-2014"}
BLOCKS = ("cblock", "mblock")


@pytest.mark.slow
@pytest.mark.parametrize(("slave", "master"), [(128, 128), (64, 512), (512, 64), (256, 256)])
def test_flat_blocks_work_between_a_master_and_a_memory(tmp_path: Path, slave: int, master: int) -> None:
    """With ports of these data widths."""
    program = cocotb_runs.simulation(
        SUITE / "top.sv", SUITE / "public.vlt", SlaveData=slave, MasterData=master
    )
    failed, said = cocotb_runs.run(tmp_path, program, SUITE, "flat", 6)
    assert not failed, said[-6000:]


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the descriptions, made as for a release."""
    folder = tmp_path_factory.mktemp("ipxact")
    command = [build.tools() / "bin" / "python", ROOT / "rtl" / "top" / "ipxact.py", folder]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def component(described: Path, block: str) -> ElementTree.Element:
    return ElementTree.parse(described / f"consort_{block}_flat.xml").getroot()


def texts(root: ElementTree.Element, path: str) -> list[str]:
    return [element.text or "" for element in root.findall(path, SPACE)]


# The signal that a packager takes a port for.
INFERRED = r'X_INTERFACE_INFO = "\S+ \w+ (\w+)" \*\)\n(?:    \(\*.*\n)*    \w+ +logic (?:\[.*\] )?(\w+)'
# Children of an element as IEEE 1685-2014 orders them, of those that are used.
ORDER = {
    "component": "vendor library name version busInterfaces memoryMaps model fileSets",
    "busInterface": "name busType abstractionTypes slave master",
    "abstractionType": "abstractionRef portMaps",
    "portMap": "logicalPort physicalPort",
    "addressBlock": "name baseAddress range width usage access register",
    "register": "name description addressOffset size access field",
    "field": "name description bitOffset resets bitWidth access modifiedWriteValue",
    "model": "views instantiations ports",
    "componentInstantiation": "name language moduleName fileSetRef",
    "port": "name wire",
    "wire": "direction vectors",
    "file": "name fileType",
}


@pytest.mark.parametrize("block", BLOCKS)
def test_a_description_is_well_formed(described: Path, block: str) -> None:
    """Elements in the standard's order, unique names, references that lead somewhere, files that exist."""
    root = component(described, block)
    for element in root.iter():
        name = element.tag.split("}")[1]
        assert element.tag.startswith("{" + SPACE["x"] + "}")
        if name in ORDER:
            places = [ORDER[name].split().index(child.tag.split("}")[1]) for child in element]
            assert places == sorted(places), name
    ports = texts(root, "x:model/x:ports/x:port/x:name")
    assert len(ports) == len(set(ports)) > 60
    mapped = texts(root, ".//x:physicalPort/x:name")
    assert len(mapped) == len(set(mapped))
    of_memory = {"mem_isolate", "mem_isolated"} if block == "mblock" else set()
    assert set(ports) - set(mapped) == {"phy_channel_up", "phy_hard_err"} | of_memory
    for interface in root.findall("x:busInterfaces/x:busInterface", SPACE):
        signals = texts(interface, ".//x:logicalPort/x:name")
        assert len(signals) == len(set(signals)) > 0
    (reference,) = root.findall(".//x:memoryMapRef", SPACE)
    assert reference.get("memoryMapRef") in texts(root, "x:memoryMaps/x:memoryMap/x:name")
    assert texts(root, ".//x:fileSetRef/x:localName") == texts(root, "x:fileSets/x:fileSet/x:name")
    for file in texts(root, ".//x:file/x:name"):
        assert (described / file).is_file(), file


@pytest.mark.parametrize("block", BLOCKS)
def test_a_description_has_the_ports_of_the_source(described: Path, block: str) -> None:
    source = (ROOT / "rtl" / "top" / f"consort_{block}_flat.sv").read_text(encoding="utf-8")
    there = re.findall(r"^    (in|out)put +logic (?:\[.*\] )?(\w+),?$", source, re.MULTILINE)
    root = component(described, block)
    listed = zip(
        texts(root, ".//x:port/x:wire/x:direction"),
        texts(root, "x:model/x:ports/x:port/x:name"),
        strict=True,
    )
    assert sorted(listed) == sorted(there)
    # The text from which IP packagers infer interfaces says the same as the description.
    pairs = re.findall(INFERRED, source)
    inferred = {port: signal for signal, port in pairs}
    assert len(pairs) == len(inferred)
    maps = zip(texts(root, ".//x:physicalPort/x:name"), texts(root, ".//x:logicalPort/x:name"), strict=True)
    assert dict(maps) == inferred


@pytest.mark.parametrize("block", BLOCKS)
def test_a_description_has_the_registers_of_the_map(described: Path, block: str) -> None:
    command = [build.tools() / "bin" / "python", ROOT / "rtl" / "regs" / "registers.py", "json"]
    registers = json.loads(subprocess.run(list(map(str, command)), capture_output=True, text=True).stdout)
    counts = {"link": 1, "port": 1, "window": 8, "link_table": 1, "segment": 16}
    expected = {}
    for register in registers:
        if register["block"] != block:
            continue
        places = [register["offset"]]
        for array in register["arrays"]:
            places = [at + i * array["stride"] for at in places for i in range(counts[array["name"]])]
        expected |= dict.fromkeys(places, "read-write" if register["writable"] else "read-only")
    root = component(described, block)
    offsets = [int(text, 16) for text in texts(root, ".//x:register/x:addressOffset")]
    assert dict(zip(offsets, texts(root, ".//x:register/x:access"), strict=True)) == expected
    assert len(offsets) == len(expected)
