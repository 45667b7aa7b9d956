# SPDX-License-Identifier: Apache-2.0
"""System Device Trees with OpenAMP domains, read into a platform: processors, memories, reserved regions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from devicetree import dtlib

from consort.base.errors import BadInput
from consort.base.files import LARGEST_TREE, MIB, read_bytes
from consort.exchange.conventions import Imported, Names, Report
from consort.exchange.trees import ConfinedTree, directive
from consort.model.quantities import LARGEST, Frequency, Size

ISAS = (
    (r"cortex-a(5|7|8|9|12|15|17)\b", "armv7-a"),
    (r"cortex-a\d+|neoverse|cortex-x", "aarch64"),
    (r"cortex-r52", "armv8-r"),
    (r"cortex-r[4578]", "armv7-r"),
    (r"cortex-m", "armv7e-m"),
    (r"riscv", "riscv64"),
    (r"powerpc|e200|ppc", "powerpc"),
    (r"tricore", "tricore"),
)
MEMORIES = ((r"tcm", "tcm"), (r"ocm|mmio-sram|sram", "ocm"), (r"flash|nor", "flash"))


# Properties that say how others are read, or nothing of what a platform has.
READ = ("#address-cells", "#size-cells", "compatible", "model", "ranges", "interrupt-parent", "phandle")
# Properties that are read of nodes that become something; any other property of theirs is listed as left out.
USED = {
    "cluster": ("address-map", "#ranges-address-cells", "#ranges-size-cells"),
    "cpu": ("device_type", "reg", "clock-frequency"),
    "memory": ("device_type", "reg"),
    "domain": ("cpus",),
}


@dataclass(order=True)
class Region:
    begin: int
    end: int
    name: str
    kind: str
    description: str
    path: str = ""


@dataclass
class Views:
    """Addresses at which clusters see a memory, by the path of its node; only if a map states them."""

    seen: dict[str, dict[str, int]]

    def shared(self, region: Region) -> int:
        return len(self.seen.get(region.path, {}))

    def of(self, region: Region) -> str:
        return ", ".join(f"{name} sees it at {at:#x}" for name, at in self.seen.get(region.path, {}).items())


def import_sdt(path: Path) -> Imported:
    """The platform of a device tree source; `BadInput` where it cannot be read."""
    tree = _parsed(path)
    try:
        return _imported(tree, path)
    except (dtlib.DTError, UnicodeDecodeError) as error:
        # A property is there and has another form than the binding gives it.
        raise BadInput(f"has a property that cannot be read: {error}", file=path) from None
    except RecursionError:
        raise BadInput("is nested too deeply to be read; this is not a device tree", file=path) from None


def _imported(tree: dtlib.DT, path: Path) -> Imported:
    report = Report()
    names = Names(report)
    model = tree.root.props.get("model")
    title = model.to_string() if model is not None else path.stem
    platform: dict[str, Any] = {
        "consort": 1,
        "name": names.new("platform", path.stem),
        "description": f"{title}, from a device tree",
        "processors": {},
        "cores": {},
    }
    members = _clusters(tree, platform, names, path, report)
    if not platform["cores"]:
        raise BadInput(
            "the tree has no cluster of CPUs (compatible \"cpus,cluster\", or a node 'cpus')", file=path
        )
    memories = _memories(tree, names, report, path)
    if memories:
        platform["memories"] = memories
    _domains(tree, platform, members, report)
    for node in tree.root.nodes.values():
        if not _is_read(node):
            report.leave("node", node.name, "not modelled")
    return Imported(platform, None, report, f"Imported from {path.name}, a device tree.")


def _parsed(path: Path) -> dtlib.DT:
    try:
        if not path.is_file() and path.exists():
            raise BadInput("is not a file; give the path of a device tree source", file=path)
        if path.stat().st_size > LARGEST_TREE:
            raise BadInput(f"is larger than {LARGEST_TREE // MIB} MiB; this is not a device tree", file=path)
        return ConfinedTree(path)
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", file=error.filename or path) from None
    except RecursionError:
        raise BadInput("is nested too deeply to be read; this is not a device tree", file=path) from None
    # Numbers too long for Python's own limits, offsets that are none.
    except (dtlib.DTError, ValueError, OverflowError) as error:
        found = directive(read_bytes(path, LARGEST_TREE, "device tree").decode("utf-8", "replace"))
        if found is not None:
            word, line = found
            raise BadInput(
                f"#{word} is the C preprocessor's; give what it makes of the file:"
                f" cpp -nostdinc -undef -x assembler-with-cpp -I INCLUDES {path.name} > whole.dts",
                file=path,
                line=line,
            ) from None
        raise BadInput(f"is not a device tree source: {error}", file=path) from None


def _compatible(node: dtlib.Node) -> list[str]:
    prop = node.props.get("compatible")
    try:
        return list(prop.to_strings()) if prop is not None else []
    except dtlib.DTError:
        return []


def _clusters(
    tree: dtlib.DT, platform: dict[str, Any], names: Names, path: Path, report: Report
) -> dict[str, str]:
    """Groups of cores by cluster; by the path of a cluster its group."""
    groups: dict[str, str] = {}
    for node in tree.node_iter():
        if "cpus,cluster" not in _compatible(node) and node.path != "/cpus":
            continue
        cpus = [child for child in node.nodes.values() if child.name.partition("@")[0] == "cpu"]
        _left(report, node, "cluster")
        for cpu in cpus:
            _left(report, cpu, "cpu")
        kinds: dict[tuple[str, int | None], list[dtlib.Node]] = {}
        for cpu in cpus:
            compatible = next(iter(_compatible(cpu)), "cpu")
            clock = cpu.props.get("clock-frequency")
            hertz = _number(clock, path) if clock is not None else None
            kinds.setdefault((compatible, hertz), []).append(cpu)
        for (compatible, hertz), cores in kinds.items():
            processor = _processor(platform, names, compatible, hertz)
            label = next(iter(node.labels), node.name.partition("@")[0])
            wanted = label if len(kinds) == 1 else f"{label}-{processor}"
            group = names.new("group of cores", wanted.replace("_", "-"))
            platform["cores"][group] = {"processor": processor, "count": len(cores)}
            groups.setdefault(node.path, group)
        if not cpus:
            report.leave("cluster", node.name, "it has no cpu@… nodes")
    return groups


def _processor(platform: dict[str, Any], names: Names, compatible: str, hertz: int | None) -> str:
    described: dict[str, Any] = {"isa": _match(ISAS, compatible, "other"), "description": compatible}
    if hertz:
        described["clock"] = str(Frequency(hertz))
    for name, known in platform["processors"].items():
        if known == described:
            return str(name)
    name = names.new("processor", compatible.rpartition(",")[2])
    platform["processors"][name] = described
    return name


def _match(table: tuple[tuple[str, str], ...], text: str, default: str) -> str:
    return next((value for pattern, value in table if re.search(pattern, text.lower())), default)


def _number(prop: dtlib.Property, path: Path) -> int:
    """A property of one or two cells as one number."""
    where = f"{prop.node.path}/{prop.name}"
    try:
        number = int(dtlib.to_num(prop.value))
    except (dtlib.DTError, ValueError) as error:
        raise BadInput(f"is not a number: {error}", file=path, field=where) from None
    return _within(number, path, where)


def _within(number: int, path: Path, where: str) -> int:
    """A number as large as a quantity may be."""
    if number > LARGEST:
        raise BadInput(f"{number:#x} is too large; at most {LARGEST:#x} can be", file=path, field=where)
    return number


def _cells(node: dtlib.Node, name: str, default: int) -> int:
    prop = node.props.get(name)
    return prop.to_num() if prop is not None else default


def _reg(node: dtlib.Node, path: Path) -> Iterator[tuple[int, int]]:
    """(address, size) of each entry of a node's reg."""
    prop = node.props.get("reg")
    parent = node.parent
    if prop is None or parent is None:
        return
    address, size = _cells(parent, "#address-cells", 2), _cells(parent, "#size-cells", 1)
    step = 4 * (address + size)
    if not step or len(prop.value) % step:
        raise BadInput(
            f"has {len(prop.value) // 4} cells, no multiple of {address} (address) and {size} (size)",
            file=path,
            field=f"{node.path}/reg",
        )
    for start in range(0, len(prop.value), step):
        entry = prop.value[start : start + step]
        begin = dtlib.to_num(entry[: 4 * address]) if address else 0
        length = dtlib.to_num(entry[4 * address :]) if size else 0
        _within(begin + length, path, f"{node.path}/reg")
        yield begin, length


