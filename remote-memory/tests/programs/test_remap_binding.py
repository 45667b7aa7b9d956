# SPDX-License-Identifier: Apache-2.0
"""The kernel module's binding: its example, the guest's node, the page's and the driver agree with it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from consort.exchange.trees import ConfinedTree
from consort_remote import guest

FOLDER = Path(__file__).parents[2]
MODULE = FOLDER / "kernel-module"
BINDING = yaml.safe_load(
    (MODULE / "consort,remap.yaml").read_text(encoding="utf-8").replace("%YAML 1.2\n", "")
)
NAMES = {
    key: [item["const"] for item in BINDING["properties"][key]["items"]]
    for key in ("reg-names", "interrupt-names")
}


def page_example() -> str:
    page = (FOLDER / "docs/remote-kernel.md").read_text(encoding="utf-8")
    (node,) = re.findall(r"```dts\n(.*?)```", page, re.DOTALL)
    return f"/ {{ #address-cells = <2>; #size-cells = <2>; {node} }};"


def guests_node() -> str:
    return "/ { #address-cells = <2>; #size-cells = <2>; };" + guest.node(0x6000_0000)


@pytest.mark.parametrize(
    "source", [BINDING["examples"][0], page_example(), guests_node()], ids=["example", "page", "guest"]
)
def test_a_node_is_as_the_binding_says(source: str, tmp_path: Path) -> None:
    file = tmp_path / "node.dts"
    file.write_text("/dts-v1/;\n" + source, encoding="utf-8")
    (node,) = ConfinedTree(file).root.nodes.values()
    assert node.name.startswith("remote-memory@")
    assert set(BINDING["required"]) <= set(node.props) <= set(BINDING["properties"])
    assert node.props["compatible"].to_string() == BINDING["properties"]["compatible"]["const"]
    assert node.props["reg-names"].to_strings() == NAMES["reg-names"]
    interrupts = node.props["interrupt-names"].to_strings()
    assert interrupts == NAMES["interrupt-names"][: len(interrupts)] and interrupts
    # Two cells each of an address and of a size; three of an interrupt.
    assert len(node.props["reg"].to_nums()) == 4 * len(NAMES["reg-names"])
    assert len(node.props["interrupts"].to_nums()) == 3 * len(interrupts)
    high, low = node.props["reg"].to_nums()[:2]
    assert int(node.unit_addr, 16) == high << 32 | low


def test_the_driver_asks_for_the_bindings_names() -> None:
    driver = (MODULE / "remap_main.c").read_text(encoding="utf-8")
    (compatible,) = re.findall(r"\.compatible = \"(.*?)\"", driver)
    assert compatible == BINDING["properties"]["compatible"]["const"]
    for name in {*NAMES["reg-names"], *NAMES["interrupt-names"]}:
        assert f'"{name}"' in driver, name


def test_no_address_is_a_parameter() -> None:
    parameters = set()
    for file in MODULE.glob("*.c"):
        found = re.findall(r"module_param(?:_named)?\((\w+)", file.read_text(encoding="utf-8"))
        parameters |= set(found)
    assert parameters == {
        "detach_timeout_ms", "drain_timeout_ms", "scrub", "model", "model_ports", "model_links",
        "model_windows", "model_memories", "model_segments",
    }  # fmt: skip
