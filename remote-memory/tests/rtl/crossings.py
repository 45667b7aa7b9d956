# SPDX-License-Identifier: Apache-2.0
"""Prints what crosses between the clocks of a module, as JSON, in the environment of the hardware tools.

crossings.py TOP FILE.sv...: rows of [from, to], by the names of registers, words of memories and ports. The
reset crosses wherever it ends in a register, what belongs to the PHY wherever it meets the other clock.
"""

import json
import sys
import tempfile
from pathlib import Path

from pyosys import libyosys

top, *files = sys.argv[1:]
design = libyosys.Design()
with tempfile.TemporaryDirectory() as folder:
    out = Path(folder) / "netlist.json"
    for command in (
        f"read_slang --top {top} {' '.join(files)}",
        f"prep -flatten -top {top}",
        "memory_map",
        "opt_clean",
        "simplemap",
        "opt_clean",
        f"write_json {out}",
    ):
        libyosys.run_pass(f"tee -q -o /dev/null {command}", design)
    module = json.loads(out.read_text())["modules"][top]


def rank(item):
    """The rank of one bit's names: that of the port goes first, then that of the register."""
    name, net = item
    return (
        net.get("hide_name", 0),
        name not in module["ports"],
        "_q" not in name and "memory" not in name,
        name,
    )


names = {}
for name, net in sorted(module["netnames"].items(), key=rank):
    for bit in net["bits"]:
        names.setdefault(bit, name)
# Each bit's origin: an input, a register with its clock, or a gate with what goes into it.
inputs = {
    bit: name
    for name, port in module["ports"].items()
    if port["direction"] == "input"
    for bit in port["bits"]
}
registers, gates = {}, {}
for cell in module["cells"].values():
    ports = cell["connections"]
    if "C" in ports and "Q" in ports:
        registers |= dict.fromkeys(ports["Q"], ports)
    elif "Y" in ports:
        into = [bit for name, bits in ports.items() if name != "Y" for bit in bits]
        gates |= dict.fromkeys(ports["Y"], into)
    else:
        sys.exit(f"a cell of an unknown kind: {cell['type']}")
clocks = {ports["C"][0] for ports in registers.values()}


def sources(bits):
    """Registers and inputs that what goes in comes from, through gates."""
    seen, found, todo = set(), set(), list(bits)
    while todo:
        bit = todo.pop()
        if bit in seen or isinstance(bit, str):
            continue
        seen.add(bit)
        if bit in registers or bit in inputs:
            found.add(bit)
        else:
            todo += gates.get(bit, ())  # none of a bit that nothing drives
    return found


# A port that the user of a clock gives, or takes, is of that clock: each by its name.
def of_phy(name):
    return name.startswith("phy_")


clock_of_phy = next(bit for bit in clocks if of_phy(names[bit]))
rows = set()
for out_bit, ports in registers.items():
    for pin, bits in ports.items():
        if pin in ("Q", "C"):
            continue
        for bit in sources(bits):
            if bit in registers:
                crosses = registers[bit]["C"][0] != ports["C"][0]
            else:
                crosses = names[bit] == "rst_ni" or of_phy(names[bit]) != (ports["C"][0] == clock_of_phy)
            if crosses:
                rows.add((names[bit], names[out_bit]))
for name, port in module["ports"].items():
    if port["direction"] == "output":
        for bit in sources(port["bits"]):
            of = registers[bit]["C"][0] == clock_of_phy if bit in registers else of_phy(names[bit])
            if of != of_phy(name):
                rows.add((names[bit], name))
print(json.dumps(sorted(rows)))
