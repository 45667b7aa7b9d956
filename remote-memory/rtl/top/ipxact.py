# SPDX-License-Identifier: Apache-2.0
"""Describes the flat blocks in IP-XACT (IEEE 1685-2014): their ports as the RTL has them, registers from remote.rdl.

Run with the Python of build/rtl-venv: ipxact.py FOLDER. It makes FOLDER/consort_BLOCK_flat.xml, for a release.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

from pyosys import libyosys

HERE = Path(__file__).resolve().parent
RTL = HERE.parent
sys.path.insert(0, str(RTL / "regs"))
from registers import Register, load  # noqa: E402

SPACE = "http://www.accellera.org/XMLSchema/IPXACT/1685-2014"
BLOCKS = ("cblock", "mblock")
# Of the blocks as the flat tops are by default.
SHAPE = {"link": 1, "port": 1, "window": 8, "link_table": 1, "segment": 16}
# Interfaces: the prefix of their ports, the bus, its version.
INTERFACES = {
    "s_axi": ("AXI4", "r0p0_0"),
    "m_axi": ("AXI4", "r0p0_0"),
    "s_axil": ("AXI4-Lite", "r0p0_0"),
    "m_axis_phy": ("AXI4Stream", "r0p0_0"),
    "s_axis_phy": ("AXI4Stream", "r0p0_0"),
}
# Signals of one port each: their bus, and what it calls them.
SINGLE = {
    "aclk": ("clock", "CLK"),
    "phy_clk": ("clock", "CLK"),
    "aresetn": ("reset", "RST"),
    "mem_aresetn": ("reset", "RST"),
    "irq": ("interrupt", "INTERRUPT"),
}

Element = ElementTree.Element


def files() -> list[Path]:
    """Source files of the flat tops, in the order of compilation, from the list that FuseSoC has."""
    core = (RTL / "consort_remote.core").read_text(encoding="utf-8")
    found = re.search(r"^  rtl:\n    file_type: .*\n    files:\n((?:      - .*\n)+)", core, re.MULTILINE)
    assert found is not None
    return [RTL / line.strip()[2:] for line in found[1].splitlines()]


def ports(block: str) -> dict[str, tuple[str, int]]:
    """Each port's direction and width, for the flat block."""
    top = f"consort_{block}_flat"
    design = libyosys.Design()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "ports.json"
        named = " ".join(map(str, files()))
        for command in (f"read_slang --top {top} {named}", f"write_json -selected {out}"):
            if command.startswith("write_json"):
                libyosys.run_pass(f"select {top}", design)
            libyosys.run_pass(command, design)
        found: dict[str, Any] = json.loads(out.read_text())["modules"][top]["ports"]
    ways = {"input": "in", "output": "out"}
    return {name: (ways[port["direction"]], len(port["bits"])) for name, port in found.items()}


def add(parent: Element, tag: str, text: str | None = None, /, **attributes: str) -> Element:
    child = ElementTree.SubElement(parent, f"{{{SPACE}}}{tag}", attributes)
    child.text = text
    return child


def identify(parent: Element, name: str, vendor: str, library: str, of: str, version: str) -> None:
    add(parent, name, vendor=vendor, library=library, name=of, version=version)


def component(block: str, folder: Path) -> Element:
    """The whole description of one block; it names files as seen from `folder`."""
    ElementTree.register_namespace("ipxact", SPACE)
    top = f"consort_{block}_flat"
    found = ports(block)
    root = Element(f"{{{SPACE}}}component")
    for name, text in (("vendor", "consort"), ("library", "remote"), ("name", top), ("version", "0.1.0")):
        add(root, name, text)
    interfaces = add(root, "busInterfaces")
    for prefix, (bus, version) in INTERFACES.items():
        mine = {port: port.removeprefix(prefix + "_") for port in found if port.startswith(prefix + "_")}
        if mine:
            signals = {port: signal.upper() for port, signal in mine.items()}
            _interface(interfaces, prefix, ("amba.com", "AMBA4", bus, version), signals, prefix[0] == "s")
    for port, (bus, signal) in SINGLE.items():
        if port in found:
            identity = ("xilinx.com", "signal", bus, "1.0")
            _interface(interfaces, port, identity, {port: signal}, found[port][0] == "in")
    maps = add(root, "memoryMaps")
    memory_map = add(maps, "memoryMap")
    add(memory_map, "name", "registers")
    area = add(memory_map, "addressBlock")
    for name, text in (
        *(("name", "registers"), ("baseAddress", "0x0"), ("range", "0x1000"), ("width", "32")),
        *(("usage", "register"), ("access", "read-write")),
    ):
        add(area, name, text)
    for register in load():
        if register.block == block:
            _registers(area, register)
    _model(root, top, found)
    sets = add(root, "fileSets")
    one = add(sets, "fileSet")
    add(one, "name", "rtl")
    for path in files():
        file = add(one, "file")
        add(file, "name", os.path.relpath(path, folder))
        add(file, "fileType", "systemVerilogSource")
    return root