def _left(report: Report, node: dtlib.Node, kind: str) -> None:
    """Lists the properties of a node that mean something and are not read."""
    for name in node.props:
        if name not in (*USED[kind], *READ):
            report.leave(f"property of a {kind}", f"{node.path}/{name}", "not modelled")


def _views(tree: dtlib.DT, path: Path, report: Report) -> Views:
    """The address maps of the clusters: (cluster's address, node, address in the whole, size) each."""
    seen: dict[str, dict[str, int]] = {}
    whole = _cells(tree.root, "#address-cells", 2)
    for node in tree.node_iter():
        prop = node.props.get("address-map")
        if prop is None or "cpus,cluster" not in _compatible(node):
            continue
        own, size = _cells(node, "#ranges-address-cells", 2), _cells(node, "#ranges-size-cells", 2)
        step = 4 * (own + 1 + whole + size)
        where = f"{node.path}/address-map"
        if len(prop.value) % step:
            raise BadInput(
                f"has {len(prop.value) // 4} cells, no multiple of {own} (address), 1 (node), {whole}"
                f" (address in the whole) and {size} (size)",
                file=path,
                field=where,
            )
        for start in range(0, len(prop.value), step):
            entry = prop.value[start : start + step]
            target = tree.phandle2node.get(dtlib.to_num(entry[4 * own : 4 * own + 4]))
            if target is None:
                raise BadInput("an entry names no node", file=path, field=where)
            at = dtlib.to_num(entry[: 4 * own]) if own else 0
            placed = dtlib.to_num(entry[4 * (own + 1) : 4 * (own + 1 + whole)]) if whole else 0
            cluster = node.name.partition("@")[0]
            if placed != at:
                name = f"{target.name} at {at:#x} of {cluster}"
                report.leave("address of a cluster", name, "a memory has the address of the whole alone")
            seen.setdefault(target.path, {})[cluster] = at
    return Views(seen)