def _interface(
    parent: Element, name: str, identity: tuple[str, str, str, str], signals: dict[str, str], slave: bool
) -> None:
    vendor, library, bus, version = identity
    interface = add(parent, "busInterface")
    add(interface, "name", name)
    identify(interface, "busType", vendor, library, bus, version)
    kind = add(add(interface, "abstractionTypes"), "abstractionType")
    identify(kind, "abstractionRef", vendor, library, f"{bus}_rtl", version)
    maps = add(kind, "portMaps")
    for port, signal in signals.items():
        one = add(maps, "portMap")
        add(add(one, "logicalPort"), "name", signal)
        add(add(one, "physicalPort"), "name", port)
    mode = add(interface, "slave" if slave else "master")
    if name == "s_axil":
        add(mode, "memoryMapRef", memoryMapRef="registers")


def _registers(area: Element, register: Register) -> None:
    """The register, once for each of its places."""
    counts = [SHAPE[array.name] for array in register.arrays]
    for index in itertools.product(*map(range, counts)):
        place = register.offset + sum(i * a.stride for i, a in zip(index, register.arrays, strict=True))
        found = add(area, "register")
        add(found, "name", "_".join([register.name, *map(str, index)]))
        add(found, "description", register.desc)
        add(found, "addressOffset", hex(place))
        add(found, "size", "32")
        add(found, "access", "read-write" if register.writable else "read-only")
        for field in register.fields:
            one = add(found, "field")
            add(one, "name", field.name)
            add(one, "description", field.desc)
            add(one, "bitOffset", str(field.low))
            if field.reset is not None:
                add(add(add(one, "resets"), "reset"), "value", hex(field.reset))
            add(one, "bitWidth", str(field.width))
            add(one, "access", "read-write" if field.writable else "read-only")
            if field.clears:
                add(one, "modifiedWriteValue", "oneToClear")


def _model(root: Element, top: str, found: dict[str, tuple[str, int]]) -> None:
    model = add(root, "model")
    view = add(add(model, "views"), "view")
    add(view, "name", "rtl")
    add(view, "componentInstantiationRef", "rtl")
    instantiation = add(add(model, "instantiations"), "componentInstantiation")
    add(instantiation, "name", "rtl")
    add(instantiation, "language", "SystemVerilog")
    add(instantiation, "moduleName", top)
    add(add(instantiation, "fileSetRef"), "localName", "rtl")
    listed = add(model, "ports")
    for name, (direction, width) in found.items():
        port = add(listed, "port")
        add(port, "name", name)
        wire = add(port, "wire")
        add(wire, "direction", direction)
        if width > 1:
            vector = add(add(wire, "vectors"), "vector")
            add(vector, "left", str(width - 1))
            add(vector, "right", "0")


def text_of(block: str, folder: Path) -> str:
    root = component(block, folder)
    ElementTree.indent(root, space=" ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def main(words: list[str]) -> int:
    if len(words) != 1 or words[0].startswith("-"):
        print("usage: ipxact.py FOLDER", file=sys.stderr)
        return 2
    folder = Path(words[0]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for block in BLOCKS:
        path = folder / f"consort_{block}_flat.xml"
        path.write_text(text_of(block, folder), encoding="utf-8")
        print(f"written: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