def _memories(tree: dtlib.DT, names: Names, report: Report, path: Path) -> dict[str, Any]:
    """Memories, and the regions reserved in them; a memory is cut where a region lies in it."""
    regions: list[Region] = []
    whole: list[Region] = []
    for node in tree.node_iter():
        parent = node.parent.name if node.parent is not None else ""
        device = node.props.get("device_type")
        compatible = " ".join(_compatible(node))
        reserved = parent == "reserved-memory"
        on_chip = "mmio-sram" in compatible or "tcm" in compatible
        if on_chip or reserved:
            kind = _match(MEMORIES, f"{compatible} {node.name}", "ddr")
        elif device is not None and device.to_string() == "memory":
            kind = "ddr"
        else:
            continue
        entries = [(begin, size) for begin, size in _reg(node, path) if size]
        label = next(iter(node.labels), node.name.partition("@")[0]).replace("_", "-")
        if not reserved:
            _left(report, node, "memory")
        if not entries:
            report.leave("memory", node.name, "it has no address and size")
        for begin, size in entries:
            what = "reserved" if reserved else "memory"
            region = Region(begin, begin + size, label, kind, f"{what}: {node.path}", node.path)
            (regions if reserved else whole).append(region)
    placed: list[Region] = []
    for region in sorted(regions):
        if placed and region.begin < placed[-1].end:
            report.leave("region", region.name, f"it overlaps {placed[-1].name}")
        else:
            placed.append(region)
    global_, apart = _apart(whole, _views(tree, path, report), report)
    pieces = [piece for memory in global_ for piece in _without(memory, placed)]
    memories: dict[str, Any] = {}
    for region in sorted([*pieces, *placed]):
        memories[names.new("memory", region.name)] = _memory(region) | {"address": region.begin}
    for region in sorted(apart):
        memories[names.new("memory", region.name)] = _memory(region)
    return memories


def _memory(region: Region) -> dict[str, Any]:
    return {
        "kind": region.kind,
        "size": str(Size(region.end - region.begin)),
        "description": region.description,
    }


def _apart(memories: list[Region], views: Views, report: Report) -> tuple[list[Region], list[Region]]:
    """The memories with the addresses that the whole has, and those that only some clusters see at theirs.

    Where two lie at one address, clusters see different things there. The one that more of them see has it.
    The other stands elsewhere, too, with the same kind and size, or has no address in the whole.
    """
    kept: list[Region] = []
    others: list[Region] = []
    for region in sorted(memories, key=lambda one: (-views.shared(one), one.begin - one.end, one)):
        over = next((one for one in kept if one.begin < region.end and region.begin < one.end), None)
        if over is None:
            kept.append(region)
        elif not views.shared(region):
            report.leave("memory", region.name, f"it overlaps {over.name}")
        else:
            others.append(region)
    apart: list[Region] = []
    for region in others:
        size = region.end - region.begin
        twins = [one for one in kept if (one.kind, one.end - one.begin) == (region.kind, size)]
        if len(twins) == 1:
            report.change("memory", region.name, f"an alias of {twins[0].name}: {views.of(region)}")
        else:
            report.change("memory", region.name, f"without an address of the whole: {views.of(region)}")
            apart.append(region)
    return kept, apart


def _without(memory: Region, regions: list[Region]) -> Iterator[Region]:
    """The parts of a memory around the regions in it."""
    begin = memory.begin
    for region in regions:
        if region.end <= begin or region.begin >= memory.end:
            continue
        if region.begin > begin:
            yield replace(memory, begin=begin, end=region.begin)
        begin = region.end
    if begin < memory.end:
        yield replace(memory, begin=begin)


def _domains(tree: dtlib.DT, platform: dict[str, Any], groups: dict[str, str], report: Report) -> None:
    """OpenAMP domains say which cores work together, which stands in the description of their group."""
    for node in tree.node_iter():
        if not any(name.startswith("openamp,") for name in _compatible(node)):
            continue
        prop = node.props.get("cpus")
        group = None
        if prop is not None and len(prop.value) >= 4:
            cluster = tree.phandle2node.get(dtlib.to_num(prop.value[:4]))
            group = groups.get(cluster.path) if cluster is not None else None
        if group is None:
            report.leave("OpenAMP node", node.path, f"{', '.join(_compatible(node))}: it names no cluster")
            continue
        cores = platform["cores"][group]
        said = f"domain {node.name}"
        cores["description"] = f"{cores['description']}, {said}" if "description" in cores else said
        _left(report, node, "domain")


def _is_read(node: dtlib.Node) -> bool:
    name = node.name.partition("@")[0]
    compatible = " ".join(_compatible(node))
    return (
        name in ("cpus", "memory", "reserved-memory", "domains", "chosen", "aliases")
        or any(text in compatible for text in ("cpus,cluster", "mmio-sram", "tcm", "openamp,"))
        or node.props.get("device_type") is not None
    )
